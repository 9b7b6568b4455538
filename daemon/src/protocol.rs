//! The protocol of the control socket, as plain data: JSON-RPC 2.0, one message a line.
//!
//! A connection opens with [`Hello`], then both sides may send requests. One request is served at a time; when the
//! connection is closed, or just its writing half, the request is cancelled. It must not know sockets.

mod approvals;
mod calls;
mod changes;
mod entries;
mod message;
mod offers;
mod pins;
mod servers;
mod status;

pub use crate::servers::{Elicited, Progress};
pub use skills::catalog::EntryKind;
pub use skills::search::{Answer, Case, Evaluation};

pub use approvals::{
    Always, Approval, ApprovalState, Approvals, Approve, Confirmed, Decided, Deny, ShownArgument,
};
pub use calls::{Call, CallReply, Elicitation, Refused};
pub use changes::{Change, ChangeKind, ChangeList, ChangedKind, Changes, Net, Revision};
pub use entries::{
    Describe, Description, Evaluate, ListFilter, ListedEntry, Listing, Load, Loaded, Overview,
    Search, SkillDescription, ToolDescription,
};
pub use message::{ErrorObject, Hello, Message, Nothing, PayloadFile, Version, Welcome};
pub use offers::{GetPrompt, ListOffers, ListedOffer, ListedOffers, Read};
pub use pins::{Difference, DifferenceState, Differences, FileDifference, Trust, Trusted};
pub use servers::{Control, LastError, Order, ServerReport, ServerReports};
pub use status::{About, OutputKind, Policy, ServerPhase, ServerStatus, Status};

/// The version of this protocol: both ends must have the same.
pub const VERSION: u32 = 1;

/// The longest message in bytes; a larger result goes into a file ([`PayloadFile`]).
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// The names of the methods.
pub mod method {
    /// [`Hello`](super::Hello) → [`Welcome`](super::Welcome).
    pub const HELLO: &str = "hello";
    /// [`Nothing`](super::Nothing) → [`Status`](super::Status).
    pub const STATUS: &str = "status";
    /// [`ListFilter`](super::ListFilter) → [`Listing`](super::Listing).
    pub const LIST: &str = "list";
    /// [`Describe`](super::Describe) → [`Description`](super::Description).
    pub const DESCRIBE: &str = "describe";
    /// [`Search`](super::Search) → [`Answer`](super::Answer).
    pub const SEARCH: &str = "search";
    /// [`Evaluate`](super::Evaluate) → [`Evaluation`](super::Evaluation).
    pub const EVALUATE: &str = "evaluate";
    /// [`Load`](super::Load) → [`Loaded`](super::Loaded).
    pub const LOAD: &str = "load";
    /// [`Overview`](super::Overview) → a text.
    pub const OVERVIEW: &str = "overview";
    /// [`Changes`](super::Changes) → [`ChangeList`](super::ChangeList).
    pub const CHANGES: &str = "changes";
    /// [`Differences`](super::Differences) → a list of [`Difference`](super::Difference).
    pub const DIFFERENCES: &str = "differences";
    /// [`Trust`](super::Trust) → [`Trusted`](super::Trusted), when it is published.
    pub const TRUST: &str = "trust";
    /// [`Call`](super::Call) → [`CallReply`](super::CallReply).
    pub const CALL: &str = "call";
    /// Tells of a call that was refused before it was made.
    pub const REFUSED: &str = "refused";
    /// [`Read`](super::Read) → [`CallReply`](super::CallReply).
    pub const READ: &str = "read";
    /// [`GetPrompt`](super::GetPrompt) → [`CallReply`](super::CallReply).
    pub const PROMPT: &str = "prompt";
    /// [`ListOffers`](super::ListOffers) → [`ListedOffers`](super::ListedOffers).
    pub const OFFERS: &str = "offers";
    /// [`Nothing`](super::Nothing) → [`Approvals`](super::Approvals).
    pub const APPROVALS: &str = "approvals";
    /// [`Approve`](super::Approve) → [`Decided`](super::Decided).
    pub const APPROVE: &str = "approve";
    /// [`Deny`](super::Deny) → [`Decided`](super::Decided).
    pub const DENY: &str = "deny";
    /// A request to the caller: [`Approval`](super::Approval) → [`Confirmed`](super::Confirmed). A caller that can't ask anybody
    /// answers with an error.
    pub const CONFIRM: &str = "confirm";
    /// A request to the caller: [`Elicitation`](super::Elicitation) → [`Elicited`](super::Elicited). A caller that can't ask anybody
    /// answers with an error.
    pub const ELICIT: &str = "elicit";
    /// A notification to the caller, without parameters: the answer to what it was asked last is not waited for any more.
    pub const WITHDRAWN: &str = "withdrawn";
    /// A notification to the caller: [`Progress`](super::Progress).
    pub const PROGRESS: &str = "progress";
    /// [`Nothing`](super::Nothing) → [`ServerReports`](super::ServerReports).
    pub const SERVERS: &str = "servers";
    /// [`Control`](super::Control) → [`Nothing`](super::Nothing), when it is done.
    pub const CONTROL: &str = "control";
    /// [`Nothing`](super::Nothing) → [`Nothing`](super::Nothing), when all that happened before is in the access log's file.
    pub const FLUSH: &str = "flush";
    /// [`Nothing`](super::Nothing) → [`Nothing`](super::Nothing); the daemon unmounts and ends.
    pub const STOP: &str = "stop";
}
