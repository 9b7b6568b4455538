//! What the requests that only look are answered with: pure functions of a snapshot.

use std::time::SystemTime;

use skills::catalog::{Entry, Shown, Snapshot, id_in_path};
use skills::definition;
use skills::entry_id::{EntryId, ServerName};
use skills::formats::names;
use skills::problem::{Problem, ProblemKind};
use skills::server::{Phase, Server, ServerState};

use super::scope::Scope;
use crate::protocol::{
    About, Description, EntryKind, ListFilter, ListedEntry, Listing, Policy, ServerPhase,
    ServerStatus, SkillDescription, Status, ToolDescription,
};

#[cfg(test)]
pub(super) mod tests;

/// The state of the daemon, as one caller sees it.
pub(super) fn status(snapshot: &Snapshot, about: &About, policy: Policy) -> Status {
    let count = |kind| {
        let of_kind = |entry: &&Entry| entry.kind() == kind;
        snapshot.entries.values().filter(of_kind).count()
    };
    Status {
        about: about.clone(),
        policy,
        generation: snapshot.generation,
        tools: count(EntryKind::Tool),
        skill_entries: count(EntryKind::Skill),
        servers: snapshot
            .sources
            .servers
            .values()
            .map(|(server, state)| {
                let shown_as = snapshot.server_file_name(&server.name);
                let tools = snapshot.tools_of(&server.name);
                server_status(server, state, shown_as.unwrap_or_default(), tools)
            })
            .collect(),
        problems: snapshot.problems().cloned().collect(),
        memory: resident_memory(),
    }
}

fn server_status(
    server: &Server,
    state: &ServerState,
    shown_as: String,
    tools: Option<usize>,
) -> ServerStatus {
    let (phase, reason) = phase(&state.phase);
    ServerStatus {
        name: server.name.to_string(),
        shown_as,
        state: phase,
        reason,
        tools,
        about: server.about(),
        stale_since: state.stale.and_then(timestamp),
    }
}

/// A phase as it is sent, with why it failed.
pub(super) fn phase(phase: &Phase) -> (ServerPhase, Option<String>) {
    match phase {
        Phase::Cold => (ServerPhase::Cold, None),
        Phase::Starting => (ServerPhase::Starting, None),
        Phase::Ready => (ServerPhase::Ready, None),
        Phase::Failed(reason) => (ServerPhase::Failed, Some(reason.clone())),
        Phase::Disabled => (ServerPhase::Disabled, None),
    }
}

fn timestamp(time: SystemTime) -> Option<jiff::Timestamp> {
    jiff::Timestamp::try_from(time).ok()
}

/// This process's resident memory in bytes, from `VmRSS` of `/proc/self/status`.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The entries that pass the filter, of `lines`: those of every entry on the shelf, in order of id.
pub(crate) fn list<'a>(
    shown: &dyn Shown,
    lines: impl Iterator<Item = (&'a EntryId, EntryKind, &'a str)>,
    filter: &ListFilter,
) -> Result<Listing, Problem> {
    let scope = Scope::of(shown, filter.server.as_deref(), filter.kind)?;
    let directory = scope.server.and_then(|server| shown.server_name(server));
    let is_of_server = |id: &EntryId| {
        directory.as_deref().is_none_or(|directory| {
            let group = id.as_str().split_once('/').map(|(group, _)| group);
            group == Some(directory)
        })
    };
    let pinned = |id| shown.sources().entries.get(id).is_some_and(|said| said.pin);
    let entries = lines
        .filter(|(id, kind, _)| is_of_server(id) && scope.kind.is_none_or(|wanted| wanted == *kind))
        .map(|(id, kind, summary)| ListedEntry {
            id: id.clone(),
            kind,
            summary: summary.to_owned(),
            pinned: pinned(id),
        })
        .collect();
    let unknown = scope.unknown(shown);
    let unknown = unknown.map(|(server, _)| server.name.to_string()).collect();
    Ok(Listing { entries, unknown })
}

/// The line of every entry, for [`list`].
pub(crate) fn lines(shown: &dyn Shown) -> impl Iterator<Item = (&EntryId, EntryKind, &str)> {
    let lines = shown.lines().into_iter();
    lines.filter_map(|(id, line)| Some((id, shown.entries().get(id)?.kind(), line)))
}

/// The servers that may have entries of this kind, or the one of this name, and whose tools are not known.
pub(super) fn unknown_servers<'a>(
    shown: &'a dyn Shown,
    kind: Option<EntryKind>,
    wanted: Option<&'a str>,
) -> impl Iterator<Item = (&'a Server, &'a ServerState)> {
    let may_have_tools = kind != Some(EntryKind::Skill);
    let servers = shown.sources().servers.values();
    servers
        .filter(move |(server, state)| {
            may_have_tools
                && server.definitions.is_none()
                && state.phase != Phase::Disabled
                && wanted.is_none_or(|wanted| is_named(shown, &server.name, wanted))
        })
        .map(|(server, state)| (&**server, state))
}

