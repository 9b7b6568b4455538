//! The skills' part of the tree: `skills/`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use super::{Given, Layout, Stamp, collision, ids};
use crate::entry_id::EntryId;
use crate::index::{self, Group, Kind, Line, Tokens};
use crate::names::Taken;
use crate::problem::Problem;
use crate::skill::Skill;
use crate::summary::summarize;
use crate::tree::{Directory, File, FileName, Node};

/// A skill, where it stands.
#[derive(Debug)]
pub(crate) struct PlacedSkill {
    /// Its id.
    pub(crate) id: EntryId,
    /// The skill.
    pub(crate) skill: Arc<Skill>,
    file_name: String,
    summary: String,
    /// What reading its SKILL.md costs.
    tokens: Tokens,
    /// `skills/<skill>/`: the skill's own tree, each file with the entry that it belongs to.
    directory: Arc<Directory>,
}

/// Gives every skill its place, in order of id; those of `previous` that are unchanged are taken from there.
pub(super) fn place(
    previous: &[Arc<PlacedSkill>],
    skills: &[Arc<Skill>],
    collisions: &mut Vec<Problem>,
    given: &Given<'_>,
) -> Vec<Arc<PlacedSkill>> {
    let skills = ids::by_precedence(skills);
    let names: Vec<OsString> = skills.iter().map(|skill| ids::skill_name(skill)).collect();
    let before: BTreeMap<&EntryId, &Arc<PlacedSkill>> =
        previous.iter().map(|placed| (&placed.id, placed)).collect();
    let allotted = ids::allot_skills(&skills, &names);
    let mut placed = Vec::with_capacity(skills.len());
    for ((skill, name), allotted) in skills.iter().zip(&names).zip(allotted) {
        let id = EntryId::skill(&allotted.file_name);
        // It keeps its name all the same: that of another must not depend on what is hidden.
        if given.hiding.skill(&id) {
            continue;
        }
        if let Some(taken) = allotted.taken {
            let winner = match taken {
                Taken::ByLayout => "a file of the mount's own".to_owned(),
                Taken::ByClaim(rival) => format!("the skill {}", skills[rival].found.display()),
            };
            collisions.push(
                collision(&name.to_string_lossy(), &winner, id.as_str())
                    .at_file(&skill.file, None)
                    .hint("rename one of the two directories"),
            );
        }
        let before = before.get(&id).copied();
        placed.push(PlacedSkill::next(
            before,
            id,
            allotted.file_name,
            skill,
            given,
        ));
    }
    placed.sort_by(|a, b| a.id.cmp(&b.id));
    placed
}

/// The lines of the skills, in order of id.
pub(super) fn lines(skills: &[Arc<PlacedSkill>], given: &Given<'_>) -> Vec<Line> {
    skills
        .iter()
        .map(|placed| given.line(&placed.id, placed.summary.clone()))
        .collect()
}

/// The groups of the skills, one a source; those whose skills are all unchanged are taken from the layout before.
pub(super) fn groups(
    previous: Option<&Layout>,
    skills: &[Arc<PlacedSkill>],
    lines: &[Line],
    given: &Given<'_>,
) -> Vec<Arc<Group>> {
    if let Some(previous) = previous
        && given.same_entries
        && same(&previous.skills, skills)
    {
        let of_skills = previous.groups.iter().filter(|group| group.is_source());
        let of_skills: Vec<_> = of_skills.cloned().collect();
        if given.keeps(of_skills.iter().all(|group| group.is_counted())) {
            return of_skills;
        }
    }
    let mut by_source: BTreeMap<Option<&str>, Vec<Line>> = BTreeMap::new();
    for (placed, line) in std::iter::zip(skills, lines) {
        if line.heading.is_none() {
            let source = placed.skill.source.as_deref();
            by_source.entry(source).or_default().push(line.clone());
        }
    }
    by_source
        .into_iter()
        .map(|(source, lines)| {
            let source = source.map(crate::names::encode);
            Arc::new(Group::skills(source.as_deref(), lines, given.counter))
        })
        .collect()
}

/// Whether the two are the very same skills.
pub(super) fn same(a: &[Arc<PlacedSkill>], b: &[Arc<PlacedSkill>]) -> bool {
    a.len() == b.len()
        && std::iter::zip(a, b).all(|(a, b)| a.id == b.id && Arc::ptr_eq(&a.skill, &b.skill))
}

/// `skills/`.
pub(super) fn directory(
    skills: &[Arc<PlacedSkill>],
    lines: &[Line],
    stamp: &mut Stamp<'_>,
) -> (FileName, Node) {
    let cost = skills.iter().map(|placed| placed.tokens).sum();
    let mut children: Vec<_> = skills
        .iter()
        .map(|placed| {
            let name: FileName = placed.file_name.as_bytes().into();
            (name, Node::Directory(placed.directory.clone()))
        })
        .collect();
    let index = index::of_entries(lines, Kind::Skills, cost);
    children.push(stamp.file("skills/INDEX.md", index, None));
    stamp.directory("skills", children)
}

impl PlacedSkill {
    pub(super) const fn is_counted(&self) -> bool {
        self.tokens.is_exact
    }

    fn next(
        previous: Option<&Arc<Self>>,
        id: EntryId,
        file_name: String,
        skill: &Arc<Skill>,
        given: &Given<'_>,
    ) -> Arc<Self> {
        if let Some(placed) = previous
            && Arc::ptr_eq(&placed.skill, skill)
            && given.keeps(placed.is_counted())
        {
            return placed.clone();
        }
        let before = previous.map(|placed| (&placed.skill.tree, &placed.directory));
        Arc::new(Self {
            summary: summarize(&skill.description),
            tokens: given.tokens(&String::from_utf8_lossy(&skill.text)),
            directory: belonging_to(&id, &skill.tree, before),
            skill: skill.clone(),
            file_name,
            id,
        })
    }
}

/// The tree with each file's entry set; what `before` made from the same directory is shared.
fn belonging_to(
    id: &EntryId,
    tree: &Arc<Directory>,
    before: Option<(&Arc<Directory>, &Arc<Directory>)>,
) -> Arc<Directory> {
    if let Some((source, made)) = before
        && Arc::ptr_eq(source, tree)
    {
        return made.clone();
    }
    let children = tree.children().iter().map(|(name, node)| {
        let before = before.and_then(|(source, made)| Some((source.get(name)?, made.get(name)?)));
        (name.clone(), node_belonging_to(id, node, before))
    });
    let mut made = Directory::new(children.collect(), tree.modified);
    made.mode = tree.mode;
    made.owner = tree.owner;
    Arc::new(made)
}

fn node_belonging_to(id: &EntryId, node: &Node, before: Option<(&Node, &Node)>) -> Node {
    match (node, before) {
        (Node::Directory(tree), Some((Node::Directory(source), Node::Directory(made)))) => {
            Node::Directory(belonging_to(id, tree, Some((source, made))))
        }
        (Node::Directory(tree), _) => Node::Directory(belonging_to(id, tree, None)),
        (Node::File(file), Some((Node::File(source), Node::File(made))))
            if Arc::ptr_eq(file, source) =>
        {
            Node::File(made.clone())
        }
        (Node::File(file), _) => Node::File(Arc::new(File {
            content: file.content.clone(),
            mode: file.mode,
            modified: file.modified,
            volatile: file.volatile,
            entry: Some(id.clone()),
            origin: file.origin.clone(),
        })),
        (Node::Link(link), _) => Node::Link(link.clone()),
    }
}
