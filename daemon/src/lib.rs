//! The Toolshelf daemon: sources become a catalog, the catalog a tree, the tree a mount; beside it the
//! control socket and the access log.
//!
//! This crate prints nothing and reads no environment: the command hands both over.

pub mod access_log;
pub mod cache;
pub mod caller;
pub mod catalog;
pub mod client;
pub mod config;
pub mod control;
mod counting;
mod descriptor_limit;
pub mod gate;
pub mod guard;
pub mod instance;
pub mod journal;
pub mod mirror;
pub mod mount;
pub mod mount_table;
pub mod offline;
pub mod pins;
pub mod project;
pub mod protocol;
mod retention;
pub mod run;
pub mod searching;
pub mod serve;
pub mod servers;
pub mod skill_source;
mod source_file;
mod state_file;
pub mod surroundings;
