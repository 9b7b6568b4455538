//! The words after the id: which are flags, and which word is whose value.

use serde_json::{Map, Value};

use super::nearest::nearest;
use super::parameters::{Parameter, Parameters};
use super::schema::Kind;
use super::value::{self, quoted};

/// Why the words can't be taken.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Refusal {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The flags as they were given, each with its texts.
#[derive(Debug)]
pub(super) struct Flags<'w> {
    given: Vec<(String, Vec<&'w str>)>,
}

/// What a flag may be without a word of its own.
struct Takes {
    boolean: bool,
    null: bool,
    /// Anything but a boolean and null, so that the next word is its value whatever that word is.
    more: bool,
}

impl<'w> Flags<'w> {
    /// Finds the flags among the words.
    pub(super) fn read(words: &'w [String], parameters: &Parameters<'_>) -> Result<Self, Refusal> {
        let mut flags = Self { given: Vec::new() };
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
                return Err(not_a_flag(word, parameters));
            };
            if let Some((parameter, text)) = named(flag, parameters) {
                let text = match text {
                    Some(text) => text,
                    None => {
                        let next = rest.peek().copied();
                        match value_after(parameter, next, parameters)? {
                            Some(text) => {
                                rest.next();
                                text
                            }
                            None => "true",
                        }
                    }
                };
                flags.add(parameter.name, text);
            } else if let Some(parameter) = negated(flag, parameters) {
                flags.add(parameter.name, "false");
            } else {
                return Err(unknown(word, parameters));
            }
        }
        Ok(flags)
    }

    /// Turns the texts into values.
    pub(super) fn into_arguments(
        self,
        parameters: &Parameters<'_>,
    ) -> Result<Map<String, Value>, Refusal> {
        let root = parameters.root();
        let mut arguments = Map::new();
        for (name, texts) in self.given {
            let shape = parameters.get(&name).and_then(|known| known.shape(root));
            let value = value::from_texts(root, &shape, &texts)
                .map_err(|fault| Refusal::new(format!("--{name} {fault}")))?;
            arguments.insert(name, value);
        }
        Ok(arguments)
    }

    fn add(&mut self, name: &str, text: &'w str) {
        match self.given.iter_mut().find(|(known, _)| known == name) {
            Some((_, texts)) => texts.push(text),
            None => self.given.push((name.to_owned(), vec![text])),
        }
    }
}

/// The parameter that a flag names, with the text after its `=`.
fn named<'p, 'w, 'a>(
    flag: &'w str,
    parameters: &'p Parameters<'a>,
) -> Option<(&'p Parameter<'a>, Option<&'w str>)> {
    if let Some(parameter) = parameters.get(flag) {
        return Some((parameter, None));
    }
    // A name may hold `=` itself: the longest name that is one wins.
    flag.rmatch_indices('=').find_map(|(position, _)| {
        let parameter = parameters.get(&flag[..position])?;
        Some((parameter, Some(&flag[position + 1..])))
    })
}

/// The boolean that `--no-name` is false of.
fn negated<'p, 'a>(flag: &str, parameters: &'p Parameters<'a>) -> Option<&'p Parameter<'a>> {
    let parameter = parameters.get(flag.strip_prefix("no-")?)?;
    takes(parameter, parameters).boolean.then_some(parameter)
}

fn takes(parameter: &Parameter<'_>, parameters: &Parameters<'_>) -> Takes {
    let root = parameters.root();
    let kinds: Option<Vec<Kind>> = parameter
        .shape(root)
        .map(|shape| shape.iter().map(|alternative| alternative.kind).collect());
    // Where everything is allowed a value must be given: a flag alone could be meant as anything.
    let Some(kinds) = kinds else {
        return Takes {
            boolean: false,
            null: false,
            more: true,
        };
    };
    Takes {
        boolean: kinds.contains(&Kind::Boolean),
        null: kinds.contains(&Kind::Null),
        more: kinds
            .iter()
            .any(|kind| !matches!(kind, Kind::Boolean | Kind::Null)),
    }
}

/// The value of a flag that has no `=`: the next word, or nothing for a boolean that stands alone.
fn value_after<'w>(
    parameter: &Parameter<'_>,
    next: Option<&'w str>,
    parameters: &Parameters<'_>,
) -> Result<Option<&'w str>, Refusal> {
    let takes = takes(parameter, parameters);
    let name = parameter.name;
    // A value may begin with `-`, but a word that is a flag of this tool was more likely meant as that.
    let next_flag = next.filter(|word| is_flag(word, parameters));
    if takes.boolean {
        let own = |word: &&str| {
            takes.more || matches!(*word, "true" | "false") || (takes.null && *word == "null")
        };
        return Ok(next.filter(|_| next_flag.is_none()).filter(own));
    }
    match (next, next_flag) {
        (_, Some(flag)) => Err(Refusal::new(format!("--{name} needs a value"))
            .hint(format!("if {flag} is the value, write --{name}={flag}"))),
        (Some(word), None) => Ok(Some(word)),
        (None, None) => Err(Refusal::new(format!("--{name} needs a value"))),
    }
}

fn is_flag(word: &str, parameters: &Parameters<'_>) -> bool {
    word.strip_prefix("--").is_some_and(|flag| {
        named(flag, parameters).is_some() || negated(flag, parameters).is_some()
    })
}

fn unknown(word: &str, parameters: &Parameters<'_>) -> Refusal {
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    let mut hints = Vec::new();
    let near = nearest(flag, parameters.names());
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| format!("--{name}")).collect();
        hints.push(format!("did you mean {}?", near.join(" or ")));
    }
    hints.push("an option of shelf itself goes before the id".to_owned());
    if parameters.takes_others() {
        hints.push("names that the schema does not declare can be given with --args".to_owned());
    }
    Refusal::new(format!("unknown flag {}", quoted(flag))).hint(hints.join("; "))
}

fn not_a_flag(word: &str, parameters: &Parameters<'_>) -> Refusal {
    if let Some(letters) = word.strip_prefix('-')
        && letters.starts_with(|letter: char| letter.is_ascii_alphabetic())
    {
        return unknown(word, parameters);
    }
    let first = parameters.names().next().unwrap_or("name");
    Refusal::new(format!("{} belongs to no flag", quoted(word))).hint(format!(
        "every value has a flag, as in --{first} {}, and one of several words is quoted",
        quoted(word)
    ))
}
