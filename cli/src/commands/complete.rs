//! `shelf __complete`: what the completion scripts ask at each key press.
//!
//! Which words may stand where is `line`'s; what they are is asked of a daemon or the cache in `source`. It answers nothing rather than an error.

mod line;
mod source;

use std::ffi::OsString;

use clap::{Args, CommandFactory};
use skills::arguments::suggestions::Suggestion;
use skills::definition::quote;

use super::completions::Shell;
use crate::environment::Environment;
use crate::error::CommandResult;
use crate::ui::Ui;

/// Print what the last of the words may become
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The shell that asks
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,

    /// The words after `shelf`, up to the one under the cursor
    #[arg(last = true, value_name = "WORDS")]
    words: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment, ui: &Ui) -> CommandResult {
    let words: Vec<String> = arguments
        .words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut command = super::Arguments::command();
    command.build();
    let found = line::candidates(&command, &words, &mut source::Shelf::new(environment));
    let mut text = String::new();
    for suggestion in found {
        text.push_str(&written(arguments.shell, &suggestion));
        text.push('\n');
    }
    Ok(ui.data(text.as_bytes())?)
}

/// A suggestion as the shell's script reads it: bash takes words as they would be typed, the others quote them.
fn written(shell: Shell, Suggestion { word, about }: &Suggestion) -> String {
    match shell {
        Shell::Bash => match word.split_once('=') {
            // A quote in the middle of a word is fine, before its name it is not.
            Some((flag, value)) if flag.starts_with("--") => format!("{flag}={}", quoted(value)),
            _ => quoted(word),
        },
        Shell::Zsh | Shell::Fish if about.is_empty() => word.clone(),
        Shell::Zsh | Shell::Fish => format!("{word}\t{about}"),
    }
}

/// Nothing is quoted as nothing, so that a value can be typed on.
fn quoted(word: &str) -> String {
    match word {
        "" => String::new(),
        word => quote(word).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use skills::arguments::suggestions::Suggestion;

    use super::written;
    use crate::commands::completions::Shell;

    #[test]
    fn each_shell_gets_its_own_form() {
        let form = |shell, word: &str| {
            let about = "what it is".to_owned();
            let word = word.to_owned();
            written(shell, &Suggestion { word, about })
        };
        assert_eq!(form(Shell::Bash, "a/b"), "a/b");
        assert_eq!(form(Shell::Bash, "on hold"), "'on hold'");
        assert_eq!(form(Shell::Bash, "--state=on hold"), "--state='on hold'");
        assert_eq!(form(Shell::Zsh, "on hold"), "on hold\twhat it is");
        assert_eq!(form(Shell::Fish, "a/b"), "a/b\twhat it is");
    }
}
