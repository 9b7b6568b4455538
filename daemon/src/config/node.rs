//! A value of a configuration file with the place where it stands: the same for JSON and TOML, so that one reader serves both.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong in a file, and in which line.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A value as it stands in the source.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    source: &'a str,
    form: Form<'a>,
}

#[derive(Clone, Copy)]
enum Form<'a> {
    Json(&'a RawValue),
    Toml(&'a Spanned<DeValue<'a>>),
}

/// A value, one level deep. A number is the text that was written.
enum Value<'a> {
    Null,
    Boolean(bool),
    Number(String),
    Date,
    Text(String),
    List(Vec<Node<'a>>),
    Table(Vec<(String, Node<'a>)>),
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Date => "a date",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Parses TOML; the result is what [`Node::toml`] looks into.
pub(super) fn parse_toml(source: &str) -> Result<Spanned<DeValue<'_>>, Fault> {
    let table = DeTable::parse(source).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Fault::new(line_at(source, offset), one_line(error.message()))
    })?;
    let span = table.span();
    Ok(Spanned::new(span, DeValue::Table(table.into_inner())))
}

impl<'a> Node<'a> {
    /// The whole of a TOML file.
    pub(super) fn toml(source: &'a str, root: &'a Spanned<DeValue<'a>>) -> Self {
        Self {
            source,
            form: Form::Toml(root),
        }
    }

    /// The whole of a JSON file.
    pub(super) fn json(source: &'a str) -> Result<Self, Fault> {
        let raw: &RawValue = serde_json::from_str(source).map_err(|error| json_fault(1, &error))?;
        Ok(Self {
            source,
            form: Form::Json(raw),
        })
    }

