//! What a type can't say, as the comment beside it.

use std::borrow::Cow;

use super::schema::{last_of_each, references};
use crate::json::{Json, Node};
use crate::summary::{is_invisible, visible};

/// The integers that every JSON number can hold exactly: generated schemas state these limits for every integer.
const MAX_INTEGER: &str = "9007199254740991";
const MIN_INTEGER: &str = "-9007199254740991";

/// What stands in the comment of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// Limits and other keywords, terse.
    pub(super) limits: Vec<String>,
    /// Descriptions, each once.
    pub(super) texts: Vec<String>,
}

impl Notes {
    pub(super) fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.texts.is_empty()
    }

    /// Adds a description unless it stands here already.
    pub(super) fn describe(&mut self, text: &str) {
        let text = tidy(text);
        if !text.is_empty() && !self.texts.contains(&text) {
            self.texts.push(text);
        }
    }

    /// Takes over the notes of a part; `of` says of which, if not of the whole.
    pub(super) fn adopt(&mut self, part: Self, of: &str) {
        let (before_limit, before_text) = match of {
            "" => (String::new(), String::new()),
            of => (format!("{of} "), format!("{of}: ")),
        };
        let limits = part.limits.into_iter();
        self.limits
            .extend(limits.map(|limit| format!("{before_limit}{limit}")));
        for text in part.texts {
            if !self.texts.contains(&text) {
                self.texts.push(format!("{before_text}{text}"));
            }
        }
    }

    fn text(&self) -> String {
        let limits = self.limits.join(", ");
        let on_lines = self.texts.iter().any(|text| text.contains('\n'));
        let texts = self.texts.join(if on_lines { "\n" } else { "; " });
        match (limits.is_empty(), texts.is_empty()) {
            (false, false) => format!("{limits}. {texts}"),
            _ => limits + &texts,
        }
    }

    /// The comment that ends a line.
    pub(super) fn line_comment(&self) -> String {
        let text = self.text();
        if text.is_empty() {
            String::new()
        } else if text.contains('\n') {
            self.inline_comment()
        } else {
            format!(" // {text}")
        }
    }

    /// A comment after which the line goes on.
    pub(super) fn inline_comment(&self) -> String {
        match self.text() {
            text if text.is_empty() => text,
            text => format!(" /* {} */", text.replace("*/", "*\\/")),
        }
    }
}

/// A text without what can't be seen, its indentation, and blank lines that say nothing.
pub(super) fn tidy(text: &str) -> String {
    let text = visible(text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let indent = lines
        .iter()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or(0);
    let mut out = String::with_capacity(text.len());
    for (number, line) in lines.iter().enumerate() {
        let line = if number == 0 {
            line.trim_start()
        } else {
            line.get(indent..).unwrap_or_default()
        };
        if !(line.is_empty() && (out.is_empty() || out.ends_with("\n\n"))) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// JSON as code: what can't be seen is escaped.
pub(super) fn quoted(json: &Json<'_>) -> String {
    escaped(&json.compact())
}

/// A string as a JSON literal in which everything can be seen.
pub(super) fn string_literal(text: &str) -> String {
    escaped(&serde_json::Value::from(text).to_string())
}

/// A JSON text whose invisible characters are escaped; they can only stand in its strings.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if is_invisible(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// The keywords of a schema that have not been said yet.
#[derive(Debug)]
pub(super) struct Keywords<'s, 'a>(Vec<(Cow<'a, str>, &'s Json<'a>)>);

impl<'s, 'a> Keywords<'s, 'a> {
    /// All keywords of a schema.
    pub(super) fn of(schema: &'s Json<'a>) -> Self {
        Self(last_of_each(schema.members().unwrap_or_default()))
    }

    /// Takes a keyword out if its value is as wanted; else it stays and is quoted.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        wanted: impl FnOnce(&'s Json<'a>) -> Option<T>,
    ) -> Option<T> {
        let position = self.0.iter().position(|(key, _)| key == name)?;
        let value = wanted(self.0[position].1)?;
        self.0.remove(position);
        Some(value)
    }

    /// Looks at a keyword without taking it.
    pub(super) fn get(&self, name: &str) -> Option<&'s Json<'a>> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    /// The references in what has not been said, which will be quoted.
    pub(super) fn references(&self) -> Vec<Cow<'a, str>> {
        const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];
        let mut found = Vec::new();
        for (key, value) in &self.0 {
            if !VALUES.contains(&&**key) {
                references(value, &mut found);
            }
        }
        found
    }

    /// Drops the limits of every integer.
    pub(super) fn drop_integer_limits(&mut self) {
        for (name, limit) in [("minimum", MIN_INTEGER), ("maximum", MAX_INTEGER)] {
            self.take(name, |value| (value.raw() == limit).then_some(()));
        }
    }

    fn number(&mut self, name: &str) -> Option<&'a str> {
        self.take(name, |value| {
            matches!(value.node(), Node::Number).then(|| value.raw())
        })
    }

    fn range(&mut self, least: &str, most: &str) -> Option<String> {
        match (self.number(least), self.number(most)) {
            (Some(least), Some(most)) if least == most => Some(least.to_owned()),
            (Some(least), Some(most)) => Some(format!("{least}..{most}")),
            (Some(least), None) => Some(format!(">={least}")),
            (None, Some(most)) => Some(format!("<={most}")),
            (None, None) => None,
        }
    }

    /// Turns everything that is left into notes: the usual limits tersely, the rest as quoted JSON.
    pub(super) fn into_notes(mut self, name: Option<&str>, optional: bool, notes: &mut Notes) {
        let limits = &mut notes.limits;
        if let Some(default) = self.take("default", Some)
            && !(optional && default.raw() == "null")
        {
            limits.push(format!("default {}", quoted(default)));
        }
        limits.extend(self.range("minimum", "maximum"));
        limits.extend(
            self.number("exclusiveMinimum")
                .map(|limit| format!(">{limit}")),
        );
        limits.extend(
            self.number("exclusiveMaximum")
                .map(|limit| format!("<{limit}")),
        );
        limits.extend(
            self.range("minLength", "maxLength")
                .map(|range| format!("length {range}")),
        );
        limits.extend(
            self.range("minItems", "maxItems")
                .map(|range| format!("items {range}")),
        );
        limits.extend(self.take("format", |value| {
            Some(tidy(&value.string()?).replace('\n', " "))
        }));
        let pattern = self.take("pattern", |value| {
            let pattern = value.string()?;
            let plain = !pattern.chars().any(is_invisible) && !pattern.contains("*/");
            Some(if plain {
                format!("/{pattern}/")
            } else {
                format!("pattern {}", quoted(value))
            })
        });
        limits.extend(pattern);
        let examples = self.take("examples", |value| {
            let examples: Vec<_> = value.elements()?.iter().map(quoted).collect();
            Some(format!("e.g. {}", examples.join(", ")))
        });
        limits.extend(examples);
        let title = self.take("title", Json::string);
        if let Some(title) = title
            && !name.is_some_and(|name| same_words(name, &title))
        {
            limits.push(format!("title {}", string_literal(&title)));
        }
        let description = self.take("description", Json::string);
        for (key, value) in self.0 {
            let key = tidy(&key).replace('\n', " ");
            limits.push(match value.bool() {
                Some(true) => key,
                _ => format!("{key} {}", quoted(value)),
            });
        }
        if let Some(description) = description {
            notes.describe(&description);
        }
    }
}

/// Whether a title only repeats a name, as generated ones do (`user_id`, "User Id").
pub(super) fn same_words(name: &str, title: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    letters(name) == letters(title)
}
