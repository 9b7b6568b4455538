//! `shelf brief`.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use daemon::instance;
use skills::brief::{Block, brief};
use skills::problem::{Problem, ProblemKind};
use skills::summary::is_invisible;

use crate::environment::{Environment, absolute};
use crate::error::{CommandResult, usage};
use crate::known::Known;
use crate::selection::{Which, real};
use crate::ui::Ui;

/// Print what an agent should be told of a shelf, for AGENTS.md or a system prompt
///
/// At most 200 tokens, and the same bytes for the same place. DIR need not be mounted; without it, it is where the running shelf is, else where
/// `shelf mount` would mount.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf brief --write AGENTS.md\n  shelf brief /mnt/tools --with-index=4000"
)]
pub(crate) struct Arguments {
    /// Where the shelf is mounted or mirrored
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Add the overview of what is on the shelf, at most so many bytes of it
    #[arg(
        long,
        value_name = "BYTES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "8192",
        value_parser = clap::value_parser!(u32).range(256..)
    )]
    with_index: Option<u32>,

    /// Keep it in a marked block of this file, and leave the rest of the file alone
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,

    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let given = arguments.directory.as_deref().map(absolute).transpose()?;
    // Whatever of a shelf is named, the whole of it is meant.
    let given = match given {
        Some(path) => match instance::containing(&environment.runtime(), &real(&path))? {
            Some(shelf) => Some(shelf.mount_point),
            None => Some(path),
        },
        None => None,
    };
    let mut known = match (&given, arguments.with_index) {
        // Nothing depends on who runs.
        (Some(_), None) => None,
        _ => Some(Known::find(
            &arguments.which,
            environment,
            given.as_deref(),
        )?),
    };
    let place = match (given, &mut known) {
        (Some(place), _) => place,
        (None, Some(Known::Running(client))) => {
            client.status()?.about.mount_point.ok_or_else(|| {
                usage("the shelf that runs is mounted nowhere")
                    .hint("say where it will be: shelf brief DIR")
            })?
        }
        (None, _) => environment.default_mount_point()?,
    };
    if place
        .to_str()
        .is_none_or(|text| text.contains(is_invisible))
    {
        let message = "the name of the place can't be written in a text as it is";
        return Err(usage(message).at_file(&place, None).into());
    }
    let mut text = brief(&place);
    if let (Some(budget), Some(known)) = (arguments.with_index, &mut known) {
        text.push('\n');
        text.push_str(&known.overview(budget as usize)?);
    }
    match &arguments.write {
        None => Ok(ui.text(&text)?),
        Some(file) => {
            let what = if keep(file, &text)? {
                "was written to"
            } else {
                "is as it was in"
            };
            ui.note(&format!("the brief {what} {}", file.display()));
            Ok(())
        }
    }
}

/// Puts the text into the file's block; whether the file changed.
fn keep(file: &Path, text: &str) -> Result<bool, Problem> {
    let failed = |what: &str, error: &std::io::Error| {
        // The error itself may name a file of ours beside it.
        let error = std::io::Error::from(error.kind());
        Problem::new(ProblemKind::Usage, format!("{what}: {error}")).at_file(file, None)
    };
    // A link stays one: its target is what is written.
    let target = match file.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => absolute(file)?,
        Err(error) => return Err(failed("can't be read", &error)),
    };
    let old = match fs::read(&target) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
            Problem::new(ProblemKind::Usage, "is not UTF-8, so nothing was written")
                .at_file(file, None)
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed("can't be read", &error)),
    };
    let block = Block::find(&old).map_err(|error| {
        Problem::new(ProblemKind::Usage, format!("{error}; nothing was written"))
            .at_file(file, Some(error.line()))
            .hint("keep one begin line and one end line after it, or none of either")
    })?;
    let new = block.filled_with(text);
    if new == old {
        return Ok(false);
    }
    replace(&target, &new).map_err(|error| failed("can't be written", &error))?;
    Ok(true)
}

/// Replaces a file whole, with its mode: whoever reads it meanwhile sees the old one or the new one.
fn replace(target: &Path, text: &str) -> std::io::Result<()> {
    let directory = target.parent().unwrap_or(Path::new("/"));
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    temporary.write_all(text.as_bytes())?;
    let permissions = match fs::metadata(target) {
        Ok(metadata) => metadata.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    temporary.as_file().set_permissions(permissions)?;
    temporary.persist(target).map_err(|error| error.error)?;
    Ok(())
}
