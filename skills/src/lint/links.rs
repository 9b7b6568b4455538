//! The rule over the links of a SKILL.md.

use std::path::{Component, Path};

use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{Finding, Subject};

/// What stands in the place of a name in an example.
const PLACEHOLDERS: [char; 7] = ['{', '}', '<', '>', '$', '*', '…'];

/// The specification, "File references": other files are those of the skill, named by a path relative to it. Text between backticks is no
/// link.
pub(super) fn links(subject: &Subject<'_>) -> Vec<Finding> {
    // With footnotes, or their definitions would be taken for those of links.
    let options = Options::ENABLE_FOOTNOTES | Options::ENABLE_TABLES;
    let parser = Parser::new_ext(&subject.document.body, options);
    let links = parser.into_offset_iter().filter_map(|(event, range)| {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            return None;
        };
        Some((dest_url, range.start))
    });
    links
        .filter_map(|(destination, offset)| {
            let (message, hint) = fault(&destination, &subject.skill.found)?;
            let line = u32::try_from(subject.line_in_body(offset)).ok();
            Some(subject.warning(line, message, hint))
        })
        .collect()
}

/// What is wrong with a link in a skill's directory, and what to do about it.
fn fault(destination: &str, directory: &Path) -> Option<(String, &'static str)> {
    let path = path_of(destination)?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let path = Path::new(&*path);
    if leads_out(path) {
        let message = format!("the link {destination:?} leads out of the skill");
        return Some((message, "copy what is needed into the skill"));
    }
    // What can't be looked at may be there.
    if directory.join(path).try_exists().unwrap_or(true) {
        return None;
    }
    let message = format!("the link {destination:?} leads to no file");
    Some((message, "correct the path, or add the file to the skill"))
}

/// The path of a file that a link means: neither another place's address nor a part of the page, nor what only shows how a link is written.
fn path_of(destination: &str) -> Option<&str> {
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    let first = path.split('/').next().unwrap_or_default();
    let is_address = first.contains(':') || path.starts_with("//");
    let is_example = path.contains(PLACEHOLDERS) || path.contains("...");
    // `[title](url)` names no file, and no file's name is so plain but that of a program or a licence.
    let is_word = !path.contains(['/', '.']);
    (!is_address && !is_example && !is_word).then_some(path)
}

/// Whether a path leaves the directory that it is relative to, be it to come back.
fn leads_out(path: &Path) -> bool {
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
        }
    }
    false
}
