mod finding;
mod trusting;

use std::fs;
use std::path::{Path, PathBuf};

/// A place whose links are resolved, as a working directory is.
struct Place {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        Self {
            _directory: directory,
            root,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn make(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

fn servers(names: &[&str]) -> String {
    let entries = names
        .iter()
        .map(|name| format!("\"{name}\": {{\"command\": \"{name}-program\"}}"));
    let entries: Vec<_> = entries.collect();
    format!("{{\"mcpServers\": {{{}}}}}", entries.join(", "))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
