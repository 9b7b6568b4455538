//! `--each`: a call for each line, a line for each result, in the order of the lines.
//!
//! It knows how calls run beside each other. One that runs has a connection and a thread of its own, so that closing the one cancels the other.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use daemon::client::{Asking, Client, Question};
use daemon::protocol::{Call, CallReply, method};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::arguments::parse_json;
use skills::problem::{Problem, ProblemKind};

use super::answers::Answers;
use super::content::Content;
use super::elicitation;
use super::lines::{self, Line};
use super::output;
use crate::error::{CommandError, CommandResult};
use crate::ui::Ui;

/// How many lines for each call that may run are read before the first of them has its result.
const AHEAD: usize = 16;

/// What the calls have in common.
pub(super) struct Each<'a> {
    /// The entry, the arguments that each line is laid over, and the time limit.
    pub(super) call: Call,
    /// The file of lines, or `-`.
    pub(super) file: &'a str,
    /// How many run at a time.
    pub(super) parallel: usize,
    /// Whether `result` is the data alone.
    pub(super) data: bool,
    /// Whether it is told which defaults were filled in.
    pub(super) verbose: bool,
    /// What each of them answers; nobody is asked beside others.
    pub(super) answers: Arc<Answers>,
}

/// What happens while the calls run.
#[derive(Debug)]
pub(super) enum Event {
    /// The next line; `None` is the end.
    Line(Option<Line>),
    /// A call is over. Its connection is given back when it can be used again.
    Done(usize, Result<CallReply, Problem>, Option<Box<Client>>),
    /// The user wants no more.
    Interrupted,
}

/// The line that is printed for a line.
#[derive(Serialize)]
struct Outcome<'r> {
    line: usize,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filled: Option<&'r Map<String, Value>>,
    /// What a call on its own says on standard error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'r Problem>,
}

/// Runs the calls. Ends with the failure of the first line that failed, when all have run.
pub(super) fn run(
    each: &Each<'_>,
    connected: Client,
    connect: &dyn Fn() -> Result<Client, Problem>,
    interrupt: OwnedFd,
    ui: &Ui,
) -> CommandResult {
    let interrupt = Arc::new(interrupt);
    let (to, events) = channel();
    let (permits, permitted) = channel();
    watch(Arc::clone(&interrupt), to.clone());
    lines::read(lines::open(each.file)?, permitted, to.clone());
    for _ in 0..each.parallel.saturating_mul(AHEAD) {
        let _ = permits.send(());
    }
    let mut idle = vec![connected];
    let mut waiting: VecDeque<Line> = VecDeque::new();
    // Every line that was read and not printed, with its result when that is there.
    let mut unprinted: BTreeMap<usize, Option<Result<CallReply, Problem>>> = BTreeMap::new();
    let (mut running, mut is_end, mut is_interrupted) = (0, false, false);
    let mut failure = None;
    loop {
        // Asked anew each time: a call that was cancelled may be heard of before the interrupt itself.
        if !is_interrupted && is_readable(&interrupt) {
            is_interrupted = true;
            // Lines that were not begun have no result.
            for line in waiting.drain(..) {
                unprinted.remove(&line.number);
            }
        }
        while running < each.parallel && !is_interrupted {
            let Some(Line { number, text }) = waiting.pop_front() else {
                break;
            };
            let ready = text.and_then(|text| each.call(&text)).and_then(|call| {
                let client = idle.pop().map_or_else(connect, Ok)?;
                Ok((call, client))
            });
            match ready {
                Ok((call, client)) => {
                    let answers = Arc::clone(&each.answers);
                    let interrupt = Arc::clone(&interrupt);
                    start(number, call, client, answers, interrupt, to.clone());
                    running += 1;
                }
                Err(problem) => {
                    unprinted.insert(number, Some(Err(problem)));
                }
            }
        }
        while let Some(first) = unprinted.first_entry() {
            let number = *first.key();
            if first.get().is_none() {
                break;
            }
            let Some(outcome) = first.remove() else { break };
            failure = failure.or(each.print(number, outcome, ui)?);
            let _ = permits.send(());
        }
        if running == 0 && (is_interrupted || (is_end && waiting.is_empty())) {
            break;
        }
        match events.recv() {
            Ok(Event::Line(Some(_))) if is_interrupted => {}
            Ok(Event::Line(Some(line))) => {
                unprinted.insert(line.number, None);
                waiting.push_back(line);
            }
            Ok(Event::Line(None)) => is_end = true,
            Ok(Event::Done(number, outcome, client)) => {
                running -= 1;
                unprinted.insert(number, Some(outcome));
                idle.extend(client.map(|client| *client));
            }
            // Whether it is so is looked up above.
            Ok(Event::Interrupted) => {}
            Err(_) => break,
        }
    }
    if is_interrupted {
        return Err(Problem::new(
            ProblemKind::Interrupted,
            "interrupted; the calls under way were cancelled, the lines after them not called",
        )
        .into());
    }
    match failure {
        None => Ok(()),
        Some(kind) => Err(CommandError::Shown(kind)),
    }
}

