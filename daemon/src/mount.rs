//! The FUSE mount: a thin adapter from the tree to the kernel.
//!
//! fuser lives below this module and nowhere else. Inode numbers belong here.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use fuser::{Config, Session, SessionACL};
use rustix::process::{getegid, geteuid};
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use skills::tree::{Directory, SourceFile};

use crate::caller::Caller;
use attachment::Attachment;
use attributes::Attributes;
use filesystem::ShelfFilesystem;
use notifier::Publications;
use pool::Pool;
use shelf::Shelf;

pub use life::Life;
pub use search::{Found, Searching};

mod attachment;
mod attributes;
mod filesystem;
mod inode_table;
mod life;
mod mount_point;
mod notifier;
mod open_files;
mod opening;
mod pool;
#[cfg(test)]
mod real_tests;
mod refusal;
mod search;
mod shelf;
mod view;

/// Threads that answer the kernel: two, so that one slow answer does not hold up everything.
const FUSE_THREADS: usize = 2;

/// Threads that wait for disks.
const DISK_THREADS: usize = 4;

/// How long a notification may take: it waits for requests on its directory that are on their way.
const SETTLE_DEADLINE: Duration = Duration::from_secs(1);

/// How long a stop waits for those who are inside.
const STOP_DEADLINE: Duration = Duration::from_secs(1);

/// How the mount is made.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// The daemon's instance id: the file system's source is `shelf:<instance>`.
    pub instance: String,
    /// Whether users other than the daemon's own may read it (`allow_other`).
    pub allow_other: bool,
    /// Whether mounting over a directory that is not empty is allowed.
    pub nonempty: bool,
}

/// What the mount tells to and asks of the daemon. No method may read the mount.
pub trait Observer: Send + Sync + 'static {
    /// Identifies who opens, before the reply, while the caller waits.
    fn identify(&self, thread: u32, uid: u32) -> Caller;

    /// A file was opened; called before the reply, while the caller waits, so must not block.
    fn opened(&self, caller: Caller, path: PathBuf, entry: Option<EntryId>);

    /// An answer in `search/` was opened, with how many entries matched; called before the reply, must not block. It is not
    /// told as an open besides.
    fn searched(&self, caller: Caller, words: &str, matches: usize);

    /// The source of a file was found changed at open. Returns once the catalog has published what is there now, with
    /// that generation, or `None` when it could not within its deadline. Called on a worker thread, may block.
    fn source_changed(&self, source: &SourceFile) -> Option<u64>;
}

/// A running mount. Dropping it unmounts, as [`stop`](Self::stop) does.
pub struct Mount {
    attachment: Attachment,
    publications: Arc<Publications>,
    end: Arc<End>,
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mount").field(&self.attachment).finish()
    }
}

impl Mount {
    /// Mounts the tree and returns when it can be read; there is a `search/` if there is somebody to rank for it.
    ///
    /// # Errors
    /// [`ProblemKind::Mount`](skills::problem::ProblemKind::Mount): no FUSE here (with why, and `shelf mirror` as the way out), a
    /// mount point that is missing, not a directory, not empty, or already a mount.
    pub fn start(
        mount_point: &Path,
        options: &MountOptions,
        generation: u64,
        tree: Arc<Directory>,
        observer: Arc<dyn Observer>,
        searching: Option<Arc<dyn Searching>>,
    ) -> Result<Self, Problem> {
        let resolved = mount_point::prepare(mount_point, options.nonempty)?;
        let shelf = Shelf::new(generation, &tree, observer, searching);
        let shelf = Arc::new(shelf.map_err(|error| broke_off(mount_point, &error))?);
        let (connection, attachment) = Attachment::attach(&resolved, options)?;
        // From here on a failure has to unmount, which dropping the mount does.
        let mount = Self {
            attachment,
            publications: Arc::new(Publications::new(generation)),
            end: Arc::default(),
        };
        let failed = |error: io::Error| {
            mount.end.reach();
            broke_off(mount_point, &error)
        };
        let attributes = Attributes {
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
            real_owners: options.allow_other,
        };
        mount.serve(connection, shelf, attributes).map_err(failed)?;
        // The kernel has no permissions of the root until it is first asked for them, and throws the answer away when a
        // notification crosses it: a user who reads just then would be refused. So it is asked before anything is published.
        fs::metadata(&resolved).map_err(failed)?;
        Ok(mount)
    }

