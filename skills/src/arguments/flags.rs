//! The words after the id: which are flags, and which word is whose value.

use serde_json::{Map, Value};

use super::nearest::nearest;
use super::parameters::Parameters;
use super::place::{Names, Place};
use super::schema::{Kind, Root};
use super::texts::{self, Read, Text};
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

/// The flags as they were given, each with its words.
#[derive(Debug)]
pub(super) struct Flags<'a, 'w> {
    given: Vec<(Place<'a>, Vec<Word<'w>>)>,
}

/// What a flag is given.
#[derive(Clone, Copy, Debug)]
enum Word<'w> {
    /// A text, of which the schema says what it is.
    Text(&'w str),
    /// Nothing, so that the flag itself says it; only where a boolean is allowed.
    Alone(bool),
}

impl<'w> Word<'w> {
    const fn text(self) -> &'w str {
        match self {
            Self::Text(text) => text,
            Self::Alone(true) => "true",
            Self::Alone(false) => "false",
        }
    }
}

/// What a flag may be without a word of its own.
struct Takes {
    boolean: bool,
    null: bool,
    /// Anything but a boolean and null, so that the next word is its value whatever that word is.
    more: bool,
}

impl<'a, 'w> Flags<'a, 'w> {
    /// Finds the flags among the words.
    pub(super) fn read(words: &'w [String], parameters: &Parameters<'a>) -> Result<Self, Refusal> {
        let mut flags = Self { given: Vec::new() };
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
                return Err(not_a_flag(word, parameters));
            };
            if let Some((place, text)) = named(flag, parameters) {
                let word = match text {
                    Some(text) => Word::Text(text),
                    None => {
                        let next = rest.peek().copied();
                        match value_after(&place, next, parameters)? {
                            Some(text) => {
                                rest.next();
                                Word::Text(text)
                            }
                            None => Word::Alone(true),
                        }
                    }
                };
                flags.add(place, word);
            } else if let Some(place) = negated(flag, parameters) {
                flags.add(place, Word::Alone(false));
            } else {
                return Err(unknown(word, parameters));
            }
        }
        Ok(flags)
    }

    /// Turns the words into values; `read` gives what a word asks to be read.
    pub(super) fn into_arguments(
        self,
        root: &'a Root,
        read: &mut Read<'_>,
    ) -> Result<Map<String, Value>, Refusal> {
        let mut arguments = Map::new();
        self.are_apart()?;
        for (Place { path, shape, .. }, words) in self.given {
            // Where a string is allowed too the text would be one.
            if let [Word::Alone(truth)] = words[..] {
                put(&mut arguments, &path, Value::Bool(truth));
                continue;
            }
            let name = path.join(".");
            let texts = words.iter().map(|word| texts::text(word.text(), read));
            let texts: Vec<Text<'_>> =
                texts
                    .collect::<Result<_, _>>()
                    .map_err(|(why, hint)| Refusal {
                        message: format!("--{name} {why}"),
                        hint,
                    })?;
            let value = value::of_texts(root, &shape, &texts)
                .map_err(|fault| Refusal::new(format!("--{name} {fault}")))?;
            put(&mut arguments, &path, value);
        }
        Ok(arguments)
    }

    /// Refuses an object that is given whole beside parts of it: which of the two counts would be a guess.
    fn are_apart(&self) -> Result<(), Refusal> {
        let paths = || self.given.iter().map(|(place, _)| &place.path);
        let nested = || paths().filter(|path| path.len() > 1);
        let both = paths()
            .find(|whole| nested().any(|part| part.len() > whole.len() && part.starts_with(whole)));
        both.map_or(Ok(()), |whole| {
            Err(Refusal::new(format!(
                "--{} is given as a whole and by its parts; use one of the two",
                whole.join(".")
            )))
        })
    }

    fn add(&mut self, place: Place<'a>, word: Word<'w>) {
        let known = |(known, _): &&mut (Place<'a>, Vec<Word<'w>>)| known.path == place.path;
        match self.given.iter_mut().find(known) {
            Some((_, words)) => words.push(word),
            None => self.given.push((place, vec![word])),
        }
    }
}

/// Puts a value where a path leads, which no other path leads through.
fn put(arguments: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => {
            arguments.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let member = arguments
                .entry(name)
                .or_insert_with(|| Value::Object(Map::new()));
            if let Some(object) = member.as_object_mut() {
                put(object, rest, value);
            }
        }
    }
}

/// The place that a flag names, with the text after its `=`.
pub(super) fn named<'w, 'a>(
    flag: &'w str,
    parameters: &Parameters<'a>,
) -> Option<(Place<'a>, Option<&'w str>)> {
    if let Some(place) = Place::find(parameters, flag, Names::Declared) {
        return Some((place, None));
    }
    // A name may hold `=` itself: the longest name that is declared wins. One that is not declared ends at the first.
    let declared = flag.rmatch_indices('=').find_map(|(position, _)| {
        let place = Place::find(parameters, &flag[..position], Names::Declared)?;
        Some((place, Some(&flag[position + 1..])))
    });
    declared.or_else(|| {
        let (name, text) = match flag.split_once('=') {
            Some((name, text)) => (name, Some(text)),
            None => (flag, None),
        };
        Some((Place::find(parameters, name, Names::Any)?, text))
    })
}

/// The boolean that `--no-name` is false of.
fn negated<'a>(flag: &str, parameters: &Parameters<'a>) -> Option<Place<'a>> {
    let place = Place::find(parameters, flag.strip_prefix("no-")?, Names::Declared)?;
    takes(&place).boolean.then_some(place)
}

fn takes(place: &Place<'_>) -> Takes {
    // Where everything is allowed a value must be given: a flag alone could be meant as anything.
    let Some(shape) = &place.shape else {
        return Takes {
            boolean: false,
            null: false,
            more: true,
        };
    };
    let has = |kind: Kind| shape.iter().any(|alternative| alternative.kind == kind);
    Takes {
        boolean: has(Kind::Boolean),
        null: has(Kind::Null),
        more: shape
            .iter()
            .any(|known| !matches!(known.kind, Kind::Boolean | Kind::Null)),
    }
}

/// Whether the word after a flag without `=` is its value whatever it is.
pub(super) fn awaits_value(place: &Place<'_>) -> bool {
    !takes(place).boolean
}

/// The value of a flag that has no `=`: the next word, or nothing for a boolean that stands alone.
fn value_after<'w>(
    place: &Place<'_>,
    next: Option<&'w str>,
    parameters: &Parameters<'_>,
) -> Result<Option<&'w str>, Refusal> {
    let takes = takes(place);
    let name = place.path.join(".");
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

/// The flags that one may have been meant as: below the object that its dots lead to, else among the arguments.
fn meant(flag: &str, parameters: &Parameters<'_>) -> Vec<String> {
    let below = flag.rmatch_indices('.').find_map(|(dot, _)| {
        let holder = &flag[..dot];
        let place = Place::find(parameters, holder, Names::Declared)?;
        let members = place.members(parameters.root())?;
        // What stands before the dot is right, and says nothing of what is meant behind it.
        let near = nearest(&flag[dot + 1..], members.names());
        let near = near.iter().map(|name| format!("--{holder}.{name}"));
        Some(near.collect())
    });
    below.unwrap_or_else(|| {
        let near = nearest(flag, parameters.names());
        near.iter().map(|name| format!("--{name}")).collect()
    })
}

fn unknown(word: &str, parameters: &Parameters<'_>) -> Refusal {
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    let mut hints = Vec::new();
    let near = meant(flag.trim_start_matches('-'), parameters);
    if !near.is_empty() {
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
