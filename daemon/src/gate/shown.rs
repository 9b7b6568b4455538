//! A call as it is shown to whoever is to approve it: all that a model or a stranger wrote, with nothing in it that deceives the eye.
//!
//! It only makes texts: how they are laid out is for others.

use serde_json::{Map, Value};
use skills::summary::spelt_out;

use crate::protocol::ShownArgument;

/// How many arguments are shown, and how many characters of each. What is left out is counted.
const ARGUMENTS: usize = 40;
const CHARACTERS: usize = 800;
/// As much of the end of a long value is shown: what is dangerous may well stand there.
const TAIL: usize = 200;
/// A name is never longer in earnest.
const NAME: usize = 120;

/// The arguments, and how many more there are.
pub(crate) fn arguments(arguments: &Map<String, Value>) -> (Vec<ShownArgument>, usize) {
    let shown = arguments.iter().take(ARGUMENTS).map(|(name, value)| {
        let (value, cut) = shorten(&value.to_string());
        ShownArgument {
            name: self::name(name),
            value,
            cut,
        }
    });
    let shown: Vec<_> = shown.collect();
    let more = arguments.len() - shown.len();
    (shown, more)
}

/// A name that a stranger chose.
pub(crate) fn name(name: &str) -> String {
    let mut characters = name.chars();
    let mut text: String = characters.by_ref().take(NAME).collect();
    if characters.next().is_some() {
        text.push('…');
    }
    spelt_out(&text)
}

/// The text with its middle left out where it is long, and how many characters that are.
fn shorten(text: &str) -> (String, usize) {
    let length = text.chars().count();
    if length <= CHARACTERS + TAIL {
        return (spelt_out(text), 0);
    }
    let head: String = text.chars().take(CHARACTERS).collect();
    let tail: String = text.chars().skip(length - TAIL).collect();
    let text = format!("{} … {}", spelt_out(&head), spelt_out(&tail));
    (text, length - CHARACTERS - TAIL)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{ARGUMENTS, CHARACTERS, NAME, TAIL, arguments, name};

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("no object: {other}"),
        }
    }

    #[test]
    fn what_deceives_the_eye_is_spelt_out() {
        let given = "a\u{202e}b\u{200b}c\u{1b}[2Jd\u{9b}e\nf\u{e0041}";
        let (shown, more) = arguments(&map(json!({ "x\u{2066}": [given] })));
        assert_eq!(more, 0);
        assert_eq!(shown[0].name, r"x\u{2066}");
        let expected = r#"["a\u{202e}b\u{200b}c\u001b[2Jd\u{9b}e\nf\u{e0041}"]"#;
        assert_eq!(shown[0].value, expected);
        // Written out by the caller it looks different.
        let (shown, _) = arguments(&map(json!({ "x": r"\u{202e}" })));
        assert_eq!(shown[0].value, r#""\\u{202e}""#);
    }

    #[test]
    fn what_is_long_is_cut_in_the_middle_and_counted() {
        let long = format!("{}{}END", "a".repeat(CHARACTERS), "b".repeat(TAIL));
        let (shown, _) = arguments(&map(json!({ "x": long })));
        // Two quotation marks come to the three letters.
        assert_eq!(shown[0].cut, 5);
        assert!(shown[0].value.ends_with("END\""), "{}", shown[0].value);
        assert!(shown[0].value.contains(" … "));
        let fits = "a".repeat(CHARACTERS + TAIL - 2);
        let (shown, _) = arguments(&map(json!({ "x": fits })));
        assert_eq!((shown[0].cut, shown[0].value.contains('…')), (0, false));
        let many: Map<_, _> = (0..ARGUMENTS + 3)
            .map(|n| (n.to_string(), Value::Null))
            .collect();
        let (shown, more) = arguments(&many);
        assert_eq!((shown.len(), more), (ARGUMENTS, 3));
        assert_eq!(name(&"n".repeat(NAME + 1)).chars().count(), NAME + 1);
    }
}
