//! Results that are too long for a line: files that only their owner can read, and that the reader deletes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a result's JSON into a file of its own.
pub(super) async fn keep(directory: &Path, json: String) -> io::Result<PathBuf> {
    let directory = directory.to_owned();
    tokio::task::spawn_blocking(move || {
        let mut file = tempfile::Builder::new()
            .prefix("result-")
            .suffix(".json")
            .tempfile_in(directory)?;
        file.write_all(json.as_bytes())?;
        Ok(file.into_temp_path().keep()?)
    })
    .await?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::keep;

    #[tokio::test]
    async fn a_kept_result_is_private_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = keep(directory.path(), "[1]".into()).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "[1]");
    }
}
