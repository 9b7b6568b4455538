//! How the result of a call is printed.
//!
//! Stdout is only the result. It must not know how a file is named, nor how much is too much.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use daemon::protocol::{CallReply, Progress};
use serde_json::value::RawValue;
use skills::offers::read_command;
use skills::problem::{Problem, ProblemKind};

use super::content::{Block, Content};
use super::files::{Place, write_new, write_private, write_to};
use super::input::another_kind;
use super::limit::{Cut, JSON, Limit, mime};
use crate::error::{CommandError, CommandResult};
use crate::ui::Ui;

/// What is printed of a result.
#[derive(Debug)]
pub(in crate::commands) enum Format {
    /// The text blocks; what is no text goes to a place.
    Text(Place),
    /// The whole result as the server sent it.
    Json,
    /// The structured content.
    Data,
}

/// Prints a result. A tool's own error is an error of the command too, also for a reader who has had enough of it.
pub(super) fn print(reply: &CallReply, format: &Format, limit: &Limit, ui: &Ui) -> CommandResult {
    print_as(reply, Content::read, format, limit, ui)
}

/// Prints a result that `read` understands.
pub(in crate::commands) fn print_as(
    reply: &CallReply,
    read: fn(&CallReply) -> Result<Content, Problem>,
    format: &Format,
    limit: &Limit,
    ui: &Ui,
) -> CommandResult {
    let printed = Printer { limit, ui }.print(reply, read, format);
    match printed {
        Ok(()) | Err(CommandError::BrokenPipe) if reply.is_error => Err(CommandError::Tool),
        printed => printed,
    }
}

/// What a tool says of its own error.
pub(super) fn own_error(content: &Content, reply: &CallReply) -> String {
    let text = text_of(content);
    if text.trim().is_empty() {
        format!("{} reported an error and did not say which", reply.id)
    } else {
        text
    }
}

/// What a reply warns of, beside its result.
pub(in crate::commands) fn warnings(reply: &CallReply) -> Vec<String> {
    let unchecked = reply.unchecked.iter();
    let unchecked = unchecked.map(|problem| format!("the arguments were not checked: {problem}"));
    unchecked
        .chain(reply.warnings.iter().map(Problem::to_string))
        .chain(reply.unanswered.iter().map(Problem::told))
        .chain(reply.state_lost.clone())
        .collect()
}

/// The way to stdout and stderr, under a limit.
struct Printer<'a> {
    limit: &'a Limit,
    ui: &'a Ui,
}

impl Printer<'_> {
    fn print(
        &self,
        reply: &CallReply,
        read: fn(&CallReply) -> Result<Content, Problem>,
        format: &Format,
    ) -> CommandResult {
        if let Format::Json = format {
            return self.json(&format!("{}\n", reply.result.get()));
        }
        let content =
            read(reply).inspect_err(|_| self.keep(reply.result.get().as_bytes(), JSON))?;
        if reply.is_error {
            let said = own_error(&content, reply);
            self.ui.note(&self.limit.told(&said));
            self.tell_links(reply, &content);
            return Ok(());
        }
        let printed = match format {
            Format::Text(place) => {
                let printed = self.blocks(&content, place);
                self.tell_links(reply, &content);
                printed
            }
            Format::Json | Format::Data => data(&content)
                .map_err(CommandError::Problem)
                .and_then(|data| self.json(&format!("{data}\n"))),
        };
        printed.inspect_err(|error| self.save_text(error, &content))
    }

    /// Says on stderr how the resources are read that a result links to.
    fn tell_links(&self, reply: &CallReply, content: &Content) {
        let id = reply.id.as_str();
        let server = id.split_once('/').map_or(id, |(server, _)| server);
        let mut told = HashSet::new();
        for uri in content.links().filter(|uri| told.insert(*uri)) {
            // One without a scheme would be refused; of the others the list of its server may have any.
            let command = uri
                .contains(':')
                .then(|| read_command(server, uri))
                .flatten();
            if let Some(command) = command {
                self.ui.note(&command);
            }
        }
    }

    /// Shows on stderr what was not of the kind that was asked for: the tool has run, and may not give it again.
    fn save_text(&self, error: &CommandError, content: &Content) {
        let mut text = text_of(content);
        if let ("", Some(structured)) = (&*text, &content.structured) {
            structured.get().clone_into(&mut text);
        }
        if let CommandError::Problem(problem) = error
            && problem.kind == ProblemKind::ResultKind
            && !text.is_empty()
        {
            self.ui.note(&self.limit.told(&text));
        }
    }

    fn text(&self, text: &str) -> CommandResult {
        self.show(text, self.limit.head(text))
    }

    fn json(&self, json: &str) -> CommandResult {
        self.show(json, self.limit.whole_json(json))
    }

    /// Prints a part of a text, and says where the rest is. What can't be printed is kept: the tool may not give it again.
    fn show(&self, text: &str, cut: Cut<'_>) -> CommandResult {
        let shown = self.ui.text(cut.head).map_err(CommandError::from);
        match (&shown, cut.note) {
            (Err(CommandError::BrokenPipe), _) => {}
            (_, Some(note)) => self.ui.note(&note),
            (Err(_), None) => self.keep(text.as_bytes(), mime(text)),
            (Ok(()), None) => {}
        }
        shown
    }

    fn bytes(&self, bytes: &[u8], mime: &str) -> CommandResult {
        let shown = self.ui.data(bytes).map_err(CommandError::from);
        if matches!(&shown, Err(error) if !matches!(error, CommandError::BrokenPipe)) {
            self.keep(bytes, mime);
        }
        shown
    }

    /// Saves what could not be printed. That this can't be done either is no second error.
    fn keep(&self, bytes: &[u8], mime: &str) {
        if let Ok(path) = self.limit.keep(bytes, mime) {
            self.ui
                .note(&format!("the whole result: {}", path.display()));
        }
    }
}

