//! JSON as strictly as a call needs it: no key twice, no number that would be sent otherwise than it was written.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::number;

/// Why a text can't be used, without a position that a shell has made meaningless.
#[derive(Debug, thiserror::Error)]
pub(super) enum JsonFault {
    /// Not JSON, or a key that stands twice.
    #[error("{0}")]
    Syntax(#[from] serde_json::Error),
    /// A number that would be sent as another one.
    #[error("{0} {1}")]
    Number(String, number::NumberFault),
}

/// Parses JSON. The depth is bounded by the parser.
pub(super) fn parse(text: &str) -> Result<Value, JsonFault> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut deserializer)?;
    deserializer.end()?;
    for written in numbers(text) {
        number::number(written).map_err(|fault| JsonFault::Number(written.to_owned(), fault))?;
    }
    Ok(value)
}

/// Whether the numbers in a text that is known to be JSON arrive as they are written, be they asked for as integers or not.
pub(super) fn is_exact(text: &str) -> bool {
    numbers(text).all(|written| {
        let is_too_large = number::integer(written) == Err(number::NumberFault::TooLarge);
        !is_too_large && number::number(written).is_ok()
    })
}

/// The numbers in a text that is known to be JSON.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut position = 0;
    std::iter::from_fn(move || {
        let mut in_string = false;
        while let Some(byte) = bytes.get(position) {
            let start = position;
            position += 1;
            match byte {
                b'\\' if in_string => position += 1,
                b'"' => in_string = !in_string,
                b'-' | b'0'..=b'9' if !in_string => {
                    let more = bytes[position..].iter();
                    let part =
                        |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                    position += more.take_while(part).count();
                    return text.get(start..position);
                }
                _ => {}
            }
        }
        None
    })
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
            object.insert(key, entries.next_value_seed(Self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn values_are_as_they_were_written() {
        let text = r#"{"b": [1, -2.50, "3e400 \" 1e400", true, null, {}], "a": 18446744073709551615, "f": 0.30000000000000004}"#;
        let value = parse(text).unwrap();
        assert_eq!(
            value,
            json!({"b": [1, -2.5, "3e400 \" 1e400", true, null, {}], "a": u64::MAX, "f": 0.300_000_000_000_000_04})
        );
        // The order of keys is the caller's.
        assert!(value.to_string().starts_with("{\"b\""));
    }

    #[test]
    fn what_would_be_sent_otherwise_is_refused() {
        for (text, fault) in [
            (
                r#"{"a": 1, "b": {"c": 1, "c": 2}}"#,
                "the key \"c\" stands twice",
            ),
            (
                "[1, 123456789012345678901234567890]",
                "123456789012345678901234567890 has more digits",
            ),
            (
                "[0.12345678901234567890]",
                "0.12345678901234567890 has more digits",
            ),
            ("{} {}", "trailing characters"),
            ("{'a': 1}", "key must be a string"),
            ("", "EOF"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(100_000);
        assert!(
            parse(&deep)
                .unwrap_err()
                .to_string()
                .contains("recursion limit")
        );
    }
}
