//! `shelf read`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use daemon::protocol::Read;

use super::asking::Asking;
use super::call::content::Content;
use super::call::limit::{self, MaxOutput};
use crate::duration;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// Read a resource of a server and print it
///
/// mcp/SERVER/RESOURCES.md lists what there is, with the command that reads it. One that is not listed is asked for too, when it is a URI: it may
/// be one of a template. The URI is sent as it is.
///
/// Where no shelf runs, one is started for the configuration in use. It is mounted nowhere and ends when it has been idle.
///
/// Standard output is only the contents: texts as they are, a line break between them where the first lacks it. Blobs are written to files,
/// whose paths go to standard error, and which are kept for a week.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf read everything demo://resource/static/document/features.md\n  shelf read --out note.bin everything demo://resource/dynamic/blob/1"
)]
pub(crate) struct Arguments {
    /// Give up after this long, and cancel the request at the server [default: the server's own setting]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive)]
    timeout: Option<Duration>,

    /// Print the whole result as the server sent it
    #[arg(long, conflicts_with = "out")]
    json: bool,

    /// Write blobs there: a file for the only one, a directory, or - for standard output
    #[arg(long, value_name = "FILE|DIR|-")]
    out: Option<PathBuf>,

    /// Print only the first lines of longer contents, and write the whole to a file whose path goes to standard error: 4096, 64K, 1M, or none
    /// for no limit [default: SHELF_MAX_OUTPUT, else none]. What --json prints is printed whole or not at all
    #[arg(long, value_name = "SIZE", value_parser = limit::parse)]
    max_output: Option<MaxOutput>,

    #[command(flatten)]
    which: Which,

    /// The server
    #[arg(value_name = "SERVER")]
    server: String,

    /// The resource's URI
    #[arg(value_name = "URI")]
    uri: String,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let asking = Asking {
        timeout: arguments.timeout,
        json: arguments.json,
        out: arguments.out.as_deref(),
        max_output: arguments.max_output,
        which: &arguments.which,
    };
    asking.run(
        environment,
        ui,
        Content::of_resource,
        |client, timeout_ms, attendant| {
            let read = Read {
                server: arguments.server.clone(),
                uri: arguments.uri.clone(),
                timeout_ms,
            };
            client.read(&read, attendant)
        },
    )
}
