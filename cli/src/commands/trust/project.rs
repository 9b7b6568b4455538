//! Trust in a project: shown first, asked for, kept, taken back.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::path::Path;

use daemon::config::Config;
use daemon::project::Project;
use daemon::project::file::ServersFile;
use daemon::project::trust::Trust;
use serde_json::{Value, json};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};

use super::listing::Listing;
use crate::environment::Environment;
use crate::error::{CommandResult, usage};
use crate::interrupt;
use crate::project::{shown, trusts};
use crate::selection::real;
use crate::terminal::{self, Answer};
use crate::ui::Ui;

/// Shows what a project would start, and trusts exactly that if somebody wants it.
pub(super) fn trust(
    directory: &Path,
    yes: bool,
    json: bool,
    environment: &Environment,
    ui: &Ui,
) -> CommandResult {
    let home = environment.home_directory();
    let project = Project::named(directory, home.as_deref())?;
    // Read once: what is shown and what is trusted are the same bytes, whatever becomes of the file meanwhile.
    let file = ServersFile::read(&project.directory)?;
    let servers = file.as_ref().map(ServersFile::parse).transpose()?;
    let own = own_servers(environment);
    let listing = Listing::new(&project, file.as_ref(), servers.as_ref(), &own);
    let trust = Trust::of(&project, file.as_ref());
    let trusts = trusts(environment)?;
    let before = trusts.find(&project.directory)?;
    let was_trusted = before.is_some_and(|before| before.is_same(&trust));
    if !json {
        ui.text(&listing.text())?;
    }
    let is_wanted = !was_trusted && (yes || (!json && is_confirmed(ui)?));
    if is_wanted {
        trusts.add(trust)?;
    }
    if json {
        return ui.json(&listing.json(was_trusted || is_wanted));
    }
    ui.note(match was_trusted {
        true => "it is trusted already",
        false => "it is trusted; a shelf that shows it takes this over",
    });
    Ok(())
}

/// The servers of the user's own configuration, which come first. One that can't be read has none to be compared.
fn own_servers(environment: &Environment) -> BTreeSet<ServerName> {
    let config = environment
        .default_config()
        .and_then(|path| Config::load(&path).ok());
    let servers = config.map(|config| config.servers).unwrap_or_default();
    servers.into_keys().collect()
}

/// Asks whoever sees the listing; all but a clear yes is a no.
fn is_confirmed(ui: &Ui) -> Result<bool, Problem> {
    if !(terminal::is_attended() && ui.out_is_terminal()) {
        return Err(usage("nothing was trusted: there is no terminal to ask on")
            .hint("--yes trusts what is listed"));
    }
    let interrupt = interrupt::catch().map_err(|error| {
        Problem::new(
            ProblemKind::Internal,
            format!("signals can't be waited for: {error}"),
        )
    })?;
    terminal::forget_typed_ahead();
    ui.prompt("Trust it? [y]es; [N]o: ");
    match terminal::line(&interrupt, interrupt.as_fd()) {
        Answer::Line(line) if is_yes(&line) => Ok(true),
        Answer::Line(_) => Err(declined()),
        Answer::End | Answer::Over => {
            ui.note("\n");
            Err(declined())
        }
    }
}

fn is_yes(line: &str) -> bool {
    ["y", "yes"].contains(&&*line.trim().to_ascii_lowercase())
}

fn declined() -> Problem {
    Problem::new(ProblemKind::Refused, "nothing was trusted")
}

/// Lists what is trusted.
pub(super) fn list(json: bool, environment: &Environment, ui: &Ui) -> CommandResult {
    let all = trusts(environment)?.all()?;
    let home = environment.home_directory();
    let standing = |trust: &Trust| match Project::named(&trust.directory, home.as_deref()) {
        Ok(project) => project.untrusted(Some(trust)),
        // Whatever is there now is not what was trusted.
        Err(_) => vec!["."],
    };
    if json {
        let projects: Vec<Value> = all
            .iter()
            .map(|trust| json!({ "trust": trust, "changed": standing(trust) }))
            .collect();
        return ui.json(&json!({ "projects": projects }));
    }
    let mut text = String::new();
    for trust in &all {
        let _ = write!(text, "{} — since ", shown(&trust.directory));
        let _ = write!(text, "{}", trust.since.strftime("%Y-%m-%d %H:%M:%S UTC"));
        let changed = standing(trust);
        let _ = match &*changed {
            [] => writeln!(text),
            ["."] => writeln!(text, ", not there any more"),
            changed => writeln!(text, ", not as it was trusted: {}", changed.join(", ")),
        };
    }
    if all.is_empty() {
        ui.note("no project is trusted");
    }
    Ok(ui.text(&text)?)
}

/// Takes trust back.
pub(super) fn remove(directory: &Path, environment: &Environment, ui: &Ui) -> CommandResult {
    let directory = real(directory);
    match trusts(environment)?.remove(&directory)? {
        Some(_) => {
            ui.note(&format!("{} is no longer trusted", shown(&directory)));
            Ok(())
        }
        None => Err(
            Problem::new(ProblemKind::NotFound, "this project is not trusted")
                .at_file(directory, None)
                .hint("shelf trust --list lists those that are")
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_one() {
        for yes in ["y", " Yes ", "YES"] {
            assert!(is_yes(yes), "{yes}");
        }
        for no in ["", "n", "yy", "yes please", "y\u{200b}", "\u{1b}[A"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
