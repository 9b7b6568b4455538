//! What an entry of Toolshelf is: `SKILL.md` files and MCP tools as plain data, the tree they form,
//! the index over them.
//!
//! This crate must not know async, the network, FUSE, the environment or the home directory.

pub mod arguments;
pub mod brief;
pub mod catalog;
pub mod definition;
pub mod discovery;
pub mod entry_id;
pub mod formats;
pub mod frontmatter;
pub mod index;
pub mod json;
pub mod layout;
pub mod lint;
pub mod names;
pub mod offers;
mod parallel;
pub mod paths;
pub mod problem;
pub mod search;
pub mod search_page;
pub mod server;
pub mod skill;
pub mod summary;
pub mod tool;
pub mod tree;
