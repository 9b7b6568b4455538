use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::{Offered, Offers, Prompt, Resource, Template, check_uri, index_line};
use super::{prompt_command, prompts, read_command, resources};
use crate::entry_id::ServerName;
use crate::problem::ProblemKind;

fn parsed<T: Offered>(value: &Value) -> Result<Arc<T>, crate::problem::Problem> {
    let raw = Arc::from(to_raw_value(value).unwrap());
    T::parse(&ServerName::new("s"), 0, raw).map(Arc::new)
}

fn list<T: Offered>(values: &[Value]) -> Option<Vec<Arc<T>>> {
    Some(values.iter().map(|value| parsed(value).unwrap()).collect())
}

fn example() -> Offers {
    Offers {
        resources: list(&[
            json!({"uri": "note://b", "name": "b", "size": 1}),
            json!({"uri": "file:///it's $(x).txt", "name": "x", "title": "A\u{1b}[2J note\n\u{202e}", "mimeType": "text/plain",
                "size": 12, "description": "All\nof it.  \u{200b}And more."}),
        ]),
        templates: list(&[
            json!({"uriTemplate": "note://{+id}/{part*,page:3}{?id}", "name": "Parts"}),
        ]),
        prompts: list(&[
            json!({"name": "-odd name", "arguments": [{"name": "a b", "required": true}, {"name": "c", "description": "Third.\nReally."}]}),
            json!({"name": "easy", "title": "Easy", "description": "Does it."}),
        ]),
    }
}

#[test]
fn the_pages_are_sorted_and_hold_nothing_that_deceives() {
    insta::assert_snapshot!("resources", resources("srv", &example()).unwrap());
    insta::assert_snapshot!("prompts", prompts("srv", &example()).unwrap());
    let expected = "RESOURCES.md: 2 resources, 1 template; PROMPTS.md: 2 prompts\n";
    assert_eq!(index_line(&example()), expected);
    let mut reversed = example();
    reversed.resources.as_mut().unwrap().reverse();
    reversed.prompts.as_mut().unwrap().reverse();
    assert_eq!(resources("srv", &reversed), resources("srv", &example()));
    assert_eq!(prompts("srv", &reversed), prompts("srv", &example()));
    assert!(reversed.same(&example()));
}

#[test]
fn what_is_not_there_has_no_page() {
    for none in [None, Some(Vec::new())] {
        let offers = Offers {
            resources: none.clone(),
            templates: Some(Vec::new()),
            prompts: None,
        };
        assert_eq!(
            (resources("s", &offers), prompts("s", &offers)),
            (None, None)
        );
        assert_eq!(index_line(&offers), "");
        // What is not known is something else than that there is nothing.
        assert_eq!(
            offers.same(&Offers {
                resources: None,
                ..offers.clone()
            }),
            none.is_none()
        );
    }
    let known = example();
    assert!(Offers::default().or(&known).same(&known));
}

#[test]
fn one_that_cannot_be_asked_for_is_a_problem() {
    for value in [
        json!({"name": "n"}),
        json!({"uri": 7}),
        json!({"uri": ""}),
        json!("x"),
        json!({"uri": "a:\u{1b}b"}),
        json!({"uri": "a:\u{202e}b"}),
    ] {
        let problem = parsed::<Resource>(&value).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::MalformedOffer, "{value}");
        assert!(problem.message.contains("resource number 1"), "{problem}");
    }
    for arguments in [
        json!([{}]),
        json!([{"name": "a=b"}]),
        json!([{"name": ""}]),
        json!([7]),
    ] {
        let prompt = json!({"name": "p", "arguments": arguments});
        assert!(parsed::<Prompt>(&prompt).is_err(), "{prompt}");
    }
    // What is only said is taken as far as it is usable.
    let odd =
        parsed::<Resource>(&json!({"uri": "a:b", "size": "many", "mimeType": 3, "title": []}))
            .unwrap();
    assert_eq!(
        (odd.size, &*odd.said.title, &odd.said.mime),
        (None, "", &None)
    );
}

