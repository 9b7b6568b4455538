//! Rules over the frontmatter's fields. Those over `name`, `description` and `metadata` are loading's, which reports every breach.

use serde_json::Value;

use super::{Finding, Subject};

/// The specification, "Frontmatter": the six fields that there are.
const KNOWN: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// The specification, "`compatibility` field": at most so many characters.
const MAX_COMPATIBILITY: usize = 500;

/// The specification, "Frontmatter", has no other field than its six, and "`metadata` field" is where others belong.
pub(super) fn unknown(subject: &Subject<'_>) -> Vec<Finding> {
    let fields = subject.fields.iter();
    fields
        .filter(|field| !KNOWN.contains(&field.key.as_str()))
        .map(|field| {
            let key = &field.key;
            let message = format!("the specification has no field {key:?}");
            let hint = "move it below `metadata`, unless it is meant for one client alone";
            subject.warning(field.line, message, hint)
        })
        .collect()
}

/// The specification, "`compatibility` field": 1 to 500 characters if it is there.
pub(super) fn compatibility(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(field) = subject.field("compatibility") else {
        return Vec::new();
    };
    let length = match &field.value {
        Value::String(text) => text.trim().chars().count(),
        Value::Null => 0,
        // Loading reports any other type.
        _ => return Vec::new(),
    };
    let finding = match length {
        0 => subject.error(
            field.line,
            "`compatibility` is empty",
            "delete it, or say what the skill needs",
        ),
        1..=MAX_COMPATIBILITY => return Vec::new(),
        _ => subject.error(
            field.line,
            format!("`compatibility` has {length} characters, more than {MAX_COMPATIBILITY}"),
            "shorten it",
        ),
    };
    vec![finding]
}

/// The specification, "`allowed-tools` field": one string, the tools in it with spaces between. The field is experimental there, and loading
/// takes commas and lists too: a warning.
pub(super) fn allowed_tools(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(field) = subject.field("allowed-tools") else {
        return Vec::new();
    };
    let form = match &field.value {
        Value::Array(_) => "is a list",
        Value::String(text) if has_comma_between(text) => "has commas between the tools",
        // Loading reports any other type.
        _ => return Vec::new(),
    };
    let message = format!("`allowed-tools` {form}, which not every client reads");
    let hint = "write one string with spaces between the tools";
    vec![subject.warning(field.line, message, hint)]
}

/// Whether a comma stands outside of parentheses: those within are a tool's own.
fn has_comma_between(tools: &str) -> bool {
    let mut depth = 0_usize;
    tools.chars().any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c == ','
    })
}
