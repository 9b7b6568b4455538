//! A form as people and models read it. What strangers wrote is cut where it is long, and nothing in it deceives the eye.

use std::fmt::Write as _;

use serde_json::Value;

use super::fields::as_given;
use super::{Choice, Field, Form};
use crate::definition::quote;
use crate::summary::spelt_out;

/// How much of a message is shown, in characters.
const MESSAGE: usize = 4_000;
/// How much of a title, a description or a value.
const WORDS: usize = 400;
/// How many fields, and how many choices of one.
const FIELDS: usize = 40;
const CHOICES: usize = 20;

impl Form {
    /// What the server says, on as many lines as it has.
    pub fn message(&self) -> String {
        let lines = cut(&self.message, MESSAGE);
        let lines: Vec<String> = lines.lines().map(spelt_out).collect();
        lines.join("\n")
    }

    /// The fields, a line each with their choices below; empty where there are none.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for field in self.fields.iter().take(FIELDS) {
            let _ = writeln!(text, "  {}", field.line());
            text.push_str(&field.titled_choices());
        }
        if self.fields.len() > FIELDS {
            let _ = writeln!(text, "  and {} more", self.fields.len() - FIELDS);
        }
        text
    }

    /// The options of `shelf call` that would answer it: what is needed, else the first field; values are to be put in. `None` where
    /// one of the names can't stand in an option.
    pub fn options(&self) -> Option<String> {
        let open = |field: &&Field| field.required && field.default.is_none();
        let mut needed: Vec<&Field> = self.fields.iter().filter(open).collect();
        if needed.is_empty() {
            needed.extend(self.fields.first());
        }
        if needed.is_empty() {
            return Some("--accept".to_owned());
        }
        if !needed.iter().all(|field| field.may_be_given()) {
            return None;
        }
        let options = needed.iter().map(|field| {
            let answer = format!("{}={}", field.name, field.placeholder());
            format!("--answer {}", quote(&spelt_out(&answer)))
        });
        Some(options.collect::<Vec<_>>().join(" "))
    }
}

impl Field {
    /// What it is, on one line: `age  integer, required, default 30 — Age: in years`.
    pub fn line(&self) -> String {
        let mut line = format!("{}  {}", words(&self.name), words(&self.kind));
        if self.required {
            line.push_str(", required");
        }
        for limit in &self.limits {
            let _ = write!(line, ", {}", words(limit));
        }
        if let Some(default) = &self.default {
            let _ = write!(line, ", default {}", words(&default.to_string()));
        }
        let said = [&self.title, &self.description];
        let said: Vec<String> = said.into_iter().flatten().map(|text| words(text)).collect();
        if !said.is_empty() {
            let _ = write!(line, " — {}", said.join(": "));
        }
        line
    }

    /// Its choices, a line each, where their names say more than their values, which its type lists.
    pub fn titled_choices(&self) -> String {
        let mut text = String::new();
        if self.choices.iter().all(|choice| choice.title.is_none()) {
            return text;
        }
        for Choice { value, title } in self.choices.iter().take(CHOICES) {
            let _ = match title {
                Some(title) => writeln!(text, "    {}: {}", words(value), words(title)),
                None => writeln!(text, "    {}", words(value)),
            };
        }
        if self.choices.len() > CHOICES {
            let _ = writeln!(text, "    and {} more", self.choices.len() - CHOICES);
        }
        text
    }

    /// Whether `NAME=VALUE` can name it.
    fn may_be_given(&self) -> bool {
        !self.name.is_empty() && !self.name.contains('=') && spelt_out(&self.name) == self.name
    }

    /// What stands for its value in an example.
    fn placeholder(&self) -> String {
        match (&self.default, self.choices.first()) {
            (Some(default @ (Value::String(_) | Value::Number(_) | Value::Bool(_))), _) => {
                as_given(default)
            }
            (_, Some(choice)) => choice.value.clone(),
            (_, None) if self.boolean => "true".to_owned(),
            (_, None) if self.kind.chars().all(|c| c.is_ascii_lowercase()) => {
                self.kind.to_ascii_uppercase()
            }
            (_, None) => "VALUE".to_owned(),
        }
    }
}

/// A stranger's words on one line.
fn words(text: &str) -> String {
    spelt_out(&cut(text, WORDS).replace(['\r', '\n', '\t'], " "))
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
