//! The outermost object of a JSON-RPC message, its parts left as the bytes that were sent.

use rmcp::model::RequestId;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON-RPC message of any kind.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    /// The method of a request or notification.
    #[serde(default)]
    pub(super) method: Option<String>,
    /// The parameters of a request or notification.
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    /// The result of a response, also when it is `null`.
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) result: Option<&'a RawValue>,
    /// The error of a response.
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads a message; `None` for what is not JSON-RPC.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let envelope: Self = serde_json::from_str(text).ok()?;
        let response =
            envelope.id.is_some() && (envelope.result.is_some() || envelope.error.is_some());
        (response || envelope.method.is_some()).then_some(envelope)
    }

    /// Whether it answers a request of ours.
    pub(super) fn is_response(&self) -> bool {
        self.method.is_none()
    }

    /// Whether it wants an answer of ours.
    pub(super) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }

    /// The id of a request, as the server chose it.
    pub(super) fn any_id(&self) -> Option<RequestId> {
        serde_json::from_str(self.id?.get()).ok()
    }

    /// The id as the number that we gave; some servers send it back as a string.
    pub(super) fn id(&self) -> Option<i64> {
        self.id?.get().trim_matches('"').parse().ok()
    }
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}
