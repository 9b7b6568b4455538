//! What a text costs a model.

/// Counts the tokens of a text.
///
/// Counts of lines may be added up: no text may count more than its lines together.
pub trait TokenCounter {
    /// How many tokens the text has, at most.
    fn count(&self, text: &str) -> usize;

    /// Whether the counts are a model's own, or an estimate that must be called one.
    fn is_exact(&self) -> bool;
}

/// The estimate that needs no tokenizer: a third of the bytes, rounded up.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytesByThree;

impl TokenCounter for BytesByThree {
    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(3)
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// A count in words, as an estimate where it is one.
pub(crate) fn stated(count: usize, counter: &dyn TokenCounter) -> String {
    let about = if counter.is_exact() { "" } else { "≈ " };
    let unit = if count == 1 { "token" } else { "tokens" };
    format!("{about}{count} {unit}")
}
