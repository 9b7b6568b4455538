//! Scans the roots and tells the catalog what differs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use skills::discovery::{Discovered, Limits, SkillRoot, Watch, discover_outside};
use skills::problem::{Problem, ProblemKind};
use skills::skill::Skill;

use crate::catalog::{SourceUpdate, Updates};
use crate::mount_table::ShelfMount;

/// How long a SKILL.md may be unusable while it is written anew, and how often it is looked at meanwhile. The scan waits:
/// it must say neither that the skill is gone nor, to an open that found it changed, that it is as before.
const REWRITE: Duration = Duration::from_millis(100);
const REWRITE_STEP: Duration = Duration::from_millis(5);

/// The one place that scans. Scans are made one at a time, by whatever thread asks.
#[derive(Debug)]
pub(super) struct Scanner {
    mounts: fn() -> Vec<ShelfMount>,
    /// Where the daemon writes its mirror.
    own: Option<PathBuf>,
    limits: Limits,
    updates: Updates,
    /// How many scans have begun.
    begun: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    roots: Vec<SkillRoot>,
    found: Discovered,
    /// Why changes are not seen at once.
    watch_problem: Option<Problem>,
    /// What the catalog was told last.
    sent: Option<(Vec<Arc<Skill>>, Vec<Problem>)>,
}

impl Scanner {
    pub(super) fn new(
        mounts: fn() -> Vec<ShelfMount>,
        roots: Vec<SkillRoot>,
        own: Option<PathBuf>,
        limits: Limits,
        updates: Updates,
    ) -> Self {
        Self {
            mounts,
            own: own.map(|own| own.canonicalize().unwrap_or(own)),
            limits,
            updates,
            begun: AtomicU64::new(0),
            state: Mutex::new(State {
                roots,
                found: Discovered::default(),
                watch_problem: None,
                sent: None,
            }),
        }
    }

    /// Scans now.
    pub(super) fn scan(&self) {
        self.scan_locked(&mut self.lock());
    }

    /// Returns when a scan has ended that began after this call: of many callers at once one scans for all.
    pub(super) fn scan_since_now(&self) {
        let before = self.begun.load(Ordering::SeqCst);
        let mut state = self.lock();
        // A scan counts before it looks at anything, and holds the lock until it has sent what it saw.
        if self.begun.load(Ordering::SeqCst) == before {
            self.scan_locked(&mut state);
        }
    }

    /// Replaces the roots and scans them.
    pub(super) fn set_roots(&self, roots: Vec<SkillRoot>) {
        let mut state = self.lock();
        state.roots = roots;
        self.scan_locked(&mut state);
    }

    /// Reports, or no longer reports, that changes are not seen at once.
    pub(super) fn set_watch_problem(&self, problem: Option<Problem>) {
        let mut state = self.lock();
        state.watch_problem = problem;
        self.publish(&mut state);
    }

    /// What to watch, by the last scan.
    pub(super) fn watch(&self) -> Watch {
        self.lock().found.watch.clone()
    }

    fn scan_locked(&self, state: &mut State) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let mounts: Vec<PathBuf> = (self.mounts)()
            .into_iter()
            .map(|mount| mount.mount_point)
            .chain(self.own.clone())
            .collect();
        let (roots, refused) = refuse_mounts(&state.roots, &mounts);
        let known = std::mem::take(&mut state.found.skills);
        let deadline = Instant::now() + REWRITE;
        state.found = loop {
            let found = discover_outside(&roots, self.limits, &mounts, &known);
            if Instant::now() >= deadline || !is_being_rewritten(&known, &found.skills) {
                break found;
            }
            thread::sleep(REWRITE_STEP);
        };
        state.found.problems.splice(0..0, refused);
        self.publish(state);
    }

    /// Tells the catalog, unless it knows already.
    fn publish(&self, state: &mut State) {
        let skills = &state.found.skills;
        let problems = state.watch_problem.iter().chain(&state.found.problems);
        let problems: Vec<Problem> = problems.cloned().collect();
        let same = state.sent.as_ref().is_some_and(|(sent, said)| {
            *said == problems
                && sent.len() == skills.len()
                && sent.iter().zip(skills).all(|(a, b)| Arc::ptr_eq(a, b))
        });
        if same {
            return;
        }
        state.sent = Some((skills.clone(), problems.clone()));
        // The catalog ends after its sources; when it is gone, there is nobody to tell.
        let _ = self.updates.send(SourceUpdate::Skills {
            skills: skills.clone(),
            problems,
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a known skill may be missing only because its SKILL.md was touched this moment: most programs empty a file and
/// then write it anew.
fn is_being_rewritten(known: &[Arc<Skill>], found: &[Arc<Skill>]) -> bool {
    let found: HashSet<&Path> = found
        .iter()
        .map(|skill| skill.directory.as_path())
        .collect();
    known
        .iter()
        .filter(|skill| !found.contains(skill.directory.as_path()))
        .any(|skill| {
            let modified = skill.file.metadata().and_then(|file| file.modified());
            modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age < REWRITE))
        })
}

/// Takes out the roots that lie in a shelf mount or contain one: the daemon never reads itself.
fn refuse_mounts(roots: &[SkillRoot], mounts: &[PathBuf]) -> (Vec<SkillRoot>, Vec<Problem>) {
    let mut allowed = Vec::with_capacity(roots.len());
    let mut refused = Vec::new();
    for root in roots {
        match mount_of(&root.path, mounts) {
            None => allowed.push(root.clone()),
            Some((mount, relation)) => refused.push(
                Problem::new(
                    ProblemKind::Configuration,
                    format!(
                        "the skills root {relation} the shelf mount {}",
                        mount.display()
                    ),
                )
                .at_file(&root.path, None)
                .hint("name a directory apart from the mount point"),
            ),
        }
    }
    (allowed, refused)
}

/// The mount that a path has to do with, and how.
fn mount_of<'a>(path: &Path, mounts: &'a [PathBuf]) -> Option<(&'a Path, &'static str)> {
    // As written first: a path in a stale mount has no canonical form, and one in a live mount need not be looked up.
    let written = std::path::absolute(path).ok();
    let real = || path.canonicalize().ok();
    let relation = |path: &Path| {
        mounts.iter().find_map(|mount| {
            if path.starts_with(mount) {
                Some((mount.as_path(), "lies in"))
            } else if mount.starts_with(path) {
                Some((mount.as_path(), "contains"))
            } else {
                None
            }
        })
    };
    written
        .and_then(|path| relation(&path))
        .or_else(|| real().and_then(|path| relation(&path)))
}
