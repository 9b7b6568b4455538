//! A marked block of a file that belongs to somebody else: found, replaced, the rest left byte for byte.

use thiserror::Error;

/// The line that begins the block.
const BEGIN: &str = "<!-- shelf brief: begin; what stands up to the end line is replaced by `shelf brief --write` -->";
/// What a first line begins with, whatever a later version says after it.
const BEGIN_START: &str = "<!-- shelf brief: begin";
/// The line that ends the block.
const END: &str = "<!-- shelf brief: end -->";

/// A file's text with the place of its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    before: &'a str,
    after: &'a str,
    is_new: bool,
    line_end: &'static str,
}

/// Why the block can't be found without doubt. Lines are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BlockError {
    /// The block is not ended.
    #[error("the block that begins here is not ended")]
    NotEnded(u32),
    /// An end without a beginning.
    #[error("a block ends here that nowhere begins")]
    NotBegun(u32),
    /// More than one block.
    #[error("a second block begins here")]
    Second(u32),
}

impl BlockError {
    /// The line that is wrong.
    pub const fn line(self) -> u32 {
        match self {
            Self::NotEnded(line) | Self::NotBegun(line) | Self::Second(line) => line,
        }
    }
}

impl<'a> Block<'a> {
    /// Finds the block, or the end of the text where there is none.
    ///
    /// # Errors
    /// When there is more than one, or half of one.
    pub fn find(text: &'a str) -> Result<Self, BlockError> {
        let (mut begun, mut found) = (None, None);
        let (mut number, mut start) = (0, 0);
        for line in text.split_inclusive('\n') {
            number += 1;
            let end = start + line.len();
            let content = line.trim_end();
            if content.starts_with(BEGIN_START) && content.ends_with("-->") {
                if begun.is_some() || found.is_some() {
                    return Err(BlockError::Second(number));
                }
                begun = Some((number, start));
            } else if content == END {
                let (_, from) = begun.take().ok_or(BlockError::NotBegun(number))?;
                found = Some((from, end));
            }
            start = end;
        }
        if let Some((line, _)) = begun {
            return Err(BlockError::NotEnded(line));
        }
        let line_end = match text.split_once('\n') {
            Some((first, _)) if first.ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let (from, to) = found.unwrap_or((text.len(), text.len()));
        Ok(Self {
            before: &text[..from],
            after: &text[to..],
            is_new: found.is_none(),
            line_end,
        })
    }

    /// The whole text with this content in the block, in the line ends of the text.
    pub fn filled_with(&self, content: &str) -> String {
        let mut text = self.before.to_owned();
        if self.is_new && !text.is_empty() {
            if !text.ends_with('\n') {
                text.push_str(self.line_end);
            }
            text.push_str(self.line_end);
        }
        for line in [BEGIN].into_iter().chain(content.lines()).chain([END]) {
            text.push_str(line);
            text.push_str(self.line_end);
        }
        text.push_str(self.after);
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BEGIN, Block, BlockError, END};

    fn filled(text: &str, content: &str) -> String {
        Block::find(text).unwrap().filled_with(content)
    }

    #[test]
    fn a_block_is_appended_once_and_then_replaced() {
        let first = filled("# Ours", "one\ntwo\n");
        assert_eq!(first, format!("# Ours\n\n{BEGIN}\none\ntwo\n{END}\n"));
        let more = first + "\nlast, without a line end";
        let second = filled(&more, "three\n");
        assert_eq!(
            second,
            format!("# Ours\n\n{BEGIN}\nthree\n{END}\n\nlast, without a line end")
        );
        assert_eq!(filled(&second, "three\n"), second);
        assert_eq!(filled("", "x"), format!("{BEGIN}\nx\n{END}\n"));
    }

    #[test]
    fn the_line_ends_are_those_of_the_file() {
        let text = filled("a\r\nb\r\n", "one\ntwo");
        assert_eq!(
            text,
            format!("a\r\nb\r\n\r\n{BEGIN}\r\none\r\ntwo\r\n{END}\r\n")
        );
        assert_eq!(filled(&text, "one\ntwo"), text);
    }

    #[test]
    fn a_block_of_another_version_is_known() {
        let text = format!("a\n<!-- shelf brief: begin (2) -->\nold\n{END}\nb\n");
        assert_eq!(filled(&text, "new"), format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
    }

    #[test]
    fn doubt_is_an_error_that_names_the_line() {
        let find = |text: &str| Block::find(text).unwrap_err();
        assert_eq!(find(&format!("a\n{BEGIN}\nb\n")), BlockError::NotEnded(2));
        assert_eq!(find(&format!("a\nb\n{END}\n")), BlockError::NotBegun(3));
        let two = format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n");
        assert_eq!(find(&two), BlockError::Second(3));
        assert_eq!(find(&format!("{BEGIN}\n{BEGIN}\n{END}")).line(), 2);
    }

    proptest! {
        #[test]
        fn what_is_around_the_block_stays(before in "[a-z\n]{0,40}", after in "[a-z\n]{0,40}", content in "[a-z\n]{0,40}") {
            let before = if before.is_empty() || before.ends_with('\n') { before } else { before + "\n" };
            let text = format!("{before}{BEGIN}\nold\n{END}\n{after}");
            let new = filled(&text, &content);
            prop_assert!(new.starts_with(&before) && new.ends_with(&after));
            prop_assert_eq!(filled(&new, &content), new);
        }
    }
}
