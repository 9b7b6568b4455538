//! The requests that a server pushes, on their way through rmcp, with whom they are for.

use rmcp::model::{CustomRequest, JsonRpcMessage, ServerJsonRpcMessage, ServerRequest};

use super::Tap;
use crate::servers::envelope::Envelope;
use crate::servers::questions::Addressee;
use crate::servers::ticket::WeakTicket;

impl Tap {
    /// Takes a request of the server's. rmcp's types lose the order of the fields of a form, and know some forms not at all; so it
    /// passes through rmcp as it was sent, with whom it is for and what tells that its server has ended.
    pub(super) fn take_request(
        &self,
        method: &str,
        envelope: &Envelope<'_>,
        stream: Option<i64>,
    ) -> Option<ServerJsonRpcMessage> {
        let id = envelope.any_id()?;
        let params = envelope.params;
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
        let mut request = CustomRequest::new(method, params);
        request.extensions.insert(self.addressee(stream));
        request.extensions.insert(self.0.ended.clone());
        Some(JsonRpcMessage::request(
            ServerRequest::CustomRequest(request),
            id,
        ))
    }

    /// Whose call a question belongs to: that of the stream on which it came, else the only one under way. One that was given up
    /// is under way until the server replies to it.
    fn addressee(&self, stream: Option<i64>) -> Addressee {
        let mut pending = self.pending();
        pending.forget_tickets();
        let asker = |ticket: &WeakTicket| ticket.upgrade()?.asker().cloned();
        if let Some(stream) = stream {
            let asker = pending.tickets.get(&stream).and_then(asker);
            return asker.map_or(Addressee::Nobody, Addressee::Caller);
        }
        let mut askers: Vec<_> = pending.tickets.values().filter_map(asker).collect();
        match (askers.len(), pending.given_up.any()) {
            (0, _) => Addressee::Nobody,
            (1, false) => Addressee::Caller(askers.remove(0)),
            _ => Addressee::OneOf(askers),
        }
    }
}
