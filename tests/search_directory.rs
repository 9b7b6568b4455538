//! `search/` in the mount: a name is words, its file what answers them.

use std::fs;

use serde_json::{Value, json};

use crate::support::needs::lacks_mount;
use crate::support::shelf::Shelf;
use crate::support::wait_until;

fn shelf() -> Shelf {
    let shelf = Shelf::with_fake("fake", &["--tools", "20"]);
    shelf.skill("screenshots", "Takes a screenshot of a page.");
    shelf.mount();
    shelf
}

fn searches(shelf: &Shelf) -> Vec<Value> {
    let lines = shelf.log(&[]).into_iter();
    lines.filter(|line| line["event"] == "search").collect()
}

#[test]
fn an_answer_is_read_by_its_words() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let found = shelf
        .shell("cat 'mount/search/takes screenshot'")
        .succeeds();
    let head = found.lines().next().unwrap();
    assert!(
        head.ends_with(" entries match \"takes screenshot\"") || head.contains("matches"),
        "{found}"
    );
    assert!(
        found.contains("\nskills/screenshots — Takes a screenshot of a page"),
        "{found}"
    );
    assert!(found.contains("shelf show ID"), "{found}");
    // The id is what a definition is shown by, and its path in the mount is as the last line says.
    assert!(fs::exists(shelf.mounted("skills/screenshots/SKILL.md")).unwrap());

    let nothing = shelf.shell("cat 'mount/search/xyzzyq plughw'").succeeds();
    assert!(nothing.starts_with("0 of "), "{nothing}");
    assert!(nothing.contains("ALL.md"), "{nothing}");

    for command in [
        "cp 'mount/search/takes screenshot' copy && cat copy",
        "tail -n +1 'mount/search/takes screenshot'",
        "cd mount/search && cat 'takes screenshot'",
    ] {
        assert_eq!(shelf.shell(command).succeeds(), found, "{command}");
    }
    let count = shelf
        .shell("wc -c < 'mount/search/takes screenshot'")
        .succeeds();
    assert_eq!(count.trim(), found.len().to_string());
}

#[test]
fn what_a_new_skill_answers_is_in_the_next_answer() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    let before = shelf.read("search/zebra");
    assert!(before.starts_with("0 of "), "{before}");
    shelf.skill("animals", "Tells a zebra from a horse.");
    let after = shelf.wait_for_text("search/zebra", |text| text.contains("skills/animals"));
    assert!(after.starts_with("1 of "), "{after}");
}

#[test]
fn each_open_of_an_answer_is_logged_as_a_search_and_nothing_else_is() {
    if lacks_mount() {
        return;
    }
    let shelf = shelf();
    shelf
        .shell("SHELF_SESSION=mine cat 'mount/search/echo text'")
        .succeeds();
    wait_until("the search is logged", || searches(&shelf).len() == 1);
    let line = searches(&shelf).remove(0);
    assert_eq!(line["query"], "echo text");
    assert_eq!(line["command"], "cat");
    assert_eq!(line["session"], "mine");
    assert!(line["matches"].as_u64().unwrap() > 0, "{line}");

    // Names that programs try, walks and stats search nothing.
    shelf.shell(
        "cd mount; ls -la search .; find . | wc -l; grep -rq nothing-like-this .; stat 'search/some words'; \
         cat search/.git search/package.json search/node_modules; git -C search status; cat search/README.md",
    );
    shelf.shell("cat mount/README.md").succeeds();
    shelf.wait_for_line("what came last", |line| {
        line["path"] == "README.md" && line["command"] == "cat"
    });
    assert_eq!(searches(&shelf).len(), 1);
    let opened_there = shelf.log(&[]).into_iter().filter(|line| {
        let path = line["path"].as_str().unwrap_or_default();
        path.starts_with("search/") && line["path"] != json!("search/README.md")
    });
    assert_eq!(opened_there.count(), 0);
}
