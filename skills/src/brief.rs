//! The brief: what a person puts into AGENTS.md or a system prompt, so that an agent knows of the shelf.
//!
//! It names no server and no count, so it is the same for the same place whatever is on the shelf. It must not know where it is written.

mod block;

use std::path::Path;

pub use block::{Block, BlockError};

/// How to use a shelf at this place, in about 170 tokens and no more than 200 (o200k) for a place of an ordinary length.
///
/// Only what a mount and a mirror both have is named. The place must be visible text on one line.
pub fn brief(place: &Path) -> String {
    let place = quoted(place);
    format!(
        "\
## Tools and skills

Every MCP tool and every skill you may use is a small text file in {place}. Before you begin a task, or say that something can't be \
done, look there:

- `shelf search WORDS` ranks them by meaning; `INDEX.md` is the overview, `ALL.md` has a line for each, to grep
- `mcp/SERVER/TOOL.md`: what a tool does, its arguments, the command that calls it
- `skills/SKILL/SKILL.md`: how to do a kind of task; read it before you begin one

Call a tool: `shelf call SERVER/TOOL --argument value`. Only its result is on stdout, so filter it: `| jq`, `| head`. \
Reading calls nothing. Names are exact: look them up, never guess.
"
    )
}

/// The place as code, which a shell reads as one word.
fn quoted(place: &Path) -> String {
    let text = place.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:=~".contains(c);
    let word = if text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    };
    // A place with a backtick in it needs a longer fence.
    let longest = word
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    if longest == 0 {
        format!("{fence}{word}{fence}")
    } else {
        format!("{fence} {word} {fence}")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::brief;

    #[test]
    fn it_names_the_place_once() {
        let text = brief(Path::new("/mnt/tools"));
        assert_eq!(text.matches("`/mnt/tools`").count(), 1, "{text}");
        assert_eq!(text, brief(Path::new("/mnt/tools")));
    }

    #[test]
    fn an_odd_place_stays_one_word_on_one_line() {
        for (place, shown) in [
            ("/a b", "`'/a b'`"),
            ("/it's", r"`'/it'\''s'`"),
            ("/a`b", "`` '/a`b' ``"),
        ] {
            let text = brief(Path::new(place));
            assert!(text.contains(&format!("in {shown}. ")), "{text}");
        }
    }
}
