//! The stream on which a server of the earlier era speaks of its own accord: opened once it is initialized, and again whenever it
//! ends, for as long as the session lasts.

use tokio::time::sleep;

use super::events::Events;
use super::exchange::{self, MAX_BODY, StreamEnd, is_stream, pause};
use super::session::Session;

/// Listens until the server says that it has no such stream.
pub(super) async fn listen(session: &Session) {
    let mut events = Events::new(MAX_BODY);
    let mut failures = 0;
    let mut again = false;
    loop {
        session.set_deaf(true);
        match session.get(events.last_id()).await {
            Ok(reply) if reply.status().is_success() && is_stream(&reply) => {
                session.set_deaf(false);
                if again {
                    // What was said meanwhile may be lost.
                    session.tap.expect_changes();
                }
                again = true;
                let last_id = events.last_id().map(str::to_owned);
                events = Events::resumed(MAX_BODY, last_id.clone(), events.retry());
                let mut body = reply.into_body();
                let end = exchange::read_events(session, None, &mut events, &mut body).await;
                if matches!(end, StreamEnd::TooLong { .. }) {
                    session
                        .log
                        .noise("(a message was left out, since it is too long)");
                }
                if events.last_id() != last_id.as_deref() {
                    failures = 0;
                }
            }
            // It has none, which is its right.
            Ok(_) => return,
            Err(_) => {}
        }
        sleep(pause(events.retry(), failures)).await;
        failures = failures.saturating_add(1);
    }
}