/// The text blocks of a result.
fn text_of(content: &Content) -> String {
    joined(content.blocks().filter_map(|block| match block {
        Block::Text(text) | Block::Link(text) => Some(text),
        Block::Binary { .. } | Block::Undecoded(_) => None,
    }))
}

/// Said where the bytes of an image, audio or a blob can't be had.
const NO_BASE64: &str = "the server sent data that is not base64; the file that ends in .json holds the block as it was sent";

/// Writes bytes of a kind to a new file in a directory: `write_new` or `write_private`.
type Write = fn(&Path, usize, &str, &[u8]) -> io::Result<PathBuf>;

impl Printer<'_> {
    fn blocks(&self, content: &Content, place: &Place) -> CommandResult {
        let mut texts = Vec::new();
        let mut binaries = Vec::new();
        let mut undecoded = false;
        for block in content.blocks() {
            match block {
                Block::Text(text) | Block::Link(text) => texts.push(text),
                Block::Binary { bytes, mime } => binaries.push((bytes, mime)),
                Block::Undecoded(json) => {
                    undecoded = true;
                    binaries.push((json.into_bytes(), JSON.to_owned()));
                }
            }
        }
        // Some servers answer with structured content alone.
        if let (true, true, Some(structured), Place::Directory(_) | Place::Private(_)) = (
            texts.is_empty(),
            binaries.is_empty(),
            &content.structured,
            place,
        ) {
            return self.json(&format!("{}\n", structured.get()));
        }
        let text = joined(texts.into_iter());
        if undecoded && matches!(place, Place::Output | Place::File(_)) {
            self.save(&binaries);
            return Err(another_kind(NO_BASE64).into());
        }
        match place {
            Place::Output => {
                let (bytes, mime) = only(&binaries).inspect_err(|_| self.save(&binaries))?;
                if !text.is_empty() {
                    self.ui.note(&self.limit.told(&text));
                }
                return self.bytes(bytes, mime);
            }
            Place::File(path) => {
                only(&binaries)
                    .and_then(|(bytes, _)| write_to(path, bytes).map_err(|e| unwritable(path, &e)))
                    .inspect_err(|_| self.save(&binaries))?;
            }
            Place::Directory(directory) => self.write_each(directory, &binaries, write_new)?,
            Place::Private(directory) => self.write_each(directory, &binaries, write_private)?,
        }
        if undecoded {
            self.ui.warning(NO_BASE64);
        }
        self.text(&text)
    }

    /// Saves what does not go where it was to go, as where no place was chosen. That this can't be done either is no second error.
    fn save(&self, binaries: &[(Vec<u8>, String)]) {
        let _ = self.write_each(self.limit.directory(), binaries, write_private);
    }

    fn write_each(
        &self,
        directory: &Path,
        binaries: &[(Vec<u8>, String)],
        write: Write,
    ) -> Result<(), Problem> {
        for (position, (bytes, mime)) in binaries.iter().enumerate() {
            let path = write(directory, position + 1, mime, bytes)
                .map_err(|e| unwritable(directory, &e))?;
            self.ui.note(&path.display().to_string());
        }
        Ok(())
    }
}

