//! Which id every entry gets, from names alone: for the layout, and for whoever needs the ids and nothing else.
//!
//! It knows nothing of definitions, texts or the tree.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::entry_id::{EntryId, ServerName};
use crate::names::{Allotted, Claim, Ties, allot};
use crate::skill::Skill;

/// What the ids of skills begin with.
pub(super) const SKILLS: &str = "skills";
/// Names that a server can't have: `skills/x` is the id of a skill, `bin/x` a path in the mount.
const RESERVED_SERVERS: &[&str] = &["bin", SKILLS];
/// Names that a tool can't have, since the layout's own files stand beside it.
const RESERVED_TOOLS: &[&str] = &["INDEX", "PROMPTS", "RESOURCES", "SERVER", "STATUS"];
/// Names that a skill can't have.
const RESERVED_SKILLS: &[&str] = &["INDEX.md"];

/// The directories of all configured servers, in the order of their names.
pub fn server_directories(names: &[&ServerName]) -> Vec<String> {
    let allotted = allot_servers(names).into_iter();
    allotted.map(|allotted| allotted.file_name).collect()
}

/// The ids of all tools of a server, in their order.
pub fn tool_ids(server: &ServerName, directory: &str, names: &[&str]) -> Vec<EntryId> {
    let allotted = allot_tools(server, names).into_iter();
    allotted
        .map(|allotted| EntryId::tool(directory, &allotted.file_name))
        .collect()
}

/// The ids of all skills, in order of precedence ([`by_precedence`]).
pub fn skill_ids(skills: &[Arc<Skill>]) -> Vec<EntryId> {
    let skills = by_precedence(skills);
    let names: Vec<OsString> = skills.iter().map(|skill| skill_name(skill)).collect();
    let allotted = allot_skills(&skills, &names).into_iter();
    allotted
        .map(|allotted| EntryId::skill(&allotted.file_name))
        .collect()
}

pub(super) fn allot_servers(names: &[&ServerName]) -> Vec<Allotted> {
    let claims = names.iter().map(|name| Claim {
        name: OsStr::new(name.as_str()),
        source: OsStr::new("mcp"),
    });
    allot(
        &claims.collect::<Vec<_>>(),
        RESERVED_SERVERS,
        Ties::NoneKeeps,
    )
}

pub(super) fn allot_tools(server: &ServerName, names: &[&str]) -> Vec<Allotted> {
    let claims = names.iter().map(|name| Claim {
        name: OsStr::new(name),
        source: OsStr::new(server.as_str()),
    });
    allot(&claims.collect::<Vec<_>>(), RESERVED_TOOLS, Ties::NoneKeeps)
}

/// The skills in the order in which they get their names: those that come first keep their plain name.
pub fn by_precedence(skills: &[Arc<Skill>]) -> Vec<&Arc<Skill>> {
    let mut skills: Vec<&Arc<Skill>> = skills.iter().collect();
    skills.sort_by_key(|skill| (skill.precedence, &skill.found));
    skills
}

/// The name that a skill asks for.
pub(super) fn skill_name(skill: &Skill) -> OsString {
    let mut name = OsString::new();
    if let Some(source) = &skill.source {
        name.push(source);
        name.push(":");
    }
    name.push(&skill.name);
    name
}

/// Gives skills their names; they come by precedence.
pub(super) fn allot_skills(skills: &[&Arc<Skill>], names: &[OsString]) -> Vec<Allotted> {
    let claims = std::iter::zip(names, skills).map(|(name, skill)| Claim {
        name,
        source: skill.found.as_os_str(),
    });
    allot(
        &claims.collect::<Vec<_>>(),
        RESERVED_SKILLS,
        Ties::FirstKeeps,
    )
}

#[cfg(test)]
mod tests {
    use super::{server_directories, tool_ids};
    use crate::entry_id::ServerName;

    #[test]
    fn names_that_are_taken_get_a_suffix_and_others_are_plain() {
        let names = ["a", "skills", "x/y"].map(ServerName::new);
        let directories = server_directories(&names.each_ref());
        assert_eq!((&*directories[0], &*directories[2]), ("a", "x%2Fy"));
        assert!(directories[1].starts_with("skills~"), "{directories:?}");
        let ids = tool_ids(&names[0], "a", &["echo", "INDEX", "twice", "twice"]);
        assert_eq!(ids[0].as_str(), "a/echo");
        assert!(ids[1].as_str().starts_with("a/INDEX~"), "{ids:?}");
        assert!(
            ids[2..]
                .iter()
                .all(|id| id.as_str().starts_with("a/twice~"))
        );
    }
}
