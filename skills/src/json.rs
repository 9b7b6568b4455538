//! JSON whose bytes are kept: numbers, key order and duplicate keys as they were written.

use serde_json::value::RawValue;

/// Re-indents by two spaces; every token stays as it was written.
pub fn pretty(raw: &RawValue) -> String {
    let _ = raw;
    todo!()
}

/// The canonical form: no white space, keys sorted at every level; numbers and duplicate keys as written.
pub fn canonical(raw: &RawValue) -> String {
    let _ = raw;
    todo!()
}
