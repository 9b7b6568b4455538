//! A JSON Schema as TypeScript types that lose nothing: what TypeScript can't say stands in comments.
//!
//! Definitions that nothing refers to are left out, as they constrain nothing. `integer` is written as a type of its own,
//! and union members without spaces: both save tokens and read well.

mod layout;
mod parts;

use std::collections::{BTreeSet, HashMap};

use self::layout::{Type, intersection, with_comment};
use super::notes::{Keywords, Notes, quoted, same_words};
use super::schema::{Target, pointer_step, references, resolve};
use crate::json::Json;

/// How unknown keys of objects are said to be refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    /// At each object that refuses them.
    Each,
    /// Once for all, as all refuse them.
    Once,
}

/// Renders a schema as `type <name> = …` and the named types that it refers to. `titles` are what its own title may be
/// without saying anything; `taken` are the names that other declarations have.
pub(super) fn declarations(
    schema: &Json<'_>,
    name: &str,
    titles: &[String],
    taken: &mut BTreeSet<String>,
) -> String {
    let render = |mode| {
        let mut declarations = Declarations::new(schema, name, titles, taken.clone(), mode);
        let text = declarations.all();
        (declarations, text)
    };
    let (mut declarations, mut text) = render(Closed::Each);
    if declarations.closed > 1 && declarations.open == 0 {
        (declarations, text) = render(Closed::Once);
    }
    *taken = declarations.taken;
    text
}

struct Declarations<'s, 'a> {
    root: &'s Json<'a>,
    root_name: &'s str,
    root_titles: &'s [String],
    /// Schemas with a name of their own, in the order of their first mention.
    named: Vec<(&'s Json<'a>, String)>,
    /// Where in `named` a schema stands, by its address: equal schemas may have different names.
    positions: HashMap<*const Json<'a>, usize>,
    taken: BTreeSet<String>,
    mode: Closed,
    closed: usize,
    open: usize,
}

impl<'s, 'a> Declarations<'s, 'a> {
    fn new(
        root: &'s Json<'a>,
        name: &'s str,
        titles: &'s [String],
        mut taken: BTreeSet<String>,
        mode: Closed,
    ) -> Self {
        taken.insert(name.to_owned());
        Self {
            root,
            root_name: name,
            root_titles: titles,
            named: Vec::new(),
            positions: HashMap::new(),
            taken,
            mode,
            closed: 0,
            open: 0,
        }
    }

    fn all(&mut self) -> String {
        let root = self.root;
        if self.has_unknown_reference() {
            self.name_every_definition();
        }
        let mut out = self.declaration(root, self.root_name);
        let mut next = 0;
        while let Some((schema, name)) = self.named.get(next).cloned() {
            out.push_str(&self.declaration(schema, &name));
            next += 1;
        }
        out
    }

    fn declaration(&mut self, schema: &'s Json<'a>, name: &str) -> String {
        let title = schema
            .get("title")
            .and_then(Json::string)
            .unwrap_or_default();
        let known = self
            .root_titles
            .iter()
            .find(|known| same_words(known, &title));
        let title = if name == self.root_name {
            known.map_or(name, String::as_str)
        } else {
            name
        };
        let mut parsed = self.type_of(schema, Some(title), false, 0);
        if self.mode == Closed::Once && name == self.root_name {
            parsed
                .notes
                .limits
                .insert(0, "all objects closed".to_owned());
        }
        with_comment(
            "",
            &format!("type {name} = {}", parsed.code()),
            &parsed.notes,
        )
    }

    /// Whether something is referred to by an anchor or an `$id`, which may mean any definition.
    fn has_unknown_reference(&self) -> bool {
        let mut found = Vec::new();
        references(self.root, &mut found);
        let unknown = |reference: &str| matches!(resolve(self.root, reference), Target::Unknown);
        found.iter().any(|reference| unknown(reference))
            || self.root.raw().contains("\"$dynamicRef\"")
    }

    fn name_every_definition(&mut self) {
        for group in ["$defs", "definitions"] {
            let definitions = self
                .root
                .get(group)
                .and_then(Json::members)
                .unwrap_or_default();
            for (key, schema) in definitions {
                self.name_of(schema, &key.decode());
            }
        }
    }

