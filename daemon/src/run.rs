//! The daemon's life: from its options to a running catalog, socket and output, and back to nothing.

mod config_watch;
mod daemon;
mod first_listing;
mod identity;
mod mirroring;
mod origin;
mod output;
mod pinning;
mod sources;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};

use self::config_watch::ConfigWatch;
use self::daemon::Daemon;
pub(crate) use self::identity::{catalog_name, configuration_name, pins_name};
pub(crate) use self::origin::Origin;
pub(crate) use self::sources::{roots as skill_roots, scope as pin_scope};
use crate::descriptor_limit;
use crate::surroundings::Surroundings;

/// What a daemon is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it is given of the machine.
    pub surroundings: Surroundings,
    /// The configuration file; absolute.
    pub config: Option<PathBuf>,
    /// The skill roots beside those of the configuration, in order of precedence; absolute.
    pub skills: Vec<SkillRoot>,
    /// The project whose trusted servers and skills are added to them; absolute, links resolved.
    pub project: Option<PathBuf>,
    /// Where the tree is shown.
    pub output: Output,
    /// How long the first listing of unknown servers may hold up [`Event::Ready`].
    pub wait: Duration,
}

/// Where the tree is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// A FUSE mount, until the daemon is stopped.
    Mount {
        /// Where.
        #[serde(with = "skills::paths")]
        mount_point: PathBuf,
        /// Whether other users may read it.
        allow_other: bool,
        /// Whether the directory may have contents, which the mount then hides.
        nonempty: bool,
    },
    /// Plain files, written once.
    MirrorOnce {
        /// Where.
        #[serde(with = "skills::paths")]
        target: PathBuf,
    },
    /// Plain files, kept current until the daemon is stopped.
    Mirror {
        /// Where.
        #[serde(with = "skills::paths")]
        target: PathBuf,
    },
    /// Nowhere: catalog and socket alone, until nobody has asked for a while
    /// ([`DaemonOptions::idle`](crate::config::DaemonOptions::idle)).
    None,
}

impl Output {
    /// The directory where the tree is shown.
    fn target(&self) -> Option<&Path> {
        match self {
            Self::Mount { mount_point, .. } => Some(mount_point),
            Self::MirrorOnce { target } | Self::Mirror { target } => Some(target),
            Self::None => None,
        }
    }
}

/// What the daemon says while it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// Something goes on.
    Progress {
        /// What.
        message: String,
    },
    /// Everything can be read. Said once.
    Ready {
        /// The mount point or the mirror's target.
        #[serde(with = "skills::paths")]
        mount_point: Option<PathBuf>,
        /// How many entries there are.
        entries: usize,
        /// What was skipped or is wrong.
        problems: Vec<Problem>,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
        /// The servers whose definitions are not known yet.
        pending: Vec<String>,
    },
}

/// Runs a daemon until it is shut down: by SIGTERM, SIGINT, a `stop` request or the end of its mount.
///
/// # Errors
/// Whatever keeps it from becoming ready.
pub fn run(options: Options, on_event: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| internal("the runtime could not be started", &error))?;
    let result = runtime.block_on(live(options, on_event));
    // Whatever still blocks by now (a notifier whose mount hangs) must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn live(options: Options, on_event: &mut dyn FnMut(Event)) -> Result<(), Problem> {
    let started = Instant::now();
    descriptor_limit::raise();
    let (config, project) = (options.config.as_deref(), options.project.as_deref());
    let origin = Origin::new(config, project, &options.surroundings);
    // Before the files are read, so that no change is missed.
    let watch = ConfigWatch::start(&origin.files());
    let config = origin.load()?;
    let daemon = Daemon::start(&options, origin, &config).await?;
    let result = daemon.serve(&options, watch, started, on_event).await;
    daemon.stop().await;
    result
}

fn internal(message: &str, error: &std::io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("{message}: {error}"))
}
