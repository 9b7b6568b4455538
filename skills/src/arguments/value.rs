//! From the text of a flag to a value of a kind that the schema allows.

use serde_json::Value;

use super::parameters::describe;
use super::schema::{Alternative, Kind, Root, Shape};
use super::texts::Text;
use super::{json, number};

/// Reads the texts of one parameter. One that was read from a file is tried as it is, and then without its last line break.
///
/// # Errors
/// The sentence that says why not, without the parameter's name.
pub(super) fn of_texts<'a>(
    root: &'a Root,
    shape: &Shape<'a>,
    texts: &[Text<'_>],
) -> Result<Value, String> {
    let whole: Vec<&str> = texts.iter().map(|text| &*text.text).collect();
    let value = from_texts(root, shape, &whole);
    if value.is_ok() || !texts.iter().any(|text| text.is_read) {
        return value;
    }
    let without = texts.iter().map(|text| match text.text.strip_suffix('\n') {
        Some(line) if text.is_read => line.strip_suffix('\r').unwrap_or(line),
        _ => &text.text,
    });
    from_texts(root, shape, &without.collect::<Vec<_>>())
}

/// Reads the texts of one parameter: several are the items of an array.
///
/// # Errors
/// As [`of_texts`].
pub(super) fn from_texts<'a>(
    root: &'a Root,
    shape: &Shape<'a>,
    texts: &[&str],
) -> Result<Value, String> {
    let array = shape
        .iter()
        .flatten()
        .find(|alternative| alternative.kind == Kind::Array);
    match (array, texts) {
        (None, [text]) => from_text(root, shape, text),
        (None, _) => Err("is given twice".to_owned()),
        (Some(array), [text]) => one_for_an_array(root, shape, array, text),
        (Some(array), texts) => items(root, array, texts),
    }
}

/// One text where an array is allowed: the whole array as JSON, a value of another kind that is allowed too, or the only item.
fn one_for_an_array<'a>(
    root: &'a Root,
    shape: &Shape<'a>,
    array: &Alternative<'a>,
    text: &str,
) -> Result<Value, String> {
    if let Some(value @ Value::Array(_)) = structure(text) {
        return Ok(value);
    }
    let others: Vec<Alternative<'a>> = shape
        .iter()
        .flatten()
        .filter(|alternative| alternative.kind != Kind::Array)
        .cloned()
        .collect();
    if !others.is_empty()
        && let Ok(value) = from_text(root, &Some(others), text)
    {
        return Ok(value);
    }
    // Sent as an item it would be what nobody means: `[a, b]`, or JSON with a slip in it.
    if text.trim_start().starts_with('[')
        && let Err(error) = json::parse(text)
    {
        return Err(format!("begins with [ and can't be read as JSON: {error}"));
    }
    items(root, array, &[text])
}

fn items<'a>(root: &'a Root, array: &Alternative<'a>, texts: &[&str]) -> Result<Value, String> {
    let read = texts.iter().enumerate().map(|(position, text)| {
        let shape = root.item_shape(array, position);
        let value = from_text(root, &shape, text)?;
        if texts.len() > 1 && !value.is_array() && matches!(structure(text), Some(Value::Array(_)))
        {
            return Err("is given as JSON and item by item; use one of the two".to_owned());
        }
        Ok(value)
    });
    read.collect::<Result<Vec<Value>, String>>()
        .map(Value::Array)
}

/// Reads one text.
///
/// # Errors
/// As [`of_texts`].
fn from_text<'a>(root: &'a Root, shape: &Shape<'a>, text: &str) -> Result<Value, String> {
    let string = || Value::String(text.to_owned());
    let Some(alternatives) = shape else {
        return Ok(structure(text).unwrap_or_else(string));
    };
    let of_kind = |kind: Kind| alternatives.iter().find(|known| known.kind == kind);
    if let Some(value) = structure(text)
        && of_kind(Kind::of(&value)).is_some()
    {
        return Ok(value);
    }
    if of_kind(Kind::String).is_some_and(|known| known.lists(&string())) {
        return Ok(string());
    }
    let mut fault = None;
    for alternative in alternatives {
        match scalar(alternative.kind, text) {
            Ok(Some(value)) if alternative.lists(&value) => return Ok(value),
            Ok(_) => {}
            Err(reason) => fault = fault.or(Some(reason)),
        }
    }
    let expected = describe(root, shape, 0);
    Err(match fault {
        Some(reason) => format!("must be {expected}: {} {reason}", quoted(text)),
        None => format!("must be {expected}, not {}", quoted(text)),
    })
}

/// Reads a text as one kind: `None` when it plainly is not of it, a reason when it is meant to be.
fn scalar(kind: Kind, text: &str) -> Result<Option<Value>, String> {
    let number = |read: Result<Value, number::NumberFault>| match read {
        Ok(value) => Ok(Some(value)),
        Err(number::NumberFault::Form) => Ok(None),
        Err(fault) => Err(fault.to_string()),
    };
    match (kind, text) {
        (Kind::Null, "null") => Ok(Some(Value::Null)),
        (Kind::Boolean, "true") => Ok(Some(Value::Bool(true))),
        (Kind::Boolean, "false") => Ok(Some(Value::Bool(false))),
        (Kind::Integer, _) => number(number::integer(text)),
        (Kind::Number, _) => number(number::number(text)),
        (Kind::Object, _) if text.trim_start().starts_with('{') => not_json(text),
        (Kind::Array, _) if text.trim_start().starts_with('[') => not_json(text),
        _ => Ok(None),
    }
}

fn not_json(text: &str) -> Result<Option<Value>, String> {
    match json::parse(text) {
        Ok(_) => Ok(None),
        Err(error) => Err(format!("can't be read as JSON: {error}")),
    }
}

/// The object or array that a text is the JSON of.
fn structure(text: &str) -> Option<Value> {
    if text.trim_start().starts_with(['{', '[']) {
        json::parse(text).ok()
    } else {
        None
    }
}

/// A text as a message shows it: on one line, and not whole when it is long.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
