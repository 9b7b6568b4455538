//! What a search has found, as text: pure functions of the answer.

use std::fmt::Write as _;
use std::path::Path;

use daemon::protocol::Answer;
use skills::definition::quote;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use skills::search::ServerMatch;
use skills::search_page::repeated;

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

/// Where a user can look around.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Around<'a> {
    /// Where the tree is shown, if it is.
    pub(super) place: Option<&'a Path>,
    /// The configuration that was asked for.
    pub(super) config: Option<&'a Path>,
}

/// Nothing matched: what is nearest, and how to look around.
pub(super) fn nothing(words: &str, answer: &Answer, around: Around<'_>) -> Problem {
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
        let _ = writeln!(hint, ": {}", around.browse(&server.name));
    }
    let words = repeated(words);
    let word = longest_word(&words).unwrap_or("WORD");
    let _ = match around.path("ALL.md") {
        Some(all) => write!(hint, "in all lines: grep -i {} {all}", quote(word)),
        None => write!(
            hint,
            "in all lines: {} | grep -i {}",
            around.list(),
            quote(word)
        ),
    };
    let message = format!("nothing matches \"{words}\"");
    Problem::new(ProblemKind::NotFound, message).hint(hint)
}

/// All that matched was left out, as the session has it.
pub(super) fn handed_out(excluded: &[EntryId]) -> Problem {
    let mut ids: Vec<_> = excluded
        .iter()
        .take(NAMED)
        .map(EntryId::to_string)
        .collect();
    let more = excluded.len().saturating_sub(NAMED);
    if more > 0 {
        ids.push(format!("{more} more"));
    }
    let ids = ids.join(", ");
    let message = format!("everything that matches has been handed out already: {ids}");
    Problem::new(ProblemKind::NotFound, message)
        .hint("without --exclude-loaded it is found again; shelf loaded prints it")
}

impl Around<'_> {
    /// The commands that list what a server has.
    fn browse(&self, server: &str) -> String {
        let list = self.list();
        let (directory, list) = if server == SKILLS {
            (SKILLS.to_owned(), format!("{list} --kind skill"))
        } else {
            let list = format!("{list} --server {}", quote(server));
            (format!("mcp/{server}"), list)
        };
        match self.path(&directory) {
            Some(path) => format!("ls {path}, {list}"),
            None => list,
        }
    }

    /// A path in the tree, as a shell reads it.
    fn path(&self, below: &str) -> Option<String> {
        let path = self.place?.join(below).display().to_string();
        Some(quote(&path).into_owned())
    }

    fn list(&self) -> String {
        match self.config {
            Some(config) => {
                let config = config.display().to_string();
                format!("shelf list --config {}", quote(&config))
            }
            None => "shelf list".to_owned(),
        }
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

    use super::{Around, handed_out, matches, nothing, rest, servers};

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
            ..Answer::default()
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
    fn what_was_left_out_is_named() {
        let ids: Vec<_> = (0..10)
            .map(|n| EntryId(format!("git/{n}").into()))
            .collect();
        let problem = handed_out(&ids[..2]);
        assert_eq!(problem.kind.exit_code(), 3);
        assert!(problem.message.ends_with(": git/0, git/1"), "{problem}");
        let problem = handed_out(&ids);
        assert!(problem.message.ends_with("git/7, 2 more"), "{problem}");
    }

    #[test]
    fn a_long_request_is_not_repeated_whole() {
        let words = "abc".repeat(5_000);
        let problem = nothing(&words, &Answer::default(), Around::default());
        assert!(problem.message.ends_with("…\""), "{problem}");
        assert!(problem.to_string().len() < 600, "{problem}");
        assert!(problem.hint.unwrap().len() < 300);
    }

    #[test]
    fn where_nothing_matched_there_are_commands_to_look_around() {
        let answer = Answer {
            servers: vec![server("a b%2Fc", 0, "Letters."), server("skills", 0, "")],
            ..Answer::default()
        };
        let words = "it's \u{1b}[2J a screenshot";
        let around = Around {
            place: Some(Path::new("/mnt/my tools")),
            config: None,
        };
        let problem = nothing(words, &answer, around);
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
        let around = Around {
            place: None,
            config: Some(Path::new("my.json")),
        };
        insta::assert_snapshot!(nothing("--", &answer, around).hint.unwrap(), @r"
        the nearest servers, and how to browse them:
          a b%2Fc — Letters: shelf list --config my.json --server 'a b%2Fc'
          skills: shelf list --config my.json --kind skill
        in all lines: shelf list --config my.json | grep -i WORD
        ");
        let problem = nothing("x", &Answer::default(), Around::default());
        assert_eq!(
            problem.hint.unwrap(),
            "in all lines: shelf list | grep -i x"
        );
    }
}
