//! What an index is built from, as one hash: by it an index that was kept is known to be that of now.
//!
//! It knows what decides an index, not where one is kept. What can't change an index (a server's state, a pin, the files beside a
//! SKILL.md) is no part of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::SearchOptions;
use crate::catalog::{EntryOptions, Hiding, Sources};
use crate::entry_id::{EntryId, ServerName};
use crate::skill::Skill;

/// To be raised when the same definitions make another index than before: other words, meanings or lines. A test tells when.
pub(super) const FORM: u32 = 1;

/// A hash over all that an index is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basis(pub(super) [u8; 32]);

/// A hash over what of a server's definitions an index is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionsDigest([u8; 32]);

/// The servers, each with its definitions where they are known, in order of name.
pub type DigestedServers = BTreeMap<ServerName, Option<DefinitionsDigest>>;

impl DefinitionsDigest {
    /// Hashes what a server said of itself, and its tools as it sent them.
    pub fn new<'a>(
        title: Option<&str>,
        instructions: Option<&str>,
        tools: impl Iterator<Item = &'a RawValue>,
    ) -> Self {
        let mut parts = Parts::default();
        parts.option(title);
        parts.option(instructions);
        tools.for_each(|tool| parts.text(tool.get()));
        Self(parts.finish())
    }
}

impl Basis {
    /// The basis of an index over these sources.
    pub fn of(sources: &Sources, options: &SearchOptions) -> Self {
        let servers = sources.servers.iter().map(|(name, (server, _))| {
            let digest = server.definitions.as_ref().map(|known| {
                let tools = known.tools.iter().map(|tool| &*tool.raw);
                let (title, instructions) = (known.title.as_deref(), known.instructions.as_deref());
                DefinitionsDigest::new(title, instructions, tools)
            });
            (name.clone(), digest)
        });
        Self::new(
            &servers.collect(),
            &sources.skills,
            &sources.entries,
            &sources.hiding,
            options,
        )
    }

    /// The same from digests, for who has no more than these of the servers.
    pub fn new(
        servers: &DigestedServers,
        skills: &[Arc<Skill>],
        entries: &BTreeMap<EntryId, EntryOptions>,
        hiding: &Hiding,
        options: &SearchOptions,
    ) -> Self {
        let mut parts = Parts::default();
        parts.bytes(&FORM.to_le_bytes());
        parts.list(servers, |parts, (name, digest)| {
            parts.text(name.as_str());
            let digest = digest.as_ref().map(|DefinitionsDigest(digest)| &digest[..]);
            parts.bytes(digest.unwrap_or_default());
        });
        parts.list(skills, |parts, skill| {
            parts.text(&skill.precedence.to_string());
            parts.option(skill.source.as_deref());
            parts.bytes(skill.name.as_encoded_bytes());
            parts.bytes(skill.found.as_os_str().as_encoded_bytes());
            parts.bytes(&skill.text);
        });
        parts.list(entries, |parts, (id, said)| {
            parts.text(id.as_str());
            parts.option(said.summary.as_deref());
            parts.list(&said.keywords, |parts, word| parts.text(word));
        });
        parts.text(&hiding.rules());
        parts.list(&options.keywords, |parts, (word, words)| {
            parts.text(word);
            parts.list(words, |parts, word| parts.text(word));
        });
        parts.bytes(&[u8::from(options.lexical)]);
        Self(parts.finish())
    }
}

/// A hash of parts, each behind its length, so that no two series of parts read the same.
#[derive(Default)]
struct Parts {
    hasher: blake3::Hasher,
    /// What is not hashed yet: long runs are hashed several times as fast.
    waiting: Vec<u8>,
}

impl Parts {
    /// How much is hashed at once.
    const RUN: usize = 64 * 1024;

    fn bytes(&mut self, bytes: &[u8]) {
        self.raw(&(bytes.len() as u64).to_le_bytes());
        self.raw(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        self.raw(&[u8::from(text.is_some())]);
        self.text(text.unwrap_or_default());
    }

    fn list<T>(
        &mut self,
        things: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut part: impl FnMut(&mut Self, T),
    ) {
        let things = things.into_iter();
        self.raw(&(things.len() as u64).to_le_bytes());
        things.for_each(|thing| part(self, thing));
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= Self::RUN {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }

    fn finish(mut self) -> [u8; 32] {
        self.hasher.update(&self.waiting);
        *self.hasher.finalize().as_bytes()
    }
}
