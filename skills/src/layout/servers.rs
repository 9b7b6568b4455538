//! One server's part of the tree: `mcp/<server>/` and `.schemas/<server>/`.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use super::ids::allot_tools;
use super::{Given, Stamp, bin, collision};
use crate::arguments::Validator;
use crate::definition;
use crate::entry_id::EntryId;
use crate::index::{self, Group, Kind, Line, Tokens};
use crate::json;
use crate::names::Taken;
use crate::offers;
use crate::problem::Problem;
use crate::server::{Server, ServerState};
use crate::summary::{distinguish, summarize};
use crate::tool::Tool;
use crate::tree::{Content, FileName, Node};

/// A server with its state, where it stands.
#[derive(Debug)]
pub(crate) struct PlacedServer {
    /// Everything but its state.
    pub(crate) content: Arc<ServerContent>,
    state: ServerState,
    /// `mcp/<server>/`.
    pub(super) directory: (FileName, Node),
}

/// What follows from a server's definitions alone.
#[derive(Debug)]
pub(crate) struct ServerContent {
    /// The name of its two directories.
    pub(crate) file_name: String,
    /// What it was made from.
    pub(crate) server: Arc<Server>,
    /// Its tools in order of id.
    pub(crate) tools: Vec<Arc<PlacedTool>>,
    /// The ids of those that are left off the shelf.
    pub(super) hidden: Vec<EntryId>,
    /// Their lines in the same order; `None` while they are not known yet.
    lines: Option<Vec<Line>>,
    /// Those of them that stand under no heading of the user's.
    group: Arc<Group>,
    /// What is wrong with its tools' names and schemas.
    pub(super) problems: Vec<Problem>,
    /// `.schemas/<server>/`, where there is a tool.
    pub(super) schemas: Option<(FileName, Node)>,
    /// The children of `mcp/<server>/` but STATUS.
    children: Vec<(FileName, Node)>,
}

/// A tool, where it stands.
#[derive(Clone, Debug)]
pub(crate) struct PlacedTool {
    /// Its id.
    pub(crate) id: EntryId,
    /// The tool as it is shown.
    pub(crate) tool: Arc<Tool>,
    summary: String,
    definition: (FileName, Node),
    schema: (FileName, Node),
    /// Its file in `bin/`.
    program: (FileName, Node),
    /// What reading the definition costs.
    tokens: Tokens,
    /// Why its arguments can't be checked.
    unchecked: Option<Problem>,
}

impl PlacedServer {
    /// Places a server; what is unchanged since `previous` is shared with it.
    pub(super) fn next(
        previous: Option<&Arc<Self>>,
        server: &Arc<Server>,
        state: &ServerState,
        file_name: &str,
        stamp: &mut Stamp<'_>,
        given: &Given<'_>,
    ) -> Arc<Self> {
        // A tool's id begins with the file name, so nothing can be shared under another one.
        let previous = previous.filter(|placed| placed.content.file_name == file_name);
        let content = match previous {
            Some(placed)
                if Arc::ptr_eq(&placed.content.server, server)
                    && given.same_entries
                    && given.keeps(placed.content.is_counted()) =>
            {
                if placed.state == *state {
                    return placed.clone();
                }
                placed.content.clone()
            }
            _ => Arc::new(ServerContent::new(
                previous.map(|placed| placed.content.as_ref()),
                server,
                file_name,
                stamp,
                given,
            )),
        };
        let mut children = content.children.clone();
        children
            .push(stamp.volatile_file(&format!("mcp/{file_name}/STATUS"), index::status(state)));
        Arc::new(Self {
            directory: stamp.directory(&format!("mcp/{file_name}"), children),
            content,
            state: state.clone(),
        })
    }
}

