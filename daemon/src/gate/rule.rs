//! One rule of a policy: a glob over ids, or a word for what tools say of themselves.
//!
//! It knows neither in which order rules are asked nor what follows from a match.

use std::fmt;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use skills::entry_id::{EntryId, ServerName};
use skills::offers;
use skills::tool::{Hints, Tool};

/// The characters that have a meaning in a glob.
const GLOB: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The list that a rule stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Calls are refused.
    Deny,
    /// Calls wait for an approval.
    Ask,
    /// Calls go on.
    Allow,
    /// Entries are not on the shelf.
    Hide,
}

impl List {
    /// The key of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Hide => "hide",
        }
    }
}

/// A word for what a tool says of itself, or by saying nothing leaves to the defaults of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// `readOnlyHint` is true.
    ReadOnly,
    /// It is not, or unsaid.
    Writes,
    /// `destructiveHint` is true, or unsaid by a tool that writes.
    Destructive,
    /// It is not.
    NotDestructive,
    /// `idempotentHint` is true.
    Idempotent,
    /// It is not, or unsaid.
    NotIdempotent,
    /// `openWorldHint` is true, or unsaid.
    OpenWorld,
    /// It is false.
    ClosedWorld,
}

impl Hint {
    /// Every hint with its word: those of a tool's page in the mount.
    pub const ALL: [(&'static str, Self); 8] = [
        ("read-only", Self::ReadOnly),
        ("writes", Self::Writes),
        ("destructive", Self::Destructive),
        ("not-destructive", Self::NotDestructive),
        ("idempotent", Self::Idempotent),
        ("not-idempotent", Self::NotIdempotent),
        ("open-world", Self::OpenWorld),
        ("closed-world", Self::ClosedWorld),
    ];

    fn named(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find_map(|(name, hint)| (name == word).then_some(hint))
    }

    /// Whether it is true of a tool that says this. For a tool that says it only reads, MCP gives `destructiveHint` no meaning: its
    /// default does not apply there, while one that says both counts as both.
    fn holds(self, said: Hints) -> bool {
        let read_only = said.read_only.unwrap_or(false);
        let destructive = said.destructive.unwrap_or(!read_only);
        let idempotent = said.idempotent.unwrap_or(false);
        let open_world = said.open_world.unwrap_or(true);
        match self {
            Self::ReadOnly => read_only,
            Self::Writes => !read_only,
            Self::Destructive => destructive,
            Self::NotDestructive => !destructive,
            Self::Idempotent => idempotent,
            Self::NotIdempotent => !idempotent,
            Self::OpenWorld => open_world,
            Self::ClosedWorld => !open_world,
        }
    }
}

/// What is asked of a server.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A tool is called.
    Tool(&'a Tool),
    /// A resource is read, or a prompt asked for: one id for all of a kind, and no more is known of what a server may offer.
    Offers(offers::Kind),
}

impl Target<'_> {
    /// The tool's name as its server sent it, or the name of the file that lists what is offered.
    pub fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Offers(kind) => kind.name(),
        }
    }

    /// The kind of what is asked for when it is no tool.
    pub const fn offered(&self) -> Option<offers::Kind> {
        match self {
            Self::Tool(_) => None,
            Self::Offers(kind) => Some(*kind),
        }
    }

    /// What it says of itself, or what is so by its nature.
    pub const fn hints(&self) -> Hints {
        match self {
            Self::Tool(tool) => tool.hints,
            Self::Offers(_) => offers::Kind::hints(),
        }
    }

    /// The hash of what an approval is for. A tool of the same name has another.
    pub fn definition(&self) -> [u8; 32] {
        match self {
            Self::Tool(tool) => tool.hash,
            Self::Offers(kind) => *blake3::hash(kind.name().as_bytes()).as_bytes(),
        }
    }
}

/// What rules are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its id.
    pub id: &'a EntryId,
    /// The server, and what is asked of it; `None` for a skill.
    pub target: Option<(&'a ServerName, Target<'a>)>,
}

