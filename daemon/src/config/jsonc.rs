//! JSON with comments and trailing commas, as many clients write it, made plain without moving a byte: every position in
//! the result is the position in the source.

/// Blanks out comments and trailing commas. Plain JSON stays as it is.
pub(super) fn plain(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source.chars().peekable();
    // The last character that was neither white space nor comment, and the one before a comma, with the comma's place.
    let mut last = None;
    let mut comma = None;
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                plain.push('"');
                let mut escaped = false;
                for inner in rest.by_ref() {
                    plain.push(inner);
                    match inner {
                        '"' if !escaped => break,
                        _ => escaped = inner == '\\' && !escaped,
                    }
                }
            }
            '/' if rest.peek() == Some(&'/') => {
                plain.push(' ');
                while let Some(inner) = rest.next_if(|&inner| inner != '\n') {
                    blank(&mut plain, inner);
                }
                continue;
            }
            '/' if rest.peek() == Some(&'*') => {
                plain.push(' ');
                blank(&mut plain, '*');
                rest.next();
                let mut star = false;
                for inner in rest.by_ref() {
                    blank(&mut plain, inner);
                    if star && inner == '/' {
                        break;
                    }
                    star = inner == '*';
                }
                continue;
            }
            ' ' | '\t' | '\r' | '\n' => {
                plain.push(character);
                continue;
            }
            // A comma without a value before it is a fault, and stays one.
            ',' if !matches!(last, None | Some('[' | '{' | ',' | ':')) => {
                comma = Some(plain.len());
                plain.push(',');
                last = Some(',');
                continue;
            }
            '}' | ']' => {
                if let Some(place) = comma {
                    plain.replace_range(place..=place, " ");
                }
                plain.push(character);
            }
            _ => plain.push(character),
        }
        last = Some(character);
        comma = None;
    }
    plain
}

/// As many spaces as the character has bytes; line ends stay, so that lines can be counted.
fn blank(plain: &mut String, character: char) {
    match character {
        '\n' | '\r' => plain.push(character),
        _ => plain.extend(std::iter::repeat_n(' ', character.len_utf8())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn parsed(source: &str) -> Result<Value, serde_json::Error> {
        let plain = plain(source);
        assert_eq!(plain.len(), source.len());
        serde_json::from_str(&plain)
    }

    #[test]
    fn comments_and_trailing_commas_are_passed_over() {
        let source = "// ä\n{ /* a, \"b\" */ \"a\": [1, 2, /* ** */ ], // end }\n \"u\": \"http://x/*y*/\\\",\",\n}\n//";
        assert_eq!(
            parsed(source).unwrap(),
            json!({ "a": [1, 2], "u": "http://x/*y*/\"," })
        );
    }

    #[test]
    fn other_faults_stay_faults() {
        for source in [
            "[,]",
            "[1,,]",
            "{\"a\":,}",
            "{,}",
            "[1 /* open ]",
            "[1] / 2",
            "\"open",
        ] {
            assert!(parsed(source).is_err(), "{source}");
        }
    }

    proptest! {
        #[test]
        fn plain_json_is_not_touched(text in any::<String>(), number in any::<i32>()) {
            let source = json!([{ &*text: number }, text, [], {}]).to_string();
            prop_assert_eq!(plain(&source), source);
        }

        #[test]
        fn no_position_moves(source in "[\\[\\]{}:,\"/*\\\\ \nä1]{0,40}") {
            let plain = plain(&source);
            prop_assert_eq!(plain.len(), source.len());
            prop_assert_eq!(plain.matches('\n').count(), source.matches('\n').count());
        }
    }
}