impl ServerContent {
    fn new(
        previous: Option<&Self>,
        server: &Arc<Server>,
        file_name: &str,
        stamp: &mut Stamp<'_>,
        given: &Given<'_>,
    ) -> Self {
        let mut problems = Vec::new();
        let mut hidden = Vec::new();
        let out = (&mut hidden, &mut problems);
        let tools = place_tools(previous, server, file_name, stamp, given, out);
        let lines = server.definitions.as_ref().map(|_| lines(&tools, given));
        let own = lines.as_ref().map(|lines| {
            let own = lines.iter().filter(|line| line.heading.is_none());
            own.cloned().collect()
        });
        let group = Group::server(file_name, &server.about(), own, given.counter);

        let mut children: Vec<_> = tools.iter().map(|tool| tool.definition.clone()).collect();
        let cost = tools.iter().map(|tool| tool.tokens).sum();
        let known = server.definitions.as_ref();
        let offers = known.map(|known| {
            let hiding = given.hiding;
            hiding.shown_offers(&server.name, file_name, &known.offers)
        });
        let offers = offers.unwrap_or_default();
        let index = match (&lines, group.placeholder()) {
            (None, Some(placeholder)) => placeholder.to_owned(),
            (lines, _) => {
                let lines = lines.as_deref().unwrap_or_default();
                index::of_entries(lines, Kind::Tools, cost) + &offers::index_line(&offers)
            }
        };
        children.push(stamp.file(&format!("mcp/{file_name}/INDEX.md"), index, None));
        children.push(stamp.file(
            &format!("mcp/{file_name}/SERVER.md"),
            index::server(server),
            None,
        ));
        let pages = [
            (
                offers::Kind::Resources,
                offers::resources(file_name, &offers),
            ),
            (offers::Kind::Prompts, offers::prompts(file_name, &offers)),
        ];
        for (kind, text) in pages {
            let path = format!("mcp/{}.md", kind.id(file_name));
            children.extend(text.map(|text| stamp.file(&path, text, None)));
        }
        let schemas: Vec<_> = tools.iter().map(|tool| tool.schema.clone()).collect();
        let schemas = (!schemas.is_empty())
            .then(|| stamp.directory(&format!(".schemas/{file_name}"), schemas));
        Self {
            file_name: file_name.to_owned(),
            server: server.clone(),
            tools,
            hidden,
            lines,
            group: Arc::new(group),
            problems,
            schemas,
            children,
        }
    }
}

impl ServerContent {
    /// The lines of its tools, in order of id.
    pub(super) fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }

    /// Its group; none when every tool of it stands under a heading of the user's.
    pub(super) fn shown_group(&self) -> Option<Arc<Group>> {
        let is_moved = self.group.lines().is_empty() && !self.lines().is_empty();
        (!is_moved).then(|| Arc::clone(&self.group))
    }

    /// Its children of `bin/`.
    pub(super) fn programs(&self) -> impl Iterator<Item = (FileName, Node)> {
        self.tools.iter().map(|tool| tool.program.clone())
    }

    pub(super) fn is_counted(&self) -> bool {
        self.group.is_counted() && self.tools.iter().all(|tool| tool.tokens.is_exact)
    }
}

/// The lines of tools, which tell them apart where their descriptions do.
fn lines(tools: &[Arc<PlacedTool>], given: &Given<'_>) -> Vec<Line> {
    let summaries = distinguish(
        tools
            .iter()
            .map(|placed| (placed.summary.as_str(), placed.tool.description.as_str())),
    );
    std::iter::zip(tools, summaries)
        .map(|(tool, summary)| given.line(&tool.id, summary))
        .collect()
}

/// What a tool does, on one line; its title where it has no description.
pub(super) fn summary(tool: &Tool) -> String {
    let summary = summarize(&tool.description);
    if summary.is_empty() {
        return tool.title.as_deref().map(summarize).unwrap_or_default();
    }
    summary
}

