//! Prints what Toolshelf reads from a skill, or from every skill below a directory, and each warning.
//!
//! `cargo run --example parse_skill -- PATH`, a SKILL.md or a directory.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::{Path, PathBuf};

use skills::discovery::{Limits, SkillRoot, discover};

fn main() -> anyhow::Result<()> {
    let path = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or_else(|| anyhow::anyhow!("usage: parse_skill PATH"))?;
    // A skill is its directory, though people name its file.
    let path = match path.parent() {
        Some(directory) if path.is_file() => Path::new(".").join(directory),
        _ => path,
    };
    let root = SkillRoot {
        path,
        source: None,
        optional: false,
    };
    let found = discover(&[root], Limits::default(), &[]);

    for skill in &found.skills {
        println!("{} ({})", skill.name.display(), skill.file.display());
        println!("  description: {}", skill.description.trim());
        if !skill.frontmatter.allowed_tools.is_empty() {
            println!(
                "  allowed tools: {}",
                skill.frontmatter.allowed_tools.join(", ")
            );
        }
        if let Some(metadata) = &skill.frontmatter.metadata {
            println!("  metadata: {metadata}");
        }
        for (field, value) in &skill.frontmatter.other {
            println!("  {field}: {value}");
        }
        println!("  headings: {}", skill.headings.join(" · "));
        println!(
            "  entries of its directory: {}",
            skill.tree.children().len()
        );
    }
    println!(
        "{} skills, {} problems",
        found.skills.len(),
        found.problems.len()
    );
    for problem in &found.problems {
        println!("{problem}");
        if let Some(hint) = &problem.hint {
            println!("  hint: {hint}");
        }
    }
    Ok(())
}