    /// The line, counted from 1.
    pub(super) fn line(&self) -> u32 {
        let offset = match self.form {
            // The raw value is a part of the source.
            Form::Json(raw) => raw.get().as_ptr() as usize - self.source.as_ptr() as usize,
            Form::Toml(value) => value.span().start,
        };
        line_at(self.source, offset)
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.form, Form::Json(raw) if raw.get() == "null")
    }

    /// The elements of a list.
    pub(super) fn list(&self, what: &str) -> Result<Vec<Node<'a>>, Fault> {
        match self.value()? {
            Value::List(list) => Ok(list),
            other => Err(self.unlike(what, "a list", &other)),
        }
    }

    /// The keys and values of a table, in which a key may stand twice (in JSON).
    pub(super) fn entries(&self, what: &str) -> Result<Vec<(String, Node<'a>)>, Fault> {
        match self.value()? {
            Value::Table(table) => Ok(table),
            other => Err(self.unlike(what, "a table", &other)),
        }
    }

    /// The keys and values of a table, each key once, without those that are null.
    pub(super) fn table(&self, what: &str) -> Result<Vec<(String, Node<'a>)>, Fault> {
        let entries = self.entries(what)?;
        for (index, (key, value)) in entries.iter().enumerate() {
            if entries[..index].iter().any(|(earlier, _)| earlier == key) {
                return Err(Fault::new(
                    value.line(),
                    format!("`{key}` stands twice in {what}"),
                ));
            }
        }
        Ok(entries
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect())
    }

    pub(super) fn is_table(&self) -> bool {
        match self.form {
            Form::Json(raw) => raw.get().starts_with('{'),
            Form::Toml(value) => value.get_ref().is_table(),
        }
    }

    /// Text as written.
    pub(super) fn text(&self, what: &str) -> Result<String, Fault> {
        match self.value()? {
            Value::Text(text) => self.without_nul(what, text),
            other => Err(self.unlike(what, "text", &other)),
        }
    }

    /// Text, or what others write without quotes: a number or a truth value as it was written.
    pub(super) fn loose_text(&self, what: &str) -> Result<String, Fault> {
        match self.value()? {
            Value::Text(text) => self.without_nul(what, text),
            Value::Number(number) => Ok(number),
            Value::Boolean(value) => Ok(value.to_string()),
            other => Err(self.unlike(what, "text", &other)),
        }
    }

    pub(super) fn boolean(&self, what: &str) -> Result<bool, Fault> {
        match self.value()? {
            Value::Boolean(value) => Ok(value),
            other => Err(self.unlike(what, "true or false", &other)),
        }
    }

    /// A whole number from 1 on.
    pub(super) fn positive(&self, what: &str) -> Result<u64, Fault> {
        let value = self.value()?;
        let number = match &value {
            Value::Number(number) => number.parse().ok().filter(|&number| number > 0),
            _ => None,
        };
        number.ok_or_else(|| self.unlike(what, "a whole number above 0", &value))
    }

    /// The text of a number, if it is one.
    pub(super) fn number(&self) -> Option<String> {
        match self.value() {
            Ok(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    fn without_nul(&self, what: &str, text: String) -> Result<String, Fault> {
        if text.contains('\0') {
            return Err(Fault::new(
                self.line(),
                format!("{what} holds a NUL character"),
            ));
        }
        Ok(text)
    }

    fn unlike(&self, what: &str, wanted: &str, found: &Value<'_>) -> Fault {
        let found = found.kind();
        Fault::new(
            self.line(),
            format!("{what} must be {wanted}, and is {found}"),
        )
    }

    fn value(&self) -> Result<Value<'a>, Fault> {
        match self.form {
            Form::Json(raw) => self
                .json_value(raw)
                .map_err(|error| json_fault(self.line(), &error)),
            Form::Toml(value) => Ok(self.toml_value(value.get_ref())),
        }
    }

    fn json_value(&self, raw: &'a RawValue) -> Result<Value<'a>, serde_json::Error> {
        let node = |raw| Node {
            source: self.source,
            form: Form::Json(raw),
        };
        let text = raw.get();
        Ok(match text.as_bytes().first() {
            Some(b'n') => Value::Null,
            Some(b't') => Value::Boolean(true),
            Some(b'f') => Value::Boolean(false),
            Some(b'"') => Value::Text(serde_json::from_str(text)?),
            Some(b'[') => {
                let list: Vec<&RawValue> = serde_json::from_str(text)?;
                Value::List(list.into_iter().map(node).collect())
            }
            Some(b'{') => {
                let table: Entries<'_> = serde_json::from_str(text)?;
                let entries = table.0.into_iter();
                Value::Table(entries.map(|(key, raw)| (key, node(raw))).collect())
            }
            _ => Value::Number(text.to_owned()),
        })
    }

    fn toml_value(&self, value: &'a DeValue<'a>) -> Value<'a> {
        let node = |value| Node {
            source: self.source,
            form: Form::Toml(value),
        };
        match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(_) => Value::Date,
            DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
            DeValue::Integer(number) => Value::Number(
                i64::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| number.as_str().to_owned(), |number| number.to_string()),
            ),
            DeValue::Array(list) => Value::List(list.iter().map(node).collect()),
            DeValue::Table(table) => Value::Table(
                table
                    .iter()
                    .map(|(key, value)| (key.get_ref().clone().into_owned(), node(value)))
                    .collect(),
            ),
        }
    }
}

/// The line of a byte, counted from 1.
pub(super) fn line_at(source: &str, offset: usize) -> u32 {
    let before = source.as_bytes().get(..offset).unwrap_or(source.as_bytes());
    let lines = before.iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(lines + 1).unwrap_or(u32::MAX)
}

/// A fault of JSON that begins in `line`; its own place in the message is relative to that.
fn json_fault(line: u32, error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let message = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(message, _)| message);
    let below = u32::try_from(error.line().saturating_sub(1)).unwrap_or(0);
    Fault::new(line.saturating_add(below), one_line(message))
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join(", ")
}

/// A JSON object with every key, in order, also those that stand twice.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}
