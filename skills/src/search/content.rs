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
use crate::summary::one_line;

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
    /// What the entries were made of, in their order; empty where all of it was read from a cache.
    pub(super) documents: Vec<Arc<Document>>,
    /// The servers whose definitions are known, and `skills`, with what they say of themselves.
    pub(super) groups: BTreeMap<String, String>,
    pub(super) lexical: Arc<Lexical>,
    pub(super) hybrid: Option<Hybrid>,
}

/// One entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Indexed {
    pub(super) id: EntryId,
    pub(super) kind: EntryKind,
    /// Its line in the indexes.
    pub(super) line: String,
    /// The user's own summary on one line, which answers show in place of the line.
    pub(super) own: Option<String>,
}

impl Content {
    /// Gathers the entries; all of `previous` where nothing changed, else each of its documents that did not.
    pub(super) fn build(
        previous: Option<&Arc<Self>>,
        shown: &dyn Shown,
        options: &SearchOptions,
    ) -> Arc<Self> {
        let (entries, documents) = entries(previous, shown, !options.lexical);
        let groups = groups(shown);
        if let Some(previous) = previous
            && previous.options == *options
            && previous.groups == groups
            && previous.entries == entries
            && are_same(&previous.documents, &documents)
        {
            return Arc::clone(previous);
        }
        let texts: Vec<&Document> = documents.iter().map(AsRef::as_ref).collect();
        let lexical = Arc::new(Lexical::new(&texts));
        let vectors = || documents.iter().map(|document| document.vector.clone());
        let hybrid =
            (!options.lexical).then(|| Hybrid::new(Arc::clone(&lexical), vectors().collect()));
        let ranked = Ranked {
            entries,
            groups,
            lexical,
            hybrid,
        };
        Arc::new(Self::new(ranked, documents, options))
    }

    /// Puts together what is searched.
    pub(super) fn new(
        ranked: Ranked,
        documents: Vec<Arc<Document>>,
        options: &SearchOptions,
    ) -> Self {
        let Ranked {
            entries,
            groups,
            lexical,
            hybrid,
        } = ranked;
        Self {
            options: options.clone(),
            keywords: Keywords::new(&options.keywords),
            jargon: Keywords::with_jargon(&options.keywords),
            entries,
            documents,
            groups,
            lexical,
            hybrid,
        }
    }

    /// The options that it was built with.
    pub(super) const fn options(&self) -> &SearchOptions {
        &self.options
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

/// The entries and what ranks them: the part that takes long to make.
#[derive(Debug)]
pub(super) struct Ranked {
    pub(super) entries: Vec<Indexed>,
    pub(super) groups: BTreeMap<String, String>,
    pub(super) lexical: Arc<Lexical>,
    pub(super) hybrid: Option<Hybrid>,
}

impl Indexed {
    /// What an answer shows of it.
    pub(super) fn summary(&self) -> &str {
        self.own.as_deref().unwrap_or(&self.line)
    }

    /// The server as the mount shows it, or `skills`.
    pub(super) fn group(&self) -> &str {
        let id = self.id.as_str();
        id.split_once('/').map_or(id, |(group, _)| group)
    }
}

fn are_same(documents: &[Arc<Document>], others: &[Arc<Document>]) -> bool {
    documents.len() == others.len()
        && std::iter::zip(documents, others).all(|(one, other)| Arc::ptr_eq(one, other))
}

fn entries(
    previous: Option<&Arc<Content>>,
    shown: &dyn Shown,
    has_meaning: bool,
) -> (Vec<Indexed>, Vec<Arc<Document>>) {
    let known: HashMap<&EntryId, &Arc<Document>> = previous
        .into_iter()
        .flat_map(|content| content.entries.iter().zip(&content.documents))
        .map(|(entry, document)| (&entry.id, document))
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
    let lines: HashMap<&EntryId, &str> = shown.lines().into_iter().collect();
    let indexed = entries.iter().map(|(id, entry, _)| Indexed {
        id: (*id).clone(),
        kind: entry.kind(),
        line: lines.get(id).copied().unwrap_or_default().to_owned(),
        own: own_summary(options(id)),
    });
    (indexed.collect(), documents)
}

/// As the indexes have it, but whole.
fn own_summary(options: &EntryOptions) -> Option<String> {
    let own = options.summary.as_deref().map(one_line);
    own.filter(|own| !own.is_empty())
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
