//! What a search has found, as text: pure functions of the answer.

use std::fmt::Write as _;
use std::path::Path;

use daemon::protocol::Answer;
use skills::definition::quote;
use skills::problem::{Problem, ProblemKind};
use skills::search::ServerMatch;

/// The name under which skills stand among the servers.
const SKILLS: &str = "skills";

/// How many servers one note names.
const NAMED: usize = 8;

/// The matches, a line each.
pub(super) fn matches(answer: &Answer) -> String {
    let mut text = String::new();
    for found in &answer.matches {
        // Writing to a string can't fail.
        let _ = match &*found.summary {
            "" => writeln!(text, "{}", found.id),
            summary => writeln!(text, "{} — {summary}", found.id),
        };
    }
    text
}

/// The servers that the matches are on, a line each.
pub(super) fn servers(answer: &Answer, limit: usize) -> String {
    let mut text = String::new();
    for server in answer.servers.iter().take(limit) {
        let matches = if server.matches == 1 {
            "match"
        } else {
            "matches"
        };
        let _ = write!(text, "{} ({} {matches})", server.name, server.matches);
        let _ = match &*server.about {
            "" => writeln!(text),
            about => writeln!(text, " — {about}"),
        };
    }
    text
}

/// Says where the matches are that were beyond the limit.
pub(super) fn rest(answer: &Answer) -> Option<String> {
    let all: usize = answer.servers.iter().map(|server| server.matches).sum();
    let shown = answer.matches.len();
    if all <= shown {
        return None;
    }
    let name = |server: &ServerMatch| format!("{} ({})", server.name, server.matches);
    let mut places: Vec<_> = answer.servers.iter().take(NAMED).map(name).collect();
    let more = answer.servers.len().saturating_sub(NAMED);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    let places = places.join(", ");
    Some(format!(
        "{shown} of {all} matches, which are on {places}: --limit, --server or --kind shows others"
    ))
}

/// Nothing matched: what is nearest, and how to look around. `place` is where the tree is shown.
pub(super) fn nothing(words: &str, answer: &Answer, place: Option<&Path>) -> Problem {
    let mut hint = String::new();
    if !answer.servers.is_empty() {
        hint.push_str("the nearest servers, and how to browse them:\n");
    }
    for server in &answer.servers {
        let _ = write!(hint, "  {}", server.name);
        let about = server.about.trim_end_matches('.');
        if !about.is_empty() {
            let _ = write!(hint, " — {about}");
        }
        let _ = writeln!(hint, ": {}", browse(&server.name, place));
    }
    let word = longest_word(words).unwrap_or("WORD");
    match place {
        Some(place) => {
            let all = place.join("ALL.md").display().to_string();
            let _ = write!(
                hint,
                "in all lines: grep -i {} {}",
                quote(word),
                quote(&all)
            );
        }
        None => {
            let _ = write!(hint, "in all lines: shelf list | grep -i {}", quote(word));
        }
    }
    let message = format!("nothing matches \"{}\"", skills::summary::one_line(words));
    Problem::new(ProblemKind::NotFound, message).hint(hint)
}

/// The commands that list what a server has.
fn browse(server: &str, place: Option<&Path>) -> String {
    let (directory, list) = if server == SKILLS {
        (SKILLS.to_owned(), "shelf list --kind skill".to_owned())
    } else {
        let list = format!("shelf list --server {}", quote(server));
        (format!("mcp/{server}"), list)
    };
    match place {
        Some(place) => {
            let path = place.join(directory).display().to_string();
            format!("ls {}, {list}", quote(&path))
        }
        None => list,
    }
}

/// The longest run of letters and digits; the first of several.
fn longest_word(words: &str) -> Option<&str> {
    words
        .split(|c: char| !c.is_alphanumeric())
        .rev()
        .max_by_key(|word| word.chars().count())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use daemon::protocol::{Answer, EntryKind};
    use skills::entry_id::EntryId;
    use skills::search::{Match, ServerMatch};

    use super::{matches, nothing, rest, servers};

    fn found(id: &str, summary: &str) -> Match {
        Match {
            id: EntryId(id.into()),
            kind: EntryKind::Tool,
            score: 1.0,
            summary: summary.into(),
        }
    }

    fn server(name: &str, matches: usize, about: &str) -> ServerMatch {
        ServerMatch {
            name: name.into(),
            matches,
            score: 1.0,
            about: about.into(),
        }
    }

    fn answer() -> Answer {
        Answer {
            matches: vec![found("git/log", "Shows the log."), found("git/tag", "")],
            servers: vec![server("git", 2, "Version control."), server("hub", 1, "")],
            unknown: Vec::new(),
        }
    }

    #[test]
    fn a_match_and_a_server_are_a_line() {
        let answer = answer();
        assert_eq!(matches(&answer), "git/log — Shows the log.\ngit/tag\n");
        let both = "git (2 matches) — Version control.\nhub (1 match)\n";
        assert_eq!(servers(&answer, 8), both);
        assert_eq!(servers(&answer, 1).lines().count(), 1);
    }

    #[test]
    fn only_what_is_beyond_the_limit_is_noted() {
        let mut answer = answer();
        let note = rest(&answer).unwrap();
        assert!(
            note.starts_with("2 of 3 matches, which are on git (2), hub (1):"),
            "{note}"
        );
        answer.servers.pop();
        assert_eq!(rest(&answer), None);
        answer.servers = (0..10).map(|n| server(&n.to_string(), 1, "")).collect();
        let note = rest(&answer).unwrap();
        assert!(note.contains("7 (1), 2 more:"), "{note}");
    }

    #[test]
    fn where_nothing_matched_there_are_commands_to_look_around() {
        let answer = Answer {
            servers: vec![server("a b%2Fc", 0, "Letters."), server("skills", 0, "")],
            ..Answer::default()
        };
        let words = "it's \u{1b}[2J a screenshot";
        let problem = nothing(words, &answer, Some(Path::new("/mnt/my tools")));
        assert_eq!(problem.kind.exit_code(), 3);
        assert!(
            problem.message.starts_with("nothing matches \"it's"),
            "{problem}"
        );
        assert!(!problem.message.contains('\u{1b}'), "{problem}");
        insta::assert_snapshot!(problem.hint.unwrap(), @r"
        the nearest servers, and how to browse them:
          a b%2Fc — Letters: ls '/mnt/my tools/mcp/a b%2Fc', shelf list --server 'a b%2Fc'
          skills: ls '/mnt/my tools/skills', shelf list --kind skill
        in all lines: grep -i screenshot '/mnt/my tools/ALL.md'
        ");
        let problem = nothing("--", &Answer::default(), None);
        insta::assert_snapshot!(problem.hint.unwrap(), @"in all lines: shelf list | grep -i WORD");
    }
}
