//! One request and its reply: a JSON object, or a stream of events, which is taken up again where it broke off.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::events::{Event, Events};
use super::lost;
use super::outgoing::Outgoing;
use super::session::Session;
use crate::cache::Era;
use crate::servers::ticket::Lost;

/// The longest reply, and the longest event of a stream.
pub(super) const MAX_BODY: usize = 16 * 1024 * 1024;
/// How much is read of what comes with an error.
const MAX_ERROR: usize = 64 * 1024;
/// How long a server may take to close a stream that has said all, so that its connection can be kept.
const CLOSING_LIMIT: Duration = Duration::from_millis(500);
/// How long a stream is left alone before it is taken up again, where the server does not say.
const RETRY: Duration = Duration::from_secs(1);
const MIN_RETRY: Duration = Duration::from_millis(20);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often in a row it is tried in vain.
const MAX_FAILURES: u32 = 5;

/// What a reply holds by its type.
enum Content {
    Json,
    Events,
    Other(Option<String>),
}

/// A body, or what is left of one over the limit.
enum Body {
    Whole(Vec<u8>),
    TooLong { bytes: usize },
}

/// How the reading of a stream ended.
pub(super) enum StreamEnd {
    /// The awaited reply was in it.
    Answered,
    /// An event was over the limit.
    TooLong { bytes: usize },
    /// It was closed, or broke off.
    Closed(Lost),
}

/// Sends a request and hands on all that comes back, until the reply was among it.
pub(super) async fn run(session: &Session, id: i64, message: &Outgoing) -> Result<(), Lost> {
    let _permit = session.permit().await;
    let reply = session.post(message).await?;
    if !reply.status().is_success() {
        return refused(session, id, reply).await;
    }
    session.take_id(id, reply.headers());
    let (status, content) = (reply.status(), content(&reply));
    match content {
        Content::Json => match read(session, reply.into_body(), MAX_BODY).await? {
            Body::Whole(bytes) if session.deliver(Some(id), &bytes).await => Ok(()),
            Body::Whole(_) => Err(Lost::new(
                "answered with JSON that is no reply to the request",
            )),
            Body::TooLong { bytes } => {
                session.too_long(id, bytes).await;
                Ok(())
            }
        },
        Content::Events => stream(session, id, reply.into_body()).await,
        Content::Other(_) if session.tap.is_last_handshake(id, Era::Discover) => {
            unknown(session, id, status).await
        }
        Content::Other(kind) => Err(lost::of_content(kind.as_deref())),
    }
}

/// Sends a message that has no reply.
pub(super) async fn notify(session: &Session, message: &Outgoing) -> Result<(), Lost> {
    let reply = session.post(message).await?;
    if reply.status().is_success() {
        return Ok(());
    }
    let (head, body) = reply.into_parts();
    let body = read(session, body, MAX_ERROR).await?;
    let reply = Response::from_parts(head, ());
    Err(lost::of_status(
        &reply,
        session.has_authorization(),
        &text(body),
    ))
}

/// A reply that is an error of HTTP; a JSON-RPC error in it is taken as the answer.
async fn refused(session: &Session, id: i64, reply: Response<Incoming>) -> Result<(), Lost> {
    #[derive(Deserialize)]
    struct ErrorBody<'a> {
        #[serde(borrow)]
        jsonrpc: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    let (head, body) = reply.into_parts();
    let reply = Response::from_parts(head, ());
    let status = reply.status();
    let limit = if matches!(content(&reply), Content::Json) {
        MAX_BODY
    } else {
        MAX_ERROR
    };
    let body = text(read(session, body, limit).await?);
    if session.has_id() && is_session_gone(status, &body) {
        // It says that it did not take the request, so that it may be sent again in a new session.
        let what = format!("has forgotten its session (HTTP {})", status.as_u16());
        return Err(Lost::new(what).resend());
    }
    let of_access = matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::PROXY_AUTHENTICATION_REQUIRED
    );
    if !of_access {
        let error = serde_json::from_str::<ErrorBody<'_>>(&body).ok();
        if let Some(error) = error
            .filter(|body| body.jsonrpc.is_some())
            .and_then(|body| body.error)
        {
            // Many can't say for which request it is.
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, error.get());
            session.deliver(Some(id), answer.as_bytes()).await;
            return Ok(());
        }
        let may_be_earlier =
            status.is_client_error() || status == StatusCode::INTERNAL_SERVER_ERROR;
        if may_be_earlier && session.tap.is_last_handshake(id, Era::Discover) {
            return unknown(session, id, status).await;
        }
    }
    Err(lost::of_status(&reply, session.has_authorization(), &body))
}

/// Whether a server says that it has no such session (any more): by its status or, as many do, in words.
fn is_session_gone(status: StatusCode, body: &str) -> bool {
    status == StatusCode::NOT_FOUND
        || status == StatusCode::BAD_REQUEST && body.to_ascii_lowercase().contains("session")
}

