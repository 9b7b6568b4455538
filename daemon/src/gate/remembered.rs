//! The tools that are approved for good, on disk: one private file a configuration, which every daemon of it reads anew each time.
//!
//! It fails closed: a file that can't be read, or that somebody else could have written, approves nothing.

use std::path::Path;

use skills::problem::Problem;

use crate::protocol::Always;
use crate::state_file::{StateFile, Words};

/// Where they are kept.
#[derive(Clone, Debug)]
pub struct Remembered(StateFile<Always>);

impl Remembered {
    /// Those of one configuration (its name in the state directory). Nothing is made before there is something to remember.
    pub fn below(state: &Path, configuration: &str) -> Self {
        let path = state
            .join("approvals")
            .join(format!("{configuration}.json"));
        let words = Words {
            what: "the approvals that last",
            remedy: "everything is asked about again",
        };
        Self(StateFile::at(path, words))
    }

    /// All of them.
    ///
    /// # Errors
    /// When there is a file that can't be trusted or read.
    pub fn all(&self) -> Result<Vec<Always>, Problem> {
        self.0.all()
    }

    /// Changes them; what was written is on the disk.
    ///
    /// # Errors
    /// When the file can't be read or written; then it is as it was.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Always>) -> T) -> Result<T, Problem> {
        self.0.change(change)
    }
}
