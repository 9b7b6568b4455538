//! Runs a daemon within the process, without a mount, lists what is on its shelf and calls a tool.
//!
//! `cargo run --example embed_daemon -- CONFIG ID [ARGUMENTS]`. With the example catalog:
//!
//! ```sh
//! cargo build --bin shelf --example desk_server
//! DESK_SERVER=$PWD/target/debug/examples/desk_server \
//!   cargo run --example embed_daemon -- examples/catalog/mcp.json desk/count_text '{"text": "one two"}'
//! ```
//!
//! The first command is needed: servers run under the guard of the `shelf` binary, which is looked for above the
//! example's directory, and running an example does not build it.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;
use daemon::client::{Client, Identity};
use daemon::instance::{self, Selector};
use daemon::protocol::{Call, ListFilter};
use daemon::run::{Event, Options, Output};
use daemon::surroundings::{Directories, Surroundings};
use serde_json::Map;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(config), Some(id)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: embed_daemon CONFIG ID [ARGUMENTS]");
    };
    let values = arguments.next().unwrap_or_else(|| "{}".to_owned());
    let config = std::path::absolute(config)?;

    // The daemon writes nowhere else.
    let place = tempfile::tempdir()?;
    with_daemon(place.path(), &config, |client| {
        for entry in client.list(&ListFilter::default())?.entries {
            println!("{} — {}", entry.id, entry.summary);
        }
        let call = Call {
            entry: id,
            arguments: serde_json::from_str::<Map<_, _>>(&values).context("the arguments")?,
            timeout_ms: None,
        };
        let reply = client.call(&call, None, &mut |_| {})?;
        println!("{}", reply.result.get());
        Ok(())
    })
}

/// Runs a daemon on a thread for as long as `ask` takes.
fn with_daemon(
    place: &Path,
    config: &Path,
    ask: impl FnOnce(&mut Client) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let options = options(place, config)?;
    let runtime = options.surroundings.directories.runtime.clone();
    let (ready, is_ready) = mpsc::channel();
    let daemon = std::thread::spawn(move || {
        daemon::run::run(options, &mut |event| match event {
            Event::Progress { message } => println!("{message}"),
            Event::Ready { .. } => drop(ready.send(())),
        })
    });
    // When it can't become ready, the daemon ends, and says why below.
    let asked = is_ready.recv().is_ok().then(|| {
        let found = instance::find(&Selector {
            config: Some(config),
            ..Selector::new(&runtime)
        })?;
        let mut client = Client::connect(&found.socket, &Identity::default())?;
        let answered = ask(&mut client);
        client.stop()?;
        answered
    });
    daemon
        .join()
        .map_err(|_| anyhow::anyhow!("the daemon panicked"))??;
    asked.unwrap_or(Ok(()))
}

fn options(place: &Path, config: &Path) -> anyhow::Result<Options> {
    Ok(Options {
        surroundings: Surroundings {
            directories: Directories {
                cache: place.join("cache"),
                state: place.join("state"),
                runtime: place.join("runtime"),
            },
            environment: std::env::vars_os().collect(),
            executable: shelf()?,
        },
        config: Some(config.to_owned()),
        skills: Vec::new(),
        project: None,
        output: Output::None,
        wait: Duration::from_secs(10),
    })
}

/// The `shelf` binary that was built with this example.
fn shelf() -> anyhow::Result<PathBuf> {
    let example = std::env::current_exe()?;
    let built = example.ancestors().nth(2).context("the target directory")?;
    Ok(built.join("shelf"))
}