/// Answers a probe that a server of the earlier era does not know what to do with.
async fn unknown(session: &Session, id: i64, status: StatusCode) -> Result<(), Lost> {
    let status = status.as_u16();
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"HTTP {status}"}}}}"#
    );
    session.deliver(Some(id), answer.as_bytes()).await;
    Ok(())
}

/// Reads the stream that answers a request.
async fn stream(session: &Session, id: i64, mut body: Incoming) -> Result<(), Lost> {
    let mut events = Events::new(MAX_BODY);
    let mut failures = 0;
    loop {
        let before = events.last_id().map(str::to_owned);
        match read_events(session, Some(id), &mut events, &mut body).await {
            StreamEnd::Answered => {
                tokio::spawn(async move { timeout(CLOSING_LIMIT, body.collect()).await });
                return Ok(());
            }
            StreamEnd::TooLong { bytes } => {
                session.too_long(id, bytes).await;
                return Ok(());
            }
            StreamEnd::Closed(lost) => {
                let resumable = session.tap.last_handshake() == Some(Era::Initialize);
                if events.last_id().is_none() || !resumable {
                    return Err(lost);
                }
                if events.last_id() != before.as_deref() {
                    failures = 0;
                }
                body = resume(session, &mut events, &mut failures, lost).await?;
            }
        }
    }
}

/// Takes a stream up again behind the last event that was read. The request itself is never sent again.
async fn resume(
    session: &Session,
    events: &mut Events,
    failures: &mut u32,
    mut lost: Lost,
) -> Result<Incoming, Lost> {
    while *failures < MAX_FAILURES {
        sleep(pause(events.retry(), *failures)).await;
        *failures += 1;
        match session.get(events.last_id()).await {
            Ok(reply)
                if reply.status().is_success() && matches!(content(&reply), Content::Events) =>
            {
                let last_id = events.last_id().map(str::to_owned);
                *events = Events::resumed(MAX_BODY, last_id, events.retry());
                return Ok(reply.into_body());
            }
            Ok(reply) => {
                lost.what.push_str(&format!(
                    ", and did not take the stream up again (HTTP {})",
                    reply.status().as_u16()
                ));
                return Err(lost);
            }
            Err(_) => {}
        }
    }
    Err(lost)
}

/// How long to wait before a stream is asked for again: what the server wants, and longer with each failure.
pub(super) fn pause(retry: Option<Duration>, failures: u32) -> Duration {
    let first = retry.unwrap_or(RETRY).max(MIN_RETRY);
    let longer = first.saturating_mul(1 << failures.min(16));
    longer.min(MAX_RETRY).max(first)
}

/// Hands on the events of a stream until the reply to `request` was among them.
pub(super) async fn read_events(
    session: &Session,
    request: Option<i64>,
    events: &mut Events,
    body: &mut Incoming,
) -> StreamEnd {
    loop {
        while let Some(event) = events.next() {
            match event {
                Event::Data(data) => {
                    if session.deliver(request, &data).await {
                        return StreamEnd::Answered;
                    }
                }
                Event::TooLong { bytes } => return StreamEnd::TooLong { bytes },
            }
        }
        match body.frame().await {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    events.feed(data);
                }
            }
            Some(Err(error)) => return StreamEnd::Closed(session.client.broke_off(&error)),
            None => return StreamEnd::Closed(Lost::new("closed the stream before it answered")),
        }
    }
}

/// Whether a reply is a stream of events.
pub(super) fn is_stream<B>(reply: &Response<B>) -> bool {
    matches!(content(reply), Content::Events)
}

fn content<B>(reply: &Response<B>) -> Content {
    let kind = reply
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.map(|kind| {
        let essence = kind.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    });
    match essence.as_deref() {
        Some("application/json") => Content::Json,
        Some("text/event-stream") => Content::Events,
        _ => Content::Other(kind.map(str::to_owned)),
    }
}

async fn read(session: &Session, mut body: Incoming, limit: usize) -> Result<Body, Lost> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| session.client.broke_off(&error))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if whole.len() + data.len() > limit {
            let bytes = whole.len() + data.len();
            return Ok(Body::TooLong { bytes });
        }
        whole.extend_from_slice(data);
    }
    Ok(Body::Whole(whole))
}

fn text(body: Body) -> String {
    match body {
        Body::Whole(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Body::TooLong { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_s_wish_is_the_least_that_is_waited() {
        let ms = Duration::from_millis;
        assert_eq!(pause(Some(ms(500)), 0), ms(500));
        assert_eq!(pause(Some(ms(500)), 2), ms(2_000));
        assert_eq!(pause(Some(ms(0)), 0), MIN_RETRY);
        assert_eq!(pause(None, 40), MAX_RETRY);
        assert_eq!(pause(Some(ms(90_000)), 3), ms(90_000));
    }
}
