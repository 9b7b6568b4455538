//! The daemon's own process: `shelf __daemon`, started by [`crate::launch`].

use std::io::{self, Write};
use std::process::ExitCode;

use skills::problem::{Problem, ProblemKind};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::launch::{HandOver, Report};
use crate::ui::Ui;
use crate::{descriptors, diagnostics};

/// Runs the daemon until it is shut down.
pub(crate) fn main() -> ExitCode {
    // It fails only for the leader of a process group, which is nobody's child to be hung up with.
    let _ = rustix::process::setsid();
    // A working directory would keep its file system from being unmounted; every path handed over is absolute.
    let _ = std::env::set_current_dir("/");
    descriptors::withhold(&[]);

    diagnostics::print();
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            report(&Report::Failed(problem.clone()));
            let error = CommandError::from(problem);
            Ui::new(true).error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn serve() -> Result<(), Problem> {
    let handed: HandOver = serde_json::from_reader(io::stdin().lock()).map_err(|e| {
        Problem::new(
            ProblemKind::Internal,
            format!("what the daemon was handed can't be read: {e}"),
        )
    })?;
    let options = handed.into_options(Environment::read().surroundings()?);
    daemon::run::run(options, &mut |event| report(&Report::Event(event)))
}

/// Says something to whoever started us; once the daemon is ready they are gone, which is as it should be.
fn report(report: &Report) {
    // Whole or not at all: half a line would be taken for the word of a daemon that broke.
    let mut line = serde_json::to_vec(report).expect("every path has a form as JSON");
    line.push(b'\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(&line);
    let _ = out.flush();
}
