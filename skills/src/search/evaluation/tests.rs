use super::{Case, cases, evaluate};
use crate::catalog::fixtures::{built, server, skill, sources, tool};
use crate::entry_id::EntryId;
use crate::problem::ProblemKind;
use crate::search::{SearchIndex, SearchOptions};

fn index(lexical: bool) -> SearchIndex {
    let tools = vec![
        tool("create_issue", "Creates an issue."),
        tool("list_issues", "Lists issues."),
        tool("merge_branch", "Merges a branch into another."),
    ];
    let snapshot = built(sources(vec![server("tracker", Some(tools))], vec![]));
    let options = SearchOptions {
        lexical,
        ..SearchOptions::default()
    };
    SearchIndex::build(None, &snapshot, &options)
}

fn id(id: &str) -> EntryId {
    EntryId(id.into())
}

#[test]
fn cases_are_read_with_their_lines() {
    let text = "# requests\n\ncreate issue\ttracker/create_issue, tracker/new\r\nmerge\ttracker/merge_branch\n";
    let expected = [
        Case {
            request: "create issue".to_owned(),
            wanted: vec![id("tracker/create_issue"), id("tracker/new")],
            line: 3,
        },
        Case {
            request: "merge".to_owned(),
            wanted: vec![id("tracker/merge_branch")],
            line: 4,
        },
    ];
    assert_eq!(cases(text).unwrap(), expected);
    assert_eq!(cases("").unwrap(), []);
}

#[test]
fn a_line_that_is_no_case_is_named() {
    for (text, message) in [
        ("a\tx/y\nno tab", "line 2: no tab after the request"),
        ("\tx/y", "line 1: no request before the tab"),
        ("# a\nwords\t ,", "line 2: no id after the tab"),
    ] {
        let problem = cases(text).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Usage);
        assert_eq!(problem.message, message);
        assert!(problem.hint.is_some());
    }
}

#[test]
fn measures_are_counted_over_what_can_be_answered() {
    let text = "create an issue\ttracker/create_issue\n\
                merge a branch\ttracker/create_issue\n\
                qwxzv\ttracker/list_issues\n\
                anything\tother/gone,other/lost\n";
    let evaluation = evaluate(&index(false), &cases(text).unwrap());
    let hybrid = evaluation.hybrid.unwrap();
    assert_eq!(evaluation.unanswerable.len(), 1);
    assert_eq!(evaluation.unanswerable[0].line, 4);
    assert_eq!(evaluation.unknown, [id("other/gone"), id("other/lost")]);
    let lexical = evaluation.lexical;
    for measures in [&lexical, &hybrid] {
        assert_eq!(measures.cases, 3);
        assert!((measures.hit_at_1 - 1.0 / 3.0).abs() < 1e-9, "{measures:?}");
        assert_eq!(measures.silent, ["qwxzv"]);
    }
    // By words alone nothing of the second and of the third is found.
    assert!((lexical.mrr - 1.0 / 3.0).abs() < 1e-9, "{lexical:?}");
    let misses: Vec<_> = lexical
        .misses
        .iter()
        .map(|miss| (&*miss.request, miss.rank, miss.best.clone()))
        .collect();
    assert_eq!(
        misses,
        [
            ("merge a branch", None, Some(id("tracker/merge_branch"))),
            ("qwxzv", None, None),
        ]
    );
}

#[test]
fn without_meaning_and_without_cases_there_are_measures_too() {
    let evaluation = evaluate(&index(true), &[]);
    assert_eq!(evaluation.hybrid, None);
    assert_eq!(evaluation.lexical.cases, 0);
    assert!(evaluation.lexical.mrr.is_finite());
}

#[test]
fn an_entry_may_be_written_as_a_name_or_a_path_of_its_own() {
    for written in [
        "tracker/create_issue",
        "mcp__tracker__create_issue",
        "mcp/tracker/create_issue.md",
        "./mcp/tracker/create_issue.md",
        ".schemas/tracker/create_issue.json",
        "bin/tracker.create_issue",
    ] {
        let text = format!("create an issue\t{written}");
        let evaluation = evaluate(&index(true), &cases(&text).unwrap());
        assert_eq!(evaluation.lexical.cases, 1, "{written}");
        assert!(evaluation.lexical.misses.is_empty(), "{written}");
        assert!(evaluation.unknown.is_empty(), "{written}");
    }
    for written in [
        "mcp__tracker__create",
        "mcp/tracker/create_issue",
        "mcp/tracker/create.md",
        "create_issue",
    ] {
        let text = format!("create an issue\t{written}");
        let evaluation = evaluate(&index(true), &cases(&text).unwrap());
        assert_eq!(evaluation.lexical.cases, 0, "{written}");
        assert_eq!(evaluation.unknown, [id(written)]);
        assert_eq!(evaluation.unanswerable[0].wanted, [id(written)]);
    }
}

#[test]
fn a_skill_may_be_written_as_its_path() {
    let snapshot = built(sources(vec![], vec![skill("pdf", 0, None)]));
    let index = SearchIndex::build(None, &snapshot, &SearchOptions::default());
    for written in ["skills/pdf", "skills/pdf/", "skills/pdf/SKILL.md"] {
        let text = format!("pdf\t{written}");
        let evaluation = evaluate(&index, &cases(&text).unwrap());
        assert_eq!(evaluation.lexical.cases, 1, "{written}");
    }
}
