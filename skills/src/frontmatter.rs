//! The YAML frontmatter of a SKILL.md, read leniently.

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
    pub metadata: Option<serde_json::Value>,
    /// `allowed-tools`, from any of the three forms.
    pub allowed_tools: Vec<String>,
    /// Every other field, in the order of the file.
    pub other: serde_json::Map<String, serde_json::Value>,
}
