//! Resources and their templates.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Offered, Said, hash, key};
use crate::entry_id::ServerName;
use crate::json::Json;
use crate::problem::Problem;

/// One element of `resources/list`.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The URI as sent: it is never normalised.
    pub uri: String,
    /// What it says of itself.
    pub said: Said,
    /// `size` in bytes.
    pub size: Option<u64>,
    raw: Arc<RawValue>,
    hash: [u8; 32],
}

impl Offered for Resource {
    fn parse(server: &ServerName, position: usize, raw: Arc<RawValue>) -> Result<Self, Problem> {
        let json = Json::parse(&raw);
        let uri = key(&json, ("uri", "resource"), server, position)?;
        Ok(Self {
            uri: uri.into_owned(),
            said: Said::read(&json),
            size: json.get("size").and_then(|size| size.raw().parse().ok()),
            hash: hash(&raw),
            raw: Arc::clone(&raw),
        })
    }

    fn key(&self) -> &str {
        &self.uri
    }

    fn raw(&self) -> &Arc<RawValue> {
        &self.raw
    }

    fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

/// One element of `resources/templates/list`.
#[derive(Clone, Debug)]
pub struct Template {
    /// `uriTemplate` as sent (RFC 6570).
    pub template: String,
    /// What it says of itself.
    pub said: Said,
    raw: Arc<RawValue>,
    hash: [u8; 32],
}

impl Template {
    /// The names of its variables, each once, in the order in which they stand in it.
    pub fn variables(&self) -> Vec<&str> {
        super::uri::variables(&self.template)
    }
}

impl Offered for Template {
    fn parse(server: &ServerName, position: usize, raw: Arc<RawValue>) -> Result<Self, Problem> {
        let json = Json::parse(&raw);
        let what = ("uriTemplate", "resource template");
        let template = key(&json, what, server, position)?;
        Ok(Self {
            template: template.into_owned(),
            said: Said::read(&json),
            hash: hash(&raw),
            raw: Arc::clone(&raw),
        })
    }

    fn key(&self) -> &str {
        &self.template
    }

    fn raw(&self) -> &Arc<RawValue> {
        &self.raw
    }

    fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}
