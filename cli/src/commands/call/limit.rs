//! How much of a result is printed, and where the whole goes when that is less.
//!
//! It must not know what a result is made of: it is given the text that would be printed.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use skills::problem::Problem;

use super::files::write_private;
use crate::environment::{Environment, MAX_OUTPUT};
use crate::error::usage;

/// The type of JSON.
pub(super) const JSON: &str = "application/json";

/// How much is printed of a result at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum MaxOutput {
    /// All of it.
    All,
    /// So many bytes.
    Bytes(usize),
}

/// Reads a size: `4096`, `64K`, `1M`, `1G`, or `none` for no limit.
pub(in crate::commands) fn parse(text: &str) -> Result<MaxOutput, String> {
    if text == "none" {
        return Ok(MaxOutput::All);
    }
    let upper = text.to_ascii_uppercase();
    let (number, unit) = match upper.strip_suffix(['K', 'M', 'G']) {
        Some(number) if upper.ends_with('K') => (number, 1 << 10),
        Some(number) if upper.ends_with('M') => (number, 1 << 20),
        Some(number) => (number, 1 << 30),
        None => (&*upper, 1_usize),
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = is_number.then(|| number.parse::<usize>().ok()?.checked_mul(unit));
    bytes
        .flatten()
        .map(MaxOutput::Bytes)
        .ok_or_else(|| "a size looks like 4096, 64K or 1M, or is none".to_owned())
}

/// The limit of a call, and the directory for what is over it.
#[derive(Debug)]
pub(in crate::commands) struct Limit {
    most: MaxOutput,
    directory: PathBuf,
}

/// What is printed of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    /// The part that is printed.
    pub(super) head: &'a str,
    /// Where the whole is, when that is more, or why it is nowhere else.
    pub(super) note: Option<String>,
}

impl Limit {
    /// The limit that was chosen: by the flag, else by the environment.
    pub(in crate::commands) fn chosen(
        flag: Option<MaxOutput>,
        environment: &Environment,
        directory: PathBuf,
    ) -> Result<Self, Problem> {
        let most = match (flag, environment.max_output()) {
            (Some(flag), _) => flag,
            (None, None) => MaxOutput::All,
            (None, Some(text)) => parse(&text.to_string_lossy()).map_err(|fault| {
                usage(format!(
                    "{MAX_OUTPUT} is `{}`: {fault}",
                    text.to_string_lossy()
                ))
            })?,
        };
        Ok(Self { most, directory })
    }

    /// As many whole lines of a text as are within the limit; of a first line that is longer, as many characters.
    pub(super) fn head<'a>(&self, text: &'a str) -> Cut<'a> {
        self.cut(text, first_lines)
    }

    /// JSON, or none of it: half of it is no JSON, and what reads it could not tell.
    pub(super) fn whole_json<'a>(&self, json: &'a str) -> Cut<'a> {
        self.cut(json, |_, _| "")
    }

    /// A text with its note after it: for where both stand together.
    pub(super) fn told(&self, text: &str) -> String {
        let Cut { head, note } = self.head(text);
        let between = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        match note {
            Some(note) => format!("{head}{between}{note}"),
            None => head.to_owned(),
        }
    }

    /// Where that goes which is not printed.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes what is not printed into a file.
    pub(super) fn keep(&self, bytes: &[u8], mime: &str) -> io::Result<PathBuf> {
        write_private(&self.directory, 0, mime, bytes)
    }

    fn cut<'a>(&self, text: &'a str, head: impl Fn(&'a str, usize) -> &'a str) -> Cut<'a> {
        let most = match self.most {
            MaxOutput::Bytes(most) if text.len() > most => most,
            _ => {
                return Cut {
                    head: text,
                    note: None,
                };
            }
        };
        let mime = mime(text);
        match self.keep(text.as_bytes(), mime) {
            Ok(path) => {
                let head = head(text, most);
                let (printed, all) = (head.len(), text.len());
                let path = path.display();
                let note =
                    format!("printed {printed} of {all} bytes, the whole result ({mime}): {path}");
                Cut {
                    head,
                    note: Some(note),
                }
            }
            // The tool has run and may not give it again: rather too much than nothing.
            Err(error) => Cut {
                head: text,
                note: Some(format!(
                    "printed all {} bytes, since they can't be written below {}: {error}",
                    text.len(),
                    self.directory.display()
                )),
            },
        }
    }
}

