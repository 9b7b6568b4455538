//! What `changes` is answered with: the journal's changes, with the summaries of now.

use std::collections::HashMap;

use skills::catalog::Shown;
use skills::problem::{Problem, ProblemKind};

use crate::catalog::Snapshots;
use crate::journal::Place;
use crate::protocol::{ChangeKind, ChangeList, Changes};

/// Answers a request. The disk is read on a thread of its own, and the snapshot taken after that: it knows what the journal says.
pub(super) async fn changes(
    journal: &Place,
    snapshots: &Snapshots,
    asked: Changes,
) -> Result<ChangeList, Problem> {
    let (journal, snapshots) = (journal.clone(), snapshots.clone());
    let read = move || {
        let list = journal.changes(asked.since.as_ref())?;
        Ok(described(list, &*snapshots.current()))
    };
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|e| {
        let message = format!("the reading of the journal broke down: {e}");
        Err(Problem::new(ProblemKind::Internal, message))
    })
}

/// The changes with the summaries of the entries that are there.
pub(crate) fn described(mut list: ChangeList, shown: &dyn Shown) -> ChangeList {
    let summaries: HashMap<_, _> = shown.lines().into_iter().collect();
    for change in &mut list.changes {
        if change.change != ChangeKind::Removed {
            change.summary = summaries.get(&change.id).map(|text| (*text).to_owned());
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use skills::entry_id::EntryId;

    use super::described;
    use crate::control::methods::tests::snapshot;
    use crate::protocol::{Change, ChangeKind, ChangeList, ChangedKind, Revision};

    #[test]
    fn what_is_there_has_the_summary_of_now() {
        let change = |change, id: &str| Change {
            revision: Revision::START,
            time: Timestamp::UNIX_EPOCH,
            change,
            id: EntryId(id.into()),
            kind: ChangedKind::Tool,
            summary: None,
            tools: None,
        };
        let list = ChangeList {
            changes: vec![
                change(ChangeKind::Added, "a b%2Fc/echo"),
                change(ChangeKind::Added, "a b%2Fc/gone"),
                change(ChangeKind::Removed, "skills/pdf"),
                change(ChangeKind::Changed, "skills/pdf"),
            ],
            complete: true,
            revision: Revision::START,
        };
        let list = described(list, &snapshot());
        let summaries = list.changes.iter().map(|change| change.summary.as_deref());
        let expected = [Some("Says it again."), None, None, Some("Reads PDF files.")];
        assert_eq!(summaries.collect::<Vec<_>>(), expected);
    }
}
