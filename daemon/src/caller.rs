//! Who asked: a process, seen through a FUSE request or a socket's peer credentials.
//!
//! It reads `/proc` and nothing else, so that it can't wait for a mount, a server or a lock that is held for long.

mod proc;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub(crate) use proc::session_name;

/// A process that opened a file or sent a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The process id (not the thread's); 0 when it lives in a PID namespace that we can't see into.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its command name (`/proc/<pid>/comm`), empty when unknown.
    pub command: String,
    /// `SHELF_SESSION`, else the POSIX session id with its start time.
    ///
    /// `SHELF_SESSION` is the one that the process was executed with: a program that changes its own
    /// environment is not seen to. Without it the session is `<sid>@<start>`, the start being that of the
    /// session's leader in clock ticks since boot, so that a number that is used again is another session. Once the leader
    /// has ended its start can't be learnt, and processes that are first seen after that are in `<sid>@gone`. Empty when
    /// nothing is known.
    pub session: String,
}

/// Identifies callers, with what is costly to read cached by process id and start time.
#[derive(Debug, Default)]
pub struct Callers {
    known: Mutex<Generations<Thread, Arc<Process>>>,
}

/// One thread at one moment of its life: an exec, a rename or `setsid` makes it another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    id: u32,
    start: u64,
    command: Box<str>,
    session: u32,
}

/// What is costly to find out of the process that a thread belongs to.
#[derive(Debug)]
struct Process {
    id: u32,
    command: Box<str>,
    session: Box<str>,
}

impl Callers {
    /// Identifies the process that a thread belongs to. Reads `/proc`, never fails: what can't be read is empty.
    ///
    /// To be called while the thread waits for its reply, since a process that has ended can't be read. A known thread
    /// costs one read. A thread whose process can't be seen (another PID namespace, `hidepid`) goes by
    /// its own number.
    pub fn identify(&self, thread: u32, uid: u32) -> Caller {
        let process = if thread == 0 {
            None
        } else {
            self.process_of(thread)
        };
        match process {
            Some(process) => Caller {
                pid: process.id,
                uid,
                command: process.command.to_string(),
                session: process.session.to_string(),
            },
            None => Caller {
                pid: thread,
                uid,
                command: String::new(),
                session: String::new(),
            },
        }
    }

    fn process_of(&self, id: u32) -> Option<Arc<Process>> {
        let stat = proc::thread_stat(id)?;
        let thread = Thread {
            id,
            start: stat.start,
            command: stat.command,
            session: stat.session,
        };
        if let Some(process) = self.known().get(&thread) {
            return Some(process);
        }
        // The lock is not held while `/proc` is read: two threads may read the same, which does no harm.
        let process = Arc::new(Process::read(&thread));
        self.known().insert(thread, Arc::clone(&process));
        Some(process)
    }

    fn known(&self) -> MutexGuard<'_, Generations<Thread, Arc<Process>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session of this process, as a daemon that it asks would log it: the name that it gives, else what `/proc` tells.
/// `None` when that is nothing.
pub fn own_session(given: Option<&str>) -> Option<String> {
    let named = given.and_then(session_name);
    named.or_else(|| {
        let user = rustix::process::geteuid().as_raw();
        let own = Callers::default().identify(std::process::id(), user);
        Some(own.session).filter(|session| !session.is_empty())
    })
}

impl Process {
    fn read(thread: &Thread) -> Self {
        let id = proc::process_of_thread(thread.id).unwrap_or(thread.id);
        let command = if id == thread.id {
            thread.command.clone()
        } else {
            proc::thread_stat(id).map_or_else(|| thread.command.clone(), |stat| stat.command)
        };
        let session = proc::shelf_session(id).unwrap_or_else(|| {
            let sid = thread.session;
            match proc::thread_stat(sid) {
                Some(leader) => format!("{sid}@{}", leader.start),
                None => format!("{sid}@gone"),
            }
        });
        Self {
            id,
            command,
            session: session.into(),
        }
    }
}

/// A map that holds at most twice [`Generations::SIZE`] entries and forgets those that were not asked for lately.
#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash, V: Clone> Generations<K, V> {
    const SIZE: usize = 512;

    fn get(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.insert(key, value.clone());
        Some(value)
    }

    fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= Self::SIZE {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}
