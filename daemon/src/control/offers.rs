//! Reading a resource and asking for a prompt, from the request to the server and back, each with its one line in the log.
//!
//! A policy judges each as the file that lists it: `github/RESOURCES`, `github/PROMPTS`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use skills::arguments::nearest::nearest;
use skills::catalog::Snapshot;
use skills::entry_id::{EntryId, ServerName};
use skills::offers::{Kind, Offered, Offers, check_uri};
use skills::problem::{Problem, ProblemKind};

use super::connection::Request;
use super::{Context, call, methods};
use crate::access_log::{Ended, Event};
use crate::config::START_TIMEOUT;
use crate::gate;
use crate::gate::rule::Target;
use crate::protocol::{CallReply, GetPrompt, ListOffers, ListedOffer, ListedOffers, Read};
use crate::servers::{Asked, CallResult};

/// Reads a resource. One that is not listed is asked for all the same, when it is a URI: its server may have a template for it.
pub(super) async fn read(
    context: &Context,
    asked: Read,
    request: Request,
) -> Result<CallReply, Problem> {
    let snapshot = context.snapshots.current();
    let place = Place::find(&snapshot, &asked.server, Kind::Resources)?;
    let started = Instant::now();
    let outcome = async {
        place.check_shown(&snapshot)?;
        let is_listed = place
            .offers(&snapshot)
            .is_some_and(|offers| offers.resource(&asked.uri).is_some());
        if !is_listed {
            check_uri(&asked.uri)?;
        }
        let uri = asked.uri.clone();
        let shown = Map::from_iter([("uri".to_owned(), Value::from(uri.as_str()))]);
        let limit = asked.timeout_ms.map(Duration::from_millis);
        place
            .ask(context, Asked::Resource { uri }, &shown, limit, &request)
            .await
    };
    let outcome = outcome.await;
    let event = Event::Read {
        entry: place.id.clone(),
        uri: asked.uri.clone(),
        ended: ended(started, &outcome),
    };
    context.log.record(request.caller, event).await;
    Ok(reply(place.id, outcome?, None))
}

/// Asks for a prompt, whose arguments are checked against its server's list.
pub(super) async fn prompt(
    context: &Context,
    asked: GetPrompt,
    request: Request,
) -> Result<CallReply, Problem> {
    let snapshot = context.snapshots.current();
    let place = Place::find(&snapshot, &asked.server, Kind::Prompts)?;
    let started = Instant::now();
    let mut unchecked = None;
    let outcome = async {
        let limit = asked.timeout_ms.map(Duration::from_millis);
        let patience = limit.unwrap_or(START_TIMEOUT);
        let snapshot = context
            .when_known(place.id.as_str(), patience, &request)
            .await?;
        place.check_shown(&snapshot)?;
        unchecked = place.check_prompt(&snapshot, &asked)?;
        let GetPrompt {
            name, arguments, ..
        } = asked.clone();
        let shown = json!({ "name": name, "arguments": arguments });
        let shown = shown.as_object().cloned().unwrap_or_default();
        let limit = limit.map(|limit| limit.saturating_sub(started.elapsed()));
        place
            .ask(
                context,
                Asked::Prompt { name, arguments },
                &shown,
                limit,
                &request,
            )
            .await
    };
    let outcome = outcome.await;
    let event = Event::Prompt {
        entry: place.id.clone(),
        name: asked.name,
        arguments: asked.arguments,
        ended: ended(started, &outcome),
    };
    context.log.record(request.caller, event).await;
    Ok(reply(place.id, outcome?, unchecked))
}

/// What a server offers beside its tools, as it was listed last and without what is hidden.
pub(super) fn list(snapshot: &Snapshot, asked: &ListOffers) -> Result<ListedOffers, Problem> {
    let name = methods::server_named(snapshot, &asked.server)?;
    let known = snapshot.sources.servers.get(name);
    let definitions = known.and_then(|(server, _)| server.definitions.as_ref());
    let (Some(known), Some(file_name)) = (definitions, snapshot.server_file_name(name)) else {
        return Ok(ListedOffers::default());
    };
    let hiding = &snapshot.sources.hiding;
    Ok(ListedOffers::of(&hiding.shown_offers(
        name,
        &file_name,
        &known.offers,
    )))
}

impl ListedOffers {
    /// In the order of what is typed.
    pub(crate) fn of(offers: &Offers) -> Self {
        Self {
            resources: listed(&offers.resources, |resource| &resource.said),
            prompts: listed(&offers.prompts, |prompt| &prompt.said),
        }
    }
}

