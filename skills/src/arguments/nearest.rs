//! The names that somebody may have meant. They are only ever shown, never taken.

use std::cmp::Reverse;

/// How many names are offered.
const OFFERED: usize = 3;

/// The candidates that are nearest to a word, the nearest first, none that is far off.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = folded(word);
    let mut near: Vec<(usize, Reverse<usize>, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let name = folded(candidate);
            let distance = distance(&wanted, &name);
            // Something must be left that is the same.
            let length = wanted.len().max(name.len());
            let allowed = length.div_ceil(3).min(length.saturating_sub(1));
            let contained = wanted.len() >= 3
                && name.len() >= 3
                && (contains(&name, &wanted) || contains(&wanted, &name));
            (distance <= allowed || contained)
                .then(|| (distance, Reverse(common_start(&wanted, &name)), candidate))
        })
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(OFFERED)
        .map(|(_, _, name)| name)
        .collect()
}

/// The letters alone: `file-path`, `file_path` and `filePath` are one name to a person.
fn folded(name: &str) -> Vec<char> {
    name.chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        // A name of any length may be asked for; one that is this long is nobody's slip.
        .take(128)
        .collect()
}

fn contains(name: &[char], part: &[char]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

fn common_start(one: &[char], other: &[char]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// How many letters must be added, removed, changed or swapped with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut best = changed.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && from[row - 1] == *other && to[column - 1] == *letter;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const NAMES: [&str; 5] = ["message", "file_path", "maxResults", "path", "limit"];

    #[test]
    fn slips_and_other_spellings_are_near() {
        assert_eq!(nearest("mesage", NAMES), ["message"]);
        assert_eq!(nearest("emssage", NAMES), ["message"]);
        assert_eq!(nearest("file-path", NAMES), ["file_path", "path"]);
        assert_eq!(nearest("max-results", NAMES), ["maxResults"]);
        assert_eq!(nearest("results", NAMES), ["maxResults"]);
    }

    #[test]
    fn what_is_far_is_not_offered() {
        assert_eq!(nearest("zebra", NAMES), [""; 0]);
        assert_eq!(nearest("", NAMES), [""; 0]);
        assert_eq!(nearest("a", ["b"]), [""; 0]);
        assert_eq!(nearest("mesage", []), [""; 0]);
    }
}
