//! The `shelf` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == "__guard")
    {
        return daemon::guard::main();
    }
    ExitCode::SUCCESS
}
