//! `bin/`: for every tool a program that calls it.
//!
//! It knows nothing of how a call is made: that is for `shelf call`, which the program becomes. All of them are the same
//! bytes, since each passes on its own path, and with that both the shelf and the tool: a link and a bind mount lead to the
//! right daemon, a change of a definition changes nothing here, and a copy elsewhere calls nothing.

use std::sync::{Arc, LazyLock};

use super::Stamp;
use crate::entry_id::EntryId;
use crate::names::{cut_to_fit, encode_character};
use crate::tree::{FileName, Node};

#[cfg(test)]
mod tests;

/// What each of the programs is: `shelf call` with its own path, which takes `./` where it is relative, since it could be an
/// id else.
///
/// It has no comment, no message and few words, because `grep -r` over the mount reads it once for every tool: what a shell
/// says when it finds no `shelf` (and exits with 127) has to do.
static PROGRAM: LazyLock<Arc<[u8]>> = LazyLock::new(|| include_bytes!("bin/call.sh")[..].into());

/// What separates the server's part of a name from the tool's.
const SEPARATOR: char = '.';

/// The program of a tool, as a child of `bin/`.
pub(super) fn program(id: &EntryId, stamp: &mut Stamp<'_>) -> (FileName, Node) {
    stamp.program(&format!("bin/{}", file_name(id)), &PROGRAM, id)
}

/// `<server>.<tool>`, one path component. No two tools share one: the server's part has no `.`, so that the first `.` ends it.
fn file_name(id: &EntryId) -> String {
    let (server, tool) = id
        .as_str()
        .split_once('/')
        .expect("the id of a tool has both parts");
    let server = server.replace(SEPARATOR, &encode_character(SEPARATOR));
    cut_to_fit(format!("{server}{SEPARATOR}{tool}"))
}

/// The id of the tool whose program has, or would have, this name; `None` when no tool's can have it. A name that was cut
/// is not read back.
pub(crate) fn id_of(file_name: &str) -> Option<String> {
    let (server, tool) = file_name.split_once(SEPARATOR)?;
    let encoded = encode_character(SEPARATOR);
    // A leading `.` is encoded in the name of the server itself.
    let first = if server.starts_with(&encoded) {
        encoded.len()
    } else {
        0
    };
    let (first, rest) = server.split_at(first);
    let rest = rest.replace(&encoded, SEPARATOR.encode_utf8(&mut [0; 4]));
    Some(format!("{first}{rest}/{tool}"))
}
