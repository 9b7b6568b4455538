//! How the servers do, and what somebody wants done with one.
//!
//! It must not know the wire.

use std::path::PathBuf;
use std::sync::Arc;

use skills::entry_id::ServerName;
use skills::problem::{Problem, ProblemKind};
use tokio::task::JoinSet;

use super::handle::Handle;
use super::history::Standing;
use super::member::Member;
use super::{Servers, failure};

/// How a server does, or one session's instance of it.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) server: ServerName,
    /// The session that has this instance for itself.
    pub(crate) session: Option<Arc<str>>,
    pub(crate) standing: Standing,
    pub(crate) calls_under_way: usize,
    pub(crate) log: PathBuf,
}

impl Servers {
    /// How each server does that can be started, by name, with the instances of single sessions behind it.
    pub(crate) fn reports(&self) -> Vec<Report> {
        let mut reports = Vec::new();
        for (name, member) in &*self.members() {
            let Member::Supervised(server) = member else {
                continue;
            };
            let report = |session, handle: &Handle| Report {
                server: name.clone(),
                session,
                standing: handle.history.standing(),
                calls_under_way: *handle.in_use.borrow(),
                log: handle.log_path.clone(),
            };
            reports.push(report(None, &server.handle));
            let instances = server.instances.all().into_iter();
            reports.extend(instances.map(|(session, handle)| report(Some(session), &handle)));
        }
        reports
    }

    /// Stops a server with every instance of it, calls under way or not; the next call starts it.
    ///
    /// # Errors
    /// When it can't be started anyway.
    pub(crate) async fn stop_one(&self, server: &ServerName) -> Result<(), Problem> {
        let (handle, instances) = self.handles(server)?;
        stop(instances.into_iter().chain([handle]), false).await;
        Ok(())
    }

    /// Stops a server with every instance of it, and starts it again, whatever failed before.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) async fn restart(&self, server: &ServerName) -> Result<(), Problem> {
        let (handle, instances) = self.handles(server)?;
        // Each starts with the next call of its session.
        stop(instances, true).await;
        let restarted = handle.restart().await;
        restarted.unwrap_or_else(|| {
            Err(failure::server(
                server,
                "its entry in the configuration changed meanwhile",
            ))
        })
    }

    fn handles(&self, server: &ServerName) -> Result<(Handle, Vec<Handle>), Problem> {
        let members = self.members();
        match members.get(server) {
            Some(Member::Supervised(supervised)) => {
                let instances = supervised.instances.all().into_iter();
                let instances = instances.map(|(_, handle)| handle).collect();
                Ok((supervised.handle.clone(), instances))
            }
            Some(Member::Unavailable(problem)) => Err(problem.clone()),
            None => Err(Problem::new(
                ProblemKind::NotFound,
                format!("there is no server {server} in the configuration"),
            )),
        }
    }
}

async fn stop(handles: impl IntoIterator<Item = Handle>, afresh: bool) {
    let mut stopping = JoinSet::new();
    for handle in handles {
        stopping.spawn(async move { handle.stop(afresh).await });
    }
    stopping.join_all().await;
}
