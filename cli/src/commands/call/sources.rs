//! The texts that flags take from files and from standard input, which can be read once.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use skills::arguments::Origin;

use super::input::{in_time, load};

/// Reads what words stand for.
#[derive(Debug)]
pub(in crate::commands) struct Sources {
    /// How long whoever writes there may take.
    patience: Option<Duration>,
    /// What has standard input already.
    taken: Option<&'static str>,
}

impl Sources {
    /// `taken` names the option that reads standard input, if one does.
    pub(in crate::commands) const fn new(
        patience: Option<Duration>,
        taken: Option<&'static str>,
    ) -> Self {
        Self { patience, taken }
    }

    pub(in crate::commands) fn read(&mut self, origin: Origin<'_>) -> io::Result<String> {
        let late = |problem: skills::problem::Problem| io::Error::other(problem.message);
        match origin {
            Origin::StandardInput => {
                if let Some(taken) = self.taken.replace("another flag") {
                    return Err(io::Error::other(format!("{taken} reads it already")));
                }
                in_time(self.patience, || load(io::stdin().lock())).map_err(late)?
            }
            Origin::File(file) => {
                let path = PathBuf::from(file);
                in_time(self.patience, || File::open(path).and_then(load)).map_err(late)?
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use skills::arguments::Origin;

    use super::Sources;

    #[test]
    fn standard_input_is_read_once() {
        let mut sources = Sources::new(None, Some("--args"));
        let error = sources.read(Origin::StandardInput).unwrap_err();
        assert_eq!(error.to_string(), "--args reads it already");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "x\n").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(sources.read(Origin::File(path)).unwrap(), "x\n");
        assert!(sources.read(Origin::File("/no/such/file")).is_err());
    }
}
