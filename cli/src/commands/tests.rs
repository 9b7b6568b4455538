use clap::{CommandFactory, Parser};

use super::{Arguments, Command};

/// What a command line is taken for.
fn parse(line: &[&str]) -> Result<Command, clap::Error> {
    let words = std::iter::once("shelf").chain(line.iter().copied());
    Arguments::try_parse_from(words).map(|arguments| arguments.command)
}

fn call(line: &[&str]) -> String {
    match parse(line).unwrap() {
        Command::Call(arguments) => format!("{arguments:?}"),
        other => panic!("another command: {other:?}"),
    }
}

#[test]
fn the_commands_are_consistent() {
    Arguments::command().debug_assert();
}

/// Adds the help of a command and of those below it.
fn append_help(command: &mut clap::Command, above: &str, help: &mut String) {
    if command.get_name() == "help" {
        return;
    }
    let name = format!("{above}{}", command.get_name());
    let text = command.render_long_help().to_string();
    assert!(text.contains("Example:"), "{name} has no example");
    help.push_str(&format!("\n──── {name} ────\n{text}"));
    for below in command.get_subcommands_mut() {
        append_help(below, &format!("{name} "), help);
    }
}

#[test]
fn every_help_is_as_it_was_read_last() {
    let mut command = Arguments::command().term_width(100);
    command.build();
    let mut help = command.render_long_help().to_string();
    for subcommand in command.get_subcommands_mut() {
        if subcommand.is_hide_set() {
            continue;
        }
        append_help(subcommand, "", &mut help);
    }
    insta::assert_snapshot!(help);
}

#[test]
fn after_the_id_every_flag_is_the_tools() {
    let parsed = call(&[
        "call",
        "--timeout",
        "3s",
        "a/b",
        "--timeout",
        "5",
        "--help",
        "--",
        "-x",
        "--json=1",
    ]);
    assert!(parsed.contains("timeout: Some(3s)"), "{parsed}");
    let words = r#"words: ["a/b", "--timeout", "5", "--help", "--", "-x", "--json=1"]"#;
    assert!(parsed.contains(words), "{parsed}");
    assert!(parsed.contains("json: false"), "{parsed}");
}

#[test]
fn before_the_id_a_mistyped_option_is_refused() {
    let error = parse(&["call", "--timeuot", "3s", "a/b"]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--timeout"), "{error}");
}

#[test]
fn arguments_may_be_standard_input() {
    assert!(call(&["call", "--args", "-", "a/b"]).contains(r#"args: Some("-")"#));
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    for line in [
        &["call", "--json", "--data", "a/b"][..],
        &["call", "--out", "x", "--json", "a/b"],
        &["show", "--json", "--schema", "a/b"],
        &["call", "--json", "--format", "xml", "a/b"],
        &["call", "--format", "mcp", "a/b"],
        &["show", "--format", "xml", "--schema", "a/b"],
        &["show", "--format", "xml", "--json", "a/b"],
        &["list", "--format", "yaml"],
        &["list", "--call-id", "x"],
        &["search", "--format", "xml", "--json", "x"],
        &["call"],
        &["show"],
        &["mirror"],
        &["list", "--kind", "cup"],
        &["search"],
        &["search", "--kind", "cup", "x"],
        &["search", "--limit", "0", "x"],
        &["search", "--servers", "--server", "a", "x"],
        &["search", "--wait=0", "x"],
        &["eval"],
        &["servers", "add", "x"],
        &["servers", "add", "x", "--url", "http://x", "--", "y"],
        &["servers", "add", "x", "--url", "http://x", "--env", "A=b"],
        &["servers", "add", "x", "--header", "A=b", "--", "y"],
        &["servers", "add", "x", "--env", "A", "--", "y"],
        &["servers", "import", "--from", "emacs"],
        &["config"],
        &["mount", "--wait", "soon"],
        &["call", "--timeout", "0", "a/b"],
    ] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line:?}");
    }
}
