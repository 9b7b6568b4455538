//! The tests that only the real binary, a real mount or a real server can show.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes what the tests here share for production code"
)]

mod calling;
mod catalog;
mod changes;
mod corpus;
mod embedding;
mod guard;
mod lifecycle;
mod log;
mod mirror;
mod mounting;
mod opening;
mod reading;
mod real_servers;
mod support;
mod unprivileged;
