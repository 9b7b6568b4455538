//! A message of ours as it is sent: its bytes, and what of it stands in the headers too.

use std::collections::HashMap;

use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use super::parameters::{self, Parameter};

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A message to be sent.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) body: Bytes,
    outline: Outline,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Outline {
    method: Option<String>,
    #[serde(default)]
    params: Option<Params>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    name: Option<Value>,
    uri: Option<Value>,
    task_id: Option<Value>,
    arguments: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<String>,
}

impl Outgoing {
    /// Takes a message as JSON.
    pub(super) fn new(body: Vec<u8>) -> Self {
        Self {
            // A reply of ours has no parameters, and those of a message that has are an object.
            outline: serde_json::from_slice(&body).unwrap_or_default(),
            body: body.into(),
        }
    }

    /// Whether it asks to be told of changes, which has no end.
    pub(super) fn is_subscription(&self) -> bool {
        self.outline.method.as_deref() == Some("subscriptions/listen")
    }

    /// Sets what the message repeats in its headers, when it carries its revision itself (from 2026-07-28 on).
    pub(super) fn set_headers(
        &self,
        headers: &mut HeaderMap,
        tools: &HashMap<String, Vec<Parameter>>,
    ) {
        let params = self.outline.params.as_ref();
        let revision = params
            .and_then(|params| params.meta.as_ref()?.protocol_version.as_deref())
            .and_then(|revision| HeaderValue::from_str(revision).ok());
        let (Some(revision), Some(params), Some(method)) = (revision, params, &self.outline.method)
        else {
            return;
        };
        headers.insert(PROTOCOL_VERSION, revision);
        headers.insert(METHOD, parameters::encoded(method));
        let name = match method.as_str() {
            "tools/call" | "prompts/get" => &params.name,
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => &params.uri,
            "tasks/get" | "tasks/update" | "tasks/cancel" => &params.task_id,
            _ => &None,
        };
        let Some(Value::String(name)) = name else {
            return;
        };
        headers.insert(NAME, parameters::encoded(name));
        if method == "tools/call"
            && let Some(wanted) = tools.get(name)
        {
            parameters::set(headers, wanted, params.arguments.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(message: &Value) -> Vec<String> {
        let schema = json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}});
        let wanted = parameters::parameters(&schema.to_string()).unwrap();
        let tools = HashMap::from([("tool".to_owned(), wanted)]);
        let mut headers = HeaderMap::new();
        Outgoing::new(message.to_string().into_bytes()).set_headers(&mut headers, &tools);
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        headers.iter().map(line).collect()
    }

    #[test]
    fn a_message_that_carries_its_revision_repeats_itself_in_the_headers() {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        let call = |name: &str| json!({"method": "tools/call", "params": {"name": name, "arguments": {"a": "ü", "b": 1}, "_meta": meta}});
        let (version, method) = ("mcp-protocol-version: 2026-07-28", "mcp-method: tools/call");
        assert_eq!(
            headers(&call("tool")),
            [
                version,
                method,
                "mcp-name: tool",
                "mcp-param-a: =?base64?w7w=?="
            ]
        );
        assert_eq!(
            headers(&call("other")),
            [version, method, "mcp-name: other"]
        );
        let read =
            json!({"method": "resources/read", "params": {"uri": "file:///a b", "_meta": meta}});
        assert_eq!(headers(&read)[2], "mcp-name: file:///a b");
    }

    #[test]
    fn messages_of_the_earlier_era_do_not() {
        assert_eq!(
            headers(&json!({"method": "tools/call", "params": {"name": "tool"}})),
            [""; 0]
        );
        assert_eq!(headers(&json!({"id": 1, "result": {}})), [""; 0]);
    }
}
