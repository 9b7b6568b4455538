//! Tools as MCP has them: the result of a `tools/list`, each Tool object byte for byte as its server sent it.
//!
//! The names are the servers' own, so two may be equal: the ids stand beside them, in the same order, in the result's `_meta`
//! (<https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta>).

use serde::Serialize;
use serde_json::value::RawValue;

use super::{Item, line};
use crate::entry_id::EntryId;

#[derive(Serialize)]
struct ToolList<'a> {
    tools: Vec<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "toolshelf/ids")]
    ids: Vec<&'a EntryId>,
}

pub(super) fn tools(items: &[Item]) -> String {
    let tools = items
        .iter()
        .filter_map(|item| Some((&item.id, &*item.tool()?.0.raw)));
    let (ids, tools) = tools.unzip();
    line(&ToolList {
        tools,
        meta: Meta { ids },
    })
}
