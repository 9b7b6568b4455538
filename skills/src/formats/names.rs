//! The names of tools for providers, `mcp__<server>__<tool>`: valid everywhere, one for each id, and found again.
//!
//! A name depends on the id alone, so that a tool has the same name in a list, in a search and on another day. It must not know schemas
//! or descriptions.
//!
//! Valid is `[a-zA-Z0-9_-]{1,64}`: [Anthropic](https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools) and
//! [OpenAI](https://platform.openai.com/docs/api-reference/chat/create) say the same.

use data_encoding::BASE32_NOPAD;

use crate::entry_id::EntryId;

/// What every name begins with.
pub const PREFIX: &str = "mcp__";

/// The longest name, in bytes.
pub const MAX_BYTES: usize = 64;

/// What stands between a readable name that says too little and the hash of its id. Names that end like that by themselves get
/// a hash, too, so that no stranger can make a name that is another's.
const MARK: &str = "--";

/// How many base32 letters of the hash a name has: to find a second id with the same takes 2⁶⁰ tries.
const LETTERS: usize = 12;

/// The name of a tool.
pub fn of(id: &EntryId) -> String {
    let (server, tool) = id.as_str().split_once('/').unwrap_or(("", id.as_str()));
    let plain = format!("{PREFIX}{server}__{tool}");
    if tells_server(server)
        && plain.bytes().all(is_valid)
        && plain.len() <= MAX_BYTES
        && !ends_in_hash(&plain)
    {
        return plain;
    }
    let mut name: String = plain.chars().map(replaced).collect();
    // All of it is ASCII by now.
    name.truncate(MAX_BYTES - MARK.len() - LETTERS);
    let hash = blake3::hash(id.as_str().as_bytes());
    let mut letters = BASE32_NOPAD.encode(hash.as_bytes()).to_ascii_lowercase();
    letters.truncate(LETTERS);
    name + MARK + &letters
}

/// The name of a server's namespace, by the same rules. `server` is its name as the mount shows it.
pub(super) fn of_server(server: &str) -> String {
    // The name of a tool that can't be: an id's parts are never empty.
    let name = of(&EntryId::tool(server, ""));
    name.strip_suffix("__").map_or(name.clone(), str::to_owned)
}

/// The id that a name stands for among these: an exact match, nothing is guessed.
pub fn id_of<'a>(name: &str, ids: impl IntoIterator<Item = &'a EntryId>) -> Option<&'a EntryId> {
    if !name.starts_with(PREFIX) {
        return None;
    }
    let mut found = ids.into_iter().filter(|id| of(id) == name);
    match (found.next(), found.next()) {
        (Some(id), None) => Some(id),
        _ => None,
    }
}

/// The server that a plain name is of, as the mount shows it: what may be asked for its tools where they are not known yet.
pub fn server_of(name: &str) -> Option<&str> {
    let (server, _) = name.strip_prefix(PREFIX)?.split_once("__")?;
    (!ends_in_hash(name)).then_some(server)
}

/// Whether the first `__` behind the prefix ends the server's name, so that both parts can be told from the plain name.
fn tells_server(server: &str) -> bool {
    !server.contains("__") && !server.ends_with('_')
}

const fn is_valid(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn replaced(character: char) -> char {
    match u8::try_from(character) {
        Ok(byte) if is_valid(byte) => character,
        _ => '_',
    }
}

fn ends_in_hash(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len().checked_sub(LETTERS).is_some_and(|end| {
        bytes[..end].ends_with(MARK.as_bytes())
            && bytes[end..]
                .iter()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LETTERS, MAX_BYTES, id_of, is_valid, of, of_server, server_of};
    use crate::entry_id::EntryId;

    fn id(text: &str) -> EntryId {
        EntryId(text.into())
    }

    #[test]
    fn a_valid_name_is_the_plain_one() {
        assert_eq!(of(&id("github/create_issue")), "mcp__github__create_issue");
        assert_eq!(of(&id("_a-b/c__d")), "mcp___a-b__c__d");
        assert_eq!(of_server("github"), "mcp__github");
    }

    #[test]
    fn what_says_too_little_gets_a_hash() {
        let long = format!("server/{}", "x".repeat(60));
        for other in [
            "a b/c",
            "a/b.c",
            "a__b/c",
            "a_/b",
            "ü/b",
            "a/b~abcdef",
            &long,
        ] {
            let name = of(&id(other));
            assert_eq!(
                name.len(),
                name.rfind("--").unwrap() + 2 + LETTERS,
                "{name}"
            );
            assert!(
                name.len() <= MAX_BYTES && name.starts_with("mcp__"),
                "{name}"
            );
        }
        assert!(of_server("a b").starts_with("mcp__a_b__--"));
    }

    #[test]
    fn no_name_can_be_made_to_be_anothers() {
        let hashed = of(&id("a/b.c"));
        let forged = id(&format!("a/{}", hashed.strip_prefix("mcp__a__").unwrap()));
        assert_ne!(of(&forged), hashed);
        for (one, other) in [("a/b__c", "a__b/c"), ("a/_b", "a_/b"), ("a/b.c", "a/b_c")] {
            assert_ne!(of(&id(one)), of(&id(other)));
        }
    }

    #[test]
    fn a_plain_name_tells_its_server() {
        assert_eq!(server_of("mcp__github__a__b"), Some("github"));
        assert_eq!(server_of(&of(&id("a/b.c"))), None);
        assert_eq!(server_of("github__a"), None);
    }

    #[test]
    fn only_an_exact_name_is_found() {
        let ids = [id("a/b"), id("a/b.c"), id("github/create_issue")];
        for id in &ids {
            assert_eq!(id_of(&of(id), &ids), Some(id));
        }
        for name in [
            "a/b",
            "mcp__a__",
            "mcp__A__b",
            "mcp__a__b_c",
            "mcp__a__b ",
            "a__b",
        ] {
            assert_eq!(id_of(name, &ids), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn names_are_valid_and_say_which_id(
            ids in prop::collection::hash_set("[a-c_.\\-~%ü]{1,6}/([a-c_.\\-ü]{1,6}|[a-z_]{50,80})", 1..20)
        ) {
            let ids: Vec<_> = ids.iter().map(|text| id(text)).collect();
            for id in &ids {
                let name = of(id);
                prop_assert!((1..=MAX_BYTES).contains(&name.len()));
                prop_assert!(name.bytes().all(is_valid), "{}", name);
                prop_assert_eq!(id_of(&name, &ids), Some(id));
            }
        }
    }
}
