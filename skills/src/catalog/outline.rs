//! Every entry by id with its line, and nothing else: what answers a question that shows no file.
//!
//! Rendering a tree is most of the work of a snapshot. Who only searches, once, does without.

use std::collections::BTreeMap;

use super::{Entry, Snapshot, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::layout::Names;

/// What is on the shelf, whether its tree was rendered or not.
pub trait Shown: Sync {
    /// What it was made from.
    fn sources(&self) -> &Sources;

    /// Every entry by id.
    fn entries(&self) -> &BTreeMap<EntryId, Entry>;

    /// Every entry's id with its summary, in order of id.
    fn lines(&self) -> Vec<(&EntryId, &str)>;

    /// The name under which a server stands in ids and in `mcp/`.
    fn server_name(&self, server: &ServerName) -> Option<String>;
}

impl Shown for Snapshot {
    fn sources(&self) -> &Sources {
        &self.sources
    }

    fn entries(&self) -> &BTreeMap<EntryId, Entry> {
        &self.entries
    }

    fn lines(&self) -> Vec<(&EntryId, &str)> {
        self.summaries().collect()
    }

    fn server_name(&self, server: &ServerName) -> Option<String> {
        self.server_file_name(server)
    }
}

/// What a [`Snapshot`] of the same sources says of each entry, without its tree.
#[derive(Debug)]
pub struct Outline {
    sources: Sources,
    entries: BTreeMap<EntryId, Entry>,
    summaries: BTreeMap<EntryId, String>,
    servers: BTreeMap<ServerName, String>,
}

impl Outline {
    /// Gives every entry its id and its line.
    pub fn new(sources: Sources) -> Self {
        let Names {
            servers,
            entries,
            lines,
        } = Names::of(&sources);
        Self {
            sources,
            entries,
            summaries: lines
                .into_iter()
                .map(|line| (line.id, line.summary))
                .collect(),
            servers,
        }
    }
}

impl Shown for Outline {
    fn sources(&self) -> &Sources {
        &self.sources
    }

    fn entries(&self) -> &BTreeMap<EntryId, Entry> {
        &self.entries
    }

    fn lines(&self) -> Vec<(&EntryId, &str)> {
        let lines = self.summaries.iter();
        lines.map(|(id, summary)| (id, &**summary)).collect()
    }

    fn server_name(&self, server: &ServerName) -> Option<String> {
        self.servers.get(server).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::{Outline, Shown};
    use crate::catalog::fixtures::{built, example, server, skill, sources, tool};
    use crate::catalog::{EntryOptions, Sources};
    use crate::entry_id::EntryId;

    #[track_caller]
    fn check(sources: Sources) {
        let snapshot = built(sources.clone());
        let outline = Outline::new(sources);
        assert!(!outline.entries().is_empty());
        assert_eq!(outline.lines(), snapshot.lines());
        let kinds = |shown: &dyn Shown| {
            let entries = shown.entries().iter();
            entries
                .map(|(id, entry)| (id.clone(), entry.kind()))
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(&outline), kinds(&snapshot));
        for name in snapshot.sources.servers.keys() {
            assert_eq!(outline.server_name(name), snapshot.server_file_name(name));
        }
    }

    #[test]
    fn it_says_what_the_snapshot_says() {
        check(example());
        // Names that are taken, lines that are alike, and the user's own words.
        let alike = ["INDEX", "a/b", "a%2Fb", "list", "read"];
        let tools = alike.map(|name| tool(name, "Reads a thing. Of the kind that is told apart."));
        let mut titled = (*tool("titled", "")).clone();
        titled.title = Some("Has a title".to_owned());
        let tools = tools.into_iter().chain([Arc::new(titled)]).collect();
        let mut sources = sources(
            vec![
                server("skills", Some(tools)),
                server("b", Some(vec![tool("go", "Walks.")])),
                server("later", None),
            ],
            vec![
                skill("pdf", 1, None),
                skill("pdf", 0, None),
                skill("INDEX.md", 0, None),
                skill("docx", 0, Some("acme")),
            ],
        );
        let said = EntryOptions {
            summary: Some("**Strides** along".to_owned()),
            group: Some("Movement".to_owned()),
            ..EntryOptions::default()
        };
        sources.entries = Arc::new(BTreeMap::from([(EntryId("b/go".into()), said)]));
        check(sources);
    }
}