fn is_named(shown: &dyn Shown, server: &ServerName, wanted: &str) -> bool {
    server.as_str() == wanted || shown.server_name(server).as_deref() == Some(wanted)
}

/// The server of this name, as it is configured or as the mount shows it.
pub(super) fn server_named<'a>(
    shown: &'a dyn Shown,
    wanted: &str,
) -> Result<&'a ServerName, Problem> {
    let servers = || shown.sources().servers.keys();
    // The name that the mount shows is one server's alone; another may be configured under it.
    let is_shown = |server: &&ServerName| shown.server_name(server).as_deref() == Some(wanted);
    servers()
        .find(is_shown)
        .or_else(|| servers().find(|server| server.as_str() == wanted))
        .ok_or_else(|| no_server(shown, wanted))
}

fn no_server(shown: &dyn Shown, wanted: &str) -> Problem {
    let names: Vec<_> = shown
        .sources()
        .servers
        .keys()
        .map(ServerName::as_str)
        .collect();
    let hint = if names.is_empty() {
        "no server is configured".to_owned()
    } else {
        format!("the servers are {}", names.join(", "))
    };
    Problem::new(
        ProblemKind::NotFound,
        format!("there is no server `{wanted}`"),
    )
    .hint(hint)
}

/// An entry in full.
pub(crate) fn describe(snapshot: &Snapshot, id_or_path: &str) -> Result<Description, Problem> {
    let (id, entry) = find(snapshot, id_or_path)?;
    let pinned = snapshot.is_pinned(&id);
    Ok(description(id, entry, pinned))
}

/// What there is to say of an entry.
pub(crate) fn description(id: EntryId, entry: Entry, pinned: bool) -> Description {
    let kind = entry.kind();
    let (text, tool, skill) = match entry {
        Entry::Tool { server, tool } => {
            let text = definition::render(&tool, &id, &format!(".schemas/{id}.json"));
            let description = ToolDescription {
                server: server.name.to_string(),
                about: server.about(),
                raw: (*tool.raw).to_owned(),
            };
            (text, Some(description), None)
        }
        Entry::Skill(skill) => {
            let text = String::from_utf8_lossy(&skill.text).into_owned();
            let description = SkillDescription {
                description: skill.description.clone(),
                file: skill.file.clone(),
            };
            (text, None, Some(description))
        }
    };
    Description {
        id,
        kind,
        text,
        tool,
        skill,
        pinned,
    }
}

/// Finds an entry. One that is hidden is in no snapshot.
pub(super) fn find(snapshot: &Snapshot, id_or_path: &str) -> Result<(EntryId, Entry), Problem> {
    let found = snapshot.find(id_or_path);
    found.map_err(|problem| explained(problem, snapshot, id_or_path))
}

/// What was asked for, for the log, where there is no such entry.
pub(super) fn id_as_asked(id_or_path: &str) -> EntryId {
    EntryId(id_in_path(id_or_path).into())
}

/// Why an entry was not found: its server may not have said its tools.
pub(crate) fn explained(problem: Problem, shown: &dyn Shown, id_or_path: &str) -> Problem {
    unknown_server(shown, id_or_path).map_or(problem, |(server, state)| not_known(server, state))
}

/// The server that an entry would belong to, when that has not said its tools and so may have it.
pub(crate) fn unknown_server<'a>(
    shown: &'a dyn Shown,
    id_or_path: &str,
) -> Option<(&'a Server, &'a ServerState)> {
    let id = id_in_path(id_or_path);
    let wanted = match id.split_once('/') {
        Some((server, _)) => server,
        None => names::server_of(&id)?,
    };
    let mut servers = shown.sources().servers.values();
    servers
        .find(|(server, _)| {
            server.definitions.is_none()
                && shown.server_name(&server.name).as_deref() == Some(wanted)
        })
        .map(|(server, state)| (&**server, state))
}

fn not_known(server: &Server, state: &ServerState) -> Problem {
    let (kind, why) = match &state.phase {
        Phase::Failed(reason) => (ProblemKind::Server, format!("not known: {reason}")),
        Phase::Disabled => (
            ProblemKind::NotFound,
            "not on the shelf: it is switched off in the configuration".to_owned(),
        ),
        Phase::Cold | Phase::Starting | Phase::Ready => {
            (ProblemKind::NotFound, "not known yet".to_owned())
        }
    };
    let message = format!("the tools of server `{}` are {why}", server.name);
    Problem::new(kind, message).hint("see `shelf status`")
}
