//! The body of a SKILL.md.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The headings in order, as plain text on one line.
pub(super) fn headings(body: &str) -> Vec<String> {
    let mut headings = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new_ext(body, Options::empty()) {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut open {
                    heading.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut open {
                    heading.push(' ');
                }
            }
            _ => {}
        }
    }
    headings
}
