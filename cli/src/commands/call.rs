//! `shelf call`.

pub(super) mod answers;
pub(super) mod content;
mod each;
mod elicitation;
mod failure;
pub(super) mod files;
mod input;
pub(super) mod limit;
mod lines;
pub(super) mod output;
pub(super) mod question;
pub(super) mod sources;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use daemon::client::{ANSWER, Client, Question};
use daemon::config::START_TIMEOUT;
use daemon::protocol::{Call, Describe, Description, Refused};
use serde_json::{Map, Value};
use skills::arguments::{Read, merge, parse_flags};
use skills::problem::{Problem, ProblemKind};

use crate::duration;
use crate::environment::Environment;
use crate::error::{CommandError, CommandResult, usage};
use crate::selection::{Which, target};
use crate::ui::Ui;
use crate::{interrupt, on_demand};
use answers::Answers;
use content::Content;
use each::Each;
use limit::{Limit, MaxOutput};
use sources::Sources;

/// Call a tool and print its result
///
/// After the ID every flag is the tool's own, by its schema: everything/echo --message hello. Options of shelf stand before the ID.
///
/// A dot leads into an object: --filter.state open. An array is JSON, or a flag for each item. @FILE and - as a value stand for the text of a
/// file and of standard input, @@ for a text that begins with @.
///
/// Where no shelf runs, one is started for the configuration in use. It is mounted nowhere and ends when it has been idle.
///
/// What a server asks while its tool runs is asked on the terminal, or answered with --answer; else the server is told that nobody answers,
/// and standard error says what it asked.
///
/// Standard output is only the result: text blocks as they are. An error of the tool goes to standard error, with exit code 1. Images, audio and
/// blobs are written to files, whose paths go to standard error, and which are kept for a week.
#[derive(Args, Debug)]
#[command(
    override_usage = "shelf call [OPTIONS] <ID> [TOOL FLAGS]...",
    after_help = "Example:\n  \
        shelf call everything/echo --message hello\n  \
        shelf call --timeout 30s --args '{\"a\": 1, \"b\": 2}' everything/get-sum\n  \
        shelf call --answer name=Ada --answer check=true everything/trigger-elicitation-request\n  \
        shelf call --each rows.jsonl --parallel 4 --data everything/get-sum --b 2\n  \
        shelf call everything/echo --help"
)]
pub(crate) struct Arguments {
    /// Take the arguments from a JSON object: the text itself, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    args: Option<String>,

    /// Call once for each line of this file (- for standard input), a JSON object of arguments, which goes before those of --args and the flags
    ///
    /// Each line gives a line of JSON in the same order: {"line":1,"ok":true,"result":…}, else "ok":false with "error" as well; with --data the
    /// result is the data alone, and what a call warns of is in "warnings". A line that fails does not keep the others back; the exit code is that of the first that failed.
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["json", "out", "format", "max_output"])]
    each: Option<String>,

    /// With --each, have so many calls under way at a time
    #[arg(long, value_name = "N", requires = "each", value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: Option<u16>,

    /// Answer a field of a form that the server may ask to have filled in; one of several values is given several times
    ///
    /// A form of which a field is answered so is sent, with the defaults of its other fields; on a terminal those are asked.
    #[arg(long = "answer", value_name = "NAME=VALUE")]
    answers: Vec<String>,

    /// Accept every form that the server asks to have filled in, with the defaults of its fields where there is no --answer
    #[arg(long)]
    accept: bool,

    /// Say which required arguments were left out and filled with their defaults
    #[arg(long)]
    verbose: bool,

    /// Give up after this long, reading the arguments included, and cancel the call at the server [default: the server's own setting]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    timeout: Option<Duration>,

    /// Print the whole result as the server sent it, errors too
    #[arg(long, conflicts_with_all = ["data", "out"])]
    json: bool,

    /// Print errors in this form, on standard error
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<ErrorFormat>,

    /// Print the structured content, or the only text block when it is JSON; anything else is exit code 65
    #[arg(long, conflicts_with = "out")]
    data: bool,

    /// Write images, audio and blobs there: a file for the only one, a directory, or - for standard output
    #[arg(long, value_name = "FILE|DIR|-")]
    out: Option<PathBuf>,

    /// Print only the first lines of a longer result, and write the whole to a file whose path goes to standard error: 4096, 64K, 1M, or none
    /// for no limit [default: SHELF_MAX_OUTPUT, else none]. What --json and --data print, and structured content alone, is printed whole or not at all
    #[arg(long, value_name = "SIZE", value_parser = limit::parse)]
    max_output: Option<MaxOutput>,

    #[command(flatten)]
    which: Which,

    /// The tool's id or its path in a mount, then its own flags
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "ID [TOOL FLAGS]"
    )]
    words: Vec<OsString>,
}

