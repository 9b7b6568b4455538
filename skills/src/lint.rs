//! What is wrong with skills, by the letter of the Agent Skills specification (agentskills.io/specification).
//!
//! Loading is lenient and says what it could not take as it is written; this adds what loading takes without a word. It only reads, and
//! knows nothing of names in the mount: that two skills want one name is no fault of either.

mod fields;
mod links;
mod subject;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::discovery::{Limits, SkillRoot, discover_outside};
use crate::parallel::side_by_side;
use crate::problem::{Location, Problem, ProblemKind};
use crate::skill::{self, Skill};
use subject::Subject;

/// How bad a finding is. Errors come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Loading skips it or can't take it as it is written, or the specification forbids it.
    Error,
    /// It loads as it is written, and the specification advises against it or does not know it, or it is likely a mistake.
    Warning,
}

impl Severity {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, where, and what to do about it.
    #[serde(flatten)]
    pub problem: Problem,
}

/// What came of a look at skills.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// How many skills load.
    pub skills: usize,
    /// What is wrong, in order of path and line.
    pub findings: Vec<Finding>,
}

impl Lint {
    /// How many findings are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings.filter(|found| found.severity == severity).count()
    }
}

/// One rule: what it finds in a skill.
type Rule = fn(&Subject<'_>) -> Vec<Finding>;

/// What is checked beyond loading.
const RULES: [Rule; 8] = [
    fields::unknown,
    fields::compatibility,
    fields::allowed_tools,
    text::byte_order_mark,
    text::lines,
    text::bytes,
    text::hidden_characters,
    links::links,
];

/// Checks every skill below the roots, but none in the directories `forbidden`.
pub fn lint(roots: &[SkillRoot], limits: Limits, forbidden: &[PathBuf]) -> Lint {
    let found = discover_outside(roots, limits, forbidden, &[]);
    let checked = side_by_side(&found.skills, |skill| check(skill));
    let loading = found.problems.into_iter().map(|problem| Finding {
        severity: severity(&problem, &found.skills),
        problem,
    });
    let mut findings: Vec<Finding> = loading.chain(checked.into_iter().flatten()).collect();
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    // The same link twice on a line.
    findings.dedup();
    Lint {
        skills: found.skills.len(),
        findings,
    }
}

/// The root of what a path names: a directory of skills, a single skill, or a SKILL.md, which stands for its skill.
///
/// # Errors
/// [`ProblemKind::Usage`] when it is none of these.
pub fn root(path: &Path) -> Result<SkillRoot, Problem> {
    let usage = |message: String| Problem::new(ProblemKind::Usage, message).at_file(path, None);
    let directory = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => path,
        Err(error) if !path.is_symlink() => {
            return Err(usage(format!("can't be read: {error}")));
        }
        // A link that leads nowhere is for loading to report.
        _ if path.file_name().is_some_and(skill::is_file_name) => {
            let parent = path.parent().unwrap_or(path);
            if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            }
        }
        _ => {
            return Err(usage("neither a directory nor a SKILL.md".to_owned())
                .hint("name a directory of skills, a skill, or its SKILL.md"));
        }
    };
    Ok(SkillRoot {
        path: directory.to_owned(),
        source: None,
        optional: false,
    })
}

fn check(skill: &Skill) -> Vec<Finding> {
    // It was read before, so that it can be read again.
    let Ok(subject) = Subject::new(skill) else {
        return Vec::new();
    };
    RULES.iter().flat_map(|rule| rule(&subject)).collect()
}

/// How bad it is what loading reports. Where it only says how far it looked, no skill is at fault.
fn severity(problem: &Problem, skills: &[Arc<Skill>]) -> Severity {
    let Some(Location::File { path, .. }) = &problem.location else {
        return Severity::Error;
    };
    let of_a_skill = path.file_name().is_some_and(skill::is_file_name)
        || skills.iter().any(|skill| path.starts_with(&skill.found));
    if problem.kind == ProblemKind::SkillWarning && !of_a_skill {
        Severity::Warning
    } else {
        Severity::Error
    }
}

/// What findings are sorted by: place, then severity, then what is said.
fn order(finding: &Finding) -> (Option<&Location>, Severity, &str) {
    let problem = &finding.problem;
    let place = problem.location.as_ref();
    (place, finding.severity, &problem.message)
}

#[cfg(test)]
mod tests;
