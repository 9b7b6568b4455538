//! The questions that a daemon asks while a call waits: put to whoever sits at the terminal.
//!
//! To whether a call may be made, all but a clear yes is a no.

use std::os::fd::OwnedFd;

use daemon::client::{Asking, Question};
use daemon::protocol::{Approval, Confirmed, method};

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
    ui.prompt("Call it? [y]es, this once; [a]lways, whatever the arguments; [N]o: ");
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
    format!(
        "{} of server {} is to be called, and {} wants your approval\n{}",
        approval.tool,
        approval.server,
        approval.rule,
        approvals::arguments(approval)
    )
}

#[cfg(test)]
mod tests {
    use daemon::protocol::Confirmed;

    use super::read;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(read(" Yes "), Confirmed::Once);
        assert_eq!(read("a"), Confirmed::Always);
        for no in ["", "n", "yy", "no", "yes please", "\u{1b}[A", "y\u{200b}"] {
            assert_eq!(read(no), Confirmed::No, "{no}");
        }
    }
}
