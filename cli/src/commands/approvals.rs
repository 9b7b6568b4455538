//! `shelf approvals`.

use std::fmt::Write as _;

use clap::Args;
use daemon::protocol::{Always, Approval, ApprovalState, Approvals, ShownArgument};
use skills::offers::Kind;

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// List the calls that wait for an approval, and the tools that are approved for good
///
/// What can't be seen in an argument, or deceives the eye, is spelt out: \u{202e}. Of long ones the middle is left out, and how much that is, is said.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf approvals\n  shelf approvals --json | jq -r '.waiting[].id'"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let approvals = arguments.which.connect(environment, None)?.approvals()?;
    if arguments.json {
        return ui.json(&approvals);
    }
    Ok(ui.text(&describe(&approvals))?)
}

fn describe(approvals: &Approvals) -> String {
    let mut text = String::new();
    for approval in &approvals.waiting {
        call(&mut text, approval);
    }
    for always in &approvals.always {
        tool(&mut text, always);
    }
    if text.is_empty() {
        text.push_str("nothing waits for an approval\n");
    }
    text
}

fn call(text: &mut String, approval: &Approval) {
    let state = match approval.state {
        ApprovalState::Waiting => "waiting",
        ApprovalState::Approved => "approved once",
        ApprovalState::Denied => "denied",
    };
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "{}  {state}, until {}: {}\n  for user {}, {}[{}], by {}\n{}",
        approval.id,
        approval.until.strftime("%Y-%m-%d %H:%M:%S UTC"),
        subject(approval.offered, &approval.tool, &approval.server),
        approval.uid,
        approval.command,
        approval.pid,
        approval.rule,
        arguments(approval).trim_end()
    );
}

fn tool(text: &mut String, always: &Always) {
    let _ = writeln!(
        text,
        "{}  approved for good, since {}: {}, for user {}",
        always.id,
        always.since.strftime("%Y-%m-%d"),
        subject(always.offered, &always.tool, &always.server),
        always.uid
    );
}

/// What an approval is about. A tool is always called one: it may have any name, also that of a kind.
pub(crate) fn subject(offered: Option<Kind>, tool: &str, server: &str) -> String {
    let what = match offered {
        Some(Kind::Resources) => "resources".to_owned(),
        Some(Kind::Prompts) => "prompts".to_owned(),
        None => format!("tool {tool}"),
    };
    format!("{what} of server {server}")
}

/// The arguments, one a line.
pub(crate) fn arguments(approval: &Approval) -> String {
    if approval.arguments.is_empty() {
        return "  without arguments\n".to_owned();
    }
    let mut text = String::new();
    for argument in &approval.arguments {
        let _ = writeln!(text, "  {}: {}", argument.name, value(argument));
    }
    if approval.more > 0 {
        let _ = writeln!(text, "  and {} more, not shown", approval.more);
    }
    text
}

/// The value of an argument, with what is left out of it.
pub(crate) fn value(argument: &ShownArgument) -> String {
    match argument.cut {
        0 => argument.value.clone(),
        cut => format!("{} ({cut} characters left out at …)", argument.value),
    }
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{Always, Approval, ApprovalState, Approvals, ShownArgument};
    use jiff::Timestamp;
    use skills::entry_id::EntryId;
    use skills::offers::Kind;

    use super::describe;

    #[test]
    fn what_waits_reads_well() {
        let argument = |name: &str, value: &str, cut| ShownArgument {
            name: name.into(),
            value: value.into(),
            cut,
        };
        let waiting = Approval {
            id: "k3v9qa2c".into(),
            entry: EntryId("github/delete_repo".into()),
            server: "github".into(),
            tool: "delete_repo".into(),
            offered: None,
            arguments: vec![
                argument("name", r#""toolshelf""#, 0),
                argument("why", r#""a … b""#, 1_234),
            ],
            more: 2,
            rule: "ask \"destructive\" (/home/me/shelf.toml:3)".into(),
            uid: 1000,
            pid: 42,
            command: "shelf".into(),
            session: "mine".into(),
            since: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            state: ApprovalState::Waiting,
        };
        let bare = Approval {
            arguments: Vec::new(),
            more: 0,
            state: ApprovalState::Approved,
            ..waiting.clone()
        };
        let always = Always {
            id: "aaaaaaaa".into(),
            server: "github".into(),
            tool: "merge".into(),
            offered: None,
            definition: "00".into(),
            uid: 1000,
            by: 1000,
            since: Timestamp::UNIX_EPOCH,
        };
        let reads = Always {
            tool: "RESOURCES".into(),
            offered: Some(Kind::Resources),
            ..always.clone()
        };
        let named_alike = Always {
            tool: "RESOURCES".into(),
            ..always.clone()
        };
        let approvals = Approvals {
            waiting: vec![waiting, bare],
            always: vec![always, reads, named_alike],
        };
        let expected = "\
k3v9qa2c  waiting, until 1970-01-01 00:00:00 UTC: tool delete_repo of server github
  for user 1000, shelf[42], by ask \"destructive\" (/home/me/shelf.toml:3)
  name: \"toolshelf\"
  why: \"a … b\" (1234 characters left out at …)
  and 2 more, not shown
k3v9qa2c  approved once, until 1970-01-01 00:00:00 UTC: tool delete_repo of server github
  for user 1000, shelf[42], by ask \"destructive\" (/home/me/shelf.toml:3)
  without arguments
aaaaaaaa  approved for good, since 1970-01-01: tool merge of server github, for user 1000
aaaaaaaa  approved for good, since 1970-01-01: resources of server github, for user 1000
aaaaaaaa  approved for good, since 1970-01-01: tool RESOURCES of server github, for user 1000
";
        assert_eq!(describe(&approvals), expected);
        let nothing = describe(&Approvals::default());
        assert_eq!(nothing, "nothing waits for an approval\n");
    }
}
