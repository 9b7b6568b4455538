//! Everything that is searched, apart from the snapshot that it was made from: shared by indexes between which nothing changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use super::SearchOptions;
use super::document::{Document, Said};
use super::hybrid::Hybrid;
use super::lexical::Lexical;
use super::model::Model;
use super::ranker::Ranker;
use super::request::{Keywords, Request};
use crate::catalog::{Entry, EntryKind, EntryOptions, Shown};
use crate::entry_id::{EntryId, ServerName};
use crate::parallel::side_by_side;

/// The name of the group that skills stand in.
const SKILLS: &str = "skills";

/// What is searched.
#[derive(Debug)]
pub(super) struct Content {
    options: SearchOptions,
    keywords: Keywords,
    jargon: Keywords,
    /// In order of id.
    pub(super) entries: Vec<Indexed>,
    /// The servers whose definitions are known, and `skills`, with what they say of themselves.
    pub(super) groups: BTreeMap<String, String>,
    lexical: Arc<Lexical>,
    hybrid: Option<Hybrid>,
}

/// One entry.
#[derive(Debug)]
pub(super) struct Indexed {
    pub(super) id: EntryId,
    pub(super) kind: EntryKind,
    pub(super) summary: String,
    pub(super) document: Arc<Document>,
}

impl Content {
    /// Gathers the entries; all of `previous` where nothing changed, else each of its documents that did not.
    pub(super) fn build(
        previous: Option<&Arc<Self>>,
        shown: &dyn Shown,
        options: &SearchOptions,
    ) -> Arc<Self> {
        let entries = entries(previous, shown, !options.lexical);
        let groups = groups(shown);
        if let Some(previous) = previous
            && previous.options == *options
            && previous.groups == groups
            && previous.entries.len() == entries.len()
            && previous.entries.iter().zip(&entries).all(is_same)
        {
            return Arc::clone(previous);
        }
        let documents: Vec<&Document> = entries.iter().map(|entry| &*entry.document).collect();
        let lexical = Arc::new(Lexical::new(&documents));
        let hybrid = (!options.lexical).then(|| Hybrid::new(Arc::clone(&lexical), &documents));
        Arc::new(Self {
            options: options.clone(),
            keywords: Keywords::new(&options.keywords),
            jargon: Keywords::with_jargon(&options.keywords),
            groups,
            lexical,
            hybrid,
            entries,
        })
    }

    /// Whether meaning can be asked for.
    pub(super) const fn has_meaning(&self) -> bool {
        self.hybrid.is_some()
    }

    /// The ranker that is wanted; the lexical one where meaning is left out.
    pub(super) fn ranker(&self, lexical: bool) -> &dyn Ranker {
        match &self.hybrid {
            Some(hybrid) if !lexical => hybrid,
            _ => &*self.lexical,
        }
    }

    /// Reads a request for that ranker.
    pub(super) fn request(&self, text: &str, lexical: bool) -> Request {
        if self.has_meaning() && !lexical {
            Request::read(text, &self.jargon, Some(Model::shared()))
        } else {
            Request::read(text, &self.keywords, None)
        }
    }
}

impl Indexed {
    /// The server as the mount shows it, or `skills`.
    pub(super) fn group(&self) -> &str {
        let id = self.id.as_str();
        id.split_once('/').map_or(id, |(group, _)| group)
    }
}

fn is_same((one, other): (&Indexed, &Indexed)) -> bool {
    one.id == other.id
        && one.summary == other.summary
        && Arc::ptr_eq(&one.document, &other.document)
}

fn entries(previous: Option<&Arc<Content>>, shown: &dyn Shown, has_meaning: bool) -> Vec<Indexed> {
    let known: HashMap<&EntryId, &Arc<Document>> = previous
        .into_iter()
        .flat_map(|content| &content.entries)
        .map(|entry| (&entry.id, &entry.document))
        .collect();
    let unsaid = EntryOptions::default();
    let sources = shown.sources();
    let options = |id: &EntryId| sources.entries.get(id).unwrap_or(&unsaid);
    let kept = |id: &EntryId, entry: &Entry| {
        let document = known.get(id)?;
        let is_same = document.is_of(entry, options(id), has_meaning);
        is_same.then(|| Arc::clone(document))
    };
    let entries: Vec<_> = shown
        .entries()
        .iter()
        .map(|(id, entry)| (id, entry, kept(id, entry)))
        .collect();
    let servers = sources.servers.values();
    let said: HashMap<&ServerName, OnceLock<Said>> = servers
        .map(|(server, _)| (&server.name, OnceLock::new()))
        .collect();
    let silent = Said::default();
    let make = |(id, entry, kept): &(&EntryId, &Entry, Option<Arc<Document>>)| {
        if let Some(document) = kept {
            return Arc::clone(document);
        }
        let said = match entry {
            Entry::Tool { server, .. } => said
                .get(&server.name)
                .map_or(&silent, |said| said.get_or_init(|| Said::by(server))),
            Entry::Skill(_) => &silent,
        };
        let model = has_meaning.then(Model::shared);
        Arc::new(Document::new(entry, said, options(id), model))
    };
    let documents = side_by_side(&entries, make);
    let summaries: HashMap<&EntryId, &str> = shown.lines().into_iter().collect();
    let indexed = entries.iter().zip(documents);
    indexed
        .map(|((id, entry, _), document)| {
            let made = summaries.get(id).copied().unwrap_or_default();
            let summary = options(id).summary.as_deref().unwrap_or(made).to_owned();
            Indexed {
                id: (*id).clone(),
                kind: entry.kind(),
                summary,
                document,
            }
        })
        .collect()
}

fn groups(shown: &dyn Shown) -> BTreeMap<String, String> {
    let servers = shown.sources().servers.values();
    let mut groups: BTreeMap<String, String> = servers
        .filter(|(server, _)| server.definitions.is_some())
        .filter_map(|(server, _)| {
            let name = shown.server_name(&server.name)?;
            Some((name, server.about()))
        })
        .collect();
    let skills = shown.entries().values();
    match skills
        .filter(|entry| entry.kind() == EntryKind::Skill)
        .count()
    {
        0 => {}
        1 => drop(groups.insert(SKILLS.to_owned(), "1 skill".to_owned())),
        count => drop(groups.insert(SKILLS.to_owned(), format!("{count} skills"))),
    }
    groups
}
