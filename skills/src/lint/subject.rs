//! What a rule looks at, and how it says what it found.

use super::{Finding, Severity};
use crate::frontmatter::{Document, Written, written};
use crate::problem::{Problem, ProblemKind};
use crate::skill::Skill;

/// A skill that loads, with its SKILL.md taken apart.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    /// The skill.
    pub(super) skill: &'a Skill,
    /// The two parts of its SKILL.md.
    pub(super) document: Document,
    /// The fields of its frontmatter.
    pub(super) fields: Vec<Written>,
}

impl<'a> Subject<'a> {
    /// Takes a skill's SKILL.md apart.
    ///
    /// # Errors
    /// What loading says of a file without a frontmatter.
    pub(super) fn new(skill: &'a Skill) -> Result<Self, Problem> {
        let document = Document::split(&skill.text, &skill.file)?;
        Ok(Self {
            skill,
            fields: written(&document),
            document,
        })
    }

    /// The field of this name.
    pub(super) fn field(&self, key: &str) -> Option<&Written> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The line of the file on which a byte of the body stands.
    pub(super) fn line_in_body(&self, offset: usize) -> usize {
        self.document.body_line() + self.document.body[..offset].matches('\n').count()
    }

    /// What the specification forbids.
    pub(super) fn error(
        &self,
        line: impl Into<Option<u32>>,
        message: impl Into<String>,
        hint: &str,
    ) -> Finding {
        self.finding(Severity::Error, line.into(), message.into(), hint)
    }

    /// What loads, and should not be so.
    pub(super) fn warning(
        &self,
        line: impl Into<Option<u32>>,
        message: impl Into<String>,
        hint: &str,
    ) -> Finding {
        self.finding(Severity::Warning, line.into(), message.into(), hint)
    }

    fn finding(
        &self,
        severity: Severity,
        line: Option<u32>,
        message: String,
        hint: &str,
    ) -> Finding {
        let problem = Problem::new(ProblemKind::SkillWarning, message)
            .at_file(&self.skill.file, line)
            .hint(hint);
        Finding { severity, problem }
    }
}
