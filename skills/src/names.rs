//! File names for names that come from strangers (DESIGN, "File names" and "Names").

/// The longest file name, in bytes, with room for `.json` and the collision suffix.
pub const MAX_BYTES: usize = 240;

/// Encodes a name so that it can stand as one path component: `/`, NUL, control characters, a leading `.`, `%` and `~`
/// percent-encoded, reversibly; an over-long name is cut and given `~` and a hash. Never empty, `.` or `..`.
pub fn encode(name: &str) -> String {
    let _ = name;
    todo!()
}

/// The name that [`encode`] was given; `None` for what it can't have made, or when the name was cut.
pub fn decode(file_name: &str) -> Option<String> {
    let _ = file_name;
    todo!()
}

/// The encoded name with the collision suffix: `~` and six base32 letters of a hash of source and original name.
pub fn with_suffix(name: &str, source: &str) -> String {
    let _ = (name, source);
    todo!()
}
