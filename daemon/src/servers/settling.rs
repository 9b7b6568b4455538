//! How long a call waits after the start of a server that has roots.
//!
//! In the earlier era a server asks for its roots after the handshake, on its own time, and uses them some moments after it was answered:
//! `mcp-server-filesystem` denies access to what lies in them until then. Nothing in the protocol tells when it is so far.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How long a server may take to ask. One that never asks costs the first call as much, once.
const TO_ASK: Duration = Duration::from_millis(300);
/// How long it may take to use the answer.
const TO_USE: Duration = Duration::from_millis(200);

/// When a server was told its roots first.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(watch::Sender<Option<Instant>>);

impl Told {
    /// Takes it that it is told now.
    pub(super) fn now(&self) {
        self.0.send_if_modified(|told| {
            let is_first = told.is_none();
            told.get_or_insert_with(Instant::now);
            is_first
        });
    }

    /// Resolves when a server whose handshake ended then can be expected to use its roots: at once for all calls but the first ones.
    pub(super) async fn settled(&self, opened: Instant) {
        let mut told = self.0.subscribe();
        let asked = timeout_at(opened + TO_ASK, told.wait_for(Option::is_some)).await;
        let at = asked.ok().and_then(Result::ok).and_then(|told| *told);
        if let Some(at) = at {
            sleep_until(at + TO_USE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::{TO_ASK, TO_USE, Told};

    #[tokio::test]
    async fn one_that_never_asks_is_waited_for_once() {
        let (told, opened) = (Told::default(), Instant::now());
        told.settled(opened).await;
        assert!(opened.elapsed() >= TO_ASK);
        let again = Instant::now();
        told.settled(opened).await;
        assert!(again.elapsed() < TO_ASK);
    }

    #[tokio::test]
    async fn one_that_asks_has_time_to_use_the_answer() {
        let (told, opened) = (Told::default(), Instant::now());
        let asking = async {
            sleep(TO_ASK / 6).await;
            told.now();
        };
        tokio::join!(told.settled(opened), asking);
        assert!(opened.elapsed() >= TO_ASK / 6 + TO_USE);
    }
}
