//! What a result is made of, as far as it has to be understood to be printed.

use daemon::protocol::CallReply;
use data_encoding::BASE64_NOPAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

/// A result as its blocks; the values that are only passed on keep their bytes.
#[derive(Debug)]
pub(in crate::commands) struct Content {
    /// The blocks, in order.
    blocks: Vec<Block>,
    /// `structuredContent`.
    pub(super) structured: Option<Box<RawValue>>,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Text, as it is.
    Text(String),
    /// The URI of a resource that the server has.
    Link(String),
    /// An image, audio or a blob.
    Binary {
        /// Its bytes.
        bytes: Vec<u8>,
        /// What it says it is.
        mime: String,
    },
    /// One of which the bytes can't be had, since they are not base64: its own JSON, which is as little to be looked at.
    Undecoded(String),
}

#[derive(Debug, Deserialize)]
struct RawBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
    uri: Option<String>,
    resource: Option<RawResource>,
}

#[derive(Debug, Deserialize)]
struct RawResource {
    text: Option<String>,
    blob: Option<String>,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
}

/// A `CallToolResult`.
#[derive(Deserialize)]
struct RawCall {
    #[serde(default)]
    content: Vec<Box<RawValue>>,
    #[serde(rename = "structuredContent", default)]
    structured: Option<Box<RawValue>>,
}

/// A `ReadResourceResult`.
#[derive(Deserialize)]
struct RawRead {
    contents: Vec<Box<RawValue>>,
}

/// A `GetPromptResult`.
#[derive(Deserialize)]
struct RawPrompt {
    messages: Vec<RawMessage>,
}

#[derive(Deserialize)]
struct RawMessage {
    role: String,
    content: Box<RawValue>,
}

impl Content {
    /// Reads the result of a call.
    pub(in crate::commands) fn read(reply: &CallReply) -> Result<Self, Problem> {
        let raw: RawCall = parsed(reply)?;
        Ok(Self {
            blocks: raw.content.iter().map(|raw| block(raw)).collect(),
            structured: raw.structured,
        })
    }

    /// Reads what a resource holds.
    pub(in crate::commands) fn of_resource(reply: &CallReply) -> Result<Self, Problem> {
        let raw: RawRead = parsed(reply)?;
        let part = |raw: &RawValue| {
            let resource = serde_json::from_str(raw.get()).ok();
            resource
                .and_then(|resource| embedded(resource, raw))
                .unwrap_or_else(|| Block::Text(raw.get().to_owned()))
        };
        Ok(Self {
            blocks: raw.contents.iter().map(|raw| part(raw)).collect(),
            structured: None,
        })
    }

    /// Reads a prompt. Where it has several messages, a line with the role stands before each.
    pub(in crate::commands) fn of_prompt(reply: &CallReply) -> Result<Self, Problem> {
        let raw: RawPrompt = parsed(reply)?;
        let has_several = raw.messages.len() > 1;
        let blocks = raw.messages.into_iter().flat_map(|message| {
            let heading = Block::Text(format!("{}:\n", message.role));
            let heading = has_several.then_some(heading);
            heading.into_iter().chain([block(&message.content)])
        });
        Ok(Self {
            blocks: blocks.collect(),
            structured: None,
        })
    }

    /// The blocks. One of a kind that is not known is given as its JSON: nothing is left out.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.blocks.iter().cloned()
    }

    /// The URIs of the resources that it links to.
    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Link(uri) => Some(uri.as_str()),
            Block::Text(_) | Block::Binary { .. } | Block::Undecoded(_) => None,
        })
    }
}

fn parsed<T: DeserializeOwned>(reply: &CallReply) -> Result<T, Problem> {
    serde_json::from_str(reply.result.get()).map_err(|e| {
        Problem::new(
            ProblemKind::Server,
            format!("the result of {} can't be read: {e}", reply.id),
        )
        .hint("with --json it is printed as it is")
    })
}

fn block(raw: &RawValue) -> Block {
    understood(raw).unwrap_or_else(|| Block::Text(raw.get().to_owned()))
}

fn understood(raw: &RawValue) -> Option<Block> {
    let block: RawBlock = serde_json::from_str(raw.get()).ok()?;
    match block.kind.as_str() {
        "text" => block.text.map(Block::Text),
        "image" | "audio" => Some(binary(&block.data?, block.mime, raw)),
        "resource_link" => block.uri.map(Block::Link),
        "resource" => embedded(block.resource?, raw),
        _ => None,
    }
}

/// What a resource holds; `raw` stands for what can't be read.
fn embedded(resource: RawResource, raw: &RawValue) -> Option<Block> {
    match (resource.text, resource.blob) {
        (Some(text), _) => Some(Block::Text(text)),
        (None, Some(blob)) => Some(binary(&blob, resource.mime, raw)),
        (None, None) => None,
    }
}

/// The bytes of a block, where they can be had.
fn binary(base64: &str, mime: Option<String>, raw: &RawValue) -> Block {
    match decoded(base64) {
        Some(bytes) => Block::Binary {
            bytes,
            mime: mime.unwrap_or_default(),
        },
        None => Block::Undecoded(raw.get().to_owned()),
    }
}

/// Reads base64 as servers write it: with line breaks or without padding too, and in the alphabet of URLs.
fn decoded(base64: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = base64
        .trim_end_matches(|c: char| c == '=' || c.is_ascii_whitespace())
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    BASE64_NOPAD.decode(&digits).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{Block, block, decoded};

    fn read(json: &str) -> Block {
        block(&RawValue::from_string(json.to_owned()).unwrap())
    }

    fn text(text: &str) -> Block {
        Block::Text(text.to_owned())
    }

    #[test]
    fn every_kind_of_block() {
        assert_eq!(read(r#"{"type":"text","text":"a\u001b"}"#), text("a\u{1b}"));
        let image = Block::Binary {
            bytes: b"hi".to_vec(),
            mime: "image/png".into(),
        };
        assert_eq!(
            read(r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#),
            image
        );
        assert_eq!(
            read(
                r#"{"type":"resource","resource":{"uri":"x:y","blob":"aGk=","mimeType":"image/png"}}"#
            ),
            image
        );
        assert_eq!(
            read(r#"{"type":"resource","resource":{"uri":"x:y","text":"t"}}"#),
            text("t")
        );
        assert_eq!(
            read(r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#),
            Block::Link("file:///a".to_owned())
        );
    }

    #[test]
    fn base64_is_read_as_servers_write_it() {
        for base64 in ["+/8=", "+/8", "-_8=", "+/\r\n8=\n", " +/8 = "] {
            assert_eq!(decoded(base64), Some(vec![0xfb, 0xff]), "{base64}");
        }
        for base64 in ["no base64!", "data:image/png;base64,+/8=", "a", "+=/8"] {
            assert_eq!(decoded(base64), None, "{base64}");
        }
    }

    #[test]
    fn bytes_that_cannot_be_read_are_still_not_for_the_eye() {
        let json = r#"{"type":"image","data":"no base64!","mimeType":"image/png"}"#;
        assert_eq!(read(json), Block::Undecoded(json.to_owned()));
    }

    #[test]
    fn what_is_not_understood_is_given_as_it_is() {
        for json in [
            r#"{"type":"hologram","depth":1e3}"#,
            r#"{"type":"text"}"#,
            "7",
        ] {
            assert_eq!(read(json), text(json));
        }
    }
}
