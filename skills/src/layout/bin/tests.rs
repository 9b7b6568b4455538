use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::{PROGRAM, file_name, id_of};
use crate::catalog::fixtures::{
    Clock, build, built, example, file, server, skill, sources, subtree, tool,
};
use crate::entry_id::EntryId;
use crate::names::encode;
use crate::server::ServerState;

fn id(server: &str, tool: &str) -> EntryId {
    EntryId::tool(&encode(server), &encode(tool))
}

/// Whether a name ends in so long a hash as only those have that were too long.
fn is_cut(name: &str) -> bool {
    name.rsplit_once('~')
        .is_some_and(|(_, hash)| hash.len() == 32)
}

fn name() -> impl Strategy<Value = String> {
    let awkward = proptest::sample::select(vec!['.', '%', '2', 'E', '/', '~', '-', 'a', '\n', 'é']);
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(awkward, 0..300).prop_map(|all| all.into_iter().collect()),
        "[a.]{1,3}",
        "[.]{80,90}",
    ]
}

proptest! {
    #[test]
    fn every_name_fits_and_is_read_back(server in name(), tool in name()) {
        let id = id(&server, &tool);
        let name = file_name(&id);
        prop_assert!(name.len() <= 255 && !name.contains('/') && !name.starts_with(['.', '-']), "{name:?}");
        if !is_cut(&name) {
            let read = id_of(&name);
            prop_assert_eq!(read.as_deref(), Some(id.as_str()));
        }
    }

    #[test]
    fn no_two_tools_share_a_name(
        ids in proptest::collection::btree_set(prop_oneof![(name(), name()), ("[a.]{1,3}", "[a.]{1,3}")], 2..40),
    ) {
        let ids: BTreeSet<EntryId> = ids.iter().map(|(server, tool)| id(server, tool)).collect();
        let names: BTreeSet<String> = ids.iter().map(file_name).collect();
        prop_assert_eq!(names.len(), ids.len());
    }
}

#[test]
fn a_dot_of_the_server_is_encoded_and_one_of_the_tool_is_not() {
    for (server, tool, name) in [
        ("github", "create_issue", "github.create_issue"),
        ("a.b", "c", "a%2Eb.c"),
        ("a", "b.c", "a.b.c"),
        (".a.", "c", "%2Ea%2E.c"),
        ("a%2Eb", "c", "a%252Eb.c"),
        ("", "", "%.%"),
    ] {
        let id = id(server, tool);
        assert_eq!(file_name(&id), name);
        assert_eq!(id_of(name).as_deref(), Some(id.as_str()), "{name}");
    }
    assert_eq!(id_of("no-dot"), None);
}

#[test]
fn names_too_long_for_a_file_stay_apart() {
    let tools = ["x", "y"].map(|last| format!("{}{last}", "t".repeat(239)));
    let names = tools
        .each_ref()
        .map(|tool| file_name(&id("server-of-a-long-name", tool)));
    assert_ne!(names[0], names[1]);
    for name in names {
        assert_eq!(name.len(), 255);
    }
    // It is found all the same.
    let known = tools.each_ref().map(|name| tool(name, "x")).to_vec();
    let snapshot = built(sources(
        vec![server("server-of-a-long-name", Some(known))],
        Vec::new(),
    ));
    for (name, _) in subtree(&snapshot, "bin").children() {
        let path = format!("bin/{}", str::from_utf8(name).unwrap());
        let (id, _) = snapshot.find(&path).unwrap();
        assert_eq!(file_name(&id).as_bytes(), &**name);
    }
}

#[test]
fn a_search_for_words_finds_no_program() {
    let text = str::from_utf8(&PROGRAM).unwrap();
    let words: BTreeSet<&str> = text
        .split(|character: char| !character.is_alphabetic())
        .filter(|word| word.len() > 1)
        .collect();
    assert_eq!(
        words.into_iter().collect::<Vec<_>>(),
        ["bin", "call", "exec", "sh", "shelf"]
    );
}

#[test]
fn only_tools_have_a_program_and_all_have_the_same() {
    let snapshot = built(example());
    let programs = subtree(&snapshot, "bin");
    let names: Vec<_> = programs
        .children()
        .iter()
        .map(|(name, _)| str::from_utf8(name).unwrap())
        .collect();
    assert_eq!(names, ["github.create", "github.list", "time.now"]);
    let content = |path: &str| format!("{:?}", file(&snapshot, path).content);
    for name in names {
        let path = format!("bin/{name}");
        let program = file(&snapshot, &path);
        assert!(program.is_program() && program.mode == 0o555);
        assert_eq!(content(&path), content("bin/time.now"));
    }
    assert!(!file(&snapshot, "mcp/time/now.md").is_program());
    assert!(!file(&snapshot, "skills/pdf/scripts/run.sh").is_program());
    let empty = built(sources(Vec::new(), vec![skill("pdf", 0, None)]));
    assert!(subtree(&empty, "bin").children().is_empty());
}

#[test]
fn a_changed_definition_changes_no_program() {
    let clock = &mut Clock::default();
    let first = build(None, example(), clock);
    let mut changed = first.sources.clone();
    let tools = vec![tool("create", "Makes."), tool("list", "Lists.")];
    let github = server("github", Some(tools));
    let servers = BTreeMap::from([(github.name.clone(), (github, ServerState::default()))]);
    changed.servers.extend(servers);
    let second = build(Some(&first), changed, clock);
    assert!(!Arc::ptr_eq(
        &subtree(&first, "mcp/github"),
        &subtree(&second, "mcp/github")
    ));
    assert!(Arc::ptr_eq(
        &subtree(&first, "bin"),
        &subtree(&second, "bin")
    ));
}
