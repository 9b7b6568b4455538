//! `shelf completions`.

use clap::{Args, ValueEnum};

use crate::error::CommandResult;
use crate::ui::Ui;

/// Print the completion script of a shell
///
/// It completes commands, options, ids, the flags of the tool and the values that its schema lists. What it offers is asked of the running
/// shelf, else of the cache; nothing is started.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
        bash: echo 'source <(shelf completions bash)' >> ~/.bashrc\n  \
        zsh:  shelf completions zsh > ~/.zfunc/_shelf   (a directory of $fpath)\n  \
        fish: shelf completions fish > ~/.config/fish/completions/shelf.fish")]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// A shell that words can be completed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    const fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("completions/shelf.bash"),
            Self::Zsh => include_str!("completions/_shelf"),
            Self::Fish => include_str!("completions/shelf.fish"),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, ui: &Ui) -> CommandResult {
    Ok(ui.data(arguments.shell.script().as_bytes())?)
}