/// The only image, audio or blob.
fn only(binaries: &[(Vec<u8>, String)]) -> Result<&(Vec<u8>, String), Problem> {
    match binaries {
        [one] => Ok(one),
        [] => Err(another_kind("the result has no image, audio or blob")),
        several => Err(another_kind(format!(
            "the result has {} images, audios or blobs",
            several.len()
        ))
        .hint("give a directory that exists: --out DIR")),
    }
}

/// The tool has run by now, so this is no wrong usage: the text of the result must not be lost with it.
fn unwritable(path: &Path, error: &io::Error) -> Problem {
    another_kind(format!("the result can't be written: {error}")).at_file(path, None)
}

/// The blocks after one another, with a line break only where a block before another lacks one.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for text in texts {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(&text);
    }
    all
}

/// The structured content, else the only block when it is text and JSON.
pub(super) fn data(content: &Content) -> Result<String, Problem> {
    if let Some(structured) = &content.structured {
        return Ok(structured.get().to_owned());
    }
    let mut blocks = content.blocks();
    let (Some(Block::Text(text)), None) = (blocks.next(), blocks.next()) else {
        return Err(another_kind(
            "the result has no structured content, and is not one block of text",
        ));
    };
    if serde_json::from_str::<&RawValue>(&text).is_err() {
        return Err(another_kind(
            "the result has no structured content, and its text is not JSON",
        ));
    }
    Ok(text.trim().to_owned())
}

/// Progress in one line.
pub(in crate::commands) fn progress(progress: &Progress) -> String {
    let amount = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{amount}  {message}"),
        None => amount,
    }
}

#[cfg(test)]
mod tests {
    use daemon::protocol::CallReply;
    use serde_json::value::RawValue;
    use skills::entry_id::EntryId;
    use skills::problem::ProblemKind;

    use super::{Content, data, joined, only};

    fn content(json: &str) -> Content {
        let reply = CallReply {
            id: EntryId("a/b".into()),
            is_error: false,
            result: RawValue::from_string(json.to_owned()).unwrap(),
            filled: serde_json::Map::new(),
            unchecked: None,
            warnings: Vec::new(),
            unanswered: Vec::new(),
            state_lost: None,
        };
        Content::read(&reply).unwrap()
    }

    #[test]
    fn blocks_are_joined_by_what_is_missing() {
        let join = |texts: &[&str]| joined(texts.iter().map(|&text| text.to_owned()));
        assert_eq!(join(&["a", "b\n", "c"]), "a\nb\nc");
        assert_eq!(join(&["a"]), "a");
        assert_eq!(join(&["", "a"]), "a");
        assert_eq!(join(&[]), "");
    }

    #[test]
    fn data_keeps_its_bytes() {
        let both = r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"n": 1e3}}"#;
        assert_eq!(data(&content(both)).unwrap(), r#"{"n": 1e3}"#);
        let text = r#"{"content":[{"type":"text","text":"[1.0, 2]\n"}]}"#;
        assert_eq!(data(&content(text)).unwrap(), "[1.0, 2]");
        let nothing = r#"{"structuredContent":null}"#;
        assert!(content(nothing).structured.is_none());
    }

    #[test]
    fn data_that_is_not_there_is_another_kind() {
        for json in [
            "{}",
            r#"{"content":[{"type":"text","text":"hello"}]}"#,
            r#"{"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}"#,
            r#"{"content":[{"type":"image","data":"","mimeType":"image/png"}]}"#,
        ] {
            let problem = data(&content(json)).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::ResultKind, "{json}");
        }
    }

    #[test]
    fn one_place_takes_one() {
        let one = (vec![1], String::new());
        assert_eq!(only(std::slice::from_ref(&one)).unwrap(), &one);
        assert_eq!(only(&[]).unwrap_err().kind, ProblemKind::ResultKind);
        assert!(only(&[one.clone(), one]).unwrap_err().hint.is_some());
    }
}
