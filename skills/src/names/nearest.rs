//! The names nearest to a misspelt one, for a hint; nothing is ever corrected.

/// What a group costs that is not near.
const OTHER_GROUP: usize = 10;

/// Up to `limit` of the ids that `wanted` may have meant, the nearest first.
///
/// The part after the last `/` must be near; what stands before it only makes an id nearer. So `create_isue` and
/// `gitlab/create_issue` find `github/create_issue`, while `github/crate` does not find all of `github/`.
pub(crate) fn nearest<'a>(
    wanted: &str,
    ids: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let (group, name) = split(wanted);
    let (group, name) = (Wanted::new(group), Wanted::new(name));
    let mut near: Vec<(usize, &str)> = ids
        .filter_map(|id| {
            let (id_group, id_name) = split(id);
            let of_name = name.distance(id_name)?;
            let of_group = group.distance(id_group).unwrap_or(OTHER_GROUP);
            Some((of_name + of_group, id))
        })
        .collect();
    near.sort_unstable();
    near.truncate(limit);
    near.into_iter().map(|(_, id)| id).collect()
}

fn split(id: &str) -> (&str, &str) {
    id.rsplit_once('/').unwrap_or(("", id))
}

struct Wanted {
    characters: Vec<char>,
    tolerance: usize,
}

impl Wanted {
    fn new(text: &str) -> Self {
        let characters: Vec<char> = text.to_lowercase().chars().collect();
        Self {
            tolerance: characters.len().div_ceil(3),
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
