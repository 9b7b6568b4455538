//! `shelf status`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use daemon::instance;
use daemon::protocol::{OutputKind, Policy, ServerPhase, ServerStatus, Status};
use skills::problem::ProblemKind;
use skills::summary::one_line;

use super::sources::count;
use crate::environment::{Environment, absolute};
use crate::error::CommandResult;
use crate::selection::{Which, elsewhere};
use crate::ui::Ui;

/// How wide a name may make the column of the servers; a longer one sticks out of it.
const WIDEST_NAME: usize = 40;

/// Show what a shelf serves, its servers, and what is wrong
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf status\n  shelf status /mnt/tools --json | jq '.servers[]'"
)]
pub(crate) struct Arguments {
    /// Any path in the shelf that is meant, when several run
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    which: Which,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let path = arguments.directory.as_deref().map(absolute).transpose()?;
    if let Some(path) = &path
        && instance::containing(&environment.runtime(), path)?.is_none()
    {
        let problem = elsewhere("no shelf is mounted here", environment);
        return Err(problem.at_file(path, None).into());
    }
    if path.is_none() {
        arguments.which.tell_project(environment, ui);
    }
    let status = arguments
        .which
        .connect(environment, path.as_deref())?
        .status()?;
    if arguments.json {
        return ui.json(&status);
    }
    Ok(ui.text(&describe(&status))?)
}

fn describe(status: &Status) -> String {
    let about = &status.about;
    let shown = |path: &Option<PathBuf>| {
        path.as_deref()
            .map_or_else(|| "none".to_owned(), |path| path.display().to_string())
    };
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    match about.output {
        OutputKind::Mount => line("mount point", shown(&about.mount_point)),
        OutputKind::Mirror => line(
            "mirror",
            format!("{} (opens are not seen)", shown(&about.mount_point)),
        ),
        OutputKind::None => line("mount point", "none".to_owned()),
    }
    line("configuration", shown(&about.config));
    if about.project.is_some() {
        line("project", shown(&about.project));
    }
    line("skills", paths(&about.skills));
    line(
        "entries",
        format!(
            "{}, {}",
            count(status.tools, "tool", "tools"),
            count(status.skill_entries, "skill", "skills")
        ),
    );
    line(
        "daemon",
        format!(
            "shelf {}, instance {}, process {}{}, since {}",
            about.version,
            about.instance,
            about.pid,
            memory(status.memory),
            about.started.strftime("%Y-%m-%d %H:%M:%S UTC")
        ),
    );
    line(
        "socket",
        format!("{} (for SHELF_SOCKET)", about.socket.display()),
    );
    line("log", about.log.display().to_string());
    line(
        "policy",
        match status.policy {
            Policy::None => "none",
            Policy::Advisory => "advisory (you could change it, or approve your own calls)",
            Policy::Enforced => "enforced (the daemon belongs to another user)",
        }
        .to_owned(),
    );
    let problems = status.problems.iter();
    let held = problems.filter(|problem| problem.kind == ProblemKind::NotTrusted);
    let held = held.count();
    if held > 0 {
        line(
            "not trusted",
            format!(
                "{} (shelf changes --diff, then shelf trust)",
                count(held, "change", "changes")
            ),
        );
    }
    servers(&mut text, &status.servers);
    if !status.problems.is_empty() {
        let _ = writeln!(text, "problems:");
    }
    for problem in &status.problems {
        let _ = writeln!(text, "  {}", one_line(&problem.to_string()));
        if let Some(hint) = &problem.hint {
            let _ = writeln!(text, "    hint: {}", one_line(hint));
        }
    }
    text
}

fn servers(text: &mut String, servers: &[ServerStatus]) {
    if servers.is_empty() {
        return;
    }
    let _ = writeln!(text, "servers:");
    let widest = servers
        .iter()
        .map(|server| server.shown_as.chars().count())
        .filter(|&width| width <= WIDEST_NAME)
        .max();
    let width = widest.unwrap_or_default();
    for server in servers {
        let state = match server.state {
            ServerPhase::Cold => "cold",
            ServerPhase::Starting => "starting",
            ServerPhase::Ready => "ready",
            ServerPhase::Failed => "failed",
            ServerPhase::Disabled => "disabled",
        };
        let tools = server
            .tools
            .map_or_else(|| "not known yet".to_owned(), |n| count(n, "tool", "tools"));
        let _ = write!(
            text,
            "  {:width$}  {state:8}  {tools}",
            one_line(&server.shown_as)
        );
        if let Some(since) = server.stale_since {
            let _ = write!(text, ", stale since {since:.0}");
        }
        if let Some(reason) = &server.reason {
            let _ = write!(text, "  {}", one_line(reason));
        }
        text.push('\n');
    }
}

fn paths(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<_> = paths.iter().map(|p| Path::display(p).to_string()).collect();
    shown.join(", ")
}

fn memory(bytes: Option<u64>) -> String {
    // Whole mebibytes say enough.
    bytes.map_or_else(String::new, |bytes| {
        format!(", {} MiB", bytes / (1024 * 1024))
    })
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{About, OutputKind, Policy, ServerPhase, ServerStatus, Status};
    use skills::problem::{Problem, ProblemKind};

    use super::describe;

    #[test]
    fn the_status_reads_well() {
        let server = |name: &str, state, reason: Option<&str>, tools| ServerStatus {
            name: name.into(),
            shown_as: name.into(),
            state,
            reason: reason.map(str::to_owned),
            tools,
            about: String::new(),
            stale_since: (state == ServerPhase::Failed).then_some(jiff::Timestamp::UNIX_EPOCH),
        };
        let status = Status {
            about: About {
                instance: "abcdefgh".into(),
                version: "0.1.0".into(),
                pid: 42,
                uid: 1000,
                started: jiff::Timestamp::UNIX_EPOCH,
                config: Some("/home/me/.mcp.json".into()),
                project: Some("/home/me/app".into()),
                skills: vec!["/home/me/.agents/skills".into()],
                catalog: String::new(),
                mount_point: Some("/mnt/tools".into()),
                output: OutputKind::Mount,
                log: "/home/me/.local/state/toolshelf/log".into(),
                socket: "/run/user/1000/toolshelf/abcdefgh.sock".into(),
            },
            policy: Policy::Advisory,
            generation: 3,
            tools: 14,
            skill_entries: 1,
            servers: vec![
                server("everything", ServerPhase::Ready, None, Some(13)),
                server("git", ServerPhase::Failed, Some("exited\nwith 1"), Some(1)),
                server("new", ServerPhase::Starting, None, None),
                server(&"x".repeat(60), ServerPhase::Cold, None, None),
            ],
            problems: vec![
                Problem::new(ProblemKind::SkillSkipped, "there is no frontmatter")
                    .at_file("/home/me/.agents/skills/x/SKILL.md", Some(1))
                    .hint("begin the file with ---"),
            ],
            memory: Some(25 * 1024 * 1024),
        };
        insta::assert_snapshot!(describe(&status));
    }
}
