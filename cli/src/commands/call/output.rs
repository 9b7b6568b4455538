//! How the result of a call is printed.

use daemon::protocol::{CallReply, Progress};
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

use super::content::{Block, Content};
use super::files::{Place, write_new, write_to};
use super::input::another_kind;
use crate::error::{CommandError, CommandResult};
use crate::ui::Ui;

/// What is printed of a result.
#[derive(Debug)]
pub(super) enum Format {
    /// The text blocks; what is no text goes to a place.
    Text(Place),
    /// The whole result as the server sent it.
    Json,
    /// The structured content.
    Data,
}

/// Prints a result. A tool's own error is an error of the command too.
pub(super) fn print(reply: &CallReply, format: &Format, ui: &Ui) -> CommandResult {
    match format {
        Format::Json => ui.data(format!("{}\n", reply.result.get()).as_bytes())?,
        _ if reply.is_error => explain(&Content::read(reply)?, reply, ui),
        Format::Text(place) => {
            let content = Content::read(reply)?;
            print_blocks(&content, place, ui)
                .inspect_err(|error| save_text(error, &content, ui))?;
        }
        Format::Data => {
            let content = Content::read(reply)?;
            print_data(&content, ui).inspect_err(|error| save_text(error, &content, ui))?;
        }
    }
    if reply.is_error {
        return Err(CommandError::Tool);
    }
    Ok(())
}

/// Shows on stderr what was not of the kind that was asked for: the tool has run, and may not give it again.
fn save_text(error: &CommandError, content: &Content, ui: &Ui) {
    let text = text_of(content);
    if let CommandError::Problem(problem) = error
        && problem.kind == ProblemKind::ResultKind
        && !text.is_empty()
    {
        ui.note(&text);
    }
}

/// Shows a tool's own error.
fn explain(content: &Content, reply: &CallReply, ui: &Ui) {
    ui.note(&own_error(content, reply));
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

/// The text blocks of a result.
fn text_of(content: &Content) -> String {
    joined(content.blocks().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::Binary { .. } => None,
    }))
}

fn print_blocks(content: &Content, place: &Place, ui: &Ui) -> CommandResult {
    let mut texts = Vec::new();
    let mut binaries = Vec::new();
    for block in content.blocks() {
        match block {
            Block::Text(text) => texts.push(text),
            Block::Binary { bytes, mime } => binaries.push((bytes, mime)),
        }
    }
    // Some servers answer with structured content alone.
    if let (true, true, Some(structured)) =
        (texts.is_empty(), binaries.is_empty(), &content.structured)
    {
        texts.push(format!("{}\n", structured.get()));
    }
    let text = joined(texts.into_iter());
    let write_each = |directory| {
        for (position, (bytes, mime)) in binaries.iter().enumerate() {
            let path = write_new(directory, position + 1, mime, bytes)
                .map_err(|e| unwritable(directory, &e))?;
            ui.note(&path.display().to_string());
        }
        Ok(())
    };
    match place {
        Place::Output => {
            let bytes = only(&binaries)?;
            if !text.is_empty() {
                ui.note(&text);
            }
            return Ok(ui.data(bytes)?);
        }
        Place::File(path) => {
            write_to(path, only(&binaries)?).map_err(|e| unwritable(path, &e))?;
        }
        Place::Directory(directory) | Place::Private(directory) => {
            write_each(directory).map_err(CommandError::Problem)?;
        }
    }
    Ok(ui.data(text.as_bytes())?)
}

/// The only image, audio or blob.
fn only(binaries: &[(Vec<u8>, String)]) -> Result<&[u8], Problem> {
    match binaries {
        [(bytes, _)] => Ok(bytes),
        [] => Err(another_kind("the result has no image, audio or blob")),
        several => Err(another_kind(format!(
            "the result has {} images, audios or blobs",
            several.len()
        ))
        .hint("give a directory that exists: --out DIR")),
    }
}

/// The tool has run by now, so this is no wrong usage: the text of the result must not be lost with it.
fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Problem {
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

fn print_data(content: &Content, ui: &Ui) -> CommandResult {
    Ok(ui.data(format!("{}\n", data(content)?).as_bytes())?)
}

/// The structured content, else the only block when it is text and JSON.
fn data(content: &Content) -> Result<String, Problem> {
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
pub(super) fn progress(progress: &Progress) -> String {
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
            unchecked: None,
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
        assert_eq!(only(std::slice::from_ref(&one)).unwrap(), [1]);
        assert_eq!(only(&[]).unwrap_err().kind, ProblemKind::ResultKind);
        assert!(only(&[one.clone(), one]).unwrap_err().hint.is_some());
    }
}
