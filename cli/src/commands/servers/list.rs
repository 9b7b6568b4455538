//! `shelf servers`, and `shelf servers list`.

use clap::Args;
use daemon::protocol::{ServerPhase, ServerReport, ServerReports};
use jiff::tz::TimeZone;
use skills::summary::one_line;

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::selection::Which;
use crate::ui::Ui;

/// What stands above the columns.
const TITLES: [&str; 7] = [
    "SERVER",
    "STATE",
    "PID",
    "MEMORY",
    "CALLS",
    "STARTS",
    "LAST ERROR",
];
/// How wide a name may make its column; a longer one sticks out of it.
const WIDEST: usize = 40;

/// List the servers: state, process, memory, calls, what failed last
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shelf servers list --json | jq '.servers[] | select(.last_error)'"
)]
pub(super) struct Options {
    #[command(flatten)]
    which: Which,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, environment: &Environment, ui: &Ui) -> CommandResult {
    let reports = options.which.connect(environment, None)?.servers()?;
    if options.json {
        return ui.json(&reports);
    }
    if reports.servers.is_empty() {
        ui.note("no server is configured");
        return Ok(());
    }
    Ok(ui.text(&table(&reports, &TimeZone::system()))?)
}

fn table(reports: &ServerReports, zone: &TimeZone) -> String {
    let mut rows = vec![TITLES.map(str::to_owned)];
    rows.extend(reports.servers.iter().map(|report| row(report, zone)));
    let widths: [usize; TITLES.len()] = std::array::from_fn(|column| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths
            .filter(|&width| width <= WIDEST)
            .max()
            .unwrap_or_default()
    });
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Numbers stand under each other by their last digit.
            let cell = match column {
                2..=5 => format!("{cell:>width$}"),
                _ => format!("{cell:width$}"),
            };
            line.push_str(&cell);
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn row(report: &ServerReport, zone: &TimeZone) -> [String; TITLES.len()] {
    let name = match &report.session {
        None => one_line(&report.name),
        Some(session) => format!("  of session {}", one_line(session)),
    };
    let state = match report.state {
        ServerPhase::Cold => "cold",
        ServerPhase::Starting => "starting",
        ServerPhase::Ready => "ready",
        ServerPhase::Failed => "failed",
        ServerPhase::Disabled => "disabled",
    };
    let calls = match report.calls_under_way {
        0 => report.calls.to_string(),
        under_way => format!("{} ({under_way} under way)", report.calls),
    };
    let error = match (&report.reason, &report.last_error) {
        (reason, Some(error)) => {
            let time = zone.to_datetime(error.time).strftime("%m-%d %H:%M:%S");
            format!(
                "{time} {}",
                one_line(reason.as_ref().unwrap_or(&error.message))
            )
        }
        (Some(reason), None) => one_line(reason),
        (None, None) => String::new(),
    };
    let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    [
        name,
        state.to_owned(),
        or_dash(report.pid.map(|pid| pid.to_string())),
        // Whole mebibytes say enough.
        or_dash(
            report
                .memory
                .map(|bytes| format!("{} MiB", bytes / (1024 * 1024))),
        ),
        calls,
        report.starts.to_string(),
        error,
    ]
}

#[cfg(test)]
mod tests {
    use daemon::protocol::{LastError, ServerPhase, ServerReport, ServerReports};
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::table;

    #[test]
    fn the_table_reads_well() {
        let report = |name: &str, state| ServerReport {
            name: name.into(),
            session: None,
            state,
            reason: None,
            pid: None,
            memory: None,
            calls: 0,
            calls_under_way: 0,
            starts: 0,
            last_error: None,
            log: None,
        };
        let error = |message: &str| {
            Some(LastError {
                time: Timestamp::UNIX_EPOCH,
                message: message.into(),
            })
        };
        let servers = vec![
            report("browser", ServerPhase::Cold),
            ServerReport {
                session: Some("agent-7".into()),
                pid: Some(4242),
                memory: Some(61 * 1024 * 1024),
                calls: 1200,
                calls_under_way: 3,
                starts: 1,
                ..report("browser", ServerPhase::Ready)
            },
            ServerReport {
                reason: Some("exited\nwith 3; failed 2 times".into()),
                last_error: error("exited with 3"),
                ..report("git", ServerPhase::Failed)
            },
            ServerReport {
                last_error: error("broke off"),
                starts: 2,
                ..report("jira", ServerPhase::Ready)
            },
            report("off", ServerPhase::Disabled),
        ];
        insta::assert_snapshot!(table(&ServerReports { servers }, &TimeZone::UTC));
    }
}
