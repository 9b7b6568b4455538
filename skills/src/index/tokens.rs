//! What a text costs a model. It knows no tokenizer: the counts are given to it.

use std::iter::Sum;
use std::ops::Add;

/// Knows what texts cost.
///
/// Counts of lines may be added up: no text may count more than its lines together.
pub trait TokenCounter {
    /// How many tokens the text has; `None` when that is not known (yet).
    fn count(&self, text: &str) -> Option<usize>;

    /// Grows when texts become known: with the same revision the same answers are given.
    fn revision(&self) -> u64;
}

/// What a text costs where nobody counted: a third of its bytes, rounded up.
pub const fn estimate(text: &str) -> usize {
    text.len().div_ceil(3)
}

/// Knows nothing, so that everything is estimated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncounted;

impl TokenCounter for Uncounted {
    fn count(&self, _text: &str) -> Option<usize> {
        None
    }

    fn revision(&self) -> u64 {
        0
    }
}

/// What texts cost together; an estimate when one of them was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) count: usize,
    pub(crate) is_exact: bool,
}

impl Tokens {
    pub(crate) const NONE: Self = Self {
        count: 0,
        is_exact: true,
    };

    /// What one text costs; the estimate where that is not known.
    pub(crate) fn of(text: &str, counter: &dyn TokenCounter) -> Self {
        match counter.count(text) {
            Some(count) => Self {
                count,
                is_exact: true,
            },
            None => Self {
                count: estimate(text),
                is_exact: text.is_empty(),
            },
        }
    }
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            is_exact: self.is_exact && other.is_exact,
        }
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::NONE, Add::add)
    }
}

/// A count in words, as an estimate where it is one.
pub(crate) fn stated(tokens: Tokens) -> String {
    let about = if tokens.is_exact { "" } else { "≈ " };
    let unit = if tokens.count == 1 { "token" } else { "tokens" };
    format!("{about}{} {unit}", tokens.count)
}

#[cfg(test)]
mod tests {
    use super::{TokenCounter, Tokens, Uncounted, stated};

    /// Knows one text.
    struct Knows(&'static str);

    impl TokenCounter for Knows {
        fn count(&self, text: &str) -> Option<usize> {
            (text == self.0).then_some(2)
        }

        fn revision(&self) -> u64 {
            1
        }
    }

    #[test]
    fn a_sum_is_exact_only_when_every_part_of_it_is() {
        let counter = Knows("known");
        let known = Tokens::of("known", &counter);
        let estimated = Tokens::of("seven b", &counter);
        assert_eq!(stated(known), "2 tokens");
        assert_eq!(stated(estimated), "≈ 3 tokens");
        assert_eq!(stated([known, known].into_iter().sum()), "4 tokens");
        assert_eq!(stated([known, estimated].into_iter().sum()), "≈ 5 tokens");
        assert!(Tokens::of("", &Uncounted).is_exact);
    }
}
