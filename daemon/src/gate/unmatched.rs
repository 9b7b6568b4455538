//! Rules that name what is not there: a slip of the pen in one would let pass what was meant to be refused.
//!
//! It only looks at rules that name a server or a tool outright. One with a glob in that place may be meant for what comes.

use skills::catalog::{Entry, Snapshot};
use skills::entry_id::ServerName;
use skills::offers;
use skills::problem::{Problem, ProblemKind};

use super::policy::{Policy, Rules};
use super::rule::{Rule, Subject, Target};

/// What is to be said of the rules about calls. While a server's tools are not known, any of them may be meant.
pub(crate) fn problems(policy: &Policy, snapshot: &Snapshot) -> Vec<Problem> {
    let servers = &snapshot.sources.servers;
    let is_known = |name: &ServerName| {
        let server = servers.get(name);
        server.is_some_and(|(server, _)| server.definitions.is_some())
    };
    let mut problems = Vec::new();
    for rule in calls(&policy.general) {
        if rule
            .server()
            .is_some_and(|server| !is_server(snapshot, server))
        {
            problems.push(problem(rule, "names no server that is configured"));
        } else if rule.is_literal() && servers.keys().all(is_known) && !matches(rule, snapshot) {
            problems.push(problem(rule, "names no tool that there is"));
        }
    }
    for (name, rules) in &policy.servers {
        let own = calls(rules).filter(|rule| rule.is_literal());
        for rule in own.filter(|rule| is_known(name) && !matches(rule, snapshot)) {
            problems.push(problem(rule, &format!("names no tool of server `{name}`")));
        }
    }
    problems
}

fn calls(rules: &Rules) -> impl Iterator<Item = &Rule> {
    let allow = rules.allow.iter().flatten();
    rules.deny.iter().chain(&rules.ask).chain(allow)
}

fn is_server(snapshot: &Snapshot, wanted: &str) -> bool {
    let mut servers = snapshot.sources.servers.keys();
    servers.any(|server| {
        server.as_str() == wanted || snapshot.server_file_name(server).as_deref() == Some(wanted)
    })
}

fn matches(rule: &Rule, snapshot: &Snapshot) -> bool {
    let mut entries = snapshot.entries.iter();
    let mut servers = snapshot.sources.servers.keys();
    entries.any(|(id, entry)| match entry {
        Entry::Tool { server, tool } => rule.is_about(&Subject {
            id,
            target: Some((&server.name, Target::Tool(tool))),
        }),
        Entry::Skill(_) => false,
    }) || servers.any(|server| matches_offers(rule, snapshot, server))
}

/// Whether it is about what a server offers beside its tools. It may have resources that it does not list.
fn matches_offers(rule: &Rule, snapshot: &Snapshot, server: &ServerName) -> bool {
    let file_name = snapshot.server_file_name(server).unwrap_or_default();
    offers::Kind::ALL.into_iter().any(|kind| {
        rule.is_about(&Subject {
            id: &kind.id(&file_name),
            target: Some((server, Target::Offers(kind))),
        })
    })
}

fn problem(rule: &Rule, what: &str) -> Problem {
    let (file, line) = rule.place();
    Problem::new(
        ProblemKind::Configuration,
        format!("{} {what}", rule.quoted()),
    )
    .at_file(file, Some(line))
    .hint("`shelf list` shows the ids; what is hidden needs no other rule")
}
