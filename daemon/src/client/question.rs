//! What the daemon asks the caller while a call runs, and what the caller makes of it.
//!
//! It knows no way to ask a person.

use std::os::fd::BorrowedFd;

use serde_json::value::RawValue;

/// A question of the daemon.
#[derive(Debug)]
pub struct Question<'a> {
    /// What kind it is of: a method of the protocol.
    pub method: &'a str,
    /// What it is about.
    pub params: Option<&'a RawValue>,
    /// Becomes readable when the daemon no longer waits for the answer.
    pub connection: BorrowedFd<'a>,
}

/// What became of a question.
#[derive(Debug)]
pub enum Asking {
    /// It was answered.
    Answered(Box<RawValue>),
    /// There is nobody who could be asked, or the kind is not known.
    Unable,
    /// It need not be answered any more: the daemon has something else to say, or the user interrupted the call.
    Over,
}

/// Answers nothing.
pub(super) fn nobody(_: &Question<'_>) -> Asking {
    Asking::Unable
}
