//! What `load` is answered with: whole definitions, of which the log says that a session has them now.

use std::collections::HashSet;

use skills::catalog::{Entry, Snapshot};
use skills::problem::Problem;

use super::methods;
use crate::access_log::{AccessLog, Event};
use crate::caller::Caller;
use crate::protocol::{Load, Loaded};

/// Answers a request: every entry, or nothing and no line of the log.
///
/// The lines are in the file before the answer is sent, so that whoever asks next what was handed out is told.
pub(super) async fn load(
    log: &AccessLog,
    catalog: &str,
    snapshot: &Snapshot,
    asked: &Load,
    caller: &Caller,
) -> Result<Loaded, Problem> {
    let entries = asked.entries.iter();
    let entries = entries.map(|entry| methods::describe(snapshot, entry));
    let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
    let mut told = HashSet::new();
    let events = entries
        .iter()
        .filter(|description| told.insert(&description.id))
        .map(|description| Event::Load {
            entry: description.id.clone(),
            hash: snapshot.entries.get(&description.id).map(Entry::digest),
            catalog: catalog.to_owned(),
        })
        .collect();
    log.write(caller, events).await;
    Ok(Loaded { entries })
}

#[cfg(test)]
mod tests {
    use skills::problem::ProblemKind;

    use super::load;
    use crate::access_log::reader::{Filter, Reader, loads};
    use crate::access_log::record::EventName;
    use crate::access_log::{AccessLog, LogOptions};
    use crate::caller::Caller;
    use crate::control::methods::tests::snapshot;
    use crate::protocol::Load;

    fn asked(entries: &[&str]) -> Load {
        Load {
            entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
        }
    }

    #[tokio::test]
    async fn what_is_handed_out_is_in_the_log_when_the_answer_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let log = AccessLog::open(directory.path(), "one", LogOptions::default()).unwrap();
        let caller = Caller {
            pid: 7,
            uid: 1000,
            command: "agent".into(),
            session: "mine".into(),
        };
        let snapshot = snapshot();
        let entries = asked(&["skills/pdf", "mcp/a b%2Fc/echo.md", "skills/pdf"]);
        let loaded = load(&log, "tools", &snapshot, &entries, &caller)
            .await
            .unwrap();
        let ids: Vec<_> = loaded
            .entries
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        assert_eq!(ids, ["skills/pdf", "a b%2Fc/echo", "skills/pdf"]);
        let lines: Vec<_> = Reader::open(directory.path())
            .unwrap()
            .lines(Filter::default())
            .collect();
        assert_eq!(lines.len(), 2, "a line an entry");
        for line in &lines {
            assert_eq!(line.record.event, EventName::Load);
            let entry = &snapshot.entries[line.record.entry.as_ref().unwrap()];
            assert_eq!(line.record.hash, Some(entry.digest()));
            assert_eq!(line.record.catalog.as_deref(), Some("tools"));
        }
        assert_eq!(loads(directory.path(), "mine", None).unwrap().len(), 2);

        // One that is missing: nothing was handed out.
        let entries = asked(&["a b%2Fc/long", "skills/none"]);
        let problem = load(&log, "tools", &snapshot, &entries, &caller)
            .await
            .unwrap_err();
        assert_eq!(problem.kind, ProblemKind::NotFound);
        log.close();
        assert_eq!(loads(directory.path(), "mine", None).unwrap().len(), 2);
    }
}
