//! From a ranking to an answer: filters, the cut, the servers.

use std::collections::{BTreeMap, BTreeSet};

use super::content::{Content, Indexed};
use super::ranker::Rank;
use super::{Answer, Match, Query, ServerMatch, UnknownServer};
use crate::catalog::EntryKind;
use crate::names;

/// How many servers are named where nothing matched.
const NEAREST: usize = 3;

/// The evidence from which on an entry is near, though it is no answer. Every request is nearest to something.
const NEAR: f32 = 0.85;

/// Answers a request over what is searched.
pub(super) fn answer(content: &Content, unknown: &[UnknownServer], query: &Query<'_>) -> Answer {
    let request = content.request(query.words, query.lexical);
    let ranker = content.ranker(query.lexical);
    let ranks = ranker.rank(&request);
    let (excluded, ranked): (Vec<_>, Vec<_>) = content
        .entries
        .iter()
        .zip(ranks)
        .filter(|(entry, _)| passes(entry, query))
        .partition(|(entry, _)| query.exclude.contains(&entry.id));

    let matching = matching(&ranked, ranker.least_share());
    let (servers, excluded) = if matching.is_empty() {
        let excluded = self::matching(&excluded, ranker.least_share());
        let ids = excluded.into_iter().map(|(entry, _)| entry.id.clone());
        (nearest(content, &ranked, query), ids.collect())
    } else {
        (servers(content, &matching), Vec::new())
    };
    let shown = matching.into_iter().take(query.limit);
    Answer {
        matches: shown.map(|(entry, rank)| to_match(entry, rank)).collect(),
        servers,
        unknown: unknown_servers(unknown, query),
        excluded,
    }
}

/// Those that answer the request, best first; none where no evidence is enough.
fn matching<'a, 'b>(
    ranked: &'b [(&'a Indexed, Rank)],
    least_share: f32,
) -> Vec<&'b (&'a Indexed, Rank)> {
    let evidence = ranked.iter().map(|(_, rank)| rank.evidence);
    let best = evidence.fold(0.0, f32::max);
    let is_enough = best >= 1.0;
    let least = best * least_share;
    let mut matching: Vec<_> = ranked
        .iter()
        .filter(|(_, rank)| is_enough && rank.evidence >= least)
        .collect();
    // Entries are in order of id, and the sort is stable.
    matching.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
    matching
}

fn passes(entry: &Indexed, query: &Query<'_>) -> bool {
    query.kind.is_none_or(|kind| kind == entry.kind)
        && query.server.is_none_or(|server| server == entry.group())
}

fn to_match(entry: &Indexed, rank: &Rank) -> Match {
    Match {
        id: entry.id.clone(),
        kind: entry.kind,
        score: rank.score,
        summary: entry.summary().to_owned(),
    }
}

/// The servers of what matched, in the order of their best match.
fn servers(content: &Content, matching: &[&(&Indexed, Rank)]) -> Vec<ServerMatch> {
    let mut servers: Vec<ServerMatch> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (entry, rank) in matching {
        let place = *places.entry(entry.group()).or_insert_with(|| {
            servers.push(server(content, entry.group(), rank.score));
            servers.len() - 1
        });
        servers[place].matches += 1;
    }
    servers
}

/// Where to look on when nothing matched: servers that a word of the request nearly names, then those whose entries have enough of
/// the request to be called near; none where nothing is.
fn nearest(content: &Content, ranked: &[(&Indexed, Rank)], query: &Query<'_>) -> Vec<ServerMatch> {
    let mut servers: Vec<ServerMatch> = Vec::new();
    let mut add = |name: &str, score: f32| {
        let is_new = servers.iter().all(|server| server.name != name);
        if is_new && servers.len() < NEAREST {
            servers.push(server(content, name, score));
        }
    };
    let best = ranked.iter().map(|(_, rank)| rank.score);
    let best = best.fold(0.0, f32::max);
    let allowed: BTreeSet<&str> = ranked.iter().map(|(entry, _)| entry.group()).collect();
    for word in query.words.split_whitespace().take(NAMED_WORDS) {
        for name in names::nearest(word, allowed.iter().copied(), NEAREST) {
            add(name, best);
        }
    }
    let mut near: Vec<_> = ranked
        .iter()
        .filter(|(_, rank)| rank.evidence >= NEAR)
        .collect();
    near.sort_by(|(_, one), (_, other)| other.evidence.total_cmp(&one.evidence));
    for (entry, rank) in near {
        add(entry.group(), rank.score);
    }
    servers
}

/// How many words of a request are compared with the names of servers.
const NAMED_WORDS: usize = 8;

fn server(content: &Content, name: &str, score: f32) -> ServerMatch {
    ServerMatch {
        name: name.to_owned(),
        matches: 0,
        score,
        about: content.groups.get(name).cloned().unwrap_or_default(),
    }
}

fn unknown_servers(unknown: &[UnknownServer], query: &Query<'_>) -> Vec<String> {
    if query.kind == Some(EntryKind::Skill) {
        return Vec::new();
    }
    let is_asked = |server: &&UnknownServer| {
        query.server.is_none_or(|wanted| {
            server.name == wanted || server.file_name.as_deref() == Some(wanted)
        })
    };
    let names = unknown.iter().filter(is_asked);
    names.map(|server| server.name.clone()).collect()
}
