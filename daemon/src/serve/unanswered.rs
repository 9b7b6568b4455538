//! What a server asked while its tool ran: nobody is asked here, so it is told to the model, behind what the tool says.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use skills::problem::Problem;

/// The result, with a text block more for each question. All else stays byte for byte; so does a result that has no list of content.
pub(super) fn told(result: Box<RawValue>, unanswered: &[Problem]) -> Box<RawValue> {
    let texts = unanswered.iter();
    let texts = texts.map(|problem| json!({ "type": "text", "text": problem.told() }).to_string());
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        return result;
    }
    let longer = with_blocks(result.get(), &texts.join(","));
    longer
        .and_then(|json| RawValue::from_string(json).ok())
        .unwrap_or(result)
}

fn with_blocks(result: &str, blocks: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Known<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let known: Known<'_> = serde_json::from_str(result).ok()?;
    let content = known.content?.get();
    let items = content.strip_prefix('[')?.strip_suffix(']')?;
    let comma = if items.trim().is_empty() { "" } else { "," };
    // The raw value is a part of the result.
    let start = content.as_ptr() as usize - result.as_ptr() as usize;
    let (head, tail) = result.split_at(start + content.len() - 1);
    Some(format!("{head}{comma}{blocks}{tail}"))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use skills::problem::{Problem, ProblemKind};

    use super::told;

    fn of(result: &str, questions: usize) -> String {
        let result = RawValue::from_string(result.to_owned()).unwrap();
        let problem = Problem::new(ProblemKind::Refused, "asked \"what\"").hint("say it");
        told(result, &vec![problem; questions]).get().to_owned()
    }

    #[test]
    fn questions_stand_behind_the_content_and_the_rest_stays() {
        const BLOCK: &str = r#"{"type":"text","text":"asked \"what\"\nsay it"}"#;
        let odd =
            r#"{"n":123456789012345678901234567890,"content":[ {"type":"x","d":1e3} ],"b":1}"#;
        let longer = r#"{"n":123456789012345678901234567890,"content":[ {"type":"x","d":1e3} ,BLOCK],"b":1}"#;
        assert_eq!(of(odd, 1), longer.replace("BLOCK", BLOCK));
        let twice = format!(r#"{{"content":[{BLOCK},{BLOCK}]}}"#);
        assert_eq!(of(r#"{"content":[]}"#, 2), twice);
        assert_eq!(of(odd, 0), odd);
    }

    #[test]
    fn what_has_no_list_of_content_stays() {
        for odd in [
            "{}",
            "[]",
            r#"{"content":7}"#,
            r#"{"content":[],"content":[]}"#,
        ] {
            assert_eq!(of(odd, 1), odd);
        }
    }
}
