//! The instances of a server that is not shared (`share = "session"`): each session has its own.
//!
//! It must not know how an instance is started or called.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skills::problem::Problem;
use tokio::task::JoinHandle;

use super::failure;
use super::handle::Handle;
use super::history::History;
use super::supervisor::Supervisor;

/// How many sessions may have an instance of one server: it may be a browser.
pub(super) const MAX_INSTANCES: usize = 16;
/// How many sessions are remembered whose instance had to make room.
const MAX_EVICTED: usize = 1_024;
/// How an instance ended that had to make room, as its session is told.
const EVICTED: &str = "it was ended to make room for another session's";

/// The instances of one server, by session.
pub(super) struct Instances {
    /// What they are made like.
    pattern: Supervisor,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    by_session: BTreeMap<Arc<str>, Instance>,
    /// The tasks of those that had to make room.
    leaving: Vec<JoinHandle<()>>,
    /// The sessions that lost one.
    evicted: Vec<Arc<str>>,
}

struct Instance {
    /// Which of the places it has, counted from 1: the names of log files are bounded as the instances are.
    place: usize,
    handle: Handle,
    task: JoinHandle<()>,
}

impl Instances {
    pub(super) fn new(pattern: Supervisor) -> Self {
        Self {
            pattern,
            held: Mutex::default(),
        }
    }

    /// The instance of a session; nothing is started yet.
    ///
    /// # Errors
    /// When too many sessions use the server in this very moment.
    pub(super) fn of(&self, session: &str) -> Result<Handle, Problem> {
        let mut held = self.held();
        if let Some(instance) = held.by_session.get(session) {
            return Ok(instance.handle.clone());
        }
        if held.by_session.len() >= MAX_INSTANCES && !held.make_room() {
            let message = format!(
                "{MAX_INSTANCES} sessions use the server at this moment, each with an instance of its own (`share`)"
            );
            return Err(failure::server(&self.pattern.name, message)
                .hint("try again when one of them is done"));
        }
        let taken: Vec<_> = held.by_session.values().map(|one| one.place).collect();
        let place = (1..=MAX_INSTANCES)
            .find(|place| !taken.contains(place))
            .expect("there is room");
        let session: Arc<str> = session.into();
        let evicted = held.evicted.iter().position(|gone| *gone == session);
        let history = match evicted.map(|at| held.evicted.swap_remove(at)) {
            Some(_) => History::after_end(&session, EVICTED),
            None => History::default(),
        };
        let (handle, task) = self
            .pattern
            .for_session(self.log_path(place), history)
            .spawn(None);
        let instance = Instance {
            place,
            handle: handle.clone(),
            task,
        };
        held.by_session.insert(session, instance);
        Ok(handle)
    }

    /// Every instance with its session.
    pub(super) fn all(&self) -> Vec<(Arc<str>, Handle)> {
        let held = self.held();
        let instances = held.by_session.iter();
        instances
            .map(|(session, instance)| (Arc::clone(session), instance.handle.clone()))
            .collect()
    }

    /// Waits until nothing is left of any; they were told to end, or have no more to do.
    pub(super) async fn ended(&self) {
        let tasks: Vec<_> = {
            let mut held = self.held();
            let held = std::mem::take(&mut *held);
            let instances = held.by_session.into_values();
            instances.map(|one| one.task).chain(held.leaving).collect()
        };
        for task in tasks {
            // A task that panicked has nothing left to wait for.
            let _ = task.await;
        }
    }

    /// The log of the instance in a place: `name~2.log`. No encoded name of a server ends so.
    fn log_path(&self, place: usize) -> PathBuf {
        let shared = &self.pattern.log_path;
        let name = shared.file_stem().unwrap_or_default().display();
        shared.with_file_name(format!("{name}~{place}.log"))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Instances are put in and taken out whole, so a panic elsewhere does not spoil them.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Lets the instance go that nobody uses, one that does not run first, then the one that was not called for the longest time.
    /// Its task ends by itself when its handles are gone; a call that just took one still has its answer.
    fn make_room(&mut self) -> bool {
        self.leaving.retain(|task| !task.is_finished());
        let unused = self.by_session.iter().filter(|(_, instance)| {
            // Whoever calls, or is about to, holds another.
            instance.handle.inbox.strong_count() == 1
        });
        let oldest = unused.min_by_key(|(_, instance)| {
            let standing = instance.handle.history.standing();
            (standing.runs(), standing.last_call)
        });
        let Some(session) = oldest.map(|(session, _)| Arc::clone(session)) else {
            return false;
        };
        let Some(instance) = self.by_session.remove(&session) else {
            return false;
        };
        if instance.handle.history.was_called_by(&session) {
            if self.evicted.len() >= MAX_EVICTED {
                self.evicted.remove(0);
            }
            self.evicted.push(session);
        }
        self.leaving.push(instance.task);
        true
    }
}