fn place_tools(
    previous: Option<&ServerContent>,
    server: &Server,
    server_file_name: &str,
    stamp: &mut Stamp<'_>,
    given: &Given<'_>,
    (hidden, problems): (&mut Vec<EntryId>, &mut Vec<Problem>),
) -> Vec<Arc<PlacedTool>> {
    let Some(known) = &server.definitions else {
        return Vec::new();
    };
    let before: HashMap<&EntryId, &Arc<PlacedTool>> = previous
        .iter()
        .flat_map(|content| &content.tools)
        .map(|tool| (&tool.id, tool))
        .collect();
    let names: Vec<&str> = known.tools.iter().map(|tool| &*tool.name).collect();
    let allotted = allot_tools(&server.name, &names);
    let mut placed = Vec::with_capacity(known.tools.len());
    let mut new = Vec::new();
    for (tool, allotted) in known.tools.iter().zip(allotted) {
        let id = EntryId::tool(server_file_name, &allotted.file_name);
        // It keeps its name all the same: that of another must not depend on what is hidden.
        if given.hiding.tool(&server.name, &id, tool) {
            hidden.push(id);
            continue;
        }
        if let Some(taken) = allotted.taken {
            let winner = match taken {
                Taken::ByLayout => "a file of the mount's own".to_owned(),
                Taken::ByClaim(rival) => format!("the tool `{}`, too", known.tools[rival].name),
            };
            problems.push(
                collision(&tool.name, &winner, id.as_str())
                    .at_server(server.name.as_str(), Some(&tool.name)),
            );
        }
        // What differs in key order or white space alone stays as it was shown.
        match before.get(&id) {
            Some(same) if same.tool.hash == tool.hash => placed.push(same.counted(given)),
            _ => new.push((id, tool)),
        }
    }
    let made = make_all(&new);
    for ((id, tool), made) in new.into_iter().zip(made) {
        placed.push(PlacedTool::new(id, tool, made, stamp, given));
    }
    placed.sort_by(|a, b| a.id.cmp(&b.id));
    let unchecked = placed.iter().filter_map(|tool| {
        let problem = tool.unchecked.clone()?;
        Some(problem.at_server(server.name.as_str(), Some(&tool.tool.name)))
    });
    problems.extend(unchecked);
    placed
}

/// What is made from a tool.
struct Made {
    definition: String,
    schema: String,
    summary: String,
    unchecked: Option<Problem>,
}

impl Made {
    fn new(id: &EntryId, tool: &Tool) -> Self {
        Self {
            definition: definition::render(tool, id, &schema_path(id)),
            schema: json::pretty(&tool.raw),
            summary: summary(tool),
            unchecked: Validator::new(tool).err(),
        }
    }
}

fn schema_path(id: &EntryId) -> String {
    format!(".schemas/{id}.json")
}

/// Makes what is shown of tools, on every core where there are many: nearly all the time of a first build goes here.
fn make_all(tools: &[(EntryId, &Arc<Tool>)]) -> Vec<Made> {
    const WORTH_A_THREAD: usize = 8;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = tools.len().div_ceil(cores).max(WORTH_A_THREAD);
    let make = |part: &[(EntryId, &Arc<Tool>)]| -> Vec<Made> {
        part.iter().map(|(id, tool)| Made::new(id, tool)).collect()
    };
    if tools.len() <= share {
        return make(tools);
    }
    thread::scope(|scope| {
        let workers: Vec<_> = tools
            .chunks(share)
            .map(|part| scope.spawn(move || make(part)))
            .collect();
        let parts = workers.into_iter().map(|worker| worker.join());
        parts
            .flat_map(|part| part.expect("rendering does not panic"))
            .collect()
    })
}

impl PlacedTool {
    fn new(
        id: EntryId,
        tool: &Arc<Tool>,
        made: Made,
        stamp: &mut Stamp<'_>,
        given: &Given<'_>,
    ) -> Arc<Self> {
        let tokens = given.tokens(&made.definition);
        Arc::new(Self {
            summary: made.summary,
            definition: stamp.file(&format!("mcp/{id}.md"), made.definition, Some(&id)),
            schema: stamp.file(&schema_path(&id), made.schema, Some(&id)),
            program: bin::program(&id, stamp),
            tool: tool.clone(),
            unchecked: made.unchecked,
            tokens,
            id,
        })
    }

    /// The same with its definition counted, where that has become known.
    fn counted(self: &Arc<Self>, given: &Given<'_>) -> Arc<Self> {
        if given.keeps(self.tokens.is_exact) {
            return Arc::clone(self);
        }
        let (_, Node::File(file)) = &self.definition else {
            return Arc::clone(self);
        };
        let Content::Bytes(bytes) = &file.content else {
            return Arc::clone(self);
        };
        let tokens = given.tokens(&String::from_utf8_lossy(bytes));
        Arc::new(Self {
            tokens,
            ..self.as_ref().clone()
        })
    }
}
