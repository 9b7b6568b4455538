//! `shelf search`.

mod report;

use std::time::Duration;

use clap::Args;
use daemon::client::ANSWER;
use daemon::protocol::{Answer, EntryKind, Search};
use skills::formats::Occasion;
use skills::problem::Problem;
use skills::search::Match;

use super::list::Kind;
use crate::environment::Environment;
use crate::error::{CommandError, CommandResult, usage};
use crate::format::{Format, FormatOptions, Wanted, hand_out};
use crate::known::Known;
use crate::loaded::loaded_ids;
use crate::selection::Which;
use crate::ui::Ui;
use crate::{duration, interrupt, on_demand};

/// Find tools and skills by what they do, best first: id — summary
///
/// The words are looked for in names, descriptions, parameters and what servers say of themselves, and by their meaning, so that "ticket" finds
/// issues too (in English; other languages are found by their words). When nothing is near enough, it says so with exit code 3, never with a best guess.
///
/// Every format but text is printed also when nothing matched. Those that know tools alone (anthropic, openai, mcp) search only tools.
///
/// Without a running shelf it searches the configuration in use, as its servers were listed last.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
        shelf search create an issue\n  \
        shelf search --kind skill fill in a PDF form\n  \
        shelf search --servers --limit 3 version control\n  \
        shelf search --json send a message | jq -r '.matches[0].id'\n  \
        shelf search --format anthropic send a message\n  \
        shelf search -- --dry-run")]
pub(crate) struct Arguments {
    /// What is looked for, in your own words
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,

    /// Print at most so many
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    /// Search only tools, or only skills
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<Kind>,

    /// Search only the tools of this server; `skills` for the skills
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Print the servers that the matches are on, best first: name (n matches) — about
    #[arg(long, conflicts_with = "server")]
    servers: bool,

    /// Go by words alone, not by meaning
    #[arg(long)]
    lexical: bool,

    /// Leave out what this session was handed out already, which `shelf loaded` lists
    #[arg(long)]
    exclude_loaded: bool,

    /// Wait, at most this long, for servers that are not known yet; where no shelf runs, one is started to ask them [without TIME: 2m]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "2m", value_parser = duration::parse_positive)]
    wait: Option<Duration>,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    format: FormatOptions,
}

impl Arguments {
    /// The kind that is searched: what a format has no place for would only use up the limit.
    fn kind(&self, format: Format<'_>) -> Result<Option<EntryKind>, Problem> {
        let kind = self.kind.map(EntryKind::from);
        let Format::Definitions(format) = format else {
            return Ok(kind);
        };
        if format.takes(EntryKind::Skill) {
            return Ok(kind);
        }
        if kind == Some(EntryKind::Skill) {
            let problem = usage("this format has no skills, and --kind skill leaves out the rest");
            return Err(problem.hint("--format text, json and xml have skills"));
        }
        Ok(Some(EntryKind::Tool))
    }

    fn search(&self, kind: Option<EntryKind>) -> Search {
        let wait = self.wait.unwrap_or_default().as_millis();
        Search {
            words: self.words.join(" "),
            limit: usize::from(self.limit),
            kind,
            server: self.server.clone(),
            lexical: self.lexical,
            exclude: Vec::new(),
            wait_ms: u64::try_from(wait).unwrap_or(u64::MAX),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let format = arguments.format.chosen()?;
    let mut search = arguments.search(arguments.kind(format)?);
    if search.words.trim().is_empty() {
        return Err(usage("there are no words to look for").into());
    }
    if arguments.servers && matches!(format, Format::Definitions(_)) {
        return Err(usage("--servers prints no definitions: leave it out, or the format").into());
    }
    arguments.which.tell_project(environment, ui);
    let mut known = Known::find_any(&arguments.which, environment)?;
    if arguments.exclude_loaded {
        search.exclude = loaded_ids(environment, None, &mut known)?;
    }
    let answer = if arguments.wait.is_some() {
        wait(&mut known, arguments, &search, environment, ui)?
    } else {
        known.search(&search)?
    };
    known.tell_unreadable(ui);
    if format == Format::Json {
        ui.json(&answer)?;
    } else if let Format::Definitions(format) = format {
        // A harness has to answer its model also when nothing matched.
        let wanted: Vec<_> = answer.matches.iter().map(wanted).collect();
        let occasion = Occasion::Search(&search.words);
        hand_out(&mut known, &wanted, format, occasion, ui)?;
    } else if answer.matches.is_empty() {
        // There is nothing to print, and the nearest servers are no matches.
    } else if arguments.servers {
        ui.text(&report::servers(&answer, usize::from(arguments.limit)))?;
    } else {
        ui.text(&report::matches(&answer))?;
        if let Some(note) = report::rest(&answer) {
            ui.note(&note);
        }
    }
    if format != Format::Json {
        for server in &answer.unknown {
            ui.note(&format!("{server} — not known yet, {}", known.remedy()));
        }
    }
    if answer.matches.is_empty() {
        if !answer.excluded.is_empty() {
            return Err(report::handed_out(&answer.excluded).into());
        }
        let place = known.place();
        let around = report::Around {
            place: place.as_deref(),
            config: arguments.which.config(),
        };
        return Err(report::nothing(&search.words, &answer, around).into());
    }
    Ok(())
}

fn wanted(found: &Match) -> Wanted {
    Wanted {
        id: found.id.clone(),
        kind: found.kind,
        // Whatever answers a search is read by the model.
        pinned: false,
    }
}

/// Searches once the servers are known. Nobody but a daemon asks them.
fn wait(
    known: &mut Known,
    arguments: &Arguments,
    search: &Search,
    environment: &Environment,
    ui: &Ui,
) -> Result<Answer, CommandError> {
    if let Known::Offline(shelf) = known {
        let answer = shelf.search(search)?;
        if answer.unknown.is_empty() {
            return Ok(answer);
        }
        let interrupt = interrupt::catch()?;
        let which = &arguments.which;
        let mut client = on_demand::connect(which, environment, None, ANSWER, &interrupt, ui)?;
        let answer = client.search_when_known(search, Some(&interrupt))?;
        *known = Known::Running(client);
        return Ok(answer);
    }
    Ok(known.search(search)?)
}
