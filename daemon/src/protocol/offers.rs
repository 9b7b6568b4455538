//! Resources and prompts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A resource that is to be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The server's name, as it is configured or as the mount shows it.
    pub server: String,
    /// The URI, which is sent as it is.
    pub uri: String,
    /// How long it may take in milliseconds; absent for the server's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A prompt that is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetPrompt {
    /// The server's name, as it is configured or as the mount shows it.
    pub server: String,
    /// The prompt's name.
    pub name: String,
    /// The arguments, each a text.
    pub arguments: Map<String, Value>,
    /// How long it may take in milliseconds; absent for the server's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// What is asked about what a server offers beside its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListOffers {
    /// The server's name, as it is configured or as the mount shows it.
    pub server: String,
}

/// What a server offers beside its tools, as it was listed last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedOffers {
    /// The resources, by URI.
    pub resources: Vec<ListedOffer>,
    /// The prompts, by name.
    pub prompts: Vec<ListedOffer>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedOffer {
    /// Its URI or its name.
    pub key: String,
    /// What it is, on one line.
    pub summary: String,
}
