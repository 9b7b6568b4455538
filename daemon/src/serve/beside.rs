//! What is to be known of a call beside its result: told to the model, behind what the tool says, for nobody else reads it here.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use skills::problem::Problem;

use crate::protocol::CallReply;

/// The result of a reply, with a text block more for each warning, each question of the server that nobody answered, and a restart that
/// lost what this session did. All else stays byte for byte; so does a result that has no list of content.
pub(super) fn told(reply: CallReply) -> Box<RawValue> {
    let problems = reply.warnings.iter().chain(&reply.unanswered);
    let texts = problems.map(Problem::told).chain(reply.state_lost);
    let texts = texts.map(|text| json!({ "type": "text", "text": text }).to_string());
    let texts: Vec<String> = texts.collect();
    let result = reply.result;
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
    use skills::entry_id::EntryId;
    use skills::problem::{Problem, ProblemKind};

    use super::told;
    use crate::protocol::CallReply;

    fn of(result: &str, questions: usize) -> String {
        let problem = Problem::new(ProblemKind::Refused, "asked \"what\"").hint("say it");
        told(CallReply {
            unanswered: vec![problem; questions],
            ..reply(result)
        })
        .get()
        .to_owned()
    }

    fn reply(result: &str) -> CallReply {
        CallReply {
            id: EntryId("a/b".into()),
            is_error: false,
            result: RawValue::from_string(result.to_owned()).unwrap(),
            filled: serde_json::Map::new(),
            unchecked: None,
            warnings: Vec::new(),
            unanswered: Vec::new(),
            state_lost: None,
        }
    }

    #[test]
    fn a_restart_and_what_is_wrong_with_the_result_are_told_too() {
        let told = told(CallReply {
            warnings: vec![Problem::new(ProblemKind::Server, "odd")],
            state_lost: Some("gone".to_owned()),
            ..reply(r#"{"content":[]}"#)
        });
        let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let expected = format!(r#"{{"content":[{},{}]}}"#, block("odd"), block("gone"));
        assert_eq!(told.get(), expected);
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
