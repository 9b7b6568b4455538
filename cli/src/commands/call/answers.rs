//! What `--answer` and `--accept` say to the forms that a server may ask to have filled in.
//!
//! It knows no terminal.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};
use skills::arguments::form::Form;
use skills::problem::Problem;

use crate::error::usage;
use crate::ui::Ui;

/// The answers that were given beforehand, the same for every call of the command.
#[derive(Debug, Default)]
pub(in crate::commands) struct Answers {
    given: Vec<(String, String)>,
    accept: bool,
    /// The names that some form had.
    used: Mutex<BTreeSet<String>>,
}

/// What is to be done with a form.
#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    /// It is answered.
    Send(Map<String, Value>),
    /// It is not, since what was given does not do, and why.
    Refuse(String),
    /// It is not spoken of, and nobody is there.
    Unable,
    /// Whoever is there is asked for all but these; why what was given does not do, where it does not.
    Ask(Map<String, Value>, Option<String>),
}

impl Answers {
    /// Reads `NAME=VALUE`s.
    ///
    /// # Errors
    /// One that is none.
    pub(super) fn read(words: &[String], accept: bool) -> Result<Self, Problem> {
        let given = words.iter().map(|word| match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(usage(format!("--answer {word:?} is no NAME=VALUE"))
                .hint("write --answer NAME=VALUE, with the name of a field of the form")),
        });
        Ok(Self {
            given: given.collect::<Result<_, _>>()?,
            accept,
            used: Mutex::default(),
        })
    }

    /// Decides on a form. With nothing said of it nothing is sent, whatever its defaults; where somebody is there, what was not said is
    /// asked.
    pub(super) fn decide(&self, form: &Form, is_attended: bool) -> Decision {
        let given = match self.values(form) {
            Ok(given) => given,
            Err(why) if is_attended => return Decision::Ask(Map::new(), Some(why)),
            Err(why) => return Decision::Refuse(why),
        };
        let is_whole = form
            .fields()
            .iter()
            .all(|field| given.contains_key(&field.name));
        let is_enough = !given.is_empty() && (is_whole || !is_attended);
        match (self.accept || is_enough, is_attended) {
            (true, _) => match form.complete(&given) {
                Ok(whole) => Decision::Send(whole),
                Err(why) if is_attended => Decision::Ask(given, Some(why)),
                Err(why) => Decision::Refuse(why),
            },
            (false, true) => Decision::Ask(given, None),
            (false, false) => Decision::Unable,
        }
    }

    /// The values that were given for the fields of a form.
    fn values(&self, form: &Form) -> Result<Map<String, Value>, String> {
        let given = form.fields().iter().filter_map(|field| {
            let texts = self.given.iter().filter(|(name, _)| *name == field.name);
            let texts: Vec<&str> = texts.map(|(_, text)| text.as_str()).collect();
            (!texts.is_empty()).then_some((&field.name, texts))
        });
        let given: Vec<_> = given.collect();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.extend(given.iter().map(|(name, _)| (*name).clone()));
        drop(used);
        let values = given.into_iter().map(|(name, texts)| {
            let value = form.value(name, &texts);
            let value = value.map_err(|why| format!("--answer {why}"))?;
            Ok((name.clone(), value))
        });
        values.collect()
    }

    /// Says which of them no form had.
    pub(super) fn tell_unused(&self, ui: &Ui) {
        for name in self.unused() {
            ui.warning(&format!(
                "--answer {name}=… was not used: the server asked for no field of that name"
            ));
        }
    }

    fn unused(&self) -> BTreeSet<&str> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let names = self.given.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !used.contains(*name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use skills::arguments::form::Form;

    use super::{Answers, Decision};

    fn read(schema: &Value) -> Form {
        Form::read("?", &serde_json::value::to_raw_value(schema).unwrap()).unwrap()
    }

    fn form() -> Form {
        read(&json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "age": { "type": "integer", "default": 30 },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["name"],
        }))
    }

    /// One that needs nothing.
    fn easy() -> Form {
        read(&json!({ "properties": { "sure": { "type": "boolean", "default": true } } }))
    }

    fn answers(words: &[&str], accept: bool) -> Answers {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Answers::read(&words, accept).unwrap()
    }

    #[test]
    fn one_answer_is_enough_where_the_rest_has_defaults() {
        let answers = answers(&["name=a=b", "tags=x", "tags=y"], false);
        let Decision::Send(whole) = answers.decide(&form(), false) else {
            panic!("it is not sent");
        };
        let expected = json!({ "name": "a=b", "age": 30, "tags": ["x", "y"] });
        assert_eq!(Value::Object(whole), expected);
        // Who is there is asked for the rest.
        let Decision::Ask(given, None) = answers.decide(&form(), true) else {
            panic!("nobody is asked");
        };
        assert_eq!(
            Value::Object(given),
            json!({ "name": "a=b", "tags": ["x", "y"] })
        );
    }

    #[test]
    fn a_form_of_which_nothing_is_said_is_not_answered() {
        for (words, form) in [
            (&[][..], form()),
            (&["other=1"], form()),
            (&["name=x"], easy()),
        ] {
            assert_eq!(answers(words, false).decide(&form, false), Decision::Unable);
            let asked = answers(words, false).decide(&form, true);
            assert!(
                matches!(asked, Decision::Ask(given, None) if given.is_empty()),
                "{words:?}"
            );
        }
        for is_attended in [true, false] {
            let accepted = answers(&[], true).decide(&easy(), is_attended);
            assert!(matches!(accepted, Decision::Send(whole) if whole["sure"] == true));
        }
    }

    #[test]
    fn what_is_missing_or_does_not_fit_is_said() {
        for (words, accept, name) in [
            (&["age=7"][..], false, "name"),
            (&["age=seven"], false, "age"),
            (&[], true, "name"),
        ] {
            let refused = answers(words, accept).decide(&form(), false);
            assert!(
                matches!(refused, Decision::Refuse(why) if why.contains(name)),
                "{words:?}"
            );
            let asked = answers(words, accept).decide(&form(), true);
            assert!(matches!(asked, Decision::Ask(_, _)), "{words:?}");
        }
        for word in ["name", "=x", ""] {
            let problem = Answers::read(&[word.to_owned()], false).unwrap_err();
            assert_eq!(problem.kind.exit_code(), 2);
        }
    }

    #[test]
    fn those_that_no_form_had_are_known() {
        let answers = answers(&["name=x", "nmae=y", "age=old", "tags=z", "nmae=z"], false);
        // Also where one of them does not fit.
        assert!(matches!(
            answers.decide(&form(), false),
            Decision::Refuse(_)
        ));
        assert_eq!(answers.unused().into_iter().collect::<Vec<_>>(), ["nmae"]);
    }
}
