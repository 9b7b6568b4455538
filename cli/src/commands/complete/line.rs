//! Which word stands where on a command line, and so what may be typed there.
//!
//! It knows the commands and their options from clap, and asks a [`Source`] for everything else.

use clap::{Arg, Command};
use daemon::protocol::EntryKind;
use skills::arguments::suggestions::Suggestion;
use skills::offers::Kind;

/// The arguments that name entries, by command; those of one kind alone say so.
const ENTRIES: [(&str, &str, Option<EntryKind>); 5] = [
    ("call", "words", Some(EntryKind::Tool)),
    ("show", "entries", None),
    ("log", "entry", None),
    ("changes", "entries", None),
    ("trust", "targets", None),
];

/// The arguments that name a server, and those that name what the server before them offers, by command.
const SERVERS: [(&str, &str); 2] = [("read", "server"), ("prompt", "server")];
const OFFERS: [(&str, &str, Kind); 2] = [
    ("read", "uri", Kind::Resources),
    ("prompt", "name", Kind::Prompts),
];

/// What only a shelf knows. `config` is the value of `--config`, where one was typed.
pub(super) trait Source {
    /// The entries that begin so.
    fn entries(
        &mut self,
        typed: &str,
        kind: Option<EntryKind>,
        config: Option<&str>,
    ) -> Vec<Suggestion>;
    /// The servers that begin so.
    fn servers(&mut self, typed: &str, config: Option<&str>) -> Vec<Suggestion>;
    /// What a server offers of a kind that begins so.
    fn offers(
        &mut self,
        server: &str,
        kind: Kind,
        typed: &str,
        config: Option<&str>,
    ) -> Vec<Suggestion>;
    /// What may follow a tool's id and the words after it.
    fn of_tool(
        &mut self,
        entry: &str,
        before: &[String],
        typed: &str,
        config: Option<&str>,
    ) -> Vec<Suggestion>;
}

/// What the last of the words may become. Nothing where any text may stand, or the name of a file.
pub(super) fn candidates(
    command: &Command,
    words: &[String],
    source: &mut dyn Source,
) -> Vec<Suggestion> {
    let (typed, before) = match words.split_last() {
        Some((typed, before)) => (typed.as_str(), before),
        None => ("", &[][..]),
    };
    let (command, before) = innermost(command, before);
    let mut line = Line {
        command,
        config: None,
        awaiting: None,
        positionals: 0,
        first: None,
    };
    for (at, word) in before.iter().enumerate() {
        let is_positional = line.read(word);
        if is_positional && line.takes_tool_flags() {
            return source.of_tool(word, &before[at + 1..], typed, line.config);
        }
    }
    line.finish(typed, source)
}

/// The command that the words lead to, and the words after it.
fn innermost<'c, 'w>(command: &'c Command, words: &'w [String]) -> (&'c Command, &'w [String]) {
    match words.split_first() {
        Some((word, rest)) => match command.find_subcommand(word) {
            Some(inner) => innermost(inner, rest),
            None => (command, words),
        },
        None => (command, words),
    }
}

/// The words of one command so far.
struct Line<'c, 'w> {
    command: &'c Command,
    config: Option<&'w str>,
    /// The option whose value comes next.
    awaiting: Option<&'c Arg>,
    positionals: usize,
    /// The first of them.
    first: Option<&'w str>,
}

impl<'c, 'w> Line<'c, 'w> {
    /// Takes a word; true for one that is neither an option nor the value of one.
    fn read(&mut self, word: &'w str) -> bool {
        if let Some(option) = self.awaiting.take() {
            self.note(option, word);
            return false;
        }
        let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
            let is_positional = !word.starts_with('-') || word == "-";
            if is_positional {
                self.positionals += 1;
                self.first = self.first.or(Some(word));
            }
            return is_positional;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        if let Some(option) = self.option(name).filter(|option| takes_value(option)) {
            match value {
                Some(value) => self.note(option, value),
                None if option.is_require_equals_set() => {}
                None => self.awaiting = Some(option),
            }
        }
        false
    }

