//! What a result is made of, as far as it has to be understood to be printed.

use daemon::protocol::CallReply;
use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::value::RawValue;
use skills::problem::{Problem, ProblemKind};

/// A `CallToolResult`; the values that are only passed on keep their bytes.
#[derive(Debug, Deserialize)]
pub(super) struct Content {
    /// The blocks, in order.
    #[serde(rename = "content", default)]
    blocks: Vec<Box<RawValue>>,
    /// `structuredContent`.
    #[serde(rename = "structuredContent", default)]
    pub(super) structured: Option<Box<RawValue>>,
}

/// One block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Text, as it is.
    Text(String),
    /// An image, audio or a blob.
    Binary {
        /// Its bytes.
        bytes: Vec<u8>,
        /// What it says it is.
        mime: String,
    },
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

impl Content {
    /// Reads a result.
    pub(super) fn read(reply: &CallReply) -> Result<Self, Problem> {
        serde_json::from_str(reply.result.get()).map_err(|e| {
            Problem::new(
                ProblemKind::Server,
                format!("the result of {} can't be read: {e}", reply.id),
            )
            .hint("shelf call --json prints it as it is")
        })
    }

    /// The blocks. One of a kind that is not known is given as its JSON: nothing is left out.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.blocks.iter().map(|raw| block(raw))
    }
}

fn block(raw: &RawValue) -> Block {
    understood(raw).unwrap_or_else(|| Block::Text(raw.get().to_owned()))
}

fn understood(raw: &RawValue) -> Option<Block> {
    let block: RawBlock = serde_json::from_str(raw.get()).ok()?;
    match block.kind.as_str() {
        "text" => block.text.map(Block::Text),
        "image" | "audio" => binary(&block.data?, block.mime),
        "resource_link" => block.uri.map(Block::Text),
        "resource" => {
            let resource = block.resource?;
            match (resource.text, resource.blob) {
                (Some(text), _) => Some(Block::Text(text)),
                (None, Some(blob)) => binary(&blob, resource.mime),
                (None, None) => None,
            }
        }
        _ => None,
    }
}

fn binary(base64: &str, mime: Option<String>) -> Option<Block> {
    Some(Block::Binary {
        bytes: BASE64.decode(base64.as_bytes()).ok()?,
        mime: mime.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{Block, block};

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
            text("file:///a")
        );
    }

    #[test]
    fn what_is_not_understood_is_given_as_it_is() {
        for json in [
            r#"{"type":"hologram","depth":1e3}"#,
            r#"{"type":"image","data":"no base64!"}"#,
            r#"{"type":"text"}"#,
            "7",
        ] {
            assert_eq!(read(json), text(json));
        }
    }
}
