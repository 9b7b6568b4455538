//! A few threads for what may wait on a disk, so that the threads that answer the kernel never do.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// The number of threads is bounded, the queue is not: a caller waits for its reply anyway, so there are never more jobs
/// than threads in system calls on the mount (plus what the kernel reads ahead), and refusing one would be an error to its user.
#[derive(Debug)]
pub(super) struct Pool {
    jobs: Sender<Job>,
}

impl Pool {
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name(format!("shelf-disk-{number}"))
                .spawn(move || work(&queue))?;
        }
        Ok(Self { jobs })
    }

    /// Queues a job. The threads end when the pool is dropped, after what is queued.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        // Fails only if every thread panicked; a reply that is dropped with its job answers EIO.
        let _ = self.jobs.send(Box::new(job));
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        let job = queue
            .lock()
            .expect("nothing that can panic runs under the queue's lock")
            .recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}