/// One rule, where it is written.
#[derive(Clone, Debug)]
pub struct Rule {
    list: List,
    text: String,
    matches: Matches,
    file: PathBuf,
    line: u32,
}

#[derive(Clone, Debug)]
enum Matches {
    Id(GlobMatcher),
    /// The tool's part of the id.
    Name(GlobMatcher),
    Hint(Hint),
}

impl Rule {
    /// Reads a rule. In the section of one server (`of_server`) what has no `/` is about the names of its tools.
    ///
    /// # Errors
    /// What is wrong with it, and what to do about it.
    pub fn parse(
        list: List,
        text: &str,
        of_server: bool,
        (file, line): (PathBuf, u32),
    ) -> Result<Self, (String, String)> {
        let matches = match Hint::named(text) {
            Some(hint) => Matches::Hint(hint),
            None => Self::glob(text, of_server)?,
        };
        Ok(Self {
            list,
            text: text.to_owned(),
            matches,
            file,
            line,
        })
    }

    fn glob(text: &str, of_server: bool) -> Result<Matches, (String, String)> {
        // One that can't match anything is a slip of the pen that would let calls pass.
        if !of_server && !text.contains('/') && !text.contains(GLOB) {
            let hints = Hint::ALL.map(|(name, _)| name).join(", ");
            return Err((
                "is neither a hint nor a glob over ids, which are SERVER/TOOL".to_owned(),
                format!("write `{text}/*` for a server, `*/{text}` for a tool, or one of: {hints}"),
            ));
        }
        let glob = Glob::new(text).map_err(|error| {
            let why = error.kind().to_string();
            (
                format!("is no glob: {why}"),
                "in a glob `*`, `?`, `[…]` and `{…,…}` have a meaning; a `\\` before them takes it away"
                    .to_owned(),
            )
        })?;
        let matcher = glob.compile_matcher();
        if of_server && !text.contains('/') {
            Ok(Matches::Name(matcher))
        } else {
            Ok(Matches::Id(matcher))
        }
    }

    /// Whether it is about this. A tool goes by its id and by the name that its server gave it: they differ where two tools claim
    /// one name, which must not take a tool from under a rule.
    pub fn is_about(&self, subject: &Subject<'_>) -> bool {
        match (&self.matches, subject.target) {
            (Matches::Hint(hint), Some((_, target))) => hint.holds(target.hints()),
            (Matches::Id(glob), target) => {
                glob.is_match(subject.id.as_str())
                    || target.is_some_and(|(server, target)| {
                        glob.is_match(format!("{server}/{}", target.name()))
                    })
            }
            (Matches::Name(glob), Some((_, target))) => {
                let id = subject.id.as_str();
                let name = id.split_once('/').map_or(id, |(_, name)| name);
                glob.is_match(name) || glob.is_match(target.name())
            }
            (Matches::Hint(_) | Matches::Name(_), None) => false,
        }
    }

    /// Whether it is about one name, and no glob.
    pub fn is_literal(&self) -> bool {
        !matches!(self.matches, Matches::Hint(_)) && !self.text.contains(GLOB)
    }

    /// The server that it is about, where it names one.
    pub fn server(&self) -> Option<&str> {
        let (server, _) = self.text.split_once('/')?;
        let names_one = matches!(self.matches, Matches::Id(_)) && !server.contains(GLOB);
        names_one.then_some(server)
    }

    /// Where it is written.
    pub fn place(&self) -> (&Path, u32) {
        (&self.file, self.line)
    }

    /// The list and the rule, as they are written.
    pub fn quoted(&self) -> String {
        format!("{} \"{}\"", self.list.as_str(), self.text)
    }

    /// Whether both say the same in the same list, wherever they stand.
    pub fn says_same(&self, other: &Self) -> bool {
        self.list == other.list && self.text == other.text
    }
}

/// `deny "github/delete_*" (/home/me/shelf.toml:12)`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}:{})",
            self.quoted(),
            self.file.display(),
            self.line
        )
    }
}
