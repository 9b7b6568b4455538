//! What of an entry is searched: its words, counted, and its meaning.
//!
//! One document an entry. It is made of definitions and of what the user says of the entry, never of a server's state.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::model::{Model, Vector};
use super::words;
use crate::catalog::{Entry, EntryOptions};
use crate::json::{Json, Node};
use crate::server::Server;
use crate::skill::Skill;
use crate::summary::summarize;
use crate::tool::Tool;

/// How many words of one text are counted; the longest descriptions that are seen have some thousand.
const MAX_WORDS: usize = 20_000;

/// How many words of nested parameters are looked at. A schema may describe a whole query language: if all of it counted, the
/// tool's own few words would be lost among them.
const MAX_NESTED_WORDS: usize = 30;

/// The searched form of one entry.
#[derive(Debug)]
pub(super) struct Document {
    entry: Entry,
    options: EntryOptions,
    /// Its words with a space between each two, in the form in which they are compared.
    pub(super) words: Box<str>,
    /// How many they are.
    pub(super) length: usize,
    /// Its meaning; `None` where meaning is left out, or no word is known.
    pub(super) vector: Option<Vector>,
    has_meaning: bool,
}

impl Document {
    /// Makes the document of an entry, with its meaning when a model is given.
    pub(super) fn new(
        entry: &Entry,
        said: &Said,
        options: &EntryOptions,
        model: Option<&Model>,
    ) -> Self {
        let mut text = Text::default();
        match entry {
            Entry::Tool { server, tool } => text.tool(server, said, tool),
            Entry::Skill(skill) => text.skill(skill),
        }
        text.push(options.summary.as_deref().unwrap_or_default());
        options.keywords.iter().for_each(|words| text.push(words));
        Self {
            entry: entry.clone(),
            options: options.clone(),
            words: text.words.into(),
            length: text.length,
            vector: model.and_then(|model| meaning(entry, options, model)),
            has_meaning: model.is_some(),
        }
    }

    /// Whether [`Document::new`] would make the same again.
    pub(super) fn is_of(&self, entry: &Entry, options: &EntryOptions, has_meaning: bool) -> bool {
        let is_same_entry = match (&self.entry, entry) {
            (
                Entry::Tool { server, tool },
                Entry::Tool {
                    server: other_server,
                    tool: other_tool,
                },
            ) => Arc::ptr_eq(tool, other_tool) && says_the_same(server, other_server),
            (Entry::Skill(skill), Entry::Skill(other)) => Arc::ptr_eq(skill, other),
            _ => false,
        };
        is_same_entry
            && self.has_meaning == has_meaning
            && self.options.summary == options.summary
            && self.options.keywords == options.keywords
    }
}

/// Whether two states of a server add the same to each of their tools.
fn says_the_same(server: &Arc<Server>, other: &Arc<Server>) -> bool {
    let instructions = |server: &Server| {
        let definitions = server.definitions.as_ref()?;
        definitions.instructions.clone()
    };
    Arc::ptr_eq(server, other)
        || (server.name == other.name && instructions(server) == instructions(other))
}

/// What a server says of itself, as words. Each of its tools has them, so they are made once.
#[derive(Debug, Default)]
pub(super) struct Said(Vec<String>);

impl Said {
    /// The words of a server's instructions.
    pub(super) fn by(server: &Server) -> Self {
        let definitions = server.definitions.as_ref();
        let instructions = definitions.and_then(|known| known.instructions.as_deref());
        let runs = words::runs(instructions.unwrap_or_default()).into_iter();
        let words = runs.flat_map(|run| run.words.into_iter().chain(run.whole));
        Self(words.take(MAX_WORDS).collect())
    }
}

/// The words of an entry while they are gathered.
#[derive(Default)]
struct Text {
    words: String,
    length: usize,
    /// Those that it has, once it matters.
    distinct: Option<HashSet<String>>,
    /// How many words of nested parameters were looked at.
    nested: usize,
}

/// How often a text's words count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    /// As often as they stand there.
    Each,
    /// Not where the entry has them already: they make it findable, and its length, by which BM25 divides, hardly grows.
    New,
}

/// Which parameters are meant.
#[derive(Clone, Copy)]
enum Level {
    Own,
    Nested,
}

impl Text {
    fn push(&mut self, text: &str) {
        self.count(text, Count::Each);
    }