    fn note(&mut self, option: &Arg, value: &'w str) {
        if option.get_long() == Some("config") {
            self.config = Some(value);
        }
    }

    fn option(&self, name: &str) -> Option<&'c Arg> {
        let mut options = self.command.get_arguments();
        options.find(|option| option.get_long() == Some(name))
    }

    /// Whether everything after the word that was read last is a tool's.
    fn takes_tool_flags(&self) -> bool {
        let mut positionals = self.command.get_positionals();
        positionals.any(Arg::is_trailing_var_arg_set)
    }

    /// What the last word may become.
    fn finish(&self, typed: &str, source: &mut dyn Source) -> Vec<Suggestion> {
        if let Some(option) = self.awaiting {
            return self.values(option, "", typed, source);
        }
        if let Some((flag, value)) = typed.split_once('=')
            && let Some(option) = flag.strip_prefix("--").and_then(|name| self.option(name))
        {
            return self.values(option, &format!("{flag}="), value, source);
        }
        if typed.starts_with('-') {
            return self.options(typed);
        }
        let mut found = Vec::new();
        if self.positionals == 0 {
            found.extend(self.commands(typed));
        }
        let positionals: Vec<&Arg> = self.command.get_positionals().collect();
        let next = positionals.get(self.positionals).or_else(|| {
            // The last of them may take several.
            let several = |last: &&&Arg| last.get_num_args().is_some_and(|n| n.max_values() > 1);
            positionals.last().filter(several)
        });
        if let Some(argument) = next {
            found.extend(self.values(argument, "", typed, source));
        }
        found
    }

    fn commands(&self, typed: &str) -> Vec<Suggestion> {
        let commands = self.command.get_subcommands();
        let shown = commands.filter(|command| !command.is_hide_set());
        shown
            .filter(|command| command.get_name().starts_with(typed))
            .map(|command| Suggestion {
                word: command.get_name().to_owned(),
                about: text(command.get_about()),
            })
            .collect()
    }

    fn options(&self, typed: &str) -> Vec<Suggestion> {
        let options = self.command.get_arguments();
        let shown = options.filter(|option| !option.is_hide_set());
        shown
            .filter_map(|option| {
                let word = format!("--{}", option.get_long()?);
                let about = text(option.get_help());
                word.starts_with(typed)
                    .then_some(Suggestion { word, about })
            })
            .collect()
    }

    fn values(
        &self,
        argument: &Arg,
        prefix: &str,
        typed: &str,
        source: &mut dyn Source,
    ) -> Vec<Suggestion> {
        let name = self.command.get_name();
        let names = |(command, id, _): &&(&str, &str, _)| {
            *command == name && argument.get_id().as_str() == *id
        };
        let id = argument.get_id().as_str();
        let offers = OFFERS
            .iter()
            .find(|(of, named, _)| (*of, *named) == (name, id));
        let mut found = if let Some((_, _, kind)) = ENTRIES.iter().find(names) {
            source.entries(typed, *kind, self.config)
        } else if let (Some((_, _, kind)), Some(server)) = (offers, self.first) {
            source.offers(server, *kind, typed, self.config)
        } else if argument.get_long() == Some("server") || SERVERS.contains(&(name, id)) {
            source.servers(typed, self.config)
        } else {
            let values = argument.get_possible_values().into_iter();
            values
                .filter(|value| !value.is_hide_set() && value.get_name().starts_with(typed))
                .map(|value| Suggestion {
                    word: value.get_name().to_owned(),
                    about: text(value.get_help()),
                })
                .collect()
        };
        for suggestion in &mut found {
            suggestion.word.insert_str(0, prefix);
        }
        found
    }
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

