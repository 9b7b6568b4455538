//! The prose of a description as blocks of plain text: no Markdown, no headings, labels, list marks or emoji.
//!
//! Descriptions are half Markdown and half docstring: lines are hard-wrapped and indented at will, so a Markdown parser
//! reads only the text inside a block, and the blocks are found line by line.

use pulldown_cmark::{Event, Parser};

use super::one_line;

/// A line that is shorter did not end because it was full.
const WRAPPED_LINE: usize = 40;

/// Labels and headings below which a tool says what it does.
const PURPOSE_LABELS: [&str; 6] = [
    "purpose",
    "description",
    "summary",
    "overview",
    "what it does",
    "about",
];

/// The longest label, in words.
const MAX_LABEL_WORDS: usize = 4;

/// The blocks that may hold the summary, the most fitting first. The text has been made visible.
pub(super) fn blocks(text: &str) -> Vec<String> {
    let mut found = Blocks::default();
    let mut fence: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(_)) => {
                fence = mark;
                found.end();
            }
            (None, None) => found.line(line),
        }
    }
    found.end();
    found.chosen()
}

#[derive(Default)]
struct Blocks {
    finished: Vec<String>,
    open: Vec<String>,
    /// The number of blocks before the first label, and before the first label that announces the purpose.
    first_label: Option<usize>,
    purpose: Option<usize>,
}

impl Blocks {
    fn line(&mut self, line: &str) {
        let line = line.trim_start_matches("> ");
        if line.is_empty() || is_rule(line) || line.starts_with('|') || is_tag(line) {
            return self.end();
        }
        let (line, starts_item) = without_mark(line);
        if let Some(heading) = heading(line) {
            self.end();
            return self.label(heading);
        }
        let starts_block = starts_item || !self.continues(line);
        if let Some(label) =
            label(line).filter(|_| starts_block || line.starts_with(char::is_uppercase))
        {
            self.end();
            return self.label(label);
        }
        if starts_block {
            self.end();
        }
        self.open.push(line.to_owned());
    }

    /// Whether the line goes on with the open block: the one before was full, or this one begins in mid-sentence.
    fn continues(&self, line: &str) -> bool {
        self.open.last().is_some_and(|last| {
            last.chars().count() >= WRAPPED_LINE || line.starts_with(|c: char| c.is_lowercase())
        })
    }

    fn label(&mut self, label: &str) {
        let count = self.finished.len();
        self.first_label.get_or_insert(count);
        let words = without_symbols(&plain(label)).to_lowercase();
        if PURPOSE_LABELS.contains(&words.trim_end_matches(':').trim()) {
            self.purpose.get_or_insert(count);
        }
    }

    fn end(&mut self) {
        let joined = self.open.join(" ");
        self.open.clear();
        let text = without_symbols(&plain(&joined));
        let text = without_purpose_label(&text);
        if text.chars().any(char::is_alphanumeric) {
            self.finished.push(text.to_owned());
        }
    }

    /// What stands before every label comes first; else what stands below a purpose label.
    fn chosen(mut self) -> Vec<String> {
        if self.first_label == Some(0)
            && let Some(purpose) = self.purpose
        {
            let purpose = purpose.min(self.finished.len());
            self.finished.rotate_left(purpose);
        }
        self.finished
    }
}

/// The line without its list mark, and whether it had one.
fn without_mark(line: &str) -> (&str, bool) {
    let mut rest = line;
    loop {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let after = if rest.starts_with(['-', '*', '+', '•']) {
            rest.strip_prefix(['-', '*', '+', '•'])
        } else if (1..=3).contains(&(rest.len() - digits.len())) {
            digits.strip_prefix(['.', ')'])
        } else {
            None
        };
        match after {
            Some(text) if text.is_empty() || text.starts_with(char::is_whitespace) => {
                rest = text.trim_start();
            }
            _ => return (rest, rest.len() < line.len()),
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(char::is_whitespace)).then(|| text.trim())
}

/// A line that is nothing but a few words and a colon announces what follows; so does one in bold.
fn label(line: &str) -> Option<&str> {
    let words = without_symbols(line);
    let bare = words.trim_matches(['*', '_', ' ']);
    // On a line of its own it needs no colon.
    if PURPOSE_LABELS.contains(&bare.to_lowercase().as_str()) {
        return Some(line);
    }
    let text = bare.strip_suffix([':', '：'])?.trim_end_matches(['*', '_']);
    let few = text.split_whitespace().count() <= MAX_LABEL_WORDS;
    (few && !text.contains(['.', ':'])).then_some(line)
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3
        && line
            .chars()
            .all(|c| matches!(c, '-' | '=' | '*' | '_' | ' '))
}

/// A line that is one tag, such as `<examples>`.
fn is_tag(line: &str) -> bool {
    line.starts_with('<') && line.ends_with('>') && line.matches('<').count() == 1
}

fn without_purpose_label(text: &str) -> &str {
    let Some((label, rest)) = text.split_once(':') else {
        return text;
    };
    let known = PURPOSE_LABELS.contains(&label.trim().to_lowercase().as_str());
    if known && !rest.trim().is_empty() {
        rest.trim_start()
    } else {
        text
    }
}

/// The text of a block without its Markdown; what looks like a placeholder (`<path>`) stays.
fn plain(block: &str) -> String {
    let mut out = String::with_capacity(block.len());
    for event in Parser::new(block) {
        match event {
            Event::Text(text) | Event::Code(text) => out.push_str(&text),
            Event::InlineHtml(tag) | Event::Html(tag) if !is_formatting(&tag) => out.push_str(&tag),
            Event::SoftBreak | Event::HardBreak => out.push(' '),
            _ => {}
        }
    }
    if out.is_empty() {
        block.to_owned()
    } else {
        out
    }
}

fn is_formatting(tag: &str) -> bool {
    let name = tag.trim_start_matches(['<', '/']);
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next();
    const FORMATTING: [&str; 12] = [
        "a", "b", "br", "code", "div", "em", "i", "p", "pre", "span", "strong", "u",
    ];
    name.is_some_and(|name| FORMATTING.contains(&name))
}

/// One line without emoji and dingbats, nor what they leave behind at its beginning.
fn without_symbols(text: &str) -> String {
    let kept: String = text
        .chars()
        .map(|c| if is_symbol(c) { ' ' } else { c })
        .collect();
    let line = one_line(&kept);
    line.trim_start_matches([':', '-', '–', '—', ',', ';', ' '])
        .to_owned()
}

fn is_symbol(character: char) -> bool {
    matches!(
        character,
        '\u{20e3}' | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'
    )
}
