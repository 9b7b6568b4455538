//! The names nearest to a misspelt one, for a hint; nothing is ever corrected.

/// Up to `limit` of the names that `wanted` may have meant, the nearest first.
///
/// A name also counts as near when only its part after the last `/` is, so that `create_isue` finds
/// `github/create_issue`.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let whole = Wanted::new(wanted);
    let last = Wanted::new(last_part(wanted));
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let distance = whole.distance(name);
            // The part alone is worth less than the whole.
            let of_part = last.distance(last_part(name)).map(|distance| distance + 1);
            Some((distance.into_iter().chain(of_part).min()?, name))
        })
        .collect();
    near.sort_unstable();
    near.truncate(limit);
    near.into_iter().map(|(_, name)| name).collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

struct Wanted {
    characters: Vec<char>,
    tolerance: usize,
}

impl Wanted {
    fn new(text: &str) -> Self {
        let characters: Vec<char> = text.to_lowercase().chars().collect();
        Self {
            tolerance: (characters.len() / 3).max(1),
            characters,
        }
    }

    /// The edit distance (Levenshtein, case aside), or `None` when the two are not near.
    fn distance(&self, name: &str) -> Option<usize> {
        let name: Vec<char> = name.to_lowercase().chars().collect();
        if self.characters.is_empty() || self.characters.len().abs_diff(name.len()) > self.tolerance
        {
            return None;
        }
        let mut row: Vec<usize> = (0..=name.len()).collect();
        for (above, wanted) in self.characters.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = above + 1;
            for (at, found) in name.iter().enumerate() {
                let replaced = diagonal + usize::from(wanted != found);
                diagonal = row[at + 1];
                row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
            }
        }
        let distance = row[name.len()];
        (distance <= self.tolerance).then_some(distance)
    }
}
