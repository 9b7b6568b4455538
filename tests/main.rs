//! The tests that only the real binary, a real mount or a real server can show.

mod guard;
