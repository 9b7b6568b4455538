//! Which lists a server has, and how it says that one of them changed: by a notification, which a server of the later era must be
//! asked for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use tokio::time::timeout;

use super::Connection;
use crate::cache::Era;
use crate::servers::listing::List;

/// How long a server may take to confirm a subscription.
const LISTEN_LIMIT: Duration = Duration::from_secs(10);

impl Connection {
    /// Whether it says that it has such a list. No server says that of templates.
    pub(in crate::servers) fn declares(&self, list: List) -> bool {
        self.about().is_some_and(|about| {
            let capabilities = &about.capabilities;
            match list {
                List::Tools => capabilities.tools.is_some(),
                List::Resources => capabilities.resources.is_some(),
                List::Templates => false,
                List::Prompts => capabilities.prompts.is_some(),
            }
        })
    }

    /// Resolves when the server says that one of its lists changed.
    pub(in crate::servers) async fn lists_changed(&self) {
        self.tap.lists_changed().await;
    }

    /// Whether it can't say that its lists changed.
    pub(in crate::servers) fn is_silent(&self) -> bool {
        let announces = || {
            self.about().is_some_and(|about| {
                let capabilities = &about.capabilities;
                let tools = capabilities.tools.as_ref();
                let resources = capabilities.resources.as_ref();
                let prompts = capabilities.prompts.as_ref();
                let said = [
                    tools.and_then(|tools| tools.list_changed),
                    resources.and_then(|resources| resources.list_changed),
                    prompts.and_then(|prompts| prompts.list_changed),
                ];
                said.contains(&Some(true))
            })
        };
        let deaf = self
            .session
            .as_ref()
            .is_some_and(|session| self.era == Era::Initialize && session.is_deaf() && announces());
        deaf || self.silent.load(Ordering::Relaxed)
    }

    /// Subscribes to changes where the era wants that. What arrives is seen by the tap; a quarter of the servers refuse,
    /// and those must be asked again after calls.
    pub(in crate::servers) fn subscribe(self: &Arc<Self>) {
        if self.era == Era::Initialize {
            return;
        }
        self.silent.store(true, Ordering::Relaxed);
        let (peer, stop) = (self.peer.clone(), self.stop.clone());
        let connection = Arc::downgrade(self);
        let set_silent = move |silent| {
            if let Some(connection) = connection.upgrade() {
                connection.silent.store(silent, Ordering::Relaxed);
            }
        };
        let mut wanted = SubscriptionFilter::builder().tools_list_changed();
        if self.declares(List::Resources) {
            wanted = wanted.resources_list_changed();
        }
        if self.declares(List::Prompts) {
            wanted = wanted.prompts_list_changed();
        }
        let filter = wanted.build();
        let listen = async move {
            let Ok(Ok(mut subscription)) = timeout(LISTEN_LIMIT, peer.listen(filter)).await else {
                return;
            };
            set_silent(subscription.acknowledged().tools_list_changed != Some(true));
            while let Ok(Some(_)) = subscription.next().await {}
            set_silent(true);
        };
        tokio::spawn(async move { stop.run_until_cancelled(listen).await });
    }
}
