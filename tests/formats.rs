//! Definitions for harnesses: what `--format` prints with and without a daemon, and that its names lead back.

use serde_json::Value;

use crate::support::needs::{lacks_mount, lacks_program};
use crate::support::shelf::{Finished, Shelf};

const FORMATS: [&str; 4] = ["xml", "anthropic", "openai", "mcp"];

fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &[]);
    shelf.skill("invoices", "Reads <invoices> & adds them up.");
    shelf
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// The output of a command that has to work and may have something to say.
#[track_caller]
fn output(finished: Finished) -> (String, String) {
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    (finished.stdout, finished.stderr)
}

#[test]
fn no_skill_takes_the_place_of_a_tool_in_a_form_that_knows_tools_alone() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.skill("echo", "Echo, echo, echo.");
    shelf.mount();
    let found =
        |options: &[&str]| shelf.run(&[&["search", "--limit", "1", "echo"], options].concat());
    let (text, _) = output(found(&[]));
    assert!(text.starts_with("skills/echo — "), "{text}");
    for format in ["anthropic", "openai", "mcp"] {
        let (text, notes) = output(found(&["--format", format]));
        assert!(text.contains("echo"), "{text}");
        assert_eq!(parsed(&text)["tools"].as_array().unwrap().len(), 1);
        assert!(!notes.contains("skill"), "{notes}");
        let refused = found(&["--format", format, "--kind", "skill"]).fails(2);
        assert!(refused.contains("this format has no skills"), "{refused}");
    }
    let (text, _) = output(found(&["--format", "xml", "--kind", "skill"]));
    assert!(text.contains("<name>echo</name>"), "{text}");
    let (text, _) = output(found(&["--server", "skills"]));
    assert!(text.starts_with("skills/echo — "), "{text}");
    found(&["--server", "fake", "--kind", "skill"]).fails(2);
}

#[test]
fn a_search_is_answered_in_the_form_of_the_provider() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.mount();
    let search = |format: &[&str]| {
        output(shelf.run(&[&["search", "--limit", "1", "echo", "--format"], format].concat()))
    };
    let (text, notes) = search(&["anthropic"]);
    let anthropic = parsed(&text);
    assert_eq!(anthropic["tools"][0]["name"], "mcp__fake__echo");
    assert_eq!(anthropic["tools"][0]["defer_loading"], true);
    let reference = &anthropic["tool_result_content"][0];
    assert_eq!(reference["tool_name"], "mcp__fake__echo");
    assert!(notes.contains("every tool here is deferred"), "{notes}");

    let (text, _) = search(&["openai", "--call-id", "call_7"]);
    let openai = parsed(&text);
    assert_eq!(openai["call_id"], "call_7");
    assert_eq!(openai["tools"][0]["name"], "mcp__fake");
    assert_eq!(openai["tools"][0]["tools"][0]["name"], "mcp__fake__echo");

    let (text, _) = search(&["xml"]);
    assert!(
        text.starts_with("<search-results query=\"echo\" count=\"1\">\n"),
        "{text}"
    );
    assert!(
        text.contains("<tool name=\"echo\" namespace=\"fake\">"),
        "{text}"
    );
}

#[test]
fn what_a_provider_calls_a_tool_is_its_id_here() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.mount();
    assert_eq!(shelf.call(&["mcp__fake__echo", "--text", "x"]), "x");
    let shown = shelf.run(&["show", "mcp__fake__echo"]).succeeds();
    assert_eq!(shown, shelf.read("mcp/fake/echo.md"));
    for name in ["mcp__fake__ecko", "mcp__Fake__echo", "fake__echo"] {
        shelf.run(&["call", name, "--text", "x"]).fails(3);
    }
}

#[test]
fn a_search_without_matches_is_an_answer_too() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.mount();
    let words = ["search", "qqqqzzzz", "--format"];
    let found = shelf.run(&[&words[..], &["xml"]].concat());
    assert_eq!(found.code, 3);
    assert!(found.stdout.contains("count=\"0\""), "{}", found.stdout);
    let found = shelf.run(&[&words[..], &["openai", "--call-id", "c"]].concat());
    assert_eq!(
        (
            found.code,
            parsed(&found.stdout)["tools"].as_array().unwrap().len()
        ),
        (3, 0)
    );
}

#[test]
fn skills_are_told_of_in_xml_alone() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.mount();
    let (text, _) = output(shelf.run(&["list", "--kind", "skill", "--format", "xml"]));
    let location = shelf.mounted("skills/invoices/SKILL.md");
    assert!(text.starts_with("<available_skills>"), "{text}");
    assert!(
        text.contains("Reads &lt;invoices&gt; &amp; adds them up."),
        "{text}"
    );
    assert!(
        text.contains(&format!("<location>{}</location>", location.display())),
        "{text}"
    );
    assert!(location.exists());

    let (text, notes) = output(shelf.run(&["list", "--format", "mcp"]));
    assert!(
        !text.contains("invoices") && notes.contains("1 skill is left out"),
        "{notes}"
    );
    let said = shelf.run(&["show", "--format", "openai", "fake/echo", "skills/invoices"]);
    assert!(said.fails(2).contains("shelf show skills/invoices"));
}

#[test]
fn a_daemon_is_not_needed() {
    if lacks_program("python3") {
        return;
    }
    let shelf = shelf();
    let run = |words: &[&str]| shelf.run(&[words, &["--config", "mcp.json"]].concat());
    let call = ["call", "--config", "mcp.json", "fake/pid"];
    shelf.run(&call).succeeds();
    let all = || {
        FORMATS.map(|format| {
            [
                output(run(&["list", "--format", format])),
                output(run(&["show", "--format", format, "fake/echo", "fake/add"])),
                output(run(&["search", "--format", format, "echo"])),
            ]
        })
    };
    let running = all();
    run(&["unmount"]).succeeds();
    shelf.wait_until_nothing_is_left();
    assert_eq!(all(), running);
}

#[test]
fn a_call_that_fails_tells_a_model_what_it_needs() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf.mount();
    let fail = |words: &[&str], code| {
        shelf
            .run(&[&["call", "--format", "xml"], words].concat())
            .fails(code)
    };
    let wrong = fail(&["fake/echo", "--txet", "x"], 2);
    assert!(
        wrong.starts_with("<tool-call-error tool=\"fake/echo\">\n  <message>"),
        "{wrong}"
    );
    assert!(
        wrong.contains("<parameters>{\"type\":\"object\"") && wrong.contains("<hint>"),
        "{wrong}"
    );
    let own = fail(&["fake/fail"], 1);
    assert!(own.contains("<message>it did not work</message>"), "{own}");
    assert!(own.contains("<parameters>"), "{own}");
    let unknown = fail(&["fake/ecko", "--text", "x"], 3);
    assert!(
        unknown.contains("fake/echo") && !unknown.contains("<parameters>"),
        "{unknown}"
    );
    let worked = shelf.run(&["call", "--format", "xml", "fake/echo", "--text", "<x>"]);
    assert_eq!(
        (worked.stderr.as_str(), worked.stdout.as_str()),
        ("", "<x>")
    );
}