fn text(help: Option<&clap::builder::StyledStr>) -> String {
    help.map(|help| skills::summary::one_line(&help.to_string()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use daemon::protocol::EntryKind;
    use skills::arguments::suggestions::Suggestion;

    use skills::offers::Kind;

    use super::{Source, candidates};

    /// Says what it was asked.
    struct Echo;

    fn said(text: String) -> Vec<Suggestion> {
        let about = String::new();
        vec![Suggestion { word: text, about }]
    }

    impl Source for Echo {
        fn entries(
            &mut self,
            typed: &str,
            kind: Option<EntryKind>,
            config: Option<&str>,
        ) -> Vec<Suggestion> {
            said(format!("entries {typed:?} {kind:?} {config:?}"))
        }

        fn servers(&mut self, typed: &str, config: Option<&str>) -> Vec<Suggestion> {
            said(format!("servers {typed:?} {config:?}"))
        }

        fn offers(
            &mut self,
            server: &str,
            kind: Kind,
            typed: &str,
            config: Option<&str>,
        ) -> Vec<Suggestion> {
            said(format!("{kind:?} of {server} {typed:?} {config:?}"))
        }

        fn of_tool(
            &mut self,
            entry: &str,
            before: &[String],
            typed: &str,
            config: Option<&str>,
        ) -> Vec<Suggestion> {
            said(format!("tool {entry} {before:?} {typed:?} {config:?}"))
        }
    }

    fn offered(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut command = crate::commands::Arguments::command();
        command.build();
        let found = candidates(&command, &words, &mut Echo);
        found
            .into_iter()
            .map(|suggestion| suggestion.word)
            .collect()
    }

    #[test]
    fn commands_come_first_and_hidden_ones_never() {
        let all = offered(&[""]);
        assert!(
            all.contains(&"call".to_owned()) && all.contains(&"mount".to_owned()),
            "{all:?}"
        );
        assert!(all.iter().all(|word| !word.starts_with("__")), "{all:?}");
        assert_eq!(offered(&[]), all);
        assert_eq!(offered(&["unm"]), ["unmount"]);
        assert_eq!(offered(&["help", "unm"]), ["unmount"]);
        assert_eq!(offered(&["nonsense", "x", ""]), [""; 0]);
    }

    #[test]
    fn options_stand_before_the_id_and_the_tools_flags_after_it() {
        assert_eq!(offered(&["call", "--time"]), ["--timeout"]);
        assert_eq!(offered(&["call", ""]), ["entries \"\" Some(Tool) None"]);
        assert_eq!(
            offered(&["call", "--json", "a/"]),
            ["entries \"a/\" Some(Tool) None"]
        );
        assert_eq!(
            offered(&[
                "call",
                "--timeout",
                "3s",
                "--config",
                "c.json",
                "a/b",
                "--x",
                "1",
                "--t"
            ]),
            ["tool a/b [\"--x\", \"1\"] \"--t\" Some(\"c.json\")"]
        );
        assert_eq!(offered(&["call", "--args", ""]), [""; 0]);
        assert_eq!(
            offered(&["call", "--args", "{}", "a"]),
            ["entries \"a\" Some(Tool) None"]
        );
    }

    #[test]
    fn a_server_comes_before_what_it_offers() {
        assert_eq!(offered(&["read", "e"]), ["servers \"e\" None"]);
        assert_eq!(
            offered(&["read", "--timeout", "3s", "everything", "demo:"]),
            ["Resources of everything \"demo:\" None"]
        );
        assert_eq!(
            offered(&["prompt", "--arg", "a=1", "--config", "c", "x", ""]),
            ["Prompts of x \"\" Some(\"c\")"]
        );
        assert_eq!(offered(&["read", "everything", "a:b", ""]), [""; 0]);
        assert_eq!(offered(&["prompt", "--arg", ""]), [""; 0]);
    }

    #[test]
    fn values_that_are_listed_are_offered() {
        assert_eq!(offered(&["list", "--kind", "s"]), ["skill"]);
        assert_eq!(offered(&["list", "--kind=s"]), ["--kind=skill"]);
        assert_eq!(offered(&["list", "--server", "g"]), ["servers \"g\" None"]);
        assert_eq!(
            offered(&["list", "--server=g"]),
            ["--server=servers \"g\" None"]
        );
        assert_eq!(offered(&["completions", "z"]), ["zsh"]);
        let second = offered(&["show", "--config", "c", "a/b", "s"]);
        assert_eq!(second, ["entries \"s\" None Some(\"c\")"]);
    }
}