    fn name_of(&mut self, schema: &'s Json<'a>, wish: &str) -> String {
        if let Some(position) = self.positions.get(&std::ptr::from_ref(schema)) {
            return self.named[*position].1.clone();
        }
        let mut base: String = wish
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            base.insert(0, '_');
        }
        let name = std::iter::once(base.clone())
            .chain((2..).map(|number| format!("{base}{number}")))
            .find(|name| !self.taken.contains(name))
            .expect("the numbers do not run out");
        self.taken.insert(name.clone());
        self.positions
            .insert(std::ptr::from_ref(schema), self.named.len());
        self.named.push((schema, name.clone()));
        name
    }

    fn reference(&mut self, reference: &str) -> Option<String> {
        match resolve(self.root, reference) {
            Target::Root => Some(self.root_name.to_owned()),
            Target::Inside(schema) if std::ptr::eq(schema, self.root) => {
                Some(self.root_name.to_owned())
            }
            Target::Inside(schema) => {
                let last = reference.rsplit('/').next().unwrap_or_default();
                Some(self.name_of(schema, &pointer_step(last)))
            }
            Target::Unknown => None,
        }
    }

    /// The type of a schema. `name` is what a title may repeat; `optional` says that `null` as a default says nothing.
    fn type_of(
        &mut self,
        schema: &'s Json<'a>,
        name: Option<&str>,
        optional: bool,
        depth: usize,
    ) -> Type {
        match schema.bool() {
            Some(true) => return Type::plain("unknown"),
            Some(false) => return Type::plain("never"),
            None => {}
        }
        let mut notes = Notes::default();
        if schema.members().is_none() {
            notes.limits.push(quoted(schema));
            return Type {
                notes,
                ..Type::plain("unknown")
            };
        }
        let mut keywords = Keywords::of(schema);
        // A description beside the parts' own: the parts need not repeat it.
        if let Some(description) = keywords.get("description").and_then(Json::string) {
            notes.describe(&description);
        }
        let texts = notes.texts.len();
        keywords.take("$schema", |dialect| {
            dialect
                .string()
                .filter(|dialect| dialect.contains("json-schema.org/"))
        });
        for group in ["$defs", "definitions"] {
            keywords.take(group, |definitions| definitions.members());
        }
        let mut parts: Vec<Vec<String>> = Vec::new();
        let named = keywords.take("$ref", |value| self.reference(&value.string()?));
        parts.extend(named.map(|name| vec![name]));
        let literals = keywords
            .take("const", |value| Some(vec![quoted(value)]))
            .or_else(|| {
                keywords.take("enum", |value| {
                    Some(value.elements()?.iter().map(quoted).collect())
                })
            })
            .filter(|literals| !literals.is_empty());
        if let Some(literals) = literals {
            parts.push(literals);
        }
        for (combination, exclusive) in [("anyOf", false), ("oneOf", true)] {
            let branches = keywords.take(combination, |value| {
                value
                    .elements()
                    .filter(|branches| branches.iter().all(|branch| is_type(branch)))
            });
            if let Some(branches) = branches {
                if exclusive && !self.disjoint(branches) {
                    notes.limits.push("exactly one".to_owned());
                }
                parts.push(self.union(branches, &mut notes, depth));
            }
        }
        let all = keywords.take("allOf", |value| {
            value
                .elements()
                .filter(|all| all.iter().all(|part| is_type(part)))
        });
        for part in all.unwrap_or_default() {
            let part = self.type_of(part, None, optional, depth);
            parts.push(part.members);
            notes.adopt(part.notes, "");
        }
        let has_parts = !parts.is_empty();
        if let Some(own) = self.own_type(&mut keywords, schema, has_parts, &mut notes, depth) {
            parts.insert(0, own);
        }
        for reference in keywords.references() {
            self.reference(&reference);
        }
        let below = notes.texts.split_off(texts);
        keywords.into_notes(name, optional, &mut notes);
        notes.texts.extend(below);
        Type {
            members: intersection(parts),
            notes,
        }
    }
}

/// Whether a schema says something that a type can say.
fn is_type(schema: &Json<'_>) -> bool {
    const TYPES: [&str; 9] = [
        "type",
        "$ref",
        "const",
        "enum",
        "properties",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
    ];
    schema.bool().is_some() || TYPES.iter().any(|keyword| schema.get(keyword).is_some())
}
