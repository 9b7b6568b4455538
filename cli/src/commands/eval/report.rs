//! What an evaluation says, as text: pure functions of it.

use std::fmt::Write as _;

use skills::entry_id::EntryId;
use skills::search::{Evaluation, Measures, Miss};
use skills::summary::one_line;

const WORDS: &str = "words alone (BM25)";
const MEANING: &str = "words and meaning";

/// The figures of both rankers as a table, then what each missed.
pub(super) fn figures(evaluation: &Evaluation) -> String {
    let rankers = [
        (WORDS, Some(&evaluation.lexical)),
        (MEANING, evaluation.hybrid.as_ref()),
    ];
    let rankers = rankers
        .into_iter()
        .filter_map(|(name, measures)| Some((name, measures?)));
    let count = evaluation.lexical.cases;
    let title = format!("{count} request{}", if count == 1 { "" } else { "s" });
    let mut text = format!("{title:<18}  hit@1  hit@5  hit@8    MRR  nothing matched\n");
    for (name, measures) in rankers.clone() {
        row(&mut text, name, measures);
    }
    for (name, measures) in rankers.filter(|(_, measures)| !measures.misses.is_empty()) {
        let _ = writeln!(
            text,
            "\nNot among the first 8 by {name}: {}",
            measures.misses.len()
        );
        for missed in &measures.misses {
            miss(&mut text, missed);
        }
    }
    text
}

fn row(text: &mut String, name: &str, measures: &Measures) {
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "{name:<18}  {:>5.2}  {:>5.2}  {:>5.2}  {:>5.3}  {:>15}",
        measures.hit_at_1,
        measures.hit_at_5,
        measures.hit_at_8,
        measures.mrr,
        measures.silent.len(),
    );
}

fn miss(text: &mut String, miss: &Miss) {
    let rank = match miss.rank {
        Some(rank) => format!("at rank {rank}"),
        None => "not found".to_owned(),
    };
    let best = match &miss.best {
        Some(best) => format!("first is {best}"),
        None => "nothing matched".to_owned(),
    };
    let request = one_line(&miss.request);
    let _ = writeln!(text, "  {request} → {} {rank}; {best}", ids(&miss.wanted));
}

/// Says what was not counted, and which ids are none.
pub(super) fn left_out(evaluation: &Evaluation) -> Vec<String> {
    let mut lines: Vec<_> = evaluation
        .unanswerable
        .iter()
        .map(|case| {
            let request = one_line(&case.request);
            format!(
                "line {} is not counted, none of its ids is in the catalog: {request}",
                case.line
            )
        })
        .collect();
    if !evaluation.unknown.is_empty() {
        lines.push(format!("not in the catalog: {}", ids(&evaluation.unknown)));
    }
    lines
}

fn ids(ids: &[EntryId]) -> String {
    let ids: Vec<_> = ids.iter().map(EntryId::as_str).collect();
    one_line(&ids.join(", "))
}

#[cfg(test)]
mod tests {
    use skills::entry_id::EntryId;
    use skills::search::{Case, Evaluation, Measures, Miss};

    use super::{figures, left_out};

    fn id(id: &str) -> EntryId {
        EntryId(id.into())
    }

    fn evaluation() -> Evaluation {
        let miss = |request: &str, rank, best: Option<&str>| Miss {
            request: request.into(),
            wanted: vec![id("git/log"), id("git/show")],
            rank,
            best: best.map(id),
        };
        Evaluation {
            lexical: Measures {
                cases: 4,
                hit_at_1: 0.25,
                hit_at_5: 0.5,
                hit_at_8: 0.5,
                mrr: 0.38249,
                misses: vec![
                    miss("what happened", Some(12), Some("time/now")),
                    miss("the past\u{1b}[2J", None, None),
                ],
                silent: vec!["the past".into()],
            },
            hybrid: Some(Measures {
                cases: 4,
                hit_at_1: 1.0,
                hit_at_5: 1.0,
                hit_at_8: 1.0,
                mrr: 1.0,
                ..Measures::default()
            }),
            unanswerable: vec![Case {
                request: "fly".into(),
                wanted: vec![id("plane/fly")],
                line: 7,
            }],
            unknown: vec![id("plane/fly")],
        }
    }

    #[test]
    fn the_figures_are_a_table_and_the_misses_are_named() {
        insta::assert_snapshot!(figures(&evaluation()), @r"
        4 requests          hit@1  hit@5  hit@8    MRR  nothing matched
        words alone (BM25)   0.25   0.50   0.50  0.382                1
        words and meaning    1.00   1.00   1.00  1.000                0

        Not among the first 8 by words alone (BM25): 2
          what happened → git/log, git/show at rank 12; first is time/now
          the past → git/log, git/show not found; nothing matched
        ");
        let words = Evaluation {
            hybrid: None,
            ..evaluation()
        };
        assert!(!figures(&words).contains("meaning"));
    }

    #[test]
    fn what_is_not_counted_is_said() {
        assert_eq!(
            left_out(&evaluation()),
            [
                "line 7 is not counted, none of its ids is in the catalog: fly",
                "not in the catalog: plane/fly",
            ]
        );
    }
}
