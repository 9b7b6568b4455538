//! `shelf eval`.

mod report;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use skills::problem::{Problem, ProblemKind};
use skills::search::cases;

use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::known::Known;
use crate::selection::Which;
use crate::ui::Ui;

/// Measure how well search finds what it should, on requests of your own
///
/// Each line of the file is a request, a tab, and the ids that answer it with commas between them; any of them counts. A name or a path that an
/// entry has elsewhere (mcp__server__tool, mcp/server/tool.md) stands for its id. Blank lines and lines that begin with # are passed over.
///
/// It prints, for words alone (BM25) and for words and meaning, the share of the requests that have a right entry first (hit@1), among the first 5
/// and among the first 8, and the mean of 1 / rank of the best right one (MRR), then what was missed. Requests none of whose ids is in the catalog
/// are named and not counted. Nothing of it is logged.
///
/// Without a running shelf it is the catalog of the configuration in use, as its servers were listed last.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  printf 'file a ticket\\tgithub/create_issue,jira/create\\n' > requests.tsv\n  shelf eval requests.tsv\n  shelf eval --json requests.tsv | jq .hybrid.mrr"
)]
pub(crate) struct Arguments {
    /// The requests with the ids that answer them
    #[arg(value_name = "FILE.tsv")]
    file: PathBuf,

    #[command(flatten)]
    which: Which,

    /// Print all figures and misses as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let file = &arguments.file;
    let bytes = fs::read(file)
        .map_err(|error| usage(format!("it can't be read: {error}")).at_file(file, None))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| usage(format!("it is no UTF-8: {error}")).at_file(file, None))?;
    let cases = cases(&text).map_err(|problem| problem.at_file(file, None))?;
    if cases.is_empty() {
        return Err(usage("there is no request in it")
            .at_file(file, None)
            .into());
    }
    let mut known = Known::find(&arguments.which, environment, None)?;
    let evaluation = known.evaluate(cases)?;
    if arguments.json {
        ui.json(&evaluation)?;
    } else {
        ui.text(&report::figures(&evaluation))?;
        for line in report::left_out(&evaluation) {
            ui.warning(&line);
        }
    }
    if evaluation.lexical.cases == 0 {
        let problem = Problem::new(ProblemKind::NotFound, "none of its ids is in the catalog");
        return Err(problem
            .at_file(file, None)
            .hint("shelf list prints the ids")
            .into());
    }
    Ok(())
}
