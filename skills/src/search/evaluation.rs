//! How good search is on a set of requests whose answers are known: a team's own regression set.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::{Query, SearchIndex};
use crate::entry_id::EntryId;
use crate::formats::names;
use crate::layout::bin;
use crate::problem::{Problem, ProblemKind};

/// How many matches a user sees.
const SHOWN: usize = 8;

/// A request and the entries any of which answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The request, as a user would type it.
    pub request: String,
    /// The ids, any of which counts. A name or a path that an entry is known by elsewhere stands for its id.
    pub wanted: Vec<EntryId>,
    /// Its line in the file, counted from 1.
    pub line: u32,
}

/// What both rankers make of the cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// BM25 alone.
    pub lexical: Measures,
    /// Words and meaning; `None` where the configuration leaves meaning out.
    pub hybrid: Option<Measures>,
    /// The cases none of whose ids is in the catalog. They are not counted.
    pub unanswerable: Vec<Case>,
    /// The ids that are not in the catalog, of all cases.
    pub unknown: Vec<EntryId>,
}

/// What one ranker makes of the cases.
///
/// The hits are what a user sees with a limit of 8: a request that was answered with nothing is no hit, however well its entry
/// is ranked. The mean reciprocal rank is over the whole ranking, before anything is cut or held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// How many cases were counted.
    pub cases: usize,
    /// The share of cases whose first match is a wanted one.
    pub hit_at_1: f64,
    /// The share with a wanted one among the first 5.
    pub hit_at_5: f64,
    /// The share with a wanted one among the first 8.
    pub hit_at_8: f64,
    /// The mean of 1 / rank of the best wanted one.
    pub mrr: f64,
    /// The cases without a wanted one among the first 8.
    pub misses: Vec<Miss>,
    /// The requests that were answered with nothing.
    pub silent: Vec<String>,
}

/// A case without a wanted entry among what is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// The request.
    pub request: String,
    /// The ids, any of which would have counted.
    pub wanted: Vec<EntryId>,
    /// The rank of the best of them in the whole ranking, counted from 1; `None` where the ranker found nothing in any of them.
    pub rank: Option<usize>,
    /// What was shown first instead.
    pub best: Option<EntryId>,
}

/// Reads cases: `request<TAB>id,id…` a line; blank lines and those that begin with `#` are skipped.
///
/// # Errors
/// [`ProblemKind::Usage`] with the line that is none of these.
pub fn cases(text: &str) -> Result<Vec<Case>, Problem> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    lines
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(number, line)| case(number, line))
        .collect()
}

fn case(number: u32, line: &str) -> Result<Case, Problem> {
    let wrong = |what: &str| {
        Problem::new(ProblemKind::Usage, format!("line {number}: {what}")).hint(
            "each line is a request, a tab, and the ids that answer it with commas between them",
        )
    };
    let (request, ids) = line
        .split_once('\t')
        .ok_or_else(|| wrong("no tab after the request"))?;
    let request = request.trim();
    if request.is_empty() {
        return Err(wrong("no request before the tab"));
    }
    let wanted: Vec<EntryId> = ids
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .map(|id| EntryId(id.into()))
        .collect();
    if wanted.is_empty() {
        return Err(wrong("no id after the tab"));
    }
    Ok(Case {
        request: request.to_owned(),
        wanted,
        line: number,
    })
}

/// Measures both rankers on the cases, over the entries of an index.
pub fn evaluate(index: &SearchIndex, cases: &[Case]) -> Evaluation {
    let known: HashSet<&EntryId> = index.ids().collect();
    let cases: Vec<Case> = cases.iter().map(|case| resolved(case, &known)).collect();
    let (answerable, unanswerable): (Vec<&Case>, Vec<&Case>) = cases
        .iter()
        .partition(|case| case.wanted.iter().any(|id| known.contains(id)));
    let unknown: BTreeSet<&EntryId> = cases
        .iter()
        .flat_map(|case| &case.wanted)
        .filter(|id| !known.contains(id))
        .collect();
    Evaluation {
        lexical: measure(index, &answerable, true),
        hybrid: index
            .has_meaning()
            .then(|| measure(index, &answerable, false)),
        unanswerable: unanswerable.into_iter().cloned().collect(),
        unknown: unknown.into_iter().cloned().collect(),
    }
}