    /// Starts the threads: those that answer, and the one that notifies.
    fn serve(
        &self,
        connection: OwnedFd,
        shelf: Arc<Shelf>,
        attributes: Attributes,
    ) -> io::Result<()> {
        let pool = Pool::start("shelf-disk", DISK_THREADS)?;
        let filesystem = ShelfFilesystem::new(shelf.clone(), attributes, pool);
        let mut config = Config::default();
        config.n_threads = Some(FUSE_THREADS);
        config.clone_fd = true;
        // The kernel itself keeps other users out, unless the mount was made with `allow_other`.
        let session = Session::from_fd(filesystem, connection, SessionACL::All, config)?;

        let notifier = session.notifier();
        let publications = self.publications.clone();
        thread::Builder::new()
            .name("shelf-notify".to_owned())
            .spawn(move || notifier::run(&publications, &shelf, &notifier))?;

        let attachment = self.attachment.clone();
        let publications = self.publications.clone();
        let end = self.end.clone();
        thread::Builder::new()
            .name("shelf-mount".to_owned())
            .spawn(move || {
                if let Err(error) = session.run() {
                    tracing::error!(%error, "the FUSE session broke off");
                }
                publications.close();
                // Nothing is there any more after an unmount, but a dead mount is after a fault.
                detach(&attachment);
                end.reach();
            })?;
        Ok(())
    }

    /// Hands over the next tree: the notifier thread adopts it, then tells the kernel what changed. Never blocks.
    pub fn publish(&self, generation: u64, tree: Arc<Directory>) {
        self.publications.publish(generation, tree);
    }

    /// Waits until every reader gets this generation, which was published, or a later one; at most a second.
    pub fn settle(&self, generation: u64) {
        self.publications
            .wait_until_told(generation, SETTLE_DEADLINE);
    }

    /// Waits until the mount is gone for whatever reason (an outside umount, too). Blocks.
    pub fn wait(&self) {
        self.end.wait();
    }

    /// Unmounts: lazily, waits at most a second for readers, never unmounts what somebody else mounted there since.
    ///
    /// Who is still inside then is served on until he leaves or the process ends; [`wait`](Self::wait) does not wait for him.
    pub fn stop(&self) {
        self.publications.close();
        detach(&self.attachment);
        self.end.wait_at_most(STOP_DEADLINE);
        self.end.reach();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.stop();
    }
}

fn broke_off(mount_point: &Path, error: &io::Error) -> Problem {
    Problem::new(ProblemKind::Mount, format!("the mount failed: {error}"))
        .at_file(mount_point, None)
}

fn detach(attachment: &Attachment) {
    if let Err(error) = attachment.detach() {
        tracing::warn!(%error, ?attachment, "the mount can't be unmounted");
    }
}

/// The end of the session, which can be waited for.
#[derive(Debug, Default)]
struct End {
    reached: Mutex<bool>,
    changed: Condvar,
}

impl End {
    fn reach(&self) {
        *self.reached.lock().expect("a flag can't panic") = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let reached = self.reached.lock().expect("a flag can't panic");
        let _reached = self
            .changed
            .wait_while(reached, |reached| !*reached)
            .expect("a flag can't panic");
    }

    fn wait_at_most(&self, deadline: Duration) {
        let reached = self.reached.lock().expect("a flag can't panic");
        let _ = self
            .changed
            .wait_timeout_while(reached, deadline, |reached| !*reached);
    }
}
