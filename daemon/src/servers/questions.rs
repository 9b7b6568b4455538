//! What a server asks of its client, and our answers: forms go to whoever calls, roots are those of the configuration, sampling is refused.
//!
//! In the earlier era questions are pushed as requests, in the later one they come as results (`input`); the answers are the same.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, CustomResult, ErrorCode, ErrorData,
    Implementation, ProtocolVersion, ServerNotification, ServerRequest,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use skills::arguments::form::{Form, Unreadable};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::asking::{Asker, Elicited};
use super::failure::cut;
use super::server_log::ServerLog;
use super::settling::Told;

/// Filling in forms. That of a URL (`url`) is not declared, and sampling never.
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;
/// The same, and roots, where the configuration has some.
const FORMS_AND_ROOTS: &str = r#"{"roots":{},"elicitation":{"form":{}}}"#;

/// How much of the message of a form that is too large is told, in characters.
const MESSAGE: usize = 200;
/// What a server asks for that does not say for which of several calls.
const SEVERAL: &str = "something while several calls were under way, and does not say for which of them (one that was given up is under way until the server \
    replies to it or is restarted)";

/// Why a server gets no answer, in the terms of JSON-RPC.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unanswered {
    code: ErrorCode,
    /// The sentence for the server, and for whoever calls.
    pub(super) message: String,
}

/// Whose call a question belongs to.
#[derive(Clone, Debug)]
pub(super) enum Addressee {
    /// No call's: none is under way, or the server asks beside them.
    Nobody,
    /// This one's.
    Caller(Asker),
    /// One of these, and the server does not say which.
    OneOf(Vec<Asker>),
}

/// Our side of a connection: what it declares, and what it answers.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    roots: Vec<PathBuf>,
    roots_told: Told,
    log: ServerLog,
}

/// The capabilities that we declare, as JSON; the tools of some servers depend on what is declared.
fn declared(roots: &[PathBuf]) -> &'static str {
    if roots.is_empty() {
        FORMS
    } else {
        FORMS_AND_ROOTS
    }
}

/// What freshness hashes of it: what is declared, and the roots themselves.
pub(super) fn fingerprint(roots: &[PathBuf]) -> String {
    let lines = roots.iter().map(|root| format!("\n{}", uri(root)));
    lines.fold(declared(roots).to_owned(), |text, line| text + &line)
}

/// A directory as a URI (RFC 8089), every byte encoded that is not plain.
fn uri(root: &Path) -> String {
    let mut uri = "file://".to_owned();
    for &byte in root.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// What a root is called: its last name.
fn name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    name.to_string_lossy().into_owned()
}

impl Answers {
    /// Answers with these roots; what is refused goes to the log too.
    pub(super) fn new(roots: Vec<PathBuf>, log: ServerLog) -> Self {
        Self {
            roots,
            roots_told: Told::default(),
            log,
        }
    }

    /// When the server was told its roots; `None` where it has none.
    pub(super) fn roots_told(&self) -> Option<&Told> {
        (!self.roots.is_empty()).then_some(&self.roots_told)
    }

