//! Results that are longer than what is to be printed.

use std::fs;

use serde_json::json;

use super::{give, mode, path_in, shelf, text};
use crate::support::needs::lacks_mount;

#[test]
fn a_longer_result_prints_its_head_and_goes_whole_into_a_file() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let long = |options: &[&str], count: &str| {
        let words = [&["call"], options, &["results/long", "--count", count]].concat();
        shelf.run(&words)
    };
    let whole = long(&[], "5000").succeeds();
    let cut = long(&["--max-output", "1K"], "5000");
    assert_eq!(cut.code, 0, "{}", cut.stderr);
    assert!(cut.stdout.len() <= 1024 && cut.stdout.len() > 1000);
    assert!(whole.starts_with(&cut.stdout) && cut.stdout.ends_with('\n'));
    let said = format!(
        "printed {} of {} bytes, the whole result (text/plain): ",
        cut.stdout.len(),
        whole.len()
    );
    assert!(cut.stderr.starts_with(&said), "{}", cut.stderr);
    let path = path_in(&cut.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let exactly = whole.len().to_string();
    let fits = long(&["--max-output", &exactly], "5000");
    assert_eq!((fits.stdout, fits.stderr), (whole, String::new()));
}

#[test]
fn the_limit_is_that_of_the_flag_else_of_the_environment() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let printed = |variable: &str, flag: &str| {
        let script =
            format!("SHELF_MAX_OUTPUT={variable} shelf call {flag} results/long --count 3");
        shelf.shell(&script)
    };
    assert_eq!(printed("7", "").succeeds(), "line 1\n");
    assert_eq!(
        printed("7", "--max-output 14").succeeds(),
        "line 1\nline 2\n"
    );
    assert_eq!(
        printed("7", "--max-output none").succeeds().lines().count(),
        3
    );
    assert_eq!(printed("", "").succeeds().lines().count(), 3);
    let wrong = printed("much", "").fails(2);
    assert!(wrong.contains("SHELF_MAX_OUTPUT is `much`"), "{wrong}");
    assert!(printed("", "--max-output 1.5M").fails(2).contains("64K"));
}

#[test]
fn json_is_printed_whole_or_not_at_all() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let result = json!({ "structuredContent": { "words": vec!["word"; 100] } });
    for option in ["--json", "--data"] {
        let whole = give(&shelf, &[option], "results/give", &result).succeeds();
        let cut = give(
            &shelf,
            &["--max-output", "64", option],
            "results/give",
            &result,
        );
        assert_eq!((cut.code, &*cut.stdout), (0, ""), "{}", cut.stderr);
        assert!(cut.stderr.contains("(application/json)"), "{}", cut.stderr);
        assert_eq!(fs::read_to_string(path_in(&cut.stderr)).unwrap(), whole);
    }
    let failed =
        json!({ "content": [{ "type": "text", "text": "x".repeat(100) }], "isError": true });
    let failed = give(
        &shelf,
        &["--max-output", "64", "--json"],
        "results/give",
        &failed,
    );
    assert!(failed.fails(1).starts_with("printed 0 of"));
}

#[test]
fn the_limit_holds_for_errors_of_the_tool() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let mut result = text(&"an error\n".repeat(1000));
    result["isError"] = json!(true);
    let said = give(&shelf, &["--max-output", "20"], "results/give", &result).fails(1);
    assert!(
        said.starts_with("an error\nan error\nprinted 18 of 9000"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(path_in(&said)).unwrap().len(), 9000);
    let options = ["--max-output", "20", "--format", "xml"];
    let said = give(&shelf, &options, "results/give", &result).fails(1);
    assert!(
        said.contains("printed 18 of 9000") && said.len() < 2000,
        "{said}"
    );
}
