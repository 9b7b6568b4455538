//! The option that chooses between lines for people and JSON for programs.

use clap::{Args, ValueEnum};

/// Text or JSON.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PlainFormat {
    /// Print lines of text, or one JSON object
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t = Format::Text,
        conflicts_with = "json"
    )]
    format: Format,

    /// The same as --format json
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl PlainFormat {
    /// Whether JSON is wanted.
    pub(crate) fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }
}