impl Each<'_> {
    /// The call of a line. What the line says goes before what was said for all of them.
    fn call(&self, text: &str) -> Result<Call, Problem> {
        let mut call = self.call.clone();
        call.arguments.extend(parse_json(text)?);
        Ok(call)
    }

    /// Prints the line for a line, and gives what kind of failure it was.
    fn print(
        &self,
        line: usize,
        outcome: Result<CallReply, Problem>,
        ui: &Ui,
    ) -> Result<Option<ProblemKind>, CommandError> {
        let mut text = None;
        let (reply, error) = match outcome {
            Err(problem) => (None, Some(problem)),
            Ok(reply) => match self.result(&reply) {
                Ok(data) => {
                    text = data;
                    (Some(reply), None)
                }
                Err(problem) => (Some(reply), Some(problem)),
            },
        };
        let filled = reply.as_ref().map(|reply| &reply.filled);
        ui.json(&Outcome {
            line,
            ok: error.is_none(),
            result: text
                .as_deref()
                .or(reply.as_ref().map(|reply| &*reply.result)),
            filled: filled.filter(|filled| self.verbose && !filled.is_empty()),
            warnings: reply.as_ref().map(output::warnings).unwrap_or_default(),
            error: error.as_ref(),
        })?;
        Ok(error.map(|problem| problem.kind))
    }

    /// The result where it is not the whole one.
    fn result(&self, reply: &CallReply) -> Result<Option<Box<RawValue>>, Problem> {
        if reply.is_error {
            let said = output::own_error(&Content::read(reply)?, reply);
            return Err(Problem::new(ProblemKind::ToolError, said));
        }
        if !self.data {
            return Ok(None);
        }
        let data = output::data(&Content::read(reply)?)?;
        RawValue::from_string(data).map(Some).map_err(|error| {
            Problem::new(
                ProblemKind::ResultKind,
                format!("the data can't be read: {error}"),
            )
        })
    }
}

/// Runs one call on a thread of its own.
fn start(
    number: usize,
    call: Call,
    mut client: Client,
    answers: Arc<Answers>,
    interrupt: Arc<OwnedFd>,
    to: Sender<Event>,
) {
    thread::spawn(move || {
        let mut on_question = |question: &Question<'_>| match question.method {
            method::ELICIT => elicitation::answer(question, &answers, None),
            _ => Asking::Unable,
        };
        let outcome = client.call_asking(&call, Some(&interrupt), &mut |_| {}, &mut on_question);
        let is_usable = match &outcome {
            Ok(_) => true,
            Err(problem) => matches!(
                problem.kind,
                ProblemKind::Arguments | ProblemKind::NotFound | ProblemKind::Server
            ),
        };
        let client = is_usable.then(|| Box::new(client));
        // Whoever started it has ended when nobody listens.
        let _ = to.send(Event::Done(number, outcome, client));
    });
}

/// Whether the user wants no more.
fn is_readable(interrupt: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(interrupt, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    matches!(poll(&mut watched, Some(&at_once)), Ok(1..))
}

/// Tells when the user wants no more.
fn watch(interrupt: Arc<OwnedFd>, to: Sender<Event>) {
    thread::spawn(move || {
        loop {
            let mut watched = [PollFd::new(&*interrupt, PollFlags::IN)];
            match poll(&mut watched, None) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => {
                    let _ = to.send(Event::Interrupted);
                    return;
                }
                Err(_) => return,
            }
        }
    });
}
