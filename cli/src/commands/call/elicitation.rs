//! A form that a server asks to have filled in: answered by what was given beforehand, else by whoever sits at the terminal.
//!
//! Whatever happens, nothing is sent that nobody said: without an answer the server is told so.

use std::os::fd::OwnedFd;

use daemon::client::{Asking, Question};
use daemon::protocol::{Elicitation, Elicited};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skills::arguments::form::{Field, Form};
use skills::summary::spelt_out;

use super::answers::{Answers, Decision};
use crate::terminal::{self, Answer};
use crate::ui::Ui;

/// How a form was left without an answer.
enum Left {
    /// Somebody said no.
    Declined,
    /// It need not be answered any more.
    Over,
}

/// Answers a form; `person` is how somebody can be asked, where somebody is there.
pub(super) fn answer(
    question: &Question<'_>,
    answers: &Answers,
    person: Option<(&OwnedFd, &Ui)>,
) -> Asking {
    let params = question.params.map(RawValue::get);
    let elicitation = params.and_then(|params| serde_json::from_str::<Elicitation>(params).ok());
    let Some(elicitation) = elicitation else {
        return Asking::Unable;
    };
    let Ok(form) = Form::read(&elicitation.message, &elicitation.schema) else {
        return Asking::Unable;
    };
    let elicited = match (answers.decide(&form, person.is_some()), person) {
        (Decision::Send(content), _) => Elicited::Accept { content },
        (Decision::Refuse(why), _) => Elicited::Cancel { why: Some(why) },
        (Decision::Ask(given, fault), Some((interrupt, ui))) => {
            let dialogue = Dialogue {
                form: &form,
                question,
                interrupt,
                ui,
            };
            match dialogue.hold(&elicitation.server, given, fault) {
                Ok(content) => Elicited::Accept { content },
                Err(Left::Declined) => Elicited::Decline,
                Err(Left::Over) => return Asking::Over,
            }
        }
        (Decision::Unable | Decision::Ask(..), _) => return Asking::Unable,
    };
    serde_json::value::to_raw_value(&elicited).map_or(Asking::Unable, Asking::Answered)
}

/// A form on the terminal.
struct Dialogue<'a> {
    form: &'a Form,
    question: &'a Question<'a>,
    interrupt: &'a OwnedFd,
    ui: &'a Ui,
}

impl Dialogue<'_> {
    /// Asks for each field that is not given, until the whole fits.
    fn hold(
        &self,
        server: &str,
        given: Map<String, Value>,
        fault: Option<String>,
    ) -> Result<Map<String, Value>, Left> {
        terminal::forget_typed_ahead();
        let server = spelt_out(server);
        // A stranger's lines must not look like ours.
        let message = self.form.message().replace('\n', "\n  ");
        self.ui.note(&format!("server {server} asks: {message}"));
        if let Some(fault) = fault {
            self.ui.note(&spelt_out(&fault));
        }
        if self.form.fields().is_empty() {
            return self.confirm();
        }
        self.ui
            .note("Enter takes the default, or leaves a field out; Ctrl-D declines.");
        loop {
            let mut values = given.clone();
            for field in self.form.fields() {
                if values.contains_key(&field.name) {
                    continue;
                }
                if let Some(value) = self.field(field)? {
                    values.insert(field.name.clone(), value);
                }
            }
            match self.form.complete(&values) {
                Ok(whole) => return Ok(whole),
                Err(fault) => self.ui.note(&spelt_out(&fault)),
            }
        }
    }

    /// Asks for a field until what is typed fits; `None` for the default, or for nothing.
    fn field(&self, field: &Field) -> Result<Option<Value>, Left> {
        self.ui
            .note(&format!("{}\n{}", field.line(), field.titled_choices()));
        if field.several {
            self.ui.note("several values: with commas between them");
        }
        loop {
            self.ui.prompt(&format!("{}: ", spelt_out(&field.name)));
            let line = self.line()?;
            if line.trim().is_empty() {
                if field.default.is_some() || !field.required {
                    return Ok(None);
                }
                self.ui.note("it is required");
                continue;
            }
            let texts = texts(field, &line);
            match self.form.value(&field.name, &texts) {
                Ok(value) => return Ok(Some(value)),
                Err(fault) => self.ui.note(&spelt_out(&fault)),
            }
        }
    }

    /// A form without fields only wants a yes.
    fn confirm(&self) -> Result<Map<String, Value>, Left> {
        self.ui.prompt("Accept? [y]es, [N]o: ");
        match self.line()?.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(Map::new()),
            _ => Err(Left::Declined),
        }
    }

    fn line(&self) -> Result<String, Left> {
        let left = match terminal::line(self.interrupt, self.question.connection) {
            Answer::Line(line) => return Ok(line),
            Answer::End => Left::Declined,
            Answer::Over => Left::Over,
        };
        self.ui.note("\n");
        Err(left)
    }
}

/// What was typed, as the texts of a value: several stand behind commas, and y and n are true and false.
fn texts<'l>(field: &Field, line: &'l str) -> Vec<&'l str> {
    let word = line.trim();
    if field.several && !word.starts_with('[') {
        return word.split(',').map(str::trim).collect();
    }
    if field.boolean {
        return match word.to_ascii_lowercase().as_str() {
            "y" | "yes" => vec!["true"],
            "n" | "no" => vec!["false"],
            _ => vec![word],
        };
    }
    // Only a text that may be any is taken with its spaces.
    let is_text = field.kind == "string";
    vec![if is_text { line } else { word }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skills::arguments::form::Form;

    use super::texts;

    #[test]
    fn what_is_typed_is_read_by_its_field() {
        let schema = json!({ "properties": {
            "text": { "type": "string" },
            "sure": { "type": "boolean" },
            "many": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            "count": { "type": "integer" },
        } });
        let raw = serde_json::value::to_raw_value(&schema).unwrap();
        let form = Form::read("?", &raw).unwrap();
        let typed = |name: &str, line: &'static str| {
            let field = form.fields().iter().find(|field| field.name == name);
            texts(field.unwrap(), line)
        };
        assert_eq!(typed("text", " a, b "), [" a, b "]);
        assert_eq!(typed("sure", " Y "), ["true"]);
        assert_eq!(typed("sure", "no"), ["false"]);
        assert_eq!(typed("sure", "maybe"), ["maybe"]);
        assert_eq!(typed("many", "a , b"), ["a", "b"]);
        assert_eq!(typed("many", r#"["a"]"#), [r#"["a"]"#]);
        assert_eq!(typed("count", " 7\r"), ["7"]);
    }
}
