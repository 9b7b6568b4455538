//! A JSON Schema as TypeScript types that lose nothing: what TypeScript can't say stands in comments.
//!
//! `integer` is written as a type of its own, and union members without spaces: both save tokens and read well.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::notes::{Keywords, Notes, quoted, same_words, string_literal};
use super::schema::{Kinds, Target, last_of_each, pointer_step, references, resolve};
use crate::json::{Json, Node};

/// The longest object that stays on one line, in bytes.
const MAX_INLINE: usize = 72;

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

/// A type, and what it can't say.
struct Type {
    /// The members of the union; each is whole for `&` and `[]` unless it is the only one and compound.
    members: Vec<String>,
    notes: Notes,
}

impl Type {
    fn code(&self) -> String {
        self.members.join("|")
    }

    /// The code as a part of a larger one, with its comment where it is read before what it is about.
    fn commented(&self) -> String {
        let code = self.code();
        match code.split_once('\n') {
            Some((first, rest)) if !has_comment(first) => {
                format!("{first}{}\n{rest}", self.notes.line_comment())
            }
            _ => code + &self.notes.inline_comment(),
        }
    }

    /// The code so that an operator can be put to it.
    fn operand(&self) -> String {
        let code = self.code();
        if self.members.len() > 1 || code.contains(" & ") || code.contains("/*") {
            format!("({code})")
        } else {
            code
        }
    }
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
        Self { root, root_name: name, root_titles: titles, named: Vec::new(), positions: HashMap::new(), taken, mode, closed: 0, open: 0 }
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
        let title = schema.get("title").and_then(Json::string).unwrap_or_default();
        let known = self.root_titles.iter().find(|known| same_words(known, &title));
        let title = if name == self.root_name { known.map_or(name, String::as_str) } else { name };
        let mut parsed = self.type_of(schema, Some(title), false, 0);
        if self.mode == Closed::Once && name == self.root_name {
            parsed.notes.limits.insert(0, "all objects closed".to_owned());
        }
        with_comment("", &format!("type {name} = {}", parsed.code()), &parsed.notes)
    }

    /// Whether something is referred to by an anchor or an `$id`, which may mean any definition.
    fn has_unknown_reference(&self) -> bool {
        let mut found = Vec::new();
        references(self.root, &mut found);
        let unknown =
            |reference: &str| matches!(resolve(self.root, reference), Target::Unknown);
        found.iter().any(|reference| unknown(reference)) || self.root.raw().contains("\"$dynamicRef\"")
    }

    fn name_every_definition(&mut self) {
        for group in ["$defs", "definitions"] {
            let definitions = self.root.get(group).and_then(Json::members).unwrap_or_default();
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
        self.positions.insert(std::ptr::from_ref(schema), self.named.len());
        self.named.push((schema, name.clone()));
        name
    }

    fn reference(&mut self, reference: &str) -> Option<String> {
        match resolve(self.root, reference) {
            Target::Root => Some(self.root_name.to_owned()),
            Target::Inside(schema) if std::ptr::eq(schema, self.root) => Some(self.root_name.to_owned()),
            Target::Inside(schema) => {
                let last = reference.rsplit('/').next().unwrap_or_default();
                Some(self.name_of(schema, &pointer_step(last)))
            }
            Target::Unknown => None,
        }
    }

    /// The type of a schema. `name` is what a title may repeat; `optional` says that `null` as a default says nothing.
    fn type_of(&mut self, schema: &'s Json<'a>, name: Option<&str>, optional: bool, depth: usize) -> Type {
        let mut notes = Notes::default();
        match schema.bool() {
            Some(true) => return Type { members: vec!["unknown".to_owned()], notes },
            Some(false) => return Type { members: vec!["never".to_owned()], notes },
            None if schema.members().is_none() => {
                notes.limits.push(quoted(schema));
                return Type { members: vec!["unknown".to_owned()], notes };
            }
            None => {}
        }
        let mut keywords = Keywords::of(schema);
        // A description beside the parts' own: the parts need not repeat it.
        if let Some(description) = keywords.get("description").and_then(Json::string) {
            notes.describe(&description);
        }
        let texts = notes.texts.len();
        keywords.take("$schema", |dialect| {
            dialect.string().filter(|dialect| dialect.contains("json-schema.org/"))
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
                keywords.take("enum", |value| Some(value.elements()?.iter().map(quoted).collect()))
            })
            .filter(|literals| !literals.is_empty());
        if let Some(literals) = literals {
            parts.push(literals);
        }
        for (combination, exclusive) in [("anyOf", false), ("oneOf", true)] {
            let branches = keywords.take(combination, |value| {
                value.elements().filter(|branches| branches.iter().all(|branch| is_type(branch)))
            });
            if let Some(branches) = branches {
                if exclusive && !self.disjoint(branches) {
                    notes.limits.push("exactly one".to_owned());
                }
                parts.push(self.union(branches, &mut notes, depth));
            }
        }
        let all = keywords.take("allOf", |value| {
            value.elements().filter(|all| all.iter().all(|part| is_type(part)))
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
        Type { members: intersection(parts), notes }
    }

    /// What `type`, `properties` and `items` say.
    fn own_type(
        &mut self,
        keywords: &mut Keywords<'s, 'a>,
        schema: &Json<'_>,
        has_parts: bool,
        notes: &mut Notes,
        depth: usize,
    ) -> Option<Vec<String>> {
        let names: Option<Vec<String>> = keywords.take("type", |value| match value.node() {
            Node::Array(names) => names.iter().map(|name| name.string().map(String::from)).collect(),
            _ => Some(vec![value.string()?.into_owned()]),
        });
        let names = names.unwrap_or_else(|| {
            let implied = [("properties", "object"), ("items", "array"), ("prefixItems", "array")];
            implied
                .into_iter()
                .filter(|(keyword, _)| keywords.get(keyword).is_some())
                .map(|(_, name)| name.to_owned())
                .take(1)
                .collect()
        });
        // What the other parts allow says the type too, as long as the type excludes none of it.
        let allowed = names.iter().fold(Kinds::NONE, |all, name| all | Kinds::named(name));
        let repeated = Kinds::beside_type(self.root, schema);
        let only_repeats = |name: &str| {
            has_parts
                && allowed.contains(repeated)
                && match name {
                    "object" => ["properties", "additionalProperties"],
                    "array" => ["items", "prefixItems"],
                    "integer" => return lists_integers(schema),
                    _ => return true,
                }
                .iter()
                .all(|keyword| keywords.get(keyword).is_none())
        };
        let names: Vec<_> = names.iter().filter(|name| !only_repeats(name)).collect();
        let members: Vec<String> = names
            .iter()
            .map(|name| match name.as_str() {
                "object" => self.object(keywords, notes, depth),
                "array" => self.array(keywords, notes, depth),
                "string" | "number" | "integer" | "boolean" | "null" => name.to_string(),
                other => {
                    notes.limits.push(format!("type {}", string_literal(other)));
                    "unknown".to_owned()
                }
            })
            .collect();
        (!members.is_empty()).then_some(members)
    }

    fn object(&mut self, keywords: &mut Keywords<'s, 'a>, notes: &mut Notes, depth: usize) -> String {
        let properties = keywords.take("properties", Json::members).unwrap_or_default();
        let required: Vec<String> = keywords
            .take("required", |value| {
                value.elements()?.iter().map(|name| name.string().map(String::from)).collect()
            })
            .unwrap_or_default();
        keywords.take("propertyNames", |value| {
            let only_says_string = value.compact() == r#"{"type":"string"}"#;
            only_says_string.then_some(())
        });
        let rest = keywords.take("additionalProperties", |value| {
            (value.bool().is_some() || value.members().is_some()).then_some(value)
        });
        let mut members: Vec<(String, Notes)> = Vec::new();
        let mut undeclared: HashSet<&str> = required.iter().map(String::as_str).collect();
        for (name, schema) in last_of_each(properties) {
            let optional = !undeclared.remove(&*name);
            let member = self.type_of(schema, Some(&name), optional, depth + 1);
            let mark = if optional { "?" } else { "" };
            members.push((format!("{}{mark}: {}", member_name(&name), member.code()), member.notes));
        }
        for name in &required {
            if undeclared.remove(name.as_str()) {
                members.push((format!("{}: unknown", member_name(name)), Notes::default()));
            }
        }
        let closed = rest.is_some_and(|rest| rest.bool() == Some(false));
        let others = rest.filter(|rest| rest.members().is_some_and(|members| !members.is_empty()));
        if let Some(others) = others {
            let others = self.type_of(others, None, false, depth + 1);
            if members.is_empty() {
                let code = format!("Record<string, {}>", others.code());
                notes.adopt(others.notes, "each");
                return code;
            }
            members.push((format!("[key: string]: {}", others.code()), others.notes));
        } else if closed {
            self.closed += 1;
            if self.mode == Closed::Each {
                notes.limits.push("closed".to_owned());
            }
        } else if members.is_empty() {
            return "object".to_owned();
        } else {
            self.open += 1;
        }
        braces(&members, depth)
    }

    fn array(&mut self, keywords: &mut Keywords<'s, 'a>, notes: &mut Notes, depth: usize) -> String {
        if keywords.take("uniqueItems", |value| value.bool().filter(|unique| *unique)).is_some() {
            notes.limits.push("unique".to_owned());
        }
        let prefix = keywords.take("prefixItems", Json::elements);
        let modern = prefix.is_some();
        let prefix = prefix.or_else(|| keywords.take("items", Json::elements));
        let rest = keywords.take(if prefix.is_some() && !modern { "additionalItems" } else { "items" }, |value| {
            (value.bool().is_some() || value.members().is_some()).then_some(value)
        });
        let Some(prefix) = prefix else {
            let Some(items) = rest else {
                return "unknown[]".to_owned();
            };
            let items = self.type_of(items, None, false, depth);
            let code = format!("{}[]", items.operand());
            notes.adopt(items.notes, "each");
            return code;
        };
        let mut places: Vec<String> = prefix
            .iter()
            .map(|schema| {
                let place = self.type_of(schema, None, false, depth);
                place.code() + &place.notes.inline_comment()
            })
            .collect();
        match rest {
            Some(rest) if rest.bool() == Some(false) => {}
            Some(rest) => {
                let rest = self.type_of(rest, None, false, depth);
                places.push(format!("...{}[]{}", rest.operand(), rest.notes.inline_comment()));
            }
            None => places.push("...unknown[]".to_owned()),
        }
        format!("[{}]", places.join(", "))
    }

    /// The branches of a union. What a single branch beside `null` notes is said of the whole.
    fn union(&mut self, branches: &'s [Json<'a>], notes: &mut Notes, depth: usize) -> Vec<String> {
        let mut types: Vec<Type> = branches
            .iter()
            .map(|branch| self.type_of(branch, None, false, depth))
            .collect();
        let mut telling = types.iter_mut().filter(|one| one.members != ["null"]);
        if let (Some(only), None) = (telling.next(), telling.next()) {
            notes.adopt(std::mem::take(&mut only.notes), "");
        }
        let mut members = Vec::new();
        for mut branch in types {
            branch.notes.texts.retain(|text| !notes.texts.contains(text));
            let new = if branch.notes.is_empty() {
                branch.members
            } else {
                vec![branch.commented()]
            };
            for member in new {
                if !members.contains(&member) {
                    members.push(member);
                }
            }
        }
        members
    }

    /// Whether no value can fit two of the branches, so that "one of" says the same as "exactly one of".
    fn disjoint(&self, branches: &[Json<'_>]) -> bool {
        let mut seen = Vec::new();
        branches.iter().all(|branch| {
            let kinds = Kinds::of_schema(self.root, branch);
            let apart = seen.iter().all(|other| !kinds.meets(*other));
            seen.push(kinds);
            apart
        }) || branches.iter().all(|branch| {
            // Different constants.
            branch.get("const").is_some_and(|one| {
                branches.iter().filter(|other| other.get("const").is_some_and(|other| other.compact() == one.compact())).count() == 1
            })
        })
    }
}

/// Whether a schema says something that a type can say.
fn is_type(schema: &Json<'_>) -> bool {
    const TYPES: [&str; 9] =
        ["type", "$ref", "const", "enum", "properties", "items", "anyOf", "oneOf", "allOf"];
    schema.bool().is_some() || TYPES.iter().any(|keyword| schema.get(keyword).is_some())
}

/// Whether a schema lists its values and all numbers among them are integers.
fn lists_integers(schema: &Json<'_>) -> bool {
    let values = schema.get("enum").and_then(Json::elements).unwrap_or_default();
    let mut listed = schema.get("const").into_iter().chain(values).peekable();
    listed.peek().is_some() && listed.all(|value| !value.raw().contains(['.', 'e', 'E']) || value.string().is_some())
}

fn intersection(mut parts: Vec<Vec<String>>) -> Vec<String> {
    parts.dedup();
    match parts.len() {
        0 => vec!["unknown".to_owned()],
        1 => parts.remove(0),
        _ => {
            let operands: Vec<_> = parts
                .into_iter()
                .map(|members| match members.as_slice() {
                    [one] => one.clone(),
                    _ => format!("({})", members.join("|")),
                })
                .collect();
            vec![operands.join(" & ")]
        }
    }
}

fn member_name(name: &str) -> String {
    let identifier = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if identifier {
        name.to_owned()
    } else {
        string_literal(name)
    }
}

/// An object type, on one line when it is short and has nothing to note.
fn braces(members: &[(String, Notes)], depth: usize) -> String {
    if members.is_empty() {
        return "{}".to_owned();
    }
    let plain = members.iter().all(|(code, notes)| notes.is_empty() && !code.contains(['\n', '/']));
    let codes: Vec<&str> = members.iter().map(|(code, _)| code.as_str()).collect();
    let inline = format!("{{{}}}", codes.join(", "));
    if plain && inline.len() <= MAX_INLINE {
        return inline;
    }
    let indent = " ".repeat(depth + 1);
    let lines: String = members
        .iter()
        .map(|(code, notes)| with_comment(&indent, code, notes))
        .collect();
    format!("{{\n{lines}{}}}", " ".repeat(depth))
}

/// The lines of a declaration or member; the comment stands at the end of the first, or above where that has one already.
fn with_comment(indent: &str, code: &str, notes: &Notes) -> String {
    let comment = notes.line_comment();
    match code.split_once('\n') {
        Some((first, _)) if has_comment(first) && !comment.is_empty() => {
            format!("{indent}{}\n{indent}{code}\n", comment.trim_start())
        }
        Some((first, rest)) => format!("{indent}{first}{comment}\n{rest}\n"),
        None => format!("{indent}{code}{comment}\n"),
    }
}

fn has_comment(line: &str) -> bool {
    line.contains(" //") || line.contains(" /*")
}
