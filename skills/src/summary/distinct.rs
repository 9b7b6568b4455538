//! Makes the summaries of things that belong together tell them apart.

use std::collections::HashMap;

use super::{one_line, prose, shorten, visible};

/// The summaries of things with their descriptions: those that equal one another show more of the description, or the
/// part of it in which it differs. What the descriptions do not tell apart stays equal.
pub(crate) fn distinguish<'a>(of: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let of: Vec<(&str, &str)> = of.collect();
    let mut alike: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, (summary, _)) in of.iter().enumerate() {
        alike.entry(summary).or_default().push(position);
    }
    let mut summaries: Vec<String> = of.iter().map(|(text, _)| (*text).to_owned()).collect();
    for positions in alike.into_values().filter(|positions| positions.len() > 1) {
        let texts: Vec<String> = positions.iter().map(|&at| whole(of[at].1)).collect();
        for (&at, text) in std::iter::zip(&positions, &texts) {
            if let Some(longer) = telling(text, &texts) {
                summaries[at] = longer;
            }
        }
    }
    summaries
}

/// The prose of a description on one line.
fn whole(description: &str) -> String {
    one_line(&prose::blocks(&visible(description)).join(" "))
}

/// The text cut to a summary that the others can't have: its beginning where that differs, else what it has in common
/// with most of them shortened to a few words, and the part from which it differs on. `None` when another is the same.
fn telling(text: &str, all: &[String]) -> Option<String> {
    /// Words of the common beginning that stay, so that the line still says what it is about.
    const KEPT: usize = 4;
    let words: Vec<&str> = text.split(' ').collect();
    let common = |other: &String| {
        let other = other.split(' ');
        std::iter::zip(&words, other)
            .take_while(|(a, b)| **a == *b)
            .count()
    };
    if text.is_empty() || all.iter().filter(|other| *other == text).count() > 1 {
        return None;
    }
    let differs = all
        .iter()
        .filter(|other| *other != text)
        .map(common)
        .max()?;
    let from_start = shorten(text);
    let shown = from_start.trim_end_matches('…').split(' ').count();
    // The word that differs must be among those that are shown whole.
    if differs + 1 < shown || (differs < shown && !from_start.ends_with('…')) {
        return Some(from_start);
    }
    if differs >= words.len() {
        // It ends where the others go on: nothing of it is its own.
        return None;
    }
    // A word before the difference makes it readable.
    let from = differs.saturating_sub(1).max(KEPT.min(differs));
    let beginning = words[..KEPT.min(from)].join(" ");
    Some(shorten(&format!(
        "{beginning} … {}",
        words[from..].join(" ")
    )))
}

#[cfg(test)]
mod tests {
    use super::distinguish;
    use crate::summary::{MAX_CHARACTERS, summarize};

    fn lines(descriptions: &[&str]) -> Vec<String> {
        let summaries: Vec<String> = descriptions.iter().map(|text| summarize(text)).collect();
        let summaries = summaries.iter().map(String::as_str);
        distinguish(std::iter::zip(summaries, descriptions.iter().copied()))
    }

    #[test]
    fn what_differs_already_stays() {
        let lines = lines(&["Lists files. In one way.", "Reads files. In another way."]);
        assert_eq!(lines, ["Lists files.", "Reads files."]);
    }

    #[test]
    fn equal_first_sentences_take_more_of_the_description() {
        let lines = lines(&[
            "Queries the database. Returns rows.",
            "Queries the database. Returns a plan.",
            "Closes everything at once.",
        ]);
        assert_eq!(
            lines,
            [
                "Queries the database. Returns rows.",
                "Queries the database. Returns a plan.",
                "Closes everything at once.",
            ]
        );
    }

    #[test]
    fn a_difference_that_stands_far_behind_is_shown() {
        let common = "Runs one of the many operations of this service against the account that is configured \
            for it and waits until the operation has come to its end before it says";
        let lines = lines(&[
            &format!("{common} which bucket it made."),
            &format!("{common} which queue it removed."),
        ]);
        assert_eq!(
            lines,
            [
                "Runs one of the … which bucket it made.",
                "Runs one of the … which queue it removed.",
            ]
        );
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= MAX_CHARACTERS)
        );
    }

    #[test]
    fn what_no_description_tells_apart_stays_equal() {
        assert_eq!(
            lines(&["Does it well.", "Does it well.", ""]),
            ["Does it well.", "Does it well.", ""]
        );
    }
}