fn first_lines(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    head.rfind('\n').map_or(head, |last| &head[..=last])
}

/// What a text is, by itself: what the server says of it is not asked.
pub(super) fn mime(text: &str) -> &'static str {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        JSON
    } else {
        "text/plain"
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Cut, Limit, MaxOutput, first_lines, parse};

    fn limit(bytes: usize) -> (tempfile::TempDir, Limit) {
        let directory = tempfile::tempdir().unwrap();
        let limit = Limit {
            most: MaxOutput::Bytes(bytes),
            directory: directory.path().join("results"),
        };
        (directory, limit)
    }

    /// The files that were kept.
    fn kept(limit: &Limit) -> Vec<String> {
        let entries = fs::read_dir(&limit.directory).into_iter().flatten();
        entries
            .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect()
    }

    #[test]
    fn sizes_as_they_are_written() {
        assert_eq!(parse("0"), Ok(MaxOutput::Bytes(0)));
        assert_eq!(parse("4096"), Ok(MaxOutput::Bytes(4096)));
        assert_eq!(parse("64K"), Ok(MaxOutput::Bytes(65_536)));
        assert_eq!(parse("1m"), Ok(MaxOutput::Bytes(1_048_576)));
        assert_eq!(parse("2G"), Ok(MaxOutput::Bytes(2_147_483_648)));
        assert_eq!(parse("none"), Ok(MaxOutput::All));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "K",
            "-1",
            "+1",
            "1.5M",
            "1 K",
            "1KB",
            "ten",
            "99999999999999999999",
            "99999999999999G",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_head_is_whole_lines_else_whole_characters() {
        assert_eq!(first_lines("one\ntwo\nthree", 9), "one\ntwo\n");
        assert_eq!(first_lines("one\ntwo\nthree", 8), "one\ntwo\n");
        assert_eq!(first_lines("one\ntwo\nthree", 7), "one\n");
        assert_eq!(first_lines("one\ntwo", 3), "one");
        assert_eq!(first_lines("äöü", 3), "ä");
        assert_eq!(first_lines("äöü", 1), "");
        assert_eq!(first_lines("one", 0), "");
    }

    #[test]
    fn what_is_within_the_limit_is_printed_and_not_kept() {
        let (_place, limit) = limit(7);
        for text in ["", "one\ntwo"] {
            let whole = Cut {
                head: text,
                note: None,
            };
            assert_eq!(limit.head(text), whole);
            assert_eq!(limit.whole_json(text), whole);
            assert_eq!(limit.told(text), text);
        }
        assert!(!limit.directory.exists());
    }

    #[test]
    fn what_is_over_the_limit_is_kept_whole_and_told() {
        let (_place, limit) = limit(6);
        let text = "one\ntwo";
        let cut = limit.head(text);
        assert_eq!(cut.head, "one\n");
        let note = cut.note.unwrap();
        let told = "printed 4 of 7 bytes, the whole result (text/plain): ";
        let path = note.strip_prefix(told).unwrap();
        assert!(path.ends_with(".txt"), "{path}");
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        assert!(limit.told("one two").starts_with("one tw\nprinted 6 of 7"));
    }

    #[test]
    fn json_is_printed_whole_or_not_at_all() {
        let (_place, limit) = limit(6);
        let json = "{\"a\":\n1}\n";
        let cut = limit.whole_json(json);
        assert_eq!(cut.head, "");
        let note = cut.note.unwrap();
        assert!(note.starts_with("printed 0 of 9 bytes"), "{note}");
        assert!(note.contains("(application/json)") && note.ends_with(".json"));
        assert_eq!(kept(&limit), [json]);
    }

    #[test]
    fn what_cannot_be_kept_is_printed_whole() {
        let (place, limit) = limit(1);
        fs::write(place.path().join("results"), "in the way").unwrap();
        for cut in [limit.head("long"), limit.whole_json("long")] {
            assert_eq!(cut.head, "long");
            assert!(cut.note.unwrap().contains("can't be written"));
        }
    }
}
