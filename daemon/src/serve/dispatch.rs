//! What becomes of each message: which method it is, which thread works on it, and how it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use skills::problem::{Problem, ProblemKind};

use super::calling::{self, Called};
use super::eras::{self, Era, Introduction};
use super::message::{self, Fault, Id, Message, Params, code};
use super::results::Form;
use super::running::{NotBegun, Running, Ticket};
use super::tools::{self, CallArguments, SearchArguments};
use super::writer::Writer;
use super::{Connection, Shelf, searching};
use crate::protocol::Progress;

/// How long a request may go on after the client's last message: who writes some lines and closes still gets the answers to what is
/// quick.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// How long what was cancelled then may take to end.
const LAST_CANCELLATIONS: Duration = Duration::from_millis(400);

/// The server of one client.
pub(super) struct Server {
    writer: Arc<Writer>,
    shelf: Arc<dyn Shelf>,
    running: Arc<Running>,
    introduction: Introduction,
    server_info: Arc<str>,
    is_initialized: AtomicBool,
}

/// What `tools/call` is asked for.
#[derive(Deserialize)]
struct CallParams<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<eras::Meta<'a>>,
}

/// What `tools/list` is asked for.
#[derive(Deserialize)]
struct ListParams<'a> {
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
}

/// What `notifications/cancelled` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'a> {
    #[serde(borrow)]
    request_id: &'a RawValue,
}

impl Server {
    pub(super) fn new(
        output: Box<dyn std::io::Write + Send>,
        shelf: Arc<dyn Shelf>,
        version: &str,
        instructions: String,
    ) -> Self {
        let introduction = Introduction::new(version, instructions);
        Self {
            writer: Arc::new(Writer::new(output)),
            shelf,
            running: Arc::default(),
            server_info: introduction.server_info().into(),
            introduction,
            is_initialized: AtomicBool::new(false),
        }
    }

    /// Takes a line of the client.
    pub(super) fn receive(&self, line: &[u8]) {
        match message::read(line) {
            Err(unreadable) => self.writer.fault(unreadable.id.as_ref(), &unreadable.fault),
            Ok(None | Some(Message::Answer)) => {}
            Ok(Some(Message::Notification { method, params })) => {
                if method == "notifications/cancelled"
                    && let Ok(cancelled) = params.read::<Cancelled<'_>>()
                {
                    self.running.cancel(&message::key(cancelled.request_id));
                }
            }
            Ok(Some(Message::Request { id, method, params })) => {
                match self.answer(&id, &method, &params) {
                    Ok(Some(result)) => self.writer.result(&id, &result),
                    Ok(None) => {}
                    Err(fault) => self.writer.fault(Some(&id), &fault),
                }
            }
        }
    }

    /// Says that a line was too long to be kept.
    pub(super) fn refuse_line(&self) {
        let fault = Fault::new(code::INVALID_REQUEST, "the message is too long");
        self.writer.fault(None, &fault);
    }

    /// Whether nobody reads the answers.
    pub(super) fn is_deaf(&self) -> bool {
        self.writer.is_closed()
    }

    /// Ends what still runs.
    pub(super) fn end(&self) {
        self.running.wait(LAST_ANSWERS);
        self.running.cancel_all();
        self.running.wait(LAST_CANCELLATIONS);
    }

    /// The result of a request; `None` where it is worked on and answered later.
    fn answer(&self, id: &Id, method: &str, params: &Params) -> Result<Option<String>, Fault> {
        let is_initialized = self.is_initialized.load(Ordering::Relaxed);
        match method {
            "initialize" => {
                let answer = self.introduction.initialize(params)?;
                self.is_initialized.store(true, Ordering::Relaxed);
                Ok(Some(answer.to_string()))
            }
            "server/discover" => Ok(Some(self.introduction.discover(params)?.to_string())),
            // It may come before `initialize`; a request that stands for itself has none.
            "ping" if !matches!(eras::of(params, true)?, Era::SelfContained) => {
                Ok(Some("{}".to_owned()))
            }
            "tools/list" => {
                let era = eras::of(params, is_initialized)?;
                if params.read::<ListParams<'_>>()?.cursor.is_some() {
                    let message = "there is only one page, so no cursor leads to another";
                    return Err(Fault::new(code::INVALID_PARAMS, message));
                }
                let (tools, freshness) = (tools::definitions(), eras::freshness(era));
                let list = format!(r#"{{"tools":{tools}{freshness}}}"#);
                Ok(Some(self.form(era).completed(&list, &[])))
            }
            "tools/call" => {
                let era = eras::of(params, is_initialized)?;
                self.begin(id, self.form(era), params)
            }
            other => Err(Fault::new(
                code::METHOD_NOT_FOUND,
                format!("there is no method `{other}`"),
            )),
        }
    }