#[test]
fn an_argument_that_is_unknown_or_missing_is_named() {
    let prompt = parsed::<Prompt>(
        &json!({"name": "p", "arguments": [{"name": "city", "required": true}, {"name": "state"}]}),
    )
    .unwrap();
    let check = |given: Value| {
        let Value::Object(given) = given else {
            panic!("no object")
        };
        prompt.check(&given)
    };
    assert_eq!(check(json!({"city": "x", "state": "y"})), Ok(()));
    let problem = check(json!({"state": "y"})).unwrap_err();
    assert_eq!(
        (problem.kind.exit_code(), &*problem.message),
        (2, "the prompt p needs the argument city")
    );
    assert_eq!(
        problem.hint.unwrap(),
        "its arguments are city (required), state"
    );
    let problem = check(json!({"city": "x", "stat": "y"})).unwrap_err();
    assert_eq!(problem.message, "the prompt p has no argument stat");
    assert!(problem.hint.unwrap().starts_with("did you mean state?"));
    assert!(prompt.check(&Map::new()).is_err());
}

#[test]
fn a_uri_is_told_from_what_is_none() {
    for uri in [
        "file:///a",
        "demo://x/y?q=1&r=2#f",
        "urn:isbn:1",
        "a+b.c-1:x",
        "x:",
        "test://ä/%20",
        "https://[::1]/",
        "https://u:p@[::1]:80?a[b]=c",
        "x:[",
        "x:///[",
    ] {
        assert_eq!(check_uri(uri), Ok(()), "{uri}");
    }
    for uri in [
        "",
        "notes.txt",
        "/a/b",
        ":x",
        "1a:x",
        "a b:x",
        "a:x y",
        "a:\u{202e}",
        "a:<x>",
        "a:%",
        "a:%2",
        "a:%zz",
        "a:%é0",
        "a:{",
        "a:\n",
        "http://[bad",
        "http://bad]/",
        "http://u@[::1]x/",
        "http://a[b]/",
        "http://[::1]:[/",
    ] {
        let problem = check_uri(uri).unwrap_err();
        assert_eq!(problem.kind.exit_code(), 2, "{uri}");
        assert!(problem.hint.is_some());
    }
    let problem = check_uri("note://{+id}/{part*,page:3}{?id}").unwrap_err();
    assert_eq!(
        problem.hint.unwrap(),
        "write a value in the place of {id}, {part}, {page}"
    );
}

#[test]
fn variables_of_templates() {
    let variables = |template: &str| {
        let template = parsed::<Template>(&json!({ "uriTemplate": template })).unwrap();
        template.variables().join(" ")
    };
    assert_eq!(variables("a:{x}/{/y,z*}{?q:3,x}{}"), "x y z q");
    assert_eq!(variables("a:b"), "");
    assert_eq!(variables("a:{x"), "");
}

/// What a POSIX shell makes of a command line of which only quotes matter.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut characters) = (false, line.chars());
    while let Some(character) = characters.next() {
        let word = words.last_mut().unwrap();
        match character {
            '\'' => quoted = !quoted,
            '\\' if !quoted => word.push(characters.next().unwrap()),
            ' ' if !quoted => words.push(String::new()),
            other => word.push(other),
        }
    }
    assert!(!quoted, "{line}");
    words
}

#[test]
fn the_commands_say_exactly_what_was_listed() {
    for uri in [
        "demo://a/b",
        "file:///it's $(x)`y`.txt",
        "a:ä&b;c?d=1#e",
        "-x:y",
        "a:!x~*",
    ] {
        let line = read_command("srv", uri).unwrap();
        let words = words(&line);
        assert_eq!(words.last().unwrap(), uri, "{line}");
        assert_eq!(words[words.len() - 2], "srv");
    }
    assert_eq!(read_command("srv", "a:\u{202e}"), None);
    let easy = parsed::<Prompt>(&json!({"name": "two words", "arguments": [{"name": "a 'b'", "required": true}, {"name": "c"}]})).unwrap();
    let line = prompt_command("srv", &easy);
    assert_eq!(
        words(&line),
        ["shelf", "prompt", "--arg", "a 'b'=text", "srv", "two words"]
    );
    let odd = parsed::<Prompt>(&json!({"name": "-x"})).unwrap();
    assert_eq!(prompt_command("srv", &odd), "shelf prompt -- srv -x");
}