fn listed<T: Offered>(
    list: &Option<Vec<Arc<T>>>,
    said: impl Fn(&T) -> &skills::offers::Said,
) -> Vec<ListedOffer> {
    let mut all: Vec<_> = list
        .iter()
        .flatten()
        .map(|item| ListedOffer {
            key: item.key().to_owned(),
            summary: said(item).summary(),
        })
        .collect();
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all
}

/// All that a server offers of a kind.
struct Place {
    server: ServerName,
    kind: Kind,
    id: EntryId,
}

impl Place {
    fn find(snapshot: &Snapshot, wanted: &str, kind: Kind) -> Result<Self, Problem> {
        let server = methods::server_named(snapshot, wanted)?.clone();
        let file_name = snapshot.server_file_name(&server).unwrap_or_default();
        Ok(Self {
            id: kind.id(&file_name),
            server,
            kind,
        })
    }

    fn where_listed(&self) -> String {
        format!("mcp/{}.md lists what there is", self.id)
    }

    fn problem(&self, kind: ProblemKind, message: String) -> Problem {
        Problem::new(kind, message).at_server(self.server.as_str(), Some(self.kind.name()))
    }

    /// Refuses what is not on the shelf as what is not there.
    fn check_shown(&self, snapshot: &Snapshot) -> Result<(), Problem> {
        let hiding = &snapshot.sources.hiding;
        if !hiding.offers(&self.server, &self.id, self.kind) {
            return Ok(());
        }
        let what = self.kind.name().to_lowercase();
        let message = format!("server `{}` has no {what} on the shelf", self.server);
        Err(self.problem(ProblemKind::NotFound, message))
    }

    fn offers<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Offers> {
        let (server, _) = snapshot.sources.servers.get(&self.server)?;
        Some(&server.definitions.as_ref()?.offers)
    }

    /// Checks a prompt against the list. Where there is none the server judges; then this says so.
    fn check_prompt(
        &self,
        snapshot: &Snapshot,
        asked: &GetPrompt,
    ) -> Result<Option<Problem>, Problem> {
        let known = self
            .offers(snapshot)
            .and_then(|offers| offers.prompts.as_ref());
        let Some(prompts) = known else {
            let message = "the server has not listed its prompts".to_owned();
            return Ok(Some(self.problem(ProblemKind::Server, message)));
        };
        if let Some(prompt) = prompts.iter().find(|prompt| prompt.name == asked.name) {
            let located =
                |problem: Problem| problem.at_server(self.server.as_str(), Some(self.kind.name()));
            return prompt
                .check(&asked.arguments)
                .map(|()| None)
                .map_err(located);
        }
        let names = || prompts.iter().map(|prompt| prompt.name.as_str());
        let near = nearest(&asked.name, names());
        let hint = if prompts.is_empty() {
            "the server has none".to_owned()
        } else if near.is_empty() {
            self.where_listed()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        let message = format!("there is no prompt `{}`", asked.name);
        Err(self.problem(ProblemKind::NotFound, message).hint(hint))
    }

    /// Asks the server, when the gate lets it pass.
    async fn ask(
        &self,
        context: &Context,
        asked: Asked,
        shown: &Map<String, Value>,
        limit: Option<Duration>,
        request: &Request,
    ) -> Result<(CallResult, Vec<Problem>), Problem> {
        let gated = gate::Call {
            id: &self.id,
            server: &self.server,
            target: Target::Offers(self.kind),
            caller: &request.caller,
            arguments: shown,
        };
        let started = Instant::now();
        context.permit(&gated, request, limit).await?;
        let left = call::left(limit, started);
        let answer = call::send(context, &gated, asked, request, left).await;
        answer.map_err(|problem| match problem.kind {
            ProblemKind::NotFound => problem.hint(self.where_listed()),
            _ => call::if_ended(context, problem),
        })
    }
}

fn ended(started: Instant, outcome: &Result<(CallResult, Vec<Problem>), Problem>) -> Ended {
    let (outcome, result_bytes) = match outcome {
        Ok((result, _)) => (Ok(()), result.raw.get().len() as u64),
        Err(problem) => (Err(problem.kind), 0),
    };
    Ended {
        outcome,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        result_bytes,
    }
}

fn reply(
    id: EntryId,
    (result, unanswered): (CallResult, Vec<Problem>),
    unchecked: Option<Problem>,
) -> CallReply {
    CallReply {
        id,
        // Neither a resource nor a prompt has an error of its own.
        is_error: false,
        result: result.raw,
        filled: Map::new(),
        unchecked,
        warnings: Vec::new(),
        unanswered,
        state_lost: result.state_lost,
    }
}