    fn form(&self, era: Era) -> Form {
        Form {
            era,
            server_info: Arc::clone(&self.server_info),
        }
    }

    fn begin(&self, id: &Id, form: Form, params: &Params) -> Result<Option<String>, Fault> {
        let asked: CallParams<'_> = params.read()?;
        let arguments = asked.arguments;
        let work = match asked.name.as_str() {
            tools::SEARCH => SearchArguments::read(arguments).map(Work::Search),
            tools::CALL => CallArguments::read(arguments).map(Work::Call),
            other => {
                return Err(Fault::new(
                    code::INVALID_PARAMS,
                    format!(
                        "there is no tool `{other}`, only {} and {}, which calls others by their id",
                        tools::SEARCH,
                        tools::CALL
                    ),
                ));
            }
        };
        let work = match work {
            Ok(work) => work,
            Err(problem) => return Ok(Some(form.problem(&problem))),
        };
        let token = asked.meta.and_then(|meta| meta.progress_token);
        let task = Task {
            id: id.clone(),
            form: form.clone(),
            progress_token: token.and_then(|raw| serde_json::from_str(raw.get()).ok()),
            writer: Arc::clone(&self.writer),
            shelf: Arc::clone(&self.shelf),
        };
        match self.running.begin(id, |ticket| task.run(work, ticket)) {
            Ok(()) => Ok(None),
            Err(NotBegun::Busy(problem)) => Ok(Some(form.problem(&problem))),
            Err(NotBegun::SameId) => Err(Fault::new(
                code::INVALID_REQUEST,
                "another request with this id is being worked on",
            )),
        }
    }
}

/// What a request asks for.
enum Work {
    Search(SearchArguments),
    Call(CallArguments),
}

/// A request that is worked on.
struct Task {
    id: Id,
    form: Form,
    progress_token: Option<Value>,
    writer: Arc<Writer>,
    shelf: Arc<dyn Shelf>,
}

impl Task {
    fn run(self, work: Work, ticket: &Ticket) {
        let result = match work {
            Work::Search(asked) => self
                .search(&asked, ticket)
                .map(|text| self.form.text(&text, false)),
            Work::Call(asked) => self.call(asked, ticket).map(|called| match called {
                Called::Result(raw) => self.form.passed_through(&raw),
                Called::Skill(text) => self.form.text(&text, false),
            }),
        };
        // Whoever cancelled a request gets no answer to it.
        if ticket.may_answer() {
            let result = result.unwrap_or_else(|problem| self.form.problem(&problem));
            self.writer.result(&self.id, &result);
        }
    }

    fn search(&self, asked: &SearchArguments, ticket: &Ticket) -> Result<String, Problem> {
        let attempt = || searching::search(&mut *self.connect(ticket)?, asked);
        match attempt() {
            // It may have ended just then; to look once more changes nothing.
            Err(problem) if problem.kind == ProblemKind::Daemon => attempt(),
            outcome => outcome,
        }
    }

    fn call(&self, asked: CallArguments, ticket: &Ticket) -> Result<Called, Problem> {
        let mut connection = self.connect(ticket)?;
        calling::call(
            &mut *connection,
            asked,
            &ticket.interrupt,
            &mut |progress| {
                if !ticket.is_cancelled() {
                    self.report(&progress);
                }
            },
        )
    }

    fn connect(&self, ticket: &Ticket) -> Result<Box<dyn Connection>, Problem> {
        self.shelf.connect(&ticket.interrupt)
    }

    /// Passes progress on to a client that asked for it.
    fn report(&self, progress: &Progress) {
        let Some(token) = &self.progress_token else {
            return;
        };
        let mut params = json!({ "progressToken": token, "progress": progress.progress });
        if let Some(total) = progress.total {
            params["total"] = total.into();
        }
        if let Some(message) = &progress.message {
            params["message"] = message.as_str().into();
        }
        self.writer.notification("notifications/progress", &params);
    }
}
