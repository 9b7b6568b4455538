//! The YAML frontmatter of a SKILL.md, read leniently.
//!
//! Everything that a loader can live with is a warning; only a file without a frontmatter, or without a description that can be
//! read, is no skill. This module knows nothing of directories: whether a name fits its directory is decided in
//! [`skill`](crate::skill).

mod document;
mod fields;
mod yaml;

use std::path::Path;

use serde_json::{Map, Value};

use crate::problem::{Problem, ProblemKind};

pub(crate) use document::Document;

/// What the frontmatter says. Fields of the wrong type are kept in `other` and warned about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontmatter {
    /// `name`, where it is a string.
    pub name: Option<String>,
    /// `description`, where it is a string.
    pub description: Option<String>,
    /// `license`.
    pub license: Option<String>,
    /// `compatibility`.
    pub compatibility: Option<String>,
    /// `metadata`, whatever it holds.
    pub metadata: Option<Value>,
    /// `allowed-tools`, from any of the three forms.
    pub allowed_tools: Vec<String>,
    /// Every other field, in the order of the file.
    pub other: Map<String, Value>,
    /// What was wrong with it, each with its line. Kept here so that a skill that did not change is reported without
    /// being read again.
    pub warnings: Vec<Problem>,
}

impl Frontmatter {
    /// Reads the frontmatter of a SKILL.md that was split already; `file` is named in what is reported.
    ///
    /// # Errors
    /// [`ProblemKind::SkillSkipped`] when there is no description, or nothing that could be read.
    pub(crate) fn read(document: &Document, file: &Path) -> Result<Self, Problem> {
        let mut report = Report::new(file);
        if document.lossy {
            report.warn(
                None,
                "not valid UTF-8; the bytes that are not were replaced",
            );
        }
        let fields = yaml::fields(&document.yaml);
        let map = yaml::read(&document.yaml, &fields, &mut report)?;
        let mut frontmatter = Self::from_map(map, &fields, &mut report);
        if frontmatter
            .description
            .as_deref()
            .is_none_or(|description| description.trim().is_empty())
        {
            return Err(report
                .skipped(None, "no description")
                .hint("add a `description:` that says what the skill does and when to use it"));
        }
        frontmatter.warnings = report.warnings;
        Ok(frontmatter)
    }
}

/// One field as an author wrote it, before it is read leniently.
#[derive(Debug)]
pub(crate) struct Written {
    /// The key.
    pub(crate) key: String,
    /// The line of the key in the file, where it begins one.
    pub(crate) line: Option<u32>,
    /// The value.
    pub(crate) value: Value,
}

/// The fields of a frontmatter in their order; none when nothing of it can be read.
pub(crate) fn written(document: &Document) -> Vec<Written> {
    let fields = yaml::fields(&document.yaml);
    // What is wrong with the YAML was said when the frontmatter was read.
    let mut unheard = Report::new(Path::new(""));
    let map = yaml::read(&document.yaml, &fields, &mut unheard).unwrap_or_default();
    map.into_iter()
        .map(|(key, value)| {
            let field = fields.iter().rfind(|field| field.key == key);
            let line = field.map(|field| field.line);
            Written { key, line, value }
        })
        .collect()
}

/// Collects what is wrong with one file.
struct Report<'a> {
    file: &'a Path,
    warnings: Vec<Problem>,
}

impl<'a> Report<'a> {
    fn new(file: &'a Path) -> Self {
        Self {
            file,
            warnings: Vec::new(),
        }
    }

    fn warn(&mut self, line: Option<u32>, message: impl Into<String>) {
        self.add(Problem::new(ProblemKind::SkillWarning, message), line);
    }

    fn add(&mut self, problem: Problem, line: Option<u32>) {
        self.warnings.push(problem.at_file(self.file, line));
    }

    fn skipped(&self, line: Option<u32>, message: impl Into<String>) -> Problem {
        Problem::new(ProblemKind::SkillSkipped, message).at_file(self.file, line)
    }
}

#[cfg(test)]
mod tests;
