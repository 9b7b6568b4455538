//! The two eras of the protocol: up to 2025-11-25 a conversation opens with `initialize`; from 2026-07-28 each request says for itself
//! which revision it is of.
//!
//! Both are served on one pipe, and what a request itself says decides.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message::{Fault, Params, code};

/// The revision that each request names for itself.
const SELF_CONTAINED: &str = "2026-07-28";

/// Those that open with `initialize`, the newest last.
const INITIALIZED: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The key in `_meta` by which a result says who made it.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How long a client may keep what is the same for the life of this process, in milliseconds.
const FRESH_MS: u64 = 3_600_000;

/// Which rules an answer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// The conversation was opened with `initialize`.
    Initialized,
    /// The request stands for itself.
    SelfContained,
}

/// What a request says of itself.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    /// By what progress is told, if it is wanted.
    #[serde(borrow, rename = "progressToken")]
    pub(super) progress_token: Option<&'a RawValue>,
}

/// The part of the parameters that is any request's.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Common<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

impl Meta<'_> {
    /// The era that the request says it is of; `None` where it says nothing.
    ///
    /// # Errors
    /// When it says it only by half, or of a revision that is not spoken.
    fn era(&self) -> Result<Option<Era>, Fault> {
        let Some(version) = self.version else {
            return Ok(None);
        };
        let Ok(version) = serde_json::from_str::<String>(version.get()) else {
            let message = "the protocolVersion in _meta is not a string";
            return Err(Fault::new(code::INVALID_PARAMS, message));
        };
        if version != SELF_CONTAINED {
            return Err(Fault {
                data: Some(json!({ "supported": [SELF_CONTAINED], "requested": version })),
                ..Fault::new(code::UNSUPPORTED_VERSION, "unsupported protocol version")
            });
        }
        if !self
            .capabilities
            .is_some_and(|raw| raw.get().starts_with('{'))
        {
            let message = "_meta lacks the object io.modelcontextprotocol/clientCapabilities";
            return Err(Fault::new(code::INVALID_PARAMS, message));
        }
        Ok(Some(Era::SelfContained))
    }
}

/// The era of a request, which has to say it where no conversation was opened.
pub(super) fn of(params: &Params, is_initialized: bool) -> Result<Era, Fault> {
    let common: Common<'_> = params.read()?;
    match common.meta.unwrap_or_default().era()? {
        Some(era) => Ok(era),
        None if is_initialized => Ok(Era::Initialized),
        None => Err(Fault::new(
            code::INVALID_PARAMS,
            "_meta lacks io.modelcontextprotocol/protocolVersion and .../clientCapabilities, and no initialize came before",
        )),
    }
}

/// Who this server is, and what it can do. There is no `listChanged`: its tools never change.
#[derive(Debug)]
pub(super) struct Introduction {
    info: Value,
    instructions: String,
}

impl Introduction {
    pub(super) fn new(version: &str, instructions: String) -> Self {
        Self {
            info: json!({ "name": "toolshelf", "title": "Toolshelf", "version": version }),
            instructions,
        }
    }

    /// Who this server is, as JSON.
    pub(super) fn server_info(&self) -> String {
        self.info.to_string()
    }

    /// The answer to `initialize`: the revision that was asked for, else the newest of those that open so.
    pub(super) fn initialize(&self, params: &Params) -> Result<Value, Fault> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialize {
            protocol_version: String,
        }
        let Initialize { protocol_version } = params.read()?;
        let newest = INITIALIZED[INITIALIZED.len() - 1];
        let spoken = INITIALIZED.iter().find(|known| **known == protocol_version);
        Ok(json!({
            "protocolVersion": spoken.copied().unwrap_or(newest),
            "capabilities": { "tools": {} },
            "serverInfo": self.info,
            "instructions": self.instructions,
        }))
    }

    /// The answer to `server/discover`. A request that says nothing of itself gets it too: to a client that probes, a refusal would
    /// mean that the server is of the older era alone.
    pub(super) fn discover(&self, params: &Params) -> Result<Value, Fault> {
        let common: Common<'_> = params.read()?;
        common.meta.unwrap_or_default().era()?;
        Ok(json!({
            "resultType": "complete",
            "supportedVersions": [SELF_CONTAINED],
            "capabilities": { "tools": {} },
            "instructions": self.instructions,
            "ttlMs": FRESH_MS,
            // It names the user's own servers.
            "cacheScope": "private",
            "_meta": { SERVER_INFO: self.info },
        }))
    }
}

/// What the answer to `tools/list` has beside the list: it never changes.
pub(super) fn freshness(era: Era) -> String {
    match era {
        Era::Initialized => String::new(),
        Era::SelfContained => format!(r#","ttlMs":{FRESH_MS},"cacheScope":"public""#),
    }
}
