//! What is written to the client: whole lines, from any thread.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::message::{Fault, Id};

/// The client's end of the pipe.
pub(super) struct Writer {
    /// `None` once it could not be written to.
    output: Mutex<Option<Box<dyn Write + Send>>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) const fn new(output: Box<dyn Write + Send>) -> Self {
        Self {
            output: Mutex::new(Some(output)),
        }
    }

    /// Answers a request; `result` is one JSON object without a line break.
    pub(super) fn result(&self, id: &Id, result: &str) {
        let id = id.raw();
        self.line(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    }

    /// Refuses a request, or a line that none could be read from.
    pub(super) fn fault(&self, id: Option<&Id>, fault: &Fault) {
        let mut error = json!({ "code": fault.code, "message": fault.message });
        if let Some(data) = &fault.data {
            error["data"] = data.clone();
        }
        let id = id.map_or("null", Id::raw);
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
    }

    /// Tells something that nobody asked for.
    pub(super) fn notification(&self, method: &str, params: &Value) {
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.line(&notification.to_string());
    }

    /// Whether nobody reads any more.
    pub(super) fn is_closed(&self) -> bool {
        // Held while somebody writes, who will notice.
        self.output.try_lock().is_ok_and(|output| output.is_none())
    }

    fn line(&self, line: &str) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(writer) = output.as_mut() else {
            return;
        };
        let written = writer
            .write_all(line.as_bytes())
            .and_then(|()| writer.write_all(b"\n"))
            .and_then(|()| writer.flush());
        if written.is_err() {
            *output = None;
        }
    }
}
