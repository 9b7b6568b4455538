//! The questions that a daemon asks while a call waits: put to whoever sits at the terminal.
//!
//! To whether a call may be made, all but a clear yes is a no.

use std::fmt::Write as _;
use std::os::fd::OwnedFd;

use daemon::client::{Asking, Question};
use daemon::protocol::{Approval, Confirmed, method};
use skills::offers::Kind;

use super::answers::Answers;
use super::elicitation;
use crate::commands::approvals;
use crate::terminal::{self, Answer};
use crate::ui::Ui;

/// Answers a question, if it can be answered, or somebody is there to do it.
pub(in crate::commands) fn answer(
    question: &Question<'_>,
    answers: &Answers,
    interrupt: &OwnedFd,
    ui: &Ui,
) -> Asking {
    let person = terminal::is_attended().then_some((interrupt, ui));
    match (question.method, person) {
        (method::ELICIT, person) => elicitation::answer(question, answers, person),
        (method::CONFIRM, Some((interrupt, ui))) => confirm(question, interrupt, ui),
        _ => Asking::Unable,
    }
}

/// Asks whether a call may be made.
fn confirm(question: &Question<'_>, interrupt: &OwnedFd, ui: &Ui) -> Asking {
    let params = question
        .params
        .map(|params| params.get())
        .unwrap_or_default();
    let Ok(approval) = serde_json::from_str::<Approval>(params) else {
        return Asking::Unable;
    };
    terminal::forget_typed_ahead();
    ui.note(&text(&approval));
    ui.prompt(choice(approval.offered));
    let confirmed = match terminal::line(interrupt, question.connection) {
        Answer::Line(line) => read(&line),
        Answer::End => {
            ui.note("\n");
            Confirmed::No
        }
        Answer::Over => {
            ui.note("\n");
            return Asking::Over;
        }
    };
    serde_json::value::to_raw_value(&confirmed).map_or(Asking::Unable, Asking::Answered)
}

fn read(line: &str) -> Confirmed {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Confirmed::Once,
        "a" | "always" => Confirmed::Always,
        _ => Confirmed::No,
    }
}

/// What is asked.
fn text(approval: &Approval) -> String {
    let subject = approvals::subject(approval.offered, &approval.tool, &approval.server);
    let rule = &approval.rule;
    let arguments = approvals::arguments(approval);
    let server = &approval.server;
    let (what, name) = match approval.offered {
        None => {
            return format!(
                "{subject} is to be called, and {rule} wants your approval\n{arguments}"
            );
        }
        Some(Kind::Resources) => (
            format!("a resource of server {server} is to be read"),
            "uri",
        ),
        Some(Kind::Prompts) => (
            format!("a prompt of server {server} is to be asked for"),
            "name",
        ),
    };
    let (named, others): (Vec<_>, Vec<_>) = approval
        .arguments
        .iter()
        .partition(|argument| argument.name == name);
    let mut text = what;
    for argument in named {
        let _ = write!(text, ": {}", approvals::value(argument));
    }
    let _ = writeln!(text, "\n{rule} wants your approval");
    for argument in others {
        let _ = writeln!(text, "  {}: {}", argument.name, approvals::value(argument));
    }
    text
}

/// How it can be answered.
const fn choice(offered: Option<Kind>) -> &'static str {
    match offered {
        None => "Call it? [y]es, this once; [a]lways, whatever the arguments; [N]o: ",
        Some(Kind::Resources) => {
            "Read it? [y]es, this once; [a]lways, every resource of this server; [N]o: "
        }
        Some(Kind::Prompts) => {
            "Ask for it? [y]es, this once; [a]lways, every prompt of this server; [N]o: "
        }
    }
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{Approval, ApprovalState, Confirmed, ShownArgument};
    use jiff::Timestamp;
    use skills::entry_id::EntryId;
    use skills::offers::Kind;

    use super::{choice, read, text};

    fn asked(tool: &str, offered: Option<Kind>, arguments: &[(&str, &str)]) -> String {
        let arguments = arguments.iter().map(|(name, value)| ShownArgument {
            name: (*name).into(),
            value: (*value).into(),
            cut: 0,
        });
        text(&Approval {
            id: String::new(),
            entry: EntryId(format!("x/{tool}").into()),
            server: "x".into(),
            tool: tool.into(),
            offered,
            arguments: arguments.collect(),
            more: 0,
            rule: "ask \"x/*\" (shelf.toml:3)".into(),
            uid: 1000,
            pid: 42,
            command: "shelf".into(),
            session: "mine".into(),
            since: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            state: ApprovalState::Waiting,
        })
    }

    #[test]
    fn the_question_says_what_is_to_be_done() {
        let uri = ("uri", r#""file:///a""#);
        assert_eq!(
            asked("RESOURCES", Some(Kind::Resources), &[uri]),
            "a resource of server x is to be read: \"file:///a\"\nask \"x/*\" (shelf.toml:3) wants your approval\n"
        );
        let arguments = [("arguments", r#"{"a":"b"}"#), ("name", r#""greet""#)];
        assert_eq!(
            asked("PROMPTS", Some(Kind::Prompts), &arguments),
            "a prompt of server x is to be asked for: \"greet\"\nask \"x/*\" (shelf.toml:3) wants your approval\n  arguments: {\"a\":\"b\"}\n"
        );
        // A tool of that name is called.
        assert_eq!(
            asked("RESOURCES", None, &[uri]),
            "tool RESOURCES of server x is to be called, and ask \"x/*\" (shelf.toml:3) wants your approval\n  uri: \"file:///a\"\n"
        );
        assert!(choice(None).starts_with("Call it?"));
        assert!(choice(Some(Kind::Resources)).starts_with("Read it?"));
        assert!(choice(Some(Kind::Prompts)).starts_with("Ask for it?"));
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(read(" Yes "), Confirmed::Once);
        assert_eq!(read("a"), Confirmed::Always);
        for no in ["", "n", "yy", "no", "yes please", "\u{1b}[A", "y\u{200b}"] {
            assert_eq!(read(no), Confirmed::No, "{no}");
        }
    }
}
