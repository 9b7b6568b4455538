//! What a server asks while its tool runs, put to whoever calls; and what nobody answered, for them to know.
//!
//! It knows no field and no terminal. Nothing of an answer is kept or logged.

use skills::arguments::form::Form;
use skills::definition::quote;
use skills::problem::{Problem, ProblemKind};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::connection::Request;
use crate::gate;
use crate::gate::approvals::LIFETIME;
use crate::gate::rule::Target;
use crate::protocol::{Elicitation, method};
use crate::servers::{Elicited, Inquiry};

/// The questions of one call.
pub(super) struct Inquiries<'a> {
    /// What was called.
    call: &'a gate::Call<'a>,
    request: &'a Request,
    asked: mpsc::UnboundedReceiver<Inquiry>,
    unanswered: Vec<Problem>,
}

/// Why nobody answered.
enum Silence {
    /// Nobody can be asked where the call comes from.
    Unable,
    /// What was given does not answer it.
    Because(String),
    /// It took too long.
    Late,
}

impl<'a> Inquiries<'a> {
    /// Those of a call that is about to be made, and the way to them.
    pub(super) fn of(
        call: &'a gate::Call<'a>,
        request: &'a Request,
    ) -> (mpsc::UnboundedSender<Inquiry>, Self) {
        let (to, asked) = mpsc::unbounded_channel();
        let inquiries = Self {
            call,
            request,
            asked,
            unanswered: Vec::new(),
        };
        (to, inquiries)
    }

    /// Puts each question to whoever calls, one after the other, until the server can ask no more.
    pub(super) async fn pass_on(&mut self) {
        while let Some(inquiry) = self.asked.recv().await {
            match inquiry {
                Inquiry::Refused(what) => self.refused(what),
                Inquiry::Form {
                    message,
                    schema,
                    mut answer,
                } => {
                    let elicitation = Elicitation {
                        entry: self.call.id.clone(),
                        server: self.call.server.as_str().to_owned(),
                        message,
                        schema,
                    };
                    let elicited = tokio::select! {
                        elicited = self.ask(&elicitation) => elicited,
                        // The server does not wait any more.
                        () = answer.closed() => continue,
                    };
                    let _ = answer.send(elicited);
                }
            }
        }
    }

    /// What was not answered, when the call is over.
    pub(super) fn into_unanswered(mut self) -> Vec<Problem> {
        while let Ok(inquiry) = self.asked.try_recv() {
            // The server that asked has its call answered already.
            if let Inquiry::Refused(what) = inquiry {
                self.refused(what);
            }
        }
        self.unanswered
    }

    async fn ask(&mut self, elicitation: &Elicitation) -> Elicited {
        let answer = tokio::select! {
            answer = self.request.questions.ask(method::ELICIT, elicitation) => answer,
            () = tokio::time::sleep(LIFETIME) => return self.silent(elicitation, Silence::Late).await,
        };
        match answer {
            // Whoever called is gone, and with them the call.
            None => Elicited::Cancel { why: None },
            Some(Err(_)) => self.silent(elicitation, Silence::Unable).await,
            Some(Ok(answer)) => match serde_json::from_str(answer.get()) {
                Ok(Elicited::Cancel { why: Some(why) }) => {
                    self.silent(elicitation, Silence::Because(why)).await
                }
                Ok(elicited) => elicited,
                Err(error) => {
                    let why = format!("the answer can't be read: {error}");
                    self.silent(elicitation, Silence::Because(why)).await
                }
            },
        }
    }

    /// Takes note of a form that nobody filled in.
    async fn silent(&mut self, elicitation: &Elicitation, silence: Silence) -> Elicited {
        let (message, schema) = (elicitation.message.clone(), elicitation.schema.clone());
        // It takes a while, and nobody else may wait for it.
        let form = spawn_blocking(move || Form::read(&message, &schema));
        if let Ok(Ok(form)) = form.await {
            let problem = unanswered(&form, self.call, &silence);
            self.note(problem);
        }
        Elicited::Cancel { why: None }
    }

    fn refused(&mut self, what: String) {
        self.note(Problem::new(ProblemKind::Refused, what));
    }

    fn note(&mut self, problem: Problem) {
        let (server, name) = (self.call.server.as_str(), self.call.target.name());
        self.unanswered.push(problem.at_server(server, Some(name)));
    }
}

/// What was asked, and how it can be answered.
fn unanswered(form: &Form, call: &gate::Call<'_>, silence: &Silence) -> Problem {
    let why = match silence {
        Silence::Unable => "nobody is here to answer".to_owned(),
        Silence::Because(why) => why.clone(),
        Silence::Late => format!("nobody answered in {LIFETIME:?}"),
    };
    let message = format!(
        "the server asked, and was told that nobody answers ({why}): {}\n{}",
        // A stranger's lines must not look like ours.
        form.message().replace('\n', "\n  "),
        form.table()
    );
    Problem::new(ProblemKind::Refused, message.trim_end()).hint(
        match (call.target, form.options()) {
            (Target::Tool(_), Some(options)) => {
                let id = quote(call.id.as_str());
                format!("to answer it: shelf call {options} {id} …")
            }
            (Target::Tool(_), None) => {
                "to answer it, run the command on a terminal: no --answer can name its fields"
                    .to_owned()
            }
            (Target::Offers(_), _) => "to answer it, run the command on a terminal".to_owned(),
        },
    )
}

/// Adds to what went wrong with a call what its server asked for in vain.
pub(super) fn with_unanswered(mut problem: Problem, unanswered: Vec<Problem>) -> Problem {
    for Problem { message, hint, .. } in unanswered {
        // A question that ended the call is its error already.
        let message = (!problem.message.contains(&message)).then_some(message);
        let parts = [problem.hint.take(), message, hint];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        problem.hint = Some(parts.join("; "));
    }
    problem
}
