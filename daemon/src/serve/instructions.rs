//! What a client is told at the beginning: how to use the two tools, and which namespaces there are.
//!
//! It is made of definitions alone, and once for the life of the process.

use crate::protocol::{ServerPhase, ServerStatus, Status};

/// The longest that the whole may be, in characters.
const MOST: usize = 4_096;

/// The longest that the line of a namespace may be, in characters.
const LINE: usize = 250;

/// What is kept free for the line that counts what is left out.
const COUNT: usize = 80;

const HEAD: &str = "Tools and skills of many servers, behind two tools. Find them with search_tools, by words for the task, then use call_tool with \
    the id; an id that you know can be called at once. A skill is instructions to read: call_tool with its id gives them. \
    Namespaces, each the first part of its ids:\n";

/// The instructions.
pub(super) fn of(status: &Status) -> String {
    format!(
        "{HEAD}{}",
        fitted(&Namespaces::of(status), MOST - length(HEAD))
    )
}

/// The namespaces, with no limit but that of each line.
pub(super) fn namespaces(status: &Status) -> String {
    let lines = Namespaces::of(status).0;
    lines
        .into_iter()
        .map(|line| line.described + "\n")
        .collect()
}

/// The lines in full if all of them fit, else what a namespace is called and how much it has, else as many as fit.
fn fitted(namespaces: &Namespaces, limit: usize) -> String {
    let join = |text: fn(&Line) -> &str| -> String {
        let lines = namespaces.0.iter();
        lines.map(|line| format!("{}\n", text(line))).collect()
    };
    for text in [join(|line| &line.described), join(|line| &line.bare)] {
        if length(&text) <= limit {
            return text;
        }
    }
    let mut text = String::new();
    let mut left = limit - COUNT;
    for (position, line) in namespaces.0.iter().enumerate() {
        let cost = length(&line.bare) + 1;
        if cost > left {
            let rest = namespaces.0.len() - position;
            text.push_str(&format!(
                "and {rest} more: search_tools with an empty query lists all\n"
            ));
            break;
        }
        left -= cost;
        text.push_str(&line.bare);
        text.push('\n');
    }
    text
}

struct Namespaces(Vec<Line>);

struct Line {
    bare: String,
    described: String,
}

impl Namespaces {
    fn of(status: &Status) -> Self {
        let servers = status.servers.iter();
        let mut lines: Vec<_> = servers
            .filter(|server| server.state != ServerPhase::Disabled || server.tools.is_some())
            .map(Line::of)
            .collect();
        if status.skill_entries > 0 {
            let unit = if status.skill_entries == 1 {
                "skill"
            } else {
                "skills"
            };
            let line = format!("- skills: {} {unit}", status.skill_entries);
            lines.push(Line::new(line, ""));
        }
        if lines.is_empty() {
            lines.push(Line::new(
                "(none: no server and no skill is configured)".to_owned(),
                "",
            ));
        }
        Self(lines)
    }
}

impl Line {
    fn of(server: &ServerStatus) -> Self {
        let size = match server.tools {
            Some(1) => "1 tool".to_owned(),
            Some(count) => format!("{count} tools"),
            None => "not known yet".to_owned(),
        };
        Self::new(format!("- {}: {size}", server.shown_as), &server.about)
    }

    fn new(bare: String, about: &str) -> Self {
        let described = match about {
            "" => bare.clone(),
            about => format!("{bare}. {about}"),
        };
        Self {
            bare: cut(bare),
            described: cut(described),
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(line: String) -> String {
    match line.char_indices().nth(LINE) {
        None => line,
        Some(_) => line.chars().take(LINE - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::{LINE, MOST, length, namespaces, of};
    use crate::protocol::Status;

    /// A status with these servers, each with its tools and what it says of itself.
    pub(in super::super) fn status(
        servers: &[(&str, Option<usize>, &str)],
        skills: usize,
    ) -> Status {
        let servers: Vec<_> = servers
            .iter()
            .map(|(name, tools, about)| {
                json!({ "name": name, "shown_as": name, "state": "cold", "tools": tools, "about": about })
            })
            .collect();
        serde_json::from_value(json!({
            "instance": "abcdefgh", "version": "0.1.0", "pid": 1, "uid": 1, "started": "2026-01-01T00:00:00Z",
            "config": null, "skills": [], "mount_point": null, "output": "none", "log": "/log", "socket": "/socket",
            "policy": "advisory", "generation": 1, "tools": 0, "skill_entries": skills, "servers": servers,
            "problems": [], "memory": null,
        }))
        .unwrap()
    }

    #[test]
    fn each_namespace_has_a_line() {
        let said = of(&status(
            &[("git", Some(1), "Keeps versions"), ("new", None, "")],
            3,
        ));
        let lines: Vec<_> = said.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "- git: 1 tool. Keeps versions",
                "- new: not known yet",
                "- skills: 3 skills"
            ]
        );
        assert!(of(&status(&[], 0)).contains("no server and no skill"));
    }

    #[test]
    fn whatever_there_is_the_limits_hold_and_nothing_is_dropped_uncounted() {
        for count in [1, 10, 30, 100, 300, 3_000] {
            for (name, about) in [
                ("s", ""),
                ("s", "é"),
                ("name", "Says much. "),
                ("ä-long-name-", "x"),
            ] {
                let names: Vec<_> = (0..count)
                    .map(|n| format!("{}{n}", name.repeat(1 + n % 40)))
                    .collect();
                let about = about.repeat(120);
                let servers: Vec<_> = names
                    .iter()
                    .map(|name| (&**name, Some(7), &*about))
                    .collect();
                let status = status(&servers, 5);
                let said = of(&status);
                assert!(length(&said) <= MOST, "{count} {name}: {}", length(&said));
                let lines: Vec<_> = said.lines().skip(1).collect();
                assert!(lines.iter().all(|line| length(line) <= LINE));
                let counted = match lines.last().unwrap().strip_prefix("and ") {
                    Some(rest) => {
                        lines.len() - 1 + rest.split(' ').next().unwrap().parse::<usize>().unwrap()
                    }
                    None => lines.len(),
                };
                assert_eq!(counted, count + 1);
                assert_eq!(namespaces(&status).lines().count(), count + 1);
            }
        }
    }
}
