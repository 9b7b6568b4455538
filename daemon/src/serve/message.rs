//! JSON-RPC as a client writes it. It must not know the methods.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A message of the client.
#[derive(Debug)]
pub(super) enum Message {
    /// It waits for an answer.
    Request {
        /// As it was written: it goes back so.
        id: Id,
        method: String,
        params: Params,
    },
    /// It does not.
    Notification { method: String, params: Params },
    /// An answer, though nothing is ever asked of the client.
    Answer,
}

/// The id of a request.
#[derive(Clone, Debug)]
pub(super) struct Id(Box<RawValue>);

impl Id {
    /// Takes a string or a number.
    fn new(raw: &RawValue) -> Option<Self> {
        let first = *raw.get().as_bytes().first()?;
        (first == b'"' || first == b'-' || first.is_ascii_digit()).then(|| Self(raw.to_owned()))
    }

    /// The id as it was written.
    pub(super) fn raw(&self) -> &str {
        self.0.get()
    }

    /// The same for every way to write the id.
    pub(super) fn key(&self) -> String {
        key(&self.0)
    }
}

/// What [`Id::key`] is for an id that stands in the parameters of a notification.
pub(super) fn key(raw: &RawValue) -> String {
    serde_json::from_str::<Value>(raw.get())
        .map_or_else(|_| raw.get().to_owned(), |value| value.to_string())
}

/// The parameters of a message, as they were written.
#[derive(Clone, Debug)]
pub(super) struct Params(Option<Box<RawValue>>);

impl Params {
    /// Reads what is wanted of them.
    pub(super) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Fault> {
        let text = self.0.as_deref().map_or("{}", RawValue::get);
        serde_json::from_str(text).map_err(|e| {
            Fault::new(
                code::INVALID_PARAMS,
                format!("the params can't be read: {e}"),
            )
        })
    }
}

/// The codes of errors.
pub(super) mod code {
    /// The line is no JSON.
    pub(in super::super) const PARSE: i32 = -32700;
    /// It is no message.
    pub(in super::super) const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub(in super::super) const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are not the method's.
    pub(in super::super) const INVALID_PARAMS: i32 = -32602;
    /// The revision of the protocol is not spoken.
    pub(in super::super) const UNSUPPORTED_VERSION: i32 = -32022;
}

/// An error of the protocol, as opposed to a call that did not work.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Fault {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

/// Why a line is no message, with the id to answer to where it has one.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) id: Option<Id>,
    pub(super) fault: Fault,
}

/// A message before it is known which kind it is. What stands twice is refused.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Reads a line; `None` for an empty one.
pub(super) fn read(line: &[u8]) -> Result<Option<Message>, Unreadable> {
    let fault = |id, code, message: String| Unreadable {
        id,
        fault: Fault::new(code, message),
    };
    let no_json = |e: &dyn std::fmt::Display| fault(None, code::PARSE, format!("no JSON: {e}"));
    let text = std::str::from_utf8(line).map_err(|e| no_json(&e))?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let raw: &RawValue = serde_json::from_str(text).map_err(|e| no_json(&e))?;
    if raw.get().starts_with('[') {
        let message = "batches are not supported: send one message a line".to_owned();
        return Err(fault(None, code::INVALID_REQUEST, message));
    }
    let frame: Frame<'_> = serde_json::from_str(text)
        .map_err(|e| fault(None, code::INVALID_REQUEST, format!("no message: {e}")))?;
    let id = match frame.id {
        Some(raw) => Some(Id::new(raw).ok_or_else(|| {
            let message = "an id is a string or a number".to_owned();
            fault(None, code::INVALID_REQUEST, message)
        })?),
        None => None,
    };
    if frame.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
        let message = "a message needs `\"jsonrpc\": \"2.0\"`".to_owned();
        return Err(fault(id, code::INVALID_REQUEST, message));
    }
    let Some(method) = frame.method else {
        return Ok(Some(Message::Answer));
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        let message = "the method is not a string".to_owned();
        return Err(fault(id, code::INVALID_REQUEST, message));
    };
    if frame.params.is_some_and(|raw| !raw.get().starts_with('{')) {
        let message = "the params are not an object".to_owned();
        return Err(fault(id, code::INVALID_PARAMS, message));
    }
    let params = Params(frame.params.map(RawValue::to_owned));
    Ok(Some(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    }))
}
