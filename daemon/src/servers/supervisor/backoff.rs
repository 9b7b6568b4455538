//! How long a server that failed is left alone.
//!
//! It must not know how a server is started.

use std::time::{Duration, SystemTime};

use skills::entry_id::ServerName;
use skills::problem::Problem;
use tokio::time::Instant;

use crate::config::Restart;
use crate::servers::failure;

/// How long after the first failing start the next is tried; twice as long after each further one.
const FIRST: Duration = Duration::from_secs(1);
/// No longer than this.
const LONGEST: Duration = Duration::from_secs(60);

/// The failures since the last start that worked.
#[derive(Clone, Debug, Default)]
pub(in crate::servers) struct Backoff {
    /// How many starts in a row have failed.
    failures: u32,
    /// When the next may be tried.
    next: Option<Instant>,
    /// What went wrong last, a crash too.
    last: Option<Problem>,
}

impl Backoff {
    /// Takes down that a start failed.
    pub(super) fn failed(&mut self, problem: Problem, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.next = Some(now + pause(self.failures));
        self.last = Some(problem);
    }

    /// Takes down that it broke off while it ran: that alone holds up no start, unless it is not to be started again.
    pub(super) fn crashed(&mut self, problem: Problem) {
        self.last = Some(problem);
    }

    /// Forgets all: it works, or somebody wants it tried at once.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Why it is not started now.
    pub(super) fn refusal(
        &self,
        name: &ServerName,
        restart: Restart,
        now: Instant,
    ) -> Option<Problem> {
        let last = self.last.as_ref()?;
        let how = match restart {
            Restart::Never => "failed and is not started again (`restart` is \"never\")".to_owned(),
            Restart::OnCall => {
                let left = self.next?.checked_duration_since(now)?;
                // Up, so that who waits as long as was said is not refused again.
                let seconds = left.as_secs() + 1;
                format!("{}, next try in {seconds} s", times(self.failures))
            }
        };
        let message = format!("the server {how}; the last time: {}", last.message);
        let at_once = format!("to try at once: shelf servers restart {name}");
        Some(failure::server(name, message).hint(match &last.hint {
            Some(hint) => format!("{at_once}; {hint}"),
            None => at_once,
        }))
    }

    /// What `STATUS` says beside the reason.
    pub(super) fn outlook(&self, restart: Restart) -> String {
        match (restart, self.next) {
            (Restart::Never, _) => "; not started again, since `restart` is \"never\"".to_owned(),
            (Restart::OnCall, Some(next)) if self.failures > 1 => {
                let left = next.saturating_duration_since(Instant::now());
                let then = jiff::Timestamp::try_from(SystemTime::now() + left);
                let then = then.map_or_else(
                    |_| String::new(),
                    |then| {
                        then.strftime(", next try not before %H:%M:%S UTC")
                            .to_string()
                    },
                );
                format!("; {}{then}", times(self.failures))
            }
            (Restart::OnCall, _) => String::new(),
        }
    }
}

fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST * 2_u32.pow(doublings)).min(LONGEST)
}

fn times(failures: u32) -> String {
    match failures {
        1 => "failed once".to_owned(),
        several => format!("failed {several} times"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skills::entry_id::ServerName;
    use skills::problem::{Problem, ProblemKind};
    use tokio::time::Instant;

    use super::{Backoff, pause};
    use crate::config::Restart;

    fn broken() -> Problem {
        Problem::new(ProblemKind::Server, "it exited with 3")
    }

    #[test]
    fn pauses_double_up_to_a_minute() {
        let seconds: Vec<_> = (1..9).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(u32::MAX), Duration::from_secs(60));
    }

    #[test]
    fn who_waits_as_long_as_was_said_is_served() {
        let now = Instant::now();
        let after = |milliseconds| now + Duration::from_millis(milliseconds);
        let name = ServerName::new("s");
        let mut backoff = Backoff::default();
        assert!(backoff.refusal(&name, Restart::OnCall, now).is_none());
        for _ in 0..4 {
            backoff.failed(broken(), now);
        }
        let refusal = backoff.refusal(&name, Restart::OnCall, after(500)).unwrap();
        assert_eq!(
            refusal.message,
            "the server failed 4 times, next try in 8 s; the last time: it exited with 3"
        );
        assert!(refusal.hint.unwrap().contains("shelf servers restart s"));
        assert!(
            backoff
                .refusal(&name, Restart::OnCall, after(7_999))
                .is_some()
        );
        assert!(
            backoff
                .refusal(&name, Restart::OnCall, after(8_001))
                .is_none()
        );
        assert!(
            backoff
                .refusal(&name, Restart::Never, after(8_001))
                .is_some()
        );
        backoff.reset();
        assert!(backoff.refusal(&name, Restart::Never, now).is_none());
    }

    #[test]
    fn a_crash_holds_up_no_start() {
        let name = ServerName::new("s");
        let mut backoff = Backoff::default();
        backoff.crashed(broken());
        let now = Instant::now();
        assert!(backoff.refusal(&name, Restart::OnCall, now).is_none());
        let refusal = backoff.refusal(&name, Restart::Never, now).unwrap();
        assert!(
            refusal.message.contains("is not started again"),
            "{refusal}"
        );
        assert_eq!(backoff.outlook(Restart::OnCall), "");
    }
}
