//! A lease: how a call holds the connection.

use std::sync::Arc;

use tokio::sync::watch;

use crate::servers::connection::Connection;

/// A connection on loan to one call: while it is held, the server is not idle.
#[derive(Debug)]
pub(in crate::servers) struct Lease {
    pub(in crate::servers) connection: Arc<Connection>,
    /// Which start of the server it is.
    pub(in crate::servers) start: u64,
    in_use: watch::Sender<usize>,
}

impl Lease {
    /// Lends it, and counts.
    pub(super) fn new(
        connection: &Arc<Connection>,
        start: u64,
        in_use: &watch::Sender<usize>,
    ) -> Self {
        in_use.send_modify(|calls| *calls += 1);
        Self {
            connection: Arc::clone(connection),
            start,
            in_use: in_use.clone(),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.in_use.send_modify(|calls| *calls -= 1);
    }
}
