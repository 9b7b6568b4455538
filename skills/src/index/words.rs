//! The words of names: what a group is about when its entries don't fit.

use std::collections::HashMap;

/// How many words stand for a group.
const MOST: usize = 12;

/// The commonest words of the names, the commonest first, ties in alphabetical order.
pub(super) fn commonest<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in names {
        for word in split(name) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
    words.truncate(MOST);
    words.into_iter().map(|(word, _)| word).collect()
}

/// Splits at everything that is no letter or digit and at camelCase; single letters and numbers are no words.
fn split(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_is_lower = false;
    for character in name.chars() {
        let begins = character.is_uppercase() && previous_is_lower;
        if begins || !character.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous_is_lower = character.is_lowercase() || character.is_numeric();
    }
    words.push(word);
    words.retain(|word| word.chars().nth(1).is_some() && !word.chars().all(char::is_numeric));
    words
}

#[cfg(test)]
mod tests {
    use super::{commonest, split};

    #[test]
    fn names_split_at_separators_and_camel_case() {
        assert_eq!(split("create_issue"), ["create", "issue"]);
        assert_eq!(split("getUserByID2"), ["get", "user", "by", "id2"]);
        assert_eq!(split("a-b.list/3"), ["list"]);
        assert_eq!(split("größe:Fünf"), ["größe", "fünf"]);
    }

    #[test]
    fn the_commonest_come_first_and_ties_are_alphabetical() {
        let names = ["list_b", "list_a", "get_a", "zoom"];
        assert_eq!(commonest(names.into_iter()), ["list", "get", "zoom"]);
        let many: Vec<String> = (0..40).map(|n| format!("word{n:02}")).collect();
        assert_eq!(commonest(many.iter().map(String::as_str)).len(), 12);
    }
}
