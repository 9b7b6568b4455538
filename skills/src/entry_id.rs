//! The id of an entry: what a user types, a log line names and an index lists.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A server's name as the configuration writes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerName(pub Arc<str>);

impl ServerName {
    /// Makes a server name; any string is one, the mount encodes what can't be a file name.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    /// The name as the configuration writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `<server>/<tool>` or `skills/<skill>`, in the encoded form that the mount shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub Arc<str>);

impl EntryId {
    /// Makes the id of a tool from the two names as the mount shows them.
    pub fn tool(server_file_name: &str, tool_file_name: &str) -> Self {
        Self(format!("{server_file_name}/{tool_file_name}").into())
    }

    /// Makes the id of a skill from its name as the mount shows it.
    pub fn skill(file_name: &str) -> Self {
        Self(format!("skills/{file_name}").into())
    }

    /// The id as it is typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An id is ordered and hashed as its text is.
impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}
