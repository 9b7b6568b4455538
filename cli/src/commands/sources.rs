//! What a shelf is filled from: the arguments that `mount` and `mirror` share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use daemon::run::{Event, Options, Output};
use skills::discovery::SkillRoot;
use skills::problem::Problem;

use crate::duration;
use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::ui::Ui;
use crate::{descriptors, diagnostics, interrupt, launch, project};

/// Where tools and skills come from.
#[derive(Args, Debug)]
pub(crate) struct Sources {
    /// Take servers and settings from FILE: JSON with `mcpServers`, or a shelf.toml
    ///
    /// Without it, $XDG_CONFIG_HOME/toolshelf/shelf.toml or mcp.json is taken if there is one. Without that and without --skills, the skills that
    /// clients share are shown (~/.agents/skills, ~/.claude/skills and the like). Without either option the project that you stand in adds its own servers and skills, once `shelf trust` has been told to trust it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Add the skills below DIR; the first of several wins where names clash
    #[arg(long, value_name = "DIR")]
    skills: Vec<PathBuf>,

    /// Wait at most this long for servers that are not known yet; they appear when they answer
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = duration::parse)]
    wait: Duration,
}

impl Sources {
    /// The options of a daemon that shows them.
    pub(crate) fn options(
        &self,
        environment: &Environment,
        output: Output,
    ) -> Result<Options, Problem> {
        let config = match &self.config {
            Some(file) => Some(absolute(file)?),
            None => environment.default_config(),
        };
        let skills = if config.is_none() && self.skills.is_empty() {
            environment.shared_skills()
        } else {
            self.skills
                .iter()
                .map(|path| {
                    Ok(SkillRoot {
                        path: absolute(path)?,
                        source: None,
                        optional: false,
                    })
                })
                .collect::<Result<_, Problem>>()?
        };
        Ok(Options {
            surroundings: environment.surroundings()?,
            config,
            skills,
            project: self
                .may_be_found()
                .then(|| project::in_use(environment))
                .flatten(),
            output,
            wait: self.wait,
        })
    }

    /// Says what was found where the user works, and is not trusted.
    pub(super) fn tell_project(&self, environment: &Environment, ui: &Ui) {
        if self.may_be_found() {
            project::tell(environment, ui);
        }
    }

    /// Whether a project counts: who names what to show has chosen.
    fn may_be_found(&self) -> bool {
        self.config.is_none() && self.skills.is_empty()
    }
}

/// Which process the daemon is.
pub(super) enum Place {
    /// This one.
    Here,
    /// One of its own.
    Background,
}

/// Starts a daemon and says when it is ready; in this process, returns at its end.
pub(super) fn start(options: Options, place: Place, json: bool, ui: &Ui) -> CommandResult {
    if let Place::Background = place {
        let interrupt = interrupt::catch()?;
        let ready = launch::start(options, &interrupt, &mut |message| ui.progress(message))?;
        return announce(&ready, json, ui);
    }
    let mut announced = Ok(());
    run_here(options, ui, |ready| announced = announce(&ready, json, ui))?;
    announced
}

/// Is the daemon until its end, and hands over what it says when it is ready.
pub(super) fn run_here(
    options: Options,
    ui: &Ui,
    mut on_ready: impl FnMut(Event),
) -> Result<(), Problem> {
    descriptors::withhold(&[]);
    diagnostics::print();
    daemon::run::run(options, &mut |event| match event {
        Event::Progress { message } => ui.progress(&message),
        ready @ Event::Ready { .. } => on_ready(ready),
    })
}

/// Says that a shelf is ready: where, how much is on it, how long it took, and what to look at.
fn announce(event: &Event, json: bool, ui: &Ui) -> CommandResult {
    let Event::Ready {
        mount_point,
        entries,
        problems,
        elapsed_ms,
        pending,
    } = event
    else {
        return Ok(());
    };
    if json {
        return ui.json(event);
    }
    ui.text(&summary(mount_point.as_deref(), *entries, *elapsed_ms))?;
    if !pending.is_empty() {
        ui.note(&format!(
            "not known yet, will appear when they answer: {}",
            pending.join(", ")
        ));
    }
    if let Some(first) = problems.first() {
        ui.warning(&format!(
            "{}, the first: {first}",
            count(problems.len(), "problem", "problems")
        ));
        ui.hint("shelf status shows them all");
    }
    Ok(())
}

/// One line that says where a shelf is, how much is on it and how long it took.
pub(super) fn summary(place: Option<&Path>, entries: usize, elapsed_ms: u64) -> String {
    let place = place.map_or_else(|| "ready".to_owned(), |path| path.display().to_string());
    let seconds = Duration::from_millis(elapsed_ms).as_secs_f64();
    format!(
        "{place}: {} in {seconds:.2} s\n",
        count(entries, "entry", "entries")
    )
}

/// A number with its noun.
pub(super) fn count(number: usize, one: &str, several: &str) -> String {
    let noun = if number == 1 { one } else { several };
    format!("{number} {noun}")
}
