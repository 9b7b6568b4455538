//! Which names in `search/` are words that somebody wants answered, and which are names that programs try everywhere.
//!
//! What is no search does not exist and is never ranked or logged. The rule is fixed, so the kernel may remember it.

use std::ffi::OsStr;

/// Files and directories without an extension that version control, build tools and indexers look for.
const PROBED: [&str; 12] = [
    "CVS",
    "Dockerfile",
    "GNUmakefile",
    "Gemfile",
    "HEAD",
    "Jenkinsfile",
    "Makefile",
    "RCS",
    "Rakefile",
    "SCCS",
    "makefile",
    "node_modules",
];

/// What the names of temporary files begin with that `sed -i`, `ln -sf` and `mktemp` make beside a file. Were one of them there,
/// these would try a quarter of a million others before they gave up.
const TEMPORARY: [&str; 3] = ["Cu", "sed", "tmp"];

/// The longest file extension that is known for one, as in `BUILD.bazel`.
const EXTENSION: usize = 5;

/// The words that a name stands for: text that begins with a letter or a digit and does not look like a file's name.
pub(super) fn of(name: &OsStr) -> Option<&str> {
    let words = name.to_str()?;
    let begins = words.starts_with(char::is_alphanumeric);
    let is_probed = PROBED.contains(&words)
        || is_file_name(words)
        || is_temporary(words)
        || words.ends_with('~');
    let is_text = !words.contains(char::is_control);
    (begins && is_text && !is_probed).then_some(words)
}

/// Whether it is a single word with a file extension. Among other words one such word is a search: `use next.js`.
fn is_file_name(words: &str) -> bool {
    let Some((stem, extension)) = words.rsplit_once('.') else {
        return false;
    };
    let is_extension = (1..=EXTENSION).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.contains(|c: char| c.is_ascii_alphabetic());
    !stem.contains(char::is_whitespace) && is_extension
}

/// Whether it is one of [`TEMPORARY`] and six or eight characters that are no word. Of random ones few are all lower case
/// and so taken for a word, and then the next name that is tried is not.
fn is_temporary(words: &str) -> bool {
    let random = |tail: &str| {
        matches!(tail.len(), 6 | 8)
            && tail.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !tail.chars().all(|c| c.is_ascii_lowercase())
    };
    let mut tails = TEMPORARY
        .iter()
        .filter_map(|begin| words.strip_prefix(begin));
    tails.any(random)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::of;

    #[test]
    fn words_are_searches() {
        for name in [
            "create issue",
            "issue",
            "3d model",
            "Über",
            "課題を作る",
            "use next.js",
            "version 1.2",
            "e.g. a file",
            "what is this?",
            "C++",
            "a space last ",
            "head",
            "create-issue_now",
            "user@example",
            "Customer",
            "sedentary",
            "listIssues",
            "tmp files",
        ] {
            assert_eq!(of(OsStr::new(name)), Some(name), "{name}");
        }
    }

    #[test]
    fn names_that_programs_try_are_none() {
        for name in [
            ".git",
            ".hidden words",
            ".create issue.swp",
            "_darcs",
            "__pycache__",
            "node_modules",
            "Thumbs.db",
            "desktop.ini",
            "HEAD",
            "issue.swp",
            "AGENTS.md",
            "INDEX.md",
            "SKILL.md",
            "CLAUDE.md",
            "package.json",
            "Cargo.toml",
            "BUILD.bazel",
            "Makefile",
            "create issue~",
            "sederPLs7",
            "CuAb12cd",
            "tmp3k_x81qz",
            " a space first",
            "\u{a0}another",
            "~",
            "#create issue#",
            "$RECYCLE.BIN",
            "-rf",
            "*",
            " ",
            "two\nlines",
            "a\u{1b}[31m",
        ] {
            assert_eq!(of(OsStr::new(name)), None, "{name}");
        }
        assert_eq!(of(OsStr::from_bytes(b"create \xff issue")), None);
    }
}
