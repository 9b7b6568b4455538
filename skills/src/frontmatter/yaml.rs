//! The frontmatter's YAML as a map: read whole where it is valid, else field by field.

use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{
    DefaultMessageFormatter, Error, MessageFormatter, NonFiniteFloatPolicy, Options,
};

use super::Report;
use crate::problem::{Problem, ProblemKind};

/// The file's first line is the opening fence.
const LINES_BEFORE: u32 = 1;

/// How deep values may be nested: far beyond any real frontmatter, and safe for a thread's stack.
const MAX_DEPTH: usize = 64;

/// How many events aliases may be expanded to.
const MAX_REPLAYED: usize = 10_000;

/// One top-level field as it is written: the line of its key and what follows until the next key.
#[derive(Debug)]
pub(super) struct Field<'a> {
    /// The key.
    pub(super) key: &'a str,
    /// The line in the file, counted from 1.
    pub(super) line: u32,
    /// Its lines, the key's line included.
    text: &'a str,
}

/// Cuts the frontmatter into its top-level fields without parsing it.
pub(super) fn fields(yaml: &str) -> Vec<Field<'_>> {
    let mut starts = Vec::new();
    let mut offset = 0;
    for (line, number) in yaml.split_inclusive('\n').zip(LINES_BEFORE + 1..) {
        if let Some(key) = key_of(line) {
            starts.push((offset, key, number));
        }
        offset += line.len();
    }
    let ends = starts
        .iter()
        .skip(1)
        .map(|start| start.0)
        .chain([yaml.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&(start, key, line), end)| Field {
            key,
            line,
            text: &yaml[start..end],
        })
        .collect()
}

/// The key that a line of the top level begins with.
fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let separated = rest.is_empty() || rest.starts_with([' ', '\t', '\n']);
    let plain = key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !key.contains(char::is_whitespace);
    (separated && plain).then_some(key)
}

impl Field<'_> {
    /// The value as it is written, its lines joined as YAML would join them, quotes around the whole taken off.
    pub(super) fn raw(&self) -> String {
        let value = &self.text[self.key.len() + 1..];
        let mut lines = value.lines().map(str::trim);
        let first = lines.next().unwrap_or_default();
        let block = first.starts_with(['|', '>'])
            && first[1..]
                .chars()
                .all(|c| matches!(c, '+' | '-' | '0'..='9'));
        let separator = if block && first.starts_with('|') {
            "\n"
        } else {
            " "
        };
        let text: Vec<&str> = std::iter::once(first)
            .skip(usize::from(block))
            .chain(lines)
            .filter(|line| !line.is_empty())
            .collect();
        let text = text.join(separator);
        for quote in ['"', '\''] {
            let inner = text
                .strip_prefix(quote)
                .and_then(|text| text.strip_suffix(quote));
            if let Some(inner) = inner {
                return inner.to_owned();
            }
        }
        text
    }

    /// Whether the value is a plain scalar that YAML cuts at ` #`.
    pub(super) fn is_cut_by_comment(&self) -> bool {
        let value = self.text[self.key.len() + 1..].trim_start();
        !value.starts_with(['"', '\'', '|', '>', '[', '{', '#']) && value.contains(" #")
    }

    /// Whether the value is a plain scalar with a colon that YAML takes for a key's.
    fn has_unquoted_colon(&self) -> bool {
        let value = self.text[self.key.len() + 1..].trim();
        let colon = value.contains(": ") || value.contains(":\n") || value.ends_with(':');
        !value.starts_with(['"', '\'', '|', '>', '[', '{']) && colon
    }
}

/// Reads the whole frontmatter, or what of it can be read.
///
/// # Errors
/// [`ProblemKind::SkillSkipped`] when it is no valid YAML and has no description that could be read by itself.
pub(super) fn read(
    yaml: &str,
    fields: &[Field<'_>],
    report: &mut Report<'_>,
) -> Result<Map<String, Value>, Problem> {
    let error = match parse(yaml, DuplicateKeyPolicy::Error) {
        Ok(map) => return Ok(map),
        Err(error) => error,
    };
    if matches!(error, Error::DuplicateMappingKey { .. })
        && let Ok(map) = parse(yaml, DuplicateKeyPolicy::LastWins)
    {
        report.warn(
            line_of(&error),
            format!("{}; the last one counts", message_of(&error)),
        );
        return Ok(map);
    }
    if !fields.iter().any(|field| field.key == "description") {
        let message = format!("the frontmatter is not valid YAML: {}", message_of(&error));
        return Err(report.skipped(line_of(&error), message));
    }
    Ok(recover(fields, &error, report))
}

/// Reads field by field: those that are valid by themselves as YAML, the others as the text that they are.
fn recover(fields: &[Field<'_>], whole: &Error, report: &mut Report<'_>) -> Map<String, Value> {
    let before = report.warnings.len();
    let mut map = Map::new();
    for field in fields {
        match parse(field.text, DuplicateKeyPolicy::LastWins) {
            Ok(one) => map.extend(one),
            Err(error) => {
                let (line, reason) = if field.has_unquoted_colon() {
                    (Some(field.line), "an unquoted colon".to_owned())
                } else {
                    let within = line_of(&error).map_or(0, |line| line - LINES_BEFORE - 1);
                    (Some(field.line + within), message_of(&error))
                };
                let problem = Problem::new(
                    ProblemKind::SkillWarning,
                    format!(
                        "`{}` is not valid YAML: {reason}; read as plain text",
                        field.key
                    ),
                );
                report.add(
                    problem.hint(format!("put the value of `{}` in quotes", field.key)),
                    line,
                );
                map.insert(field.key.to_owned(), Value::String(field.raw()));
            }
        }
    }
    if report.warnings.len() == before {
        report.warn(
            line_of(whole),
            format!("not valid YAML: {}; read field by field", message_of(whole)),
        );
    }
    map
}

fn parse(yaml: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Map<String, Value>, Error> {
    // A frontmatter of nothing but comments is an empty map, not a null.
    let empty = |line: &str| line.trim().is_empty() || line.starts_with('#');
    if yaml.lines().all(empty) {
        return Ok(Map::new());
    }
    serde_saphyr::from_str_with_options(yaml, options(duplicate_keys))
}

/// Values are kept as written where YAML's typing would lose something: `yes`, `007`, `1_000` and `.inf` stay strings.
fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPLAYED },
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// The line in the file.
fn line_of(error: &Error) -> Option<u32> {
    let line = u32::try_from(error.location()?.line()).ok()?;
    (line > 0).then_some(line + LINES_BEFORE)
}

/// The message on one line, without the position and without what an author's text may hide in it.
fn message_of(error: &Error) -> String {
    DefaultMessageFormatter
        .format_message(error.without_snippet())
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}
