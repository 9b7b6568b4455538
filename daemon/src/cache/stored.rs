//! The format of a cached file. The tools are in it byte for byte, and are parsed again as if the server had just sent them.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skills::entry_id::ServerName;
use skills::offers::{Offered, Offers};
use skills::problem::Problem;
use skills::search::DefinitionsDigest;
use skills::server::{Definitions, protocol_revision};
use skills::tool::Tool;

use super::{Cached, Era, Freshness};

/// To be raised when a file of before would be misread.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    format: u32,
    /// The name, since the file's own is a hash.
    server: ServerName,
    /// Milliseconds since 1970.
    listed: u64,
    freshness: String,
    era: Option<Era>,
    title: Option<String>,
    version: Option<String>,
    instructions: Option<String>,
    protocol: Option<String>,
    tools: Vec<Arc<RawValue>>,
    /// Absent where the list is not known, as in the files of earlier versions; the same for those that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<Arc<RawValue>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_templates: Option<Vec<Arc<RawValue>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompts: Option<Vec<Arc<RawValue>>>,
}

/// What there is to read for the names alone.
#[derive(Deserialize)]
struct StoredNames<'a> {
    format: u32,
    server: ServerName,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

/// What there is to read to know whether definitions are the same.
#[derive(Deserialize)]
struct StoredTexts<'a> {
    format: u32,
    server: ServerName,
    title: Option<String>,
    instructions: Option<String>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Named<'a> {
    name: String,
    #[serde(borrow, rename = "inputSchema")]
    input_schema: &'a RawValue,
}

/// The names of the tools that [`Stored::parse`] would give.
pub(super) fn tool_names(bytes: &[u8], server: &ServerName) -> Option<Vec<String>> {
    let stored: StoredNames<'_> = serde_json::from_slice(bytes).ok()?;
    if stored.format != FORMAT || stored.server != *server {
        return None;
    }
    let named = stored.tools.into_iter().filter_map(|tool| {
        let named: Named<'_> = serde_json::from_str(tool.get()).ok()?;
        let is_tool = !named.name.is_empty() && named.input_schema.get().starts_with('{');
        is_tool.then_some(named.name)
    });
    Some(named.collect())
}

/// The digest of the definitions that [`Stored::parse`] would give, if each of the tools can be read: who stores them leaves out the
/// others.
pub(super) fn digest(bytes: &[u8], server: &ServerName) -> Option<DefinitionsDigest> {
    let stored: StoredTexts<'_> = serde_json::from_slice(bytes).ok()?;
    if stored.format != FORMAT || stored.server != *server {
        return None;
    }
    let (title, instructions) = (stored.title.as_deref(), stored.instructions.as_deref());
    let tools = stored.tools.into_iter();
    Some(DefinitionsDigest::new(title, instructions, tools))
}

impl Stored {
    pub(super) fn new(
        server: &ServerName,
        definitions: &Definitions,
        freshness: Freshness,
        era: Option<Era>,
        listed: SystemTime,
    ) -> Self {
        let listed = listed.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            format: FORMAT,
            server: server.clone(),
            listed: u64::try_from(listed.as_millis()).unwrap_or(u64::MAX),
            freshness: HEXLOWER.encode(&freshness.0),
            era,
            title: definitions.title.clone(),
            version: definitions.version.clone(),
            instructions: definitions.instructions.clone(),
            protocol: definitions.protocol.clone(),
            tools: definitions
                .tools
                .iter()
                .map(|tool| tool.raw.clone())
                .collect(),
            resources: raw(&definitions.offers.resources),
            resource_templates: raw(&definitions.offers.templates),
            prompts: raw(&definitions.offers.prompts),
        }
    }

    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Reads what was stored of this server; `None` for anything else.
    pub(super) fn parse(bytes: &[u8], server: &ServerName) -> Option<Cached> {
        let stored: Self = serde_json::from_slice(bytes).ok()?;
        if stored.format != FORMAT || stored.server != *server {
            return None;
        }
        let freshness = HEXLOWER.decode(stored.freshness.as_bytes()).ok()?;
        let listed = UNIX_EPOCH.checked_add(Duration::from_millis(stored.listed))?;
        let mut tools = Vec::with_capacity(stored.tools.len());
        let mut problems = Vec::new();
        for (position, raw) in stored.tools.into_iter().enumerate() {
            match Tool::parse(server, position, raw) {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(problem) => problems.push(problem),
            }
        }
        let offers = Offers {
            resources: parsed(server, stored.resources, &mut problems),
            templates: parsed(server, stored.resource_templates, &mut problems),
            prompts: parsed(server, stored.prompts, &mut problems),
        };
        Some(Cached {
            definitions: Arc::new(Definitions {
                title: stored.title,
                version: stored.version,
                instructions: stored.instructions,
                // An earlier version kept whatever was said.
                protocol: stored
                    .protocol
                    .filter(|said| protocol_revision(said).is_some()),
                tools,
                offers,
            }),
            problems,
            freshness: Freshness(freshness.try_into().ok()?),
            listed,
            era: stored.era,
        })
    }
}

fn raw<T: Offered>(list: &Option<Vec<Arc<T>>>) -> Option<Vec<Arc<RawValue>>> {
    let list = list.as_ref()?;
    Some(list.iter().map(|item| Arc::clone(item.raw())).collect())
}

fn parsed<T: Offered>(
    server: &ServerName,
    list: Option<Vec<Arc<RawValue>>>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<Arc<T>>> {
    let mut parsed = Vec::new();
    for (position, raw) in list?.into_iter().enumerate() {
        match T::parse(server, position, raw) {
            Ok(item) => parsed.push(Arc::new(item)),
            Err(problem) => problems.push(problem),
        }
    }
    Some(parsed)
}
