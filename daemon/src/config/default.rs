//! The commented default configuration: the one place that explains every key.

/// A configuration that says nothing but what holds without it, with a comment for every key.
pub const DEFAULT: &str = include_str!("default.toml");

#[cfg(test)]
mod tests;
