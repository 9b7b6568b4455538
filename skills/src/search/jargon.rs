//! What developers say for short, and where the everyday meaning of a word, all that the model knows, is another one.
//!
//! Only the default ranker reads it: by words alone a request finds what it says. The user's own words are added to it.

/// A word of a request and what it stands for, too.
pub(super) const JARGON: &[(&str, &str)] = &[
    ("auth", "authentication"),
    ("config", "configuration"),
    ("db", "database"),
    ("dir", "directory"),
    ("doc", "document"),
    ("env", "environment"),
    ("img", "image"),
    ("k8s", "kubernetes"),
    ("mr", "merge request"),
    ("msg", "message"),
    ("pr", "pull request"),
    ("repo", "repository"),
    ("ticket", "issue"),
];
