//! What may be typed next after a tool's id: its flags and the values that its schema lists.
//!
//! It knows nothing of shells.

use serde_json::Value;

use super::flags::{awaits_value, named};
use super::parameters::{Parameters, describe};
use super::place::{Names, Place};
use super::schema::{self, Kind, Root, Shape};
use crate::summary::one_line;
use crate::tool::Tool;

/// How many values are offered.
const MOST_VALUES: usize = 200;

/// A word that may be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The whole word.
    pub word: String,
    /// What it means, on one line; may be empty.
    pub about: String,
}

/// What the last word, of which `typed` is there, may become after the words before it. Nothing where the schema leaves it open.
pub fn suggestions(tool: &Tool, before: &[String], typed: &str) -> Vec<Suggestion> {
    let root = schema::of(tool);
    let parameters = Parameters::of(&root);
    // A word that waits for a value gets one, whatever it looks like so far.
    let awaited = before
        .last()
        .and_then(|word| named(word.strip_prefix("--")?, &parameters))
        .filter(|(_, text)| text.is_none())
        .map(|(place, _)| place);
    if let Some(place) = &awaited {
        let values = values(&root, &place.shape, "", typed);
        if awaits_value(place) || (!values.is_empty() && !typed.starts_with('-')) {
            return values;
        }
    }
    if let Some(flag) = typed.strip_prefix("--")
        && let Some((name, text)) = flag.split_once('=')
        && let Some((place, _)) = named(name, &parameters).filter(|(_, text)| text.is_none())
    {
        return self::values(&root, &place.shape, &format!("--{name}="), text);
    }
    let mut names = flags(&parameters, "", typed);
    names.retain(|flag| !before.contains(&flag.word) || takes_many(&parameters, &flag.word));
    names
}

/// The flags that begin with what is typed; by their members only once their own name is typed.
fn flags(parameters: &Parameters<'_>, holder: &str, typed: &str) -> Vec<Suggestion> {
    let root = parameters.root();
    let bare = typed.trim_start_matches('-');
    let negates = bare.starts_with("no-");
    let mut found = Vec::new();
    // The required ones are what most likely comes next.
    let (required, optional): (Vec<_>, Vec<_>) =
        parameters.iter().partition(|parameter| parameter.required);
    for parameter in required.into_iter().chain(optional) {
        let name = format!("{holder}{}", parameter.name);
        let shape = parameter.schemas.shape(root);
        let kind = describe(root, &shape, 0);
        let note = if parameter.required { ", required" } else { "" };
        let about = one_line(&format!("{kind}{note}"));
        for word in [format!("--{name}"), format!("--no-{name}")] {
            let is_negative = word.len() > name.len() + 2;
            let is_meant = !is_negative || (negates && holds(&shape, Kind::Boolean));
            if is_meant && word.starts_with(typed) {
                let about = about.clone();
                found.push(Suggestion { word, about });
            }
        }
    }
    if let Some((dot, _)) = bare.rmatch_indices('.').next()
        && holder.is_empty()
        && let Some(place) = Place::find(parameters, &bare[..dot], Names::Declared)
        && let Some(members) = place.members(root)
    {
        found.extend(flags(&members, &bare[..=dot], typed));
    }
    found
}

/// The listed values that begin with what is typed, each behind a prefix.
fn values(root: &Root, shape: &Shape<'_>, prefix: &str, typed: &str) -> Vec<Suggestion> {
    let mut words = Vec::new();
    for alternative in shape.iter().flatten() {
        match (&alternative.literals, alternative.kind) {
            (Some(literals), _) => words.extend(literals.iter().filter_map(|value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(_) | Value::Bool(_) | Value::Null => Some(value.to_string()),
                Value::Array(_) | Value::Object(_) => None,
            })),
            (None, Kind::Boolean) => words.extend(["true", "false"].map(str::to_owned)),
            (None, Kind::Array) => {
                let items = root.item_shape(alternative, 0);
                let items = values(root, &items, "", typed).into_iter();
                words.extend(items.map(|item| item.word));
            }
            (None, _) => {}
        }
    }
    let mut found: Vec<Suggestion> = Vec::new();
    for word in words {
        // A listed text that is a file's name or a flag as a word can't be typed like this.
        let is_plain = !word.is_empty() && word == one_line(&word) && !word.starts_with(['@', '-']);
        let word = format!("{prefix}{word}");
        let is_new = found.iter().all(|known| known.word != word);
        if is_plain
            && is_new
            && word[prefix.len()..].starts_with(typed)
            && found.len() < MOST_VALUES
        {
            let about = String::new();
            found.push(Suggestion { word, about });
        }
    }
    found
}

fn holds(shape: &Shape<'_>, kind: Kind) -> bool {
    let mut kinds = shape.iter().flatten();
    kinds.any(|alternative| alternative.kind == kind)
}

/// Whether a flag may be given again.
fn takes_many(parameters: &Parameters<'_>, word: &str) -> bool {
    let place = named(word.trim_start_matches("--"), parameters);
    place.is_some_and(|(place, _)| holds(&place.shape, Kind::Array))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::suggestions;
    use crate::arguments::tests::tool;

    fn offered(schema: &Value, before: &[&str], typed: &str) -> Vec<String> {
        let before: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
        let words = suggestions(&tool(schema), &before, typed);
        words
            .into_iter()
            .map(|suggestion| suggestion.word)
            .collect()
    }

    fn issue() -> Value {
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed", "on hold"]},
                "draft": {"type": "boolean"},
                "labels": {"type": "array", "items": {"enum": ["bug", "wish"]}},
                "filter": {"anyOf": [
                    {"type": "object", "properties": {"by": {"enum": ["me", "you"]}, "deep": {"properties": {"x": {}}}}},
                    {"type": "null"},
                ]},
            },
            "required": ["state"],
        })
    }

    #[test]
    fn flags_are_offered_the_required_ones_first_and_none_twice() {
        let all = ["--state", "--title", "--draft", "--labels", "--filter"];
        assert_eq!(offered(&issue(), &[], ""), all);
        assert_eq!(offered(&issue(), &[], "--"), all);
        assert_eq!(offered(&issue(), &[], "--t"), ["--title"]);
        assert_eq!(offered(&issue(), &[], "--no-"), ["--no-draft"]);
        let before = ["--state", "open", "--labels", "bug"];
        let left = ["--title", "--draft", "--labels", "--filter"];
        assert_eq!(offered(&issue(), &before, "--"), left);
    }

    #[test]
    fn listed_values_are_offered_wherever_a_value_stands() {
        let issue = issue();
        assert_eq!(
            offered(&issue, &["--state"], ""),
            ["open", "closed", "on hold"]
        );
        assert_eq!(offered(&issue, &["--state"], "o"), ["open", "on hold"]);
        assert_eq!(offered(&issue, &[], "--state=c"), ["--state=closed"]);
        assert_eq!(offered(&issue, &["--labels"], "w"), ["wish"]);
        assert_eq!(offered(&issue, &["--draft"], "t"), ["true"]);
        assert_eq!(offered(&issue, &["--draft"], "--t"), ["--title"]);
        assert_eq!(offered(&issue, &["--title"], ""), [""; 0]);
    }

    #[test]
    fn members_are_offered_behind_the_dot() {
        let issue = issue();
        assert_eq!(
            offered(&issue, &[], "--filter."),
            ["--filter.by", "--filter.deep"]
        );
        assert_eq!(offered(&issue, &[], "--filter.deep."), ["--filter.deep.x"]);
        assert_eq!(offered(&issue, &["--filter.by"], "m"), ["me"]);
    }
}
