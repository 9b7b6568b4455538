//! The tests that only the real binary, a real mount or a real server can show.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes what the tests here share for production code"
)]

mod alone;
mod arguments;
mod briefing;
mod calling;
mod catalog;
mod changes;
mod configuring;
mod conformance;
mod corpus;
mod embedding;
mod formats;
mod guard;
mod handing_out;
mod lifecycle;
mod linting;
mod log;
mod many_calls;
mod mirror;
mod mirroring;
mod mounting;
mod offers;
mod opening;
mod pins;
mod policy;
mod project;
mod questions;
mod reading;
mod real_servers;
mod results;
mod running;
mod search_directory;
mod searching;
mod servers_life;
mod serving;
mod support;
mod surroundings;
mod trusting;
mod unprivileged;

#[test]
fn every_file_is_listed_here() {
    let directory = support::needs::workspace().join("tests");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(module) = name.strip_suffix(".rs").filter(|name| *name != "main") {
            assert!(listed.contains(&format!("\nmod {module};\n")), "{name}");
        }
    }
}
