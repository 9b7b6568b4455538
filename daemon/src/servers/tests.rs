//! Servers that misbehave: every trap that was met in the field has a test of its own.

mod calls;
mod corpus;
mod life;
mod shelf;
mod traps;