/// In which form errors are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ErrorFormat {
    /// For people
    Text,
    /// For a model: a <tool-call-error> with the message and the schema of the arguments
    Xml,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let mut connected = None;
    let result = perform(arguments, environment, ui, &mut connected);
    match result {
        Err(CommandError::Problem(problem)) if arguments.format == Some(ErrorFormat::Xml) => {
            let entry = arguments.words.first().map(OsString::as_os_str);
            let entry = entry.unwrap_or_default();
            Err(failure::show(problem, entry, connected, environment, ui))
        }
        result => result,
    }
}

/// Does the call; the connection that was made for it stays with the caller.
fn perform(
    arguments: &Arguments,
    environment: &Environment,
    ui: &Ui,
    connected: &mut Option<Client>,
) -> CommandResult {
    let (id, flags) = arguments
        .words
        .split_first()
        .ok_or_else(|| usage("an id is missing"))?;
    let target = target(id, environment)?;
    let flags = flags
        .iter()
        .map(|flag| flag.clone().into_string().map_err(|flag| no_text(&flag)))
        .collect::<Result<Vec<_>, _>>()?;
    let reads_input = |given: &Option<String>| given.as_deref() == Some("-");
    let taken = match (reads_input(&arguments.each), reads_input(&arguments.args)) {
        (true, true) => return Err(usage("--each and --args both read standard input").into()),
        (true, false) => Some("--each"),
        (false, true) => Some("--args"),
        (false, false) => None,
    };
    let started = Instant::now();
    let given = match &arguments.args {
        Some(text) => input::read(text, arguments.timeout),
        None => Ok(Map::new()),
    };
    let reading = milliseconds(started.elapsed());
    let limit = Limit::chosen(arguments.max_output, environment, results(environment))?;
    let answers = Arc::new(Answers::read(&arguments.answers, arguments.accept)?);
    let interrupt = interrupt::catch()?;
    let (which, path) = (&arguments.which, target.path.as_deref());
    let patience = arguments.timeout.map_or(ANSWER, |limit| limit.min(ANSWER));
    let refusal = Refusal {
        entry: &target.entry,
        flags: &flags,
    };
    let given = given.map_err(|problem| {
        // Nothing is started for what can't be sent.
        match which.connect_within(environment, path, patience) {
            Ok(mut client) => refusal.told(problem, &mut client),
            Err(_) => problem,
        }
    })?;
    let client = on_demand::connect(which, environment, path, patience, &interrupt, ui)?;
    let client = connected.insert(client);
    let left = arguments
        .timeout
        .map(|limit| milliseconds(limit).saturating_sub(reading));

    let mut sources = Sources::new(arguments.timeout, taken);
    let values = if flags.is_empty() {
        Ok(Flags::Values(given))
    } else {
        let describe = |shown| {
            let asked = Describe {
                entry: target.entry.clone(),
                shown,
                wait_ms: left.unwrap_or(milliseconds(START_TIMEOUT)),
            };
            client.describe_when_known(&asked, Some(&interrupt))
        };
        read_flags(describe, &flags, given, &mut |origin| sources.read(origin))
    };
    let values = match values.map_err(|problem| refusal.told(problem, client))? {
        Flags::Help(definition) => return Ok(ui.text(&definition)?),
        Flags::Values(values) => values,
    };

    let call = Call {
        entry: target.entry,
        arguments: values,
        timeout_ms: left,
    };
    if let Some(file) = &arguments.each {
        let each = Each {
            call,
            file,
            parallel: arguments.parallel.map_or(1, usize::from),
            data: arguments.data,
            verbose: arguments.verbose,
            answers: Arc::clone(&answers),
        };
        let first = connected.take().expect("the connection was just made");
        let connect = || which.connect_within(environment, path, patience);
        let done = each::run(&each, first, &connect, interrupt, ui);
        answers.tell_unused(ui);
        return done;
    }
    let format = match &arguments.out {
        _ if arguments.json => output::Format::Json,
        _ if arguments.data => output::Format::Data,
        Some(place) => output::Format::Text(files::Place::chosen(place)),
        None => output::Format::Text(files::Place::Private(results(environment))),
    };
    if let output::Format::Text(place) = &format {
        place.check(ui.out_is_terminal())?;
    }
    let mut on_progress = |progress| ui.progress(&output::progress(&progress));
    let mut on_question =
        |question: &Question<'_>| question::answer(question, &answers, &interrupt, ui);
    let reply = client.call_asking(&call, Some(&interrupt), &mut on_progress, &mut on_question);
    answers.tell_unused(ui);
    let reply = reply?;
    if arguments.verbose {
        for (name, value) in &reply.filled {
            ui.note(&format!(
                "--{name} was left out: {value}, its default, was sent"
            ));
        }
    }
    for warning in output::warnings(&reply) {
        ui.warning(&warning);
    }
    if reply.is_error && arguments.format == Some(ErrorFormat::Xml) {
        let said = output::own_error(&Content::read(&reply)?, &reply);
        return Err(Problem::new(ProblemKind::ToolError, limit.told(&said)).into());
    }
    output::print(&reply, &format, &limit, ui)
}

