//! One open: the file found in the view, its version checked, the caller identified, the open observed, the reply sent.

use std::path::PathBuf;
use std::sync::Arc;

use fuser::{FileHandle, FopenFlags, OpenAccMode, OpenFlags, ReplyOpen, Request};
use skills::tree::{Content, File};

use super::refusal::Refusal;
use super::search::Answer;
use super::shelf::Shelf;
use super::view::{Body, ViewNode};

/// A file about to be opened, and by whom.
#[derive(Debug)]
pub(super) struct Opening {
    node: Arc<ViewNode>,
    file: Arc<File>,
    path: PathBuf,
    /// What it is, when it is a file of `search/`.
    answer: Option<Arc<Answer>>,
    thread: u32,
    uid: u32,
}

impl Opening {
    /// Finds the file in the current view. Never waits.
    pub(super) fn prepare(
        shelf: &Shelf,
        request: &Request,
        inode: u64,
        flags: OpenFlags,
    ) -> Result<Self, Refusal> {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return Err(Refusal::ReadOnly);
        }
        let view = shelf.view.load();
        let (node, answer) = match view.get(inode) {
            Ok(node) => (node.clone(), None),
            Err(refusal) => {
                let answer = shelf.answer(inode).ok_or(refusal)?;
                (answer.node.clone(), Some(answer))
            }
        };
        let Body::File(file) = &node.body else {
            return Err(Refusal::NotAFile);
        };
        Ok(Self {
            file: file.clone(),
            path: view.path(&node),
            node,
            answer,
            thread: request.pid(),
            uid: request.uid(),
        })
    }

    /// Whether opening asks the disk: for the bytes, or whether they are still those of the file that they came from.
    pub(super) fn needs_disk(&self) -> bool {
        match &self.file.content {
            Content::Bytes(_) => self.file.origin.is_some(),
            Content::Source(_) => true,
        }
    }

    /// Opens and replies. Waits for the disk if [`needs_disk`](Self::needs_disk) says so.
    pub(super) fn run(self, shelf: &Shelf, reply: ReplyOpen) {
        if let Err(refusal) = shelf.open(&self.node, &self.file) {
            reply.error(refusal.into());
            return;
        }
        if self.file.is_program() {
            // Nothing was learnt of its entry; that it is run shows in the call.
            return reply.opened(FileHandle(self.node.inode), FopenFlags::FOPEN_KEEP_CACHE);
        }
        // Before the reply: the caller waits for it, so it can't be gone yet.
        let caller = shelf.observer.identify(self.thread, self.uid);
        // And so that what it does next is later: the log's times are in the order of what happened.
        match self.answer {
            Some(answer) => shelf
                .observer
                .searched(caller, &answer.words, answer.matches),
            None => {
                let entry = self.file.entry.clone();
                shelf.observer.opened(caller, self.path, entry);
            }
        }
        reply.opened(FileHandle(self.node.inode), FopenFlags::FOPEN_KEEP_CACHE);
    }
}
