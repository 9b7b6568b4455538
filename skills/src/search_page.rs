//! An answer as text: what a file of `search/` holds, and what a command may print.
//!
//! It must not know rankers, mounts or sockets: an [`Answer`] comes in, text goes out.

use std::collections::BTreeMap;
use std::fmt;

use crate::catalog::Snapshot;
use crate::index::{Line, status};
use crate::search::{Answer, ServerMatch};
use crate::server::Phase;
use crate::summary::one_line;

#[cfg(test)]
mod tests;

/// How many matches a page has when nobody asks for another number.
pub const LIMIT: usize = 8;

/// How many servers a line names before it counts the rest.
const NAMED: usize = 20;

/// How many characters of a request a text repeats: whoever typed it knows it, and a whole file may have been piped in.
const REPEATED: usize = 200;

/// The words of a request as a text repeats them: one line, made safe to show, and cut where it is long.
pub fn repeated(words: &str) -> String {
    let mut line = one_line(words);
    if let Some((end, _)) = line.char_indices().nth(REPEATED) {
        line.truncate(end);
        line.truncate(line.trim_end().len());
        line.push('…');
    }
    line
}

/// README.md of `search/`. It names no count and no server, so it never changes.
pub const README: &str = "\
# search/: the name of a file is a search

`cat \"search/create issue\"` reads the tools and skills that answer these words, best first. Nothing is listed here.
Use spaces, not `/`. A name must begin with a letter or digit; a single word that ends like a file (`x.md`) is not searched.
";

/// An answer with what a reader of it has to know.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The words, as typed.
    pub words: &'a str,
    /// What answers them.
    pub answer: &'a Answer,
    /// How many entries there are.
    pub entries: usize,
    /// The servers that can't be called at the moment, as [`out_of_service`] tells them.
    pub out_of_service: &'a BTreeMap<String, String>,
}

impl Page<'_> {
    /// How many entries matched, beyond the limit too.
    pub fn matches(&self) -> usize {
        if self.answer.matches.is_empty() {
            // Then the servers are the nearest ones and count for nothing.
            return 0;
        }
        let on_servers: usize = self.answer.servers.iter().map(|s| s.matches).sum();
        on_servers.max(self.answer.matches.len())
    }

    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (matches, shown) = (self.matches(), self.answer.matches.len());
        let entries = if self.entries == 1 {
            "entry"
        } else {
            "entries"
        };
        let verb = if matches == 1 { "matches" } else { "match" };
        let words = repeated(self.words);
        write!(
            f,
            "{matches} of {} {entries} {verb} \"{words}\"",
            self.entries
        )?;
        if matches > shown {
            write!(f, ", of which the best {shown} follow")?;
        }
        writeln!(f)
    }

    fn write_matches(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for found in &self.answer.matches {
            let line = Line {
                id: found.id.clone(),
                summary: found.summary.clone(),
                heading: None,
                pin: false,
            };
            write!(f, "{line}")?;
        }
        writeln!(f)?;
        if !self.answer.servers.is_empty() {
            let counted = |server: &ServerMatch| format!("{} ({})", server.name, server.matches);
            writeln!(f, "They are on: {}", named(&self.answer.servers, counted))?;
        }
        for server in &self.answer.servers {
            if let Some(why) = self.out_of_service.get(&server.name) {
                writeln!(f, "{} can't be called now: {why}", server.name)?;
            }
        }
        Ok(())
    }

    fn write_nearest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        if self.answer.servers.is_empty() {
            return Ok(());
        }
        writeln!(f, "The nearest servers:")?;
        for server in self.answer.servers.iter().take(NAMED) {
            match server.about.as_str() {
                "" => writeln!(f, "{}", server.name)?,
                about => writeln!(f, "{} — {about}", server.name)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        let nothing = self.answer.matches.is_empty();
        if nothing {
            self.write_nearest(f)?;
        } else {
            self.write_matches(f)?;
        }
        if !self.answer.unknown.is_empty() {
            let with_state = |name: &String| match self.out_of_service.get(name) {
                Some(why) => format!("{name} ({why})"),
                None => name.clone(),
            };
            let unknown = named(&self.answer.unknown, with_state);
            writeln!(f, "Not known yet, so not searched: {unknown}")?;
        }
        f.write_str(if nothing {
            "To browse: INDEX.md, mcp/SERVER/INDEX.md, `grep -i WORD ALL.md`\n"
        } else {
            "Definition: `shelf show ID`, or in the mount mcp/ID.md (a tool), ID/SKILL.md (a skill)\n"
        })
    }
}

/// The servers that can't be called at the moment, by their name as the mount shows it, with what their `STATUS` says.
pub fn out_of_service(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let servers = snapshot.sources.servers.iter();
    let out = servers.filter(|(_, (_, state))| match state.phase {
        Phase::Failed(_) | Phase::Disabled => true,
        Phase::Cold | Phase::Starting | Phase::Ready => false,
    });
    out.filter_map(|(name, (_, state))| {
        let shown_as = snapshot.server_file_name(name)?;
        Some((shown_as, status(state).trim_end().to_owned()))
    })
    .collect()
}

fn named<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let names: Vec<_> = all.iter().take(NAMED).map(name).collect();
    let mut text = names.join(", ");
    if all.len() > NAMED {
        text.push_str(&format!(" and {} more", all.len() - NAMED));
    }
    text
}
