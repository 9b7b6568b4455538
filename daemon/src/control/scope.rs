//! What of the shelf a search or a list is about.
//!
//! It knows neither what is looked for nor how it is shown.

use skills::catalog::{EntryKind, Shown};
use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use skills::server::{Server, ServerState};

use super::methods;

/// The name under which skills stand among the servers of an answer.
const SKILLS: &str = "skills";

/// A kind, a server, both, or everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) kind: Option<EntryKind>,
    pub(super) server: Option<&'a ServerName>,
}

impl<'a> Scope<'a> {
    /// What was asked for. Where an answer counts matches by server, skills stand among these, so that name can be asked for, too.
    pub(super) fn of(
        shown: &'a dyn Shown,
        server: Option<&str>,
        kind: Option<EntryKind>,
    ) -> Result<Self, Problem> {
        let Some(name) = server else {
            let server = None;
            return Ok(Self { kind, server });
        };
        // A server may be configured under that name; none is shown under it.
        let server = methods::server_named(shown, name);
        let kind = match (&server, kind) {
            (Err(_), None | Some(EntryKind::Skill)) if name == SKILLS => {
                let (kind, server) = (Some(EntryKind::Skill), None);
                return Ok(Self { kind, server });
            }
            (Err(_), Some(EntryKind::Tool)) if name == SKILLS => {
                let problem = Problem::new(ProblemKind::Usage, "no tool is on `skills`");
                return Err(problem.hint("leave out the server, or the kind"));
            }
            (Ok(server), Some(EntryKind::Skill)) => {
                let message = format!("no skill is on the server `{server}`, which has tools");
                let problem = Problem::new(ProblemKind::Usage, message);
                return Err(problem.hint("leave out the server, or the kind"));
            }
            (_, kind) => kind,
        };
        let server = Some(server?);
        Ok(Self { kind, server })
    }

    /// The servers that it is about and whose tools are not known.
    pub(super) fn unknown(
        self,
        shown: &'a dyn Shown,
    ) -> impl Iterator<Item = (&'a Server, &'a ServerState)> {
        methods::unknown_servers(shown, self.kind, self.server.map(ServerName::as_str))
    }
}
