//! Prompts and their arguments.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Offered, Said, hash, key, malformed};
use crate::arguments::nearest::nearest;
use crate::entry_id::ServerName;
use crate::json::Json;
use crate::problem::{Problem, ProblemKind};
use crate::summary::is_invisible;

/// One element of `prompts/list`.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The name as sent.
    pub name: String,
    /// What it says of itself.
    pub said: Said,
    /// The arguments that it takes, names unique, in the order in which they were sent.
    pub arguments: Vec<PromptArgument>,
    raw: Arc<RawValue>,
    hash: [u8; 32],
}

/// An argument of a prompt; its value is a text.
#[derive(Clone, Debug)]
pub struct PromptArgument {
    /// The name as sent: not empty, without `=`, nothing in it that can't be seen.
    pub name: String,
    /// What it says of itself.
    pub said: Said,
    /// Whether the prompt can't do without it; false when unsaid.
    pub required: bool,
}

impl Prompt {
    /// Checks what is to be sent.
    ///
    /// # Errors
    /// [`ProblemKind::Arguments`] with the names that the prompt takes, when one is not among them or a required one is missing.
    pub fn check(&self, given: &Map<String, Value>) -> Result<(), Problem> {
        let takes = |name: &str| self.arguments.iter().any(|argument| argument.name == name);
        let unknown = given.keys().find(|name| !takes(name));
        let mut required = self.arguments.iter().filter(|argument| argument.required);
        let missing = required.find(|argument| !given.contains_key(&argument.name));
        let message = match (unknown, missing) {
            (Some(name), _) => format!("the prompt {} has no argument {name}", self.name),
            (None, Some(argument)) => {
                format!(
                    "the prompt {} needs the argument {}",
                    self.name, argument.name
                )
            }
            (None, None) => return Ok(()),
        };
        let names = self.arguments.iter().map(|argument| argument.name.as_str());
        let near = unknown.map(|name| nearest(name, names));
        let hint = match near.as_deref() {
            Some([near, ..]) => format!("did you mean {near}? {}", self.usage()),
            _ => self.usage(),
        };
        Err(Problem::new(ProblemKind::Arguments, message).hint(hint))
    }

    /// The arguments in words.
    fn usage(&self) -> String {
        if self.arguments.is_empty() {
            return "it takes none".to_owned();
        }
        let word = |argument: &PromptArgument| match argument.required {
            true => format!("{} (required)", argument.name),
            false => argument.name.clone(),
        };
        let words: Vec<_> = self.arguments.iter().map(word).collect();
        format!("its arguments are {}", words.join(", "))
    }
}

impl Offered for Prompt {
    fn parse(server: &ServerName, position: usize, raw: Arc<RawValue>) -> Result<Self, Problem> {
        let json = Json::parse(&raw);
        let name = key(&json, ("name", "prompt"), server, position)?;
        let listed = json.get("arguments").and_then(Json::elements);
        let mut arguments: Vec<PromptArgument> = Vec::new();
        let mut names = HashSet::new();
        for argument in listed.unwrap_or_default() {
            let text = argument.get("name").and_then(Json::string);
            let usable =
                |text: &str| !text.is_empty() && !text.contains(|c| c == '=' || is_invisible(c));
            let Some(text) = text.filter(|text| usable(text)) else {
                let message =
                    format!("an argument of the prompt {name} has no name that can be given");
                return Err(malformed(server, message));
            };
            if names.insert(text.clone()) {
                arguments.push(PromptArgument {
                    name: text.into_owned(),
                    said: Said::read(argument),
                    required: argument.get("required").and_then(Json::bool) == Some(true),
                });
            }
        }
        Ok(Self {
            name: name.into_owned(),
            said: Said::read(&json),
            arguments,
            hash: hash(&raw),
            raw: Arc::clone(&raw),
        })
    }

    fn key(&self) -> &str {
        &self.name
    }

    fn raw(&self) -> &Arc<RawValue> {
        &self.raw
    }

    fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}