/// The case with ids where it has names or paths of entries; what is none of these stays as it is.
fn resolved(case: &Case, known: &HashSet<&EntryId>) -> Case {
    let id = |written: &EntryId| found(written, known).unwrap_or_else(|| written.clone());
    Case {
        wanted: case.wanted.iter().map(id).collect(),
        ..case.clone()
    }
}

/// The entry that an id, a path of its own in the mount, or a name for providers stands for. A program whose name was cut is not found.
fn found(written: &EntryId, known: &HashSet<&EntryId>) -> Option<EntryId> {
    let among_known = |id: EntryId| known.contains(&id).then_some(id);
    let text = written.as_str();
    among_known(written.clone())
        .or_else(|| among_known(EntryId(id_of_path(text)?.into())))
        .or_else(|| {
            let tools = known.iter().copied();
            names::id_of(text, tools.filter(|id| !id.as_str().starts_with(SKILLS))).cloned()
        })
}

/// What the ids of skills begin with.
const SKILLS: &str = "skills/";

/// The id that a path in the mount would belong to.
fn id_of_path(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = path.trim_start_matches('/').trim_end_matches('/');
    let (top, below) = path.split_once('/')?;
    match top {
        "mcp" => Some(below.strip_suffix(".md")?.to_owned()),
        ".schemas" => Some(below.strip_suffix(".json")?.to_owned()),
        "bin" => bin::id_of(below),
        "skills" => {
            let name = below.strip_suffix("/SKILL.md").unwrap_or(below);
            Some(format!("{SKILLS}{name}"))
        }
        _ => None,
    }
}

fn measure(index: &SearchIndex, cases: &[&Case], lexical: bool) -> Measures {
    let mut measures = Measures {
        cases: cases.len(),
        ..Measures::default()
    };
    let (mut at_1, mut at_5, mut at_8, mut reciprocal) = (0, 0, 0, 0.0);
    let none = HashSet::new();
    for case in cases {
        let shown = index
            .search(&Query {
                words: &case.request,
                limit: SHOWN,
                kind: None,
                server: None,
                lexical,
                exclude: &none,
            })
            .matches;
        let is_wanted = |id: &EntryId| case.wanted.contains(id);
        let seen = shown.iter().position(|found| is_wanted(&found.id));
        at_1 += usize::from(seen.is_some_and(|place| place < 1));
        at_5 += usize::from(seen.is_some_and(|place| place < 5));
        at_8 += usize::from(seen.is_some());
        let ranking = index.ranking(&case.request, lexical);
        let place = ranking.iter().position(|(id, _)| is_wanted(id));
        let rank = place.map(|place| place + 1);
        // A score of nothing is no rank: such entries stand in order of id.
        let rank = rank.filter(|rank| ranking[rank - 1].1 > 0.0);
        reciprocal += rank.map_or(0.0, |rank| 1.0 / rank as f64);
        if shown.is_empty() {
            measures.silent.push(case.request.clone());
        }
        if seen.is_none() {
            measures.misses.push(Miss {
                request: case.request.clone(),
                wanted: case.wanted.clone(),
                rank,
                best: shown.first().map(|best| best.id.clone()),
            });
        }
    }
    let share = |sum: f64| sum / cases.len().max(1) as f64;
    measures.hit_at_1 = share(f64::from(at_1 as u32));
    measures.hit_at_5 = share(f64::from(at_5 as u32));
    measures.hit_at_8 = share(f64::from(at_8 as u32));
    measures.mrr = share(reciprocal);
    measures
}

#[cfg(test)]
mod tests;