    /// Answers a request of the server's, with its result.
    ///
    /// # Errors
    /// What it can't have.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: Option<&Value>,
        to: &Addressee,
    ) -> Result<Value, Unanswered> {
        match method {
            "elicitation/create" => self.elicit(params, to).await,
            "roots/list" if !self.roots.is_empty() => {
                self.roots_told.now();
                Ok(self.roots())
            }
            "roots/list" => Err(self.refused(
                to,
                ErrorCode::METHOD_NOT_FOUND,
                "roots, of which the configuration has none for it (key `roots`)",
                "",
            )),
            "sampling/createMessage" => Err(self.refused(
                to,
                ErrorCode::METHOD_NOT_FOUND,
                "a text of a model (sampling), which shelf never asks for",
                "",
            )),
            _ => Err(Unanswered {
                code: ErrorCode::METHOD_NOT_FOUND,
                message: format!("no such method: {method}"),
            }),
        }
    }

    fn roots(&self) -> Value {
        let roots = self.roots.iter();
        let roots: Vec<Value> = roots
            .map(|root| json!({ "uri": uri(root), "name": name(root) }))
            .collect();
        json!({ "roots": roots })
    }

    async fn elicit(&self, params: Option<&Value>, to: &Addressee) -> Result<Value, Unanswered> {
        let part = |name: &str| params.and_then(|params| params.get(name));
        let message = part("message").and_then(Value::as_str).unwrap_or_default();
        // Without a mode it is a form: so it was before there were others.
        if let Some(mode) = part("mode").filter(|mode| *mode != "form") {
            let what = "an elicitation that is no form, and only forms are supported";
            let details = format!("of the mode {mode}: {message}");
            return Err(self.refused(to, ErrorCode::INVALID_PARAMS, what, &details));
        }
        let schema = part("requestedSchema").unwrap_or(&Value::Null);
        let schema = match readable(message, schema).await {
            Ok(schema) => schema,
            Err(Unreadable::TooLarge(why)) => {
                let details = format!("{why}: {}", cut(message, MESSAGE));
                self.note(
                    to,
                    "a form that is too large, and was told that nobody answers",
                    &details,
                );
                return Ok(json!({ "action": "cancel" }));
            }
            Err(Unreadable::Unusable(why)) => {
                let details = format!("{why}: {message}");
                let what = "a form that can't be read";
                return Err(self.refused(to, ErrorCode::INVALID_PARAMS, what, &details));
            }
        };
        let elicited = match to {
            Addressee::Caller(asker) => asker.ask(message.to_owned(), schema).await,
            Addressee::OneOf(_) => {
                self.note(to, SEVERAL, message);
                Elicited::Cancel { why: None }
            }
            Addressee::Nobody => {
                self.note(to, "something outside of every call", message);
                Elicited::Cancel { why: None }
            }
        };
        Ok(match elicited {
            Elicited::Accept { content } => json!({ "action": "accept", "content": content }),
            Elicited::Decline => json!({ "action": "decline" }),
            Elicited::Cancel { .. } => json!({ "action": "cancel" }),
        })
    }

    fn refused(&self, to: &Addressee, code: ErrorCode, what: &str, details: &str) -> Unanswered {
        self.note(to, what, details);
        Unanswered {
            code,
            message: refusal(what, details),
        }
    }

    /// Says in the log, and to whom it may concern, what the server does not get. What it said itself (`details`) may be meant for one caller
    /// alone: where it is not known for which, none hears it.
    fn note(&self, to: &Addressee, what: &str, details: &str) {
        let said = refusal(what, details);
        self.log.noise(&format!("({said})"));
        match to {
            Addressee::Nobody => {}
            Addressee::Caller(asker) => asker.tell(said),
            Addressee::OneOf(askers) => {
                for asker in askers {
                    asker.tell(refusal(what, ""));
                }
            }
        }
    }
}

/// The schema of a form, where that can be read, which may take a while: on a thread where nobody else waits.
async fn readable(message: &str, schema: &Value) -> Result<Box<RawValue>, Unreadable> {
    let schema = serde_json::value::to_raw_value(schema)
        .map_err(|error| Unreadable::Unusable(error.to_string()))?;
    let message = message.to_owned();
    let reading = spawn_blocking(move || Form::read(&message, &schema).map(|_| schema));
    let read = reading.await;
    read.unwrap_or_else(|error| Err(Unreadable::Unusable(error.to_string())))
}

fn refusal(what: &str, details: &str) -> String {
    // A stranger's lines must not look like ours.
    let details = details.replace(['\r', '\n'], " ");
    let colon = if details.is_empty() { "" } else { ": " };
    format!("refused: the server asked for {what}{colon}{details}")
}

impl Service<RoleClient> for Answers {
    /// The tap hands on every request but pings as it was sent, with whom it is for.
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let request = match request {
            ServerRequest::CustomRequest(request) => request,
            _ => return Ok(ClientResult::empty(())),
        };
        let to = context.extensions.get::<Addressee>();
        let to = to.unwrap_or(&Addressee::Nobody);
        let answer = self.answer(&request.method, request.params.as_ref(), to);
        let answer = context.ct.run_until_cancelled(answer);
        let ended = context.extensions.get::<CancellationToken>().cloned();
        let ended = ended.unwrap_or_default();
        let Some(answer) = ended.run_until_cancelled(answer).await.flatten() else {
            return Err(ErrorData::internal_error("cancelled", None));
        };
        match answer {
            Ok(result) => Ok(ClientResult::CustomResult(CustomResult::new(result))),
            Err(Unanswered { code, message }) => Err(ErrorData::new(code, message, None)),
        }
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        // What matters of them is seen by the tap.
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities =
            serde_json::from_str(declared(&self.roots)).expect("it is written in this file");
        let implementation = Implementation::new("toolshelf", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

#[cfg(test)]
mod tests;
