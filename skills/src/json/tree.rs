//! A borrowed tree over a JSON text that loses nothing: each value keeps the text it was written with.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{string_length, tokens, word_length};

/// How deep values are taken apart; what is nested deeper is left as one piece of text.
pub const MAX_DEPTH: usize = 128;

/// A value and the text it was written with.
#[derive(Clone, Debug)]
pub struct Json<'a> {
    raw: &'a str,
    node: Node<'a>,
}

/// What a [`Json`] value is.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// The members in their order, duplicates included.
    Object(Vec<(JsonString<'a>, Json<'a>)>),
    /// The elements.
    Array(Vec<Json<'a>>),
    /// A string.
    String(JsonString<'a>),
    /// A number; its text says which.
    Number,
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// An object or array below [`MAX_DEPTH`], not taken apart.
    Deep,
}

/// A string as it was written, with its quotes and escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonString<'a>(&'a str);

impl<'a> JsonString<'a> {
    /// Takes a valid JSON text for a string; `None` for any other value.
    pub(crate) fn read(json: &'a str) -> Option<Self> {
        json.starts_with('"').then_some(Self(json))
    }

    /// The string as it was written.
    pub fn raw(self) -> &'a str {
        self.0
    }

    /// What it says; half a surrogate pair becomes U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        let inner = &self.0[1..self.0.len() - 1];
        if inner.contains('\\') {
            Cow::Owned(unescape(inner))
        } else {
            Cow::Borrowed(inner)
        }
    }
}

impl<'a> Json<'a> {
    /// Takes a JSON text apart.
    pub fn parse(raw: &'a RawValue) -> Self {
        Self::read(&mut raw.get(), 0)
    }

    /// Reads the value that a valid text begins with, and moves the text behind it.
    fn read(rest: &mut &'a str, depth: usize) -> Self {
        let text = rest.trim_ascii_start();
        *rest = text;
        let node = match text.as_bytes().first() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => {
                *rest = &text[nested_length(text)..];
                Node::Deep
            }
            Some(b'{') => {
                *rest = &text[1..];
                let mut members = Vec::new();
                while let Some(key) = next_item(rest, '}') {
                    *rest = &key[string_length(key)..];
                    let key = JsonString(&key[..key.len() - rest.len()]);
                    *rest = rest.trim_ascii_start().trim_start_matches(':');
                    members.push((key, Self::read(rest, depth + 1)));
                }
                Node::Object(members)
            }
            Some(b'[') => {
                *rest = &text[1..];
                let mut elements = Vec::new();
                while next_item(rest, ']').is_some() {
                    elements.push(Self::read(rest, depth + 1));
                }
                Node::Array(elements)
            }
            Some(b'"') => {
                *rest = &text[string_length(text)..];
                Node::String(JsonString(&text[..text.len() - rest.len()]))
            }
            _ => {
                *rest = &text[word_length(text)..];
                match text.as_bytes().first() {
                    Some(b't') => Node::Bool(true),
                    Some(b'f') => Node::Bool(false),
                    Some(b'n') | None => Node::Null,
                    Some(_) => Node::Number,
                }
            }
        };
        let raw = &text[..text.len() - rest.len()];
        Self { raw, node }
    }

    /// The text that it was written with.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// What it is.
    pub fn node(&self) -> &Node<'a> {
        &self.node
    }

    /// The text without white space between its tokens.
    pub fn compact(&self) -> Cow<'a, str> {
        match self.node {
            Node::Object(_) | Node::Array(_) | Node::Deep => Cow::Owned(tokens(self.raw).collect()),
            Node::String(_) | Node::Number | Node::Bool(_) | Node::Null => Cow::Borrowed(self.raw),
        }
    }

    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[(JsonString<'a>, Json<'a>)]> {
        match &self.node {
            Node::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn elements(&self) -> Option<&[Json<'a>]> {
        match &self.node {
            Node::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// What it says, if it is a string.
    pub fn string(&self) -> Option<Cow<'a, str>> {
        match self.node {
            Node::String(string) => Some(string.decode()),
            _ => None,
        }
    }

    /// Its truth, if it is a boolean.
    pub fn bool(&self) -> Option<bool> {
        match self.node {
            Node::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// The member of that name, if it is an object that has one; the last one, as most parsers would have it.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        let (_, value) = self
            .members()?
            .iter()
            .rev()
            .find(|(key, _)| key.decode() == name)?;
        Some(value)
    }
}

/// Moves to the next item inside an object or array, or behind its end when there is none.
fn next_item<'a>(rest: &mut &'a str, end: char) -> Option<&'a str> {
    *rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    match rest.strip_prefix(end) {
        Some(after) => {
            *rest = after;
            None
        }
        None if rest.is_empty() => None,
        None => Some(rest),
    }
}

/// The length of the object or array that the text begins with; counts brackets, so depth costs no stack.
fn nested_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut position = 0;
    let mut open = 0_usize;
    while position < bytes.len() {
        match bytes[position] {
            b'"' => {
                position += string_length(&text[position..]);
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            _ => {}
        }
        position += 1;
        if open == 0 {
            break;
        }
    }
    position
}

/// `inner` is the inside of a valid JSON string.
fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = inner;
    while let Some(position) = rest.find('\\') {
        let (before, escape) = rest.split_at(position);
        if !before.is_empty() {
            flush(&mut units, &mut out);
            out.push_str(before);
        }
        let kind = escape.as_bytes().get(1).copied().unwrap_or(b'\\');
        if kind == b'u' {
            let digits = escape.get(2..6).unwrap_or_default();
            units.push(u16::from_str_radix(digits, 16).unwrap_or(0xFFFD));
            rest = escape.get(6..).unwrap_or_default();
            continue;
        }
        flush(&mut units, &mut out);
        out.push(match kind {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            other => char::from(other),
        });
        rest = escape.get(2..).unwrap_or_default();
    }
    flush(&mut units, &mut out);
    out.push_str(rest);
    out
}

/// Surrogate pairs are written as two escapes, so units are gathered until another character comes.
fn flush(units: &mut Vec<u16>, out: &mut String) {
    if !units.is_empty() {
        out.push_str(&String::from_utf16_lossy(units));
        units.clear();
    }
}
