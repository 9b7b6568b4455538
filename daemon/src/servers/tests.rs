//! Servers that misbehave: every trap that was met in the field has a test of its own.

mod calls;
mod corpus;
mod fake_http;
mod http;
mod http_ways;
mod instances;
mod life;
mod offers;
mod questions;
mod restarts;
mod shelf;
mod traps;
