//! Entries, and the errors of calls, as XML for a prompt.
//!
//! Skills stand as `<available_skills>`, as the guide for clients of the Agent Skills specification writes it
//! (<https://agentskills.io>, "Building the skill catalog"). Every text is a stranger's, so all of it is escaped. It must not know providers.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::value::RawValue;

use super::{Content, Item, Occasion, description};
use crate::json::Json;
use crate::search_page::repeated;

/// Why a call did not work.
#[derive(Clone, Copy, Debug)]
pub struct CallError<'a> {
    /// The tool, as the caller named it.
    pub tool: &'a str,
    /// What was wrong.
    pub message: &'a str,
    /// What to do about it.
    pub hint: Option<&'a str>,
    /// The schema of the tool's arguments, where the tool is known.
    pub parameters: Option<&'a RawValue>,
}

/// The error of a call, with what a model needs to call better.
pub fn call_error(error: &CallError<'_>) -> String {
    let mut out = format!("<tool-call-error tool=\"{}\">\n", attribute(error.tool));
    element(&mut out, "  ", "message", error.message);
    if let Some(hint) = error.hint {
        element(&mut out, "  ", "hint", hint);
    }
    if let Some(parameters) = error.parameters {
        element(
            &mut out,
            "  ",
            "parameters",
            &Json::parse(parameters).compact(),
        );
    }
    out + "</tool-call-error>\n"
}

/// The entries: tools first, then the skills in one block.
///
/// The root is `<search-results>` for a search, else `<available_skills>` where there are only skills, else `<entries>`.
pub(super) fn entries(occasion: Occasion<'_>, items: &[Item]) -> String {
    let (tools, skills): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.tool().is_some());
    let (open, close) = match occasion {
        Occasion::Search(words) => {
            let words = repeated(words);
            let query = attribute(&words);
            let open = format!(
                "<search-results query=\"{query}\" count=\"{}\">\n",
                items.len()
            );
            (open, "</search-results>\n")
        }
        _ if tools.is_empty() && !skills.is_empty() => (String::new(), ""),
        _ => (
            format!("<entries count=\"{}\">\n", items.len()),
            "</entries>\n",
        ),
    };
    let indent = if open.is_empty() { "" } else { "  " };
    let mut out = open;
    for item in tools {
        tool(&mut out, indent, item);
    }
    available_skills(&mut out, indent, &skills);
    out + close
}

fn tool(out: &mut String, indent: &str, item: &Item) {
    let Some((tool, _)) = item.tool() else { return };
    let (namespace, name) = item.parts();
    let (name, namespace) = (attribute(name), attribute(namespace));
    write(
        out,
        format_args!("{indent}<tool name=\"{name}\" namespace=\"{namespace}\">\n"),
    );
    let inner = format!("{indent}  ");
    element(out, &inner, "description", description(tool));
    element(
        out,
        &inner,
        "parameters",
        &Json::parse(&tool.input_schema).compact(),
    );
    write(out, format_args!("{indent}</tool>\n"));
}

/// Without skills there is no block: an empty one would confuse a model, says the documentation.
fn available_skills(out: &mut String, indent: &str, skills: &[&Item]) {
    if skills.is_empty() {
        return;
    }
    write(out, format_args!("{indent}<available_skills>\n"));
    let inner = format!("{indent}    ");
    for item in skills {
        let Content::Skill {
            description,
            location,
        } = &item.content
        else {
            continue;
        };
        write(out, format_args!("{indent}  <skill>\n"));
        element(out, &inner, "name", item.parts().1);
        element(out, &inner, "description", description);
        element(out, &inner, "location", &location.to_string_lossy());
        write(out, format_args!("{indent}  </skill>\n"));
    }
    write(out, format_args!("{indent}</available_skills>\n"));
}

fn element(out: &mut String, indent: &str, name: &str, content: &str) {
    let content = text(content);
    write(out, format_args!("{indent}<{name}>{content}</{name}>\n"));
}

fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string can't fail");
}

/// A text between tags. Quotes may stand there as they are, which keeps JSON readable; a carriage return would be read as a line feed.
fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '\r' => Some("&#13;"),
        _ => None,
    })
}

/// A text between double quotes, where white space would be read as a space.
fn attribute(text: &str) -> Cow<'_, str> {
    escaped(text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    })
}

/// Replaces what has to be, and drops the characters that XML 1.0 has no way to write (<https://www.w3.org/TR/xml/#charsets>).
fn escaped(text: &str, replacement: impl Fn(char) -> Option<&'static str>) -> Cow<'_, str> {
    if text
        .chars()
        .all(|c| is_character(c) && replacement(c).is_none())
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars().filter(|&c| is_character(c)) {
        match replacement(c) {
            Some(reference) => out.push_str(reference),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

const fn is_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{attribute, is_character, text};

    /// What a parser reads where that stands.
    fn read(escaped: &str) -> String {
        let references = [
            ("&#13;", "\r"),
            ("&#10;", "\n"),
            ("&#9;", "\t"),
            ("&quot;", "\""),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&amp;", "&"),
        ];
        references
            .iter()
            .fold(escaped.to_owned(), |text, (reference, c)| {
                text.replace(reference, c)
            })
    }

    #[test]
    fn what_ends_an_element_or_a_value_is_escaped() {
        assert_eq!(
            text("a]]></description><x b='\"'>&"),
            "a]]&gt;&lt;/description&gt;&lt;x b='\"'&gt;&amp;"
        );
        assert_eq!(attribute("\" onload=\"\n"), "&quot; onload=&quot;&#10;");
    }

    #[test]
    fn what_xml_can_not_say_is_dropped() {
        assert_eq!(
            text("a\0b\u{1b}[2J\u{fffe}\u{ffff}\u{10ffff}\tc\n"),
            "ab[2J\u{10ffff}\tc\n"
        );
    }

    proptest! {
        #[test]
        fn a_parser_reads_what_was_written(written in any::<String>()) {
            let expected: String = written.chars().filter(|&c| is_character(c)).collect();
            for escaped in [text(&written), attribute(&written)] {
                prop_assert!(!escaped.contains(['<', '>', '\r']));
                prop_assert_eq!(read(&escaped), expected.clone());
            }
            prop_assert!(!attribute(&written).contains(['"', '\n', '\t']));
        }
    }
}