/// Only a path may be any bytes: arguments are JSON, which is text.
fn no_text(flag: &OsStr) -> Problem {
    usage(format!(
        "the argument `{}` is not UTF-8, and only text can be sent",
        flag.display()
    ))
}

/// Where what is no text goes, and what is too long to be printed. It may not fail: by then the tool has run.
pub(super) fn results(environment: &Environment) -> PathBuf {
    environment
        .directories()
        .map_or_else(|_| environment.runtime(), |directories| directories.cache)
        .join("results")
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What is told of a call that is not made.
struct Refusal<'a> {
    entry: &'a str,
    flags: &'a [String],
}

impl Refusal<'_> {
    /// Tells the daemon why the call is not made, as far as it listens, for its log to have a line of each call.
    fn told(&self, problem: Problem, client: &mut Client) -> Problem {
        let is_gone = matches!(problem.kind, ProblemKind::Daemon | ProblemKind::Interrupted);
        if !is_gone {
            let names = self.flags.iter().filter_map(|flag| flag.strip_prefix("--"));
            let names = names.map(|flag| flag.split_once('=').map_or(flag, |(name, _)| name));
            let _ = client.refused(&Refused {
                entry: self.entry.to_owned(),
                arguments: names.map(str::to_owned).collect(),
                kind: problem.kind,
            });
        }
        problem
    }
}

/// What the words after the id ask for.
enum Flags {
    /// The tool's definition, and no call.
    Help(String),
    /// A call with these arguments.
    Values(Map<String, Value>),
}

/// Reads the words after the id by the tool's schema, and lays them over the arguments that were given as JSON; `describe` takes
/// whether somebody reads the answer.
fn read_flags(
    mut describe: impl FnMut(bool) -> Result<Description, Problem>,
    flags: &[String],
    given: Map<String, Value>,
    read: &mut Read<'_>,
) -> Result<Flags, Problem> {
    let asks_for_help = flags.iter().any(|flag| flag == "--help");
    let description = describe(false)?;
    let tool = input::tool(&description)?;
    if asks_for_help && !input::has_parameter(&tool, "help") {
        // Asked for again, because now somebody reads it, which the log should know.
        return describe(true).map(|Description { text, .. }| Flags::Help(text));
    }
    let values = parse_flags(&tool, &description.id, flags, read);
    let values = values.map_err(|problem| match input::misplaced(&tool, flags) {
        Some(ours) if problem.kind == ProblemKind::Arguments => problem.hint(format!(
            "--{ours} is an option of shelf: put it before the id, shelf call --{ours} … {}",
            description.id
        )),
        _ => problem,
    })?;
    merge(given, values).map(Flags::Values)
}
