//! What the guard is told to run: one JSON object behind its length, written to its standard input.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use super::MARKER;
use crate::config::Launch;
use crate::descriptor_limit;

/// A launch on the wire. Paths and variables are byte strings: neither need be UTF-8.
#[derive(Serialize, Deserialize)]
pub(super) struct Frame<'a> {
    pub(super) command: Cow<'a, str>,
    pub(super) args: Cow<'a, [String]>,
    pub(super) directory: Cow<'a, OsStr>,
    /// How many files the server may have open.
    pub(super) descriptors: Option<u64>,
    pub(super) environment: Vec<(Cow<'a, OsStr>, Cow<'a, OsStr>)>,
}

/// Writes a launch as a frame, with the mark in its environment.
pub(super) fn encode(launch: &Launch, mark: &str) -> io::Result<Vec<u8>> {
    let frame = Frame {
        command: launch.command.as_str().into(),
        args: launch.args.as_slice().into(),
        directory: launch.directory.as_os_str().into(),
        descriptors: descriptor_limit::original(),
        environment: launch
            .environment
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
            // The last one counts, should the daemon itself run below a guard.
            .chain([(OsStr::new(MARKER), OsStr::new(mark))])
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    };
    let body = serde_json::to_vec(&frame)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    Ok([length.to_le_bytes().as_slice(), &body].concat())
}

/// Reads exactly one frame, so that the rest of the input is left for the server.
pub(super) fn read(mut input: impl Read) -> io::Result<Frame<'static>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let mut body = Vec::new();
    input.by_ref().take(length.into()).read_to_end(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

#[cfg(test)]
mod tests;