    fn count(&mut self, text: &str, count: Count) {
        if count == Count::New && self.nested >= MAX_NESTED_WORDS {
            return;
        }
        for run in words::runs(text) {
            for word in run.words.into_iter().chain(run.whole) {
                match count {
                    Count::Each => self.word(&word),
                    Count::New => self.new_word(word),
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        if self.length == MAX_WORDS {
            return;
        }
        if !self.words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(word);
        self.length += 1;
        if let Some(distinct) = &mut self.distinct
            && !distinct.contains(word)
        {
            distinct.insert(word.to_owned());
        }
    }

    fn new_word(&mut self, word: String) {
        self.nested += 1;
        if self.nested > MAX_NESTED_WORDS {
            return;
        }
        let words = &self.words;
        let known = || words.split(' ').map(str::to_owned).collect();
        if !self.distinct.get_or_insert_with(known).contains(&word) {
            self.word(&word);
        }
    }

    fn tool(&mut self, server: &Server, said: &Said, tool: &Tool) {
        self.push(server.name.as_str());
        self.push(&tool.name);
        self.push(tool.title.as_deref().unwrap_or_default());
        self.push(&tool.description);
        let schema = Json::parse(&tool.input_schema);
        self.parameters(&schema, Level::Own);
        said.0.iter().for_each(|word| self.word(word));
        self.parameters(&schema, Level::Nested);
    }

    /// The names of parameters and what is said of them: first the tool's own, then those within them.
    fn parameters(&mut self, schema: &Json<'_>, level: Level) {
        let Some(Node::Object(properties)) = schema.get("properties").map(Json::node) else {
            return;
        };
        for (name, parameter) in properties {
            match level {
                Level::Own => {
                    self.push(&name.decode());
                    if let Some(text) = parameter.get("description").and_then(Json::string) {
                        self.push(&text);
                    }
                }
                Level::Nested => self.nested(parameter),
            }
        }
    }

    fn nested(&mut self, schema: &Json<'_>) {
        match schema.node() {
            Node::Array(schemas) => schemas.iter().for_each(|schema| self.nested(schema)),
            Node::Object(members) => {
                for (keyword, value) in members {
                    match (&*keyword.decode(), value.node()) {
                        ("description", Node::String(text)) => {
                            self.count(&text.decode(), Count::New);
                        }
                        ("properties", Node::Object(properties)) => {
                            for (name, schema) in properties {
                                self.count(&name.decode(), Count::New);
                                self.nested(schema);
                            }
                        }
                        // The names in it are the schema's own, no parameter's.
                        ("patternProperties" | "dependentSchemas", Node::Object(schemas)) => {
                            schemas.iter().for_each(|(_, schema)| self.nested(schema));
                        }
                        // Values may look like schemas.
                        ("const" | "default" | "enum" | "example" | "examples", _) => {}
                        (_, Node::Object(_) | Node::Array(_)) => self.nested(value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn skill(&mut self, skill: &Skill) {
        let name = skill.name.to_string_lossy();
        self.push(&name);
        if let Some(other) = skill.frontmatter.name.as_deref()
            && other != name
        {
            self.push(other);
        }
        self.push(skill.source.as_deref().unwrap_or_default());
        self.push(&skill.description);
        skill.headings.iter().for_each(|heading| self.push(heading));
        if let Some(metadata) = &skill.frontmatter.metadata {
            self.metadata(metadata);
        }
    }

    fn metadata(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.push(text),
            Value::Array(values) => values.iter().for_each(|value| self.metadata(value)),
            Value::Object(members) => {
                for (key, value) in members {
                    self.push(key);
                    self.metadata(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The direction between what the entry is in short and what it is in full: the short text alone misses what only the
/// description says, the full one alone drowns in it.
fn meaning(entry: &Entry, options: &EntryOptions, model: &Model) -> Option<Vector> {
    let (names, description) = match entry {
        Entry::Tool { server, tool } => (
            format!("{} {}", spaced(server.name.as_str()), spaced(&tool.name)),
            &tool.description,
        ),
        Entry::Skill(skill) => (spaced(&skill.name.to_string_lossy()), &skill.description),
    };
    let first = options
        .summary
        .clone()
        .unwrap_or_else(|| summarize(description));
    let keywords = options.keywords.join(" ");
    let whole = model.embed(&format!("{names} {description} {keywords}"));
    if first == *description {
        return whole;
    }
    let short = model.embed(&format!("{names} {first} {keywords}"));
    let vectors: Vec<Vector> = short.into_iter().chain(whole).collect();
    Vector::mean(&vectors)
}

/// A name as words: split at separators and camelCase.
fn spaced(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    let mut after_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && after_lower {
            text.push(' ');
        }
        after_lower = character.is_lowercase() || character.is_numeric();
        let is_separator = matches!(character, '_' | '-' | '.' | '/');
        text.push(if is_separator { ' ' } else { character });
    }
    text
}
