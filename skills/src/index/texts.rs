//! The texts that are no index: README.md, SERVER.md, STATUS, CHANGES.md.

use crate::server::{Phase, Server, ServerState};
use crate::summary::{one_line, visible};

/// README.md: how to use the directory. It names no count and no server, so it never changes.
pub(crate) const README: &str = "\
# Toolshelf: your tools and skills as files

- INDEX.md: start here. ALL.md: every entry on a line, `id — summary`; `grep -i WORD ALL.md`
- search/: in a mount, `cat \"search/create issue\"` reads the entries that answer these words
- mcp/SERVER/TOOL.md: what a tool does, its arguments, the command that calls it. STATUS beside it: whether the server runs
- skills/SKILL/SKILL.md: how to do a kind of task; read it before you begin one
- CHANGES.md: what was added (+), changed (~), removed (-)
- .schemas/SERVER/TOOL.json: raw schemas

Call: `shelf call SERVER/TOOL --argument value`, or `bin/SERVER.TOOL --argument value`. Filter stdout: `| jq`, `| head`.
Reading calls nothing. Names are exact; nothing is corrected.
";

/// SERVER.md: what a server says of itself, and where it is started or how it is reached.
pub(crate) fn server(server: &Server) -> String {
    let name = one_line(server.name.as_str());
    let mut place = match &server.directory {
        Some(directory) => format!(
            "Working directory: {}\n",
            one_line(&directory.to_string_lossy())
        ),
        None => "Reached over HTTP\n".to_owned(),
    };
    for root in &server.roots {
        place.push_str(&format!("Root: {}\n", one_line(&root.to_string_lossy())));
    }
    let Some(known) = &server.definitions else {
        return format!("# {name}\n\nNot known yet, see STATUS.\n{place}");
    };
    let mut text = format!("# {name}\n\n");
    let facts = [
        ("Title", &known.title),
        ("Version", &known.version),
        ("Protocol", &known.protocol),
    ];
    for (label, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("{label}: {}\n", one_line(value)));
        }
    }
    text.push_str(&place);
    if let Some(instructions) = &known.instructions {
        text.push('\n');
        text.push_str(visible(instructions).trim_end());
        text.push('\n');
    }
    text
}

/// STATUS: one line whose first word is the phase; `stale` when the definitions shown are older than they should be.
pub(crate) fn status(state: &ServerState) -> String {
    let stale = if state.stale.is_some() { ", stale" } else { "" };
    match &state.phase {
        Phase::Cold => format!("cold{stale}\n"),
        Phase::Starting => format!("starting{stale}\n"),
        Phase::Ready => format!("ready{stale}\n"),
        Phase::Failed(why) => format!("failed{stale}: {}\n", one_line(why)),
        Phase::Disabled => format!("disabled{stale}\n"),
    }
}

/// CHANGES.md: the journal's lines as they were written, oldest first.
pub(crate) fn changes(journal: &[String]) -> String {
    journal.iter().fold(String::new(), |mut text, line| {
        text.push_str(line);
        text.push('\n');
        text
    })
}
