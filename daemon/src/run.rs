//! The daemon's life: from its options to a running mount, and down again.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skills::discovery::SkillRoot;
use skills::problem::Problem;

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
        mount_point: PathBuf,
        /// Whether other users may read it.
        allow_other: bool,
        /// Whether the directory may have contents, which the mount then hides.
        nonempty: bool,
    },
    /// Plain files, written once.
    MirrorOnce {
        /// Where.
        target: PathBuf,
    },
    /// Nowhere: catalog and socket alone.
    None,
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
    let _ = (options, on_event);
    todo!()
}
