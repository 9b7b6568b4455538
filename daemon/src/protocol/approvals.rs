//! Approvals: what waits for one, what is always approved, and the question whether a call may be made.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use skills::entry_id::EntryId;
use skills::offers;

/// A call that somebody has to approve: the parameters of `confirm`, and an element of [`Approvals`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// By which it is approved.
    pub id: String,
    /// The tool, or what the server offers of a kind.
    pub entry: EntryId,
    /// The server's configured name; nothing in it deceives the eye.
    pub server: String,
    /// The tool's name as its server sent it, or the name of the file that lists what is offered; nothing in it deceives the eye.
    pub tool: String,
    /// Of what kind it is when it is no call of a tool. A tool may have the name of a kind's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<offers::Kind>,
    /// The arguments as they are to be shown.
    pub arguments: Vec<ShownArgument>,
    /// How many more arguments there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The rule that asks, and where it is written.
    pub rule: String,
    /// Whose call it is.
    pub uid: u32,
    /// The process that asked last.
    pub pid: u32,
    /// Its command name.
    pub command: String,
    /// Its session.
    pub session: String,
    /// When it was last asked for, or decided.
    pub since: Timestamp,
    /// When it is forgotten.
    pub until: Timestamp,
    /// What became of it.
    pub state: ApprovalState,
}

/// What became of a call that somebody has to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalState {
    /// Nobody has decided.
    Waiting,
    /// It may be made once.
    Approved,
    /// It may not be made.
    Denied,
}

/// An argument as it is shown: what can't be seen, or deceives the eye, is spelt out, and the middle of what is long left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownArgument {
    /// Its name.
    pub name: String,
    /// Its value as JSON.
    pub value: String,
    /// How many characters are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A tool whose calls somebody approved for good, as long as its definition stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Always {
    /// By which it is taken back.
    pub id: String,
    /// The server's configured name.
    pub server: String,
    /// The tool's name as its server sent it, or the name of the file that lists what is offered.
    pub tool: String,
    /// The kind of what is approved when it is no tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<offers::Kind>,
    /// The hash of the definition, in hexadecimal.
    pub definition: String,
    /// Whose calls.
    pub uid: u32,
    /// Who approved it.
    pub by: u32,
    /// When.
    pub since: Timestamp,
}

/// The answer to `approvals`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// The calls, the oldest first.
    pub waiting: Vec<Approval>,
    /// The tools that are approved for good.
    pub always: Vec<Always>,
}

/// The parameters of `approve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approve {
    /// What is approved.
    pub id: String,
    /// Whether the tool is approved for good.
    #[serde(default)]
    pub always: bool,
}

/// The parameters of `deny`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deny {
    /// What is denied, or taken back.
    pub id: String,
}

/// The answer to `approve` and `deny`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The server's configured name, as it is to be shown.
    pub server: String,
    /// The tool's name, or that of the file that lists what is offered, as it is to be shown.
    pub tool: String,
    /// The kind of what was decided about when it is no tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<offers::Kind>,
    /// Until when the call may be made; absent where that has no end, or it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The answer to `confirm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confirmed {
    /// Yes, this once.
    Once,
    /// Yes, and every other call of the tool.
    Always,
    /// No.
    No,
}
