//! A few threads for what may wait on a disk or take its time, so that the threads that answer the kernel never do.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// The number of threads is bounded, the queue is not: a caller waits for its reply anyway, so there are never more jobs
/// than threads in system calls on the mount (plus what the kernel reads ahead), and refusing one would be an error to its user.
#[derive(Debug)]
pub(super) struct Pool {
    queue: Arc<Queue>,
}

/// Jobs in order of arrival. A condition variable, not a channel behind a lock: there each job would wake two threads, the
/// one that runs it and the one that takes its place at the channel.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("nothing that can panic runs under the queue's lock")
    }

    /// Waits for the next job; `None` once the queue is closed and empty.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .expect("nothing that can panic runs under the queue's lock");
        }
    }
}

impl Pool {
    /// Starts the threads, which are named after what they do.
    pub(super) fn start(name: &str, threads: usize) -> io::Result<Self> {
        let pool = Self {
            queue: Arc::default(),
        };
        for number in 0..threads {
            let queue = Arc::clone(&pool.queue);
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || {
                    while let Some(job) = queue.next() {
                        job();
                    }
                })?;
        }
        Ok(pool)
    }

    /// Queues a job. The threads end when the pool is dropped, after what is queued.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.queue.state().jobs.push_back(Box::new(job));
        self.queue.changed.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.state().closed = true;
        self.queue.changed.notify_all();
    }
}
