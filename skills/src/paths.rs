//! Paths as JSON: text where a path is UTF-8, else its bytes as numbers, so that every path of Linux comes back as it was.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a path, or several; for `#[serde(with = "skills::paths")]`.
///
/// # Errors
/// What the serializer says.
pub fn serialize<T: Paths, S: Serializer>(paths: &T, serializer: S) -> Result<S::Ok, S::Error> {
    paths.to_form().serialize(serializer)
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// What the deserializer says.
pub fn deserialize<'de, T: Paths, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Form::deserialize(deserializer).map(T::from_form)
}

/// A path, or several.
pub trait Paths {
    /// What stands for it in JSON.
    type Form: Serialize + DeserializeOwned;

    /// Makes the form.
    fn to_form(&self) -> Self::Form;

    /// Makes it from the form again.
    fn from_form(form: Self::Form) -> Self;
}

/// What stands for one path.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Form {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl Paths for PathBuf {
    type Form = Form;

    fn to_form(&self) -> Form {
        match self.to_str() {
            Some(text) => Form::Text(text.to_owned()),
            None => Form::Bytes(self.clone().into_os_string().into_vec()),
        }
    }

    fn from_form(form: Form) -> Self {
        match form {
            Form::Text(text) => text.into(),
            Form::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

impl<T: Paths> Paths for Option<T> {
    type Form = Option<T::Form>;

    fn to_form(&self) -> Self::Form {
        self.as_ref().map(T::to_form)
    }

    fn from_form(form: Self::Form) -> Self {
        form.map(T::from_form)
    }
}

impl<T: Paths> Paths for Vec<T> {
    type Form = Vec<T::Form>;

    fn to_form(&self) -> Self::Form {
        self.iter().map(T::to_form).collect()
    }

    fn from_form(form: Self::Form) -> Self {
        form.into_iter().map(T::from_form).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    use crate::problem::{Location, Problem, ProblemKind};

    #[test]
    fn a_path_that_is_no_text_comes_back_as_it_was() {
        for (path, form) in [
            (b"/skills/p".as_slice(), r#""/skills/p""#),
            (b"/p\xff", "[47,112,255]"),
        ] {
            let path = PathBuf::from(OsStr::from_bytes(path));
            let problem = Problem::new(ProblemKind::Unreadable, "no").at_file(&path, Some(3));
            let json = serde_json::to_string(&problem).unwrap();
            assert!(json.contains(form), "{json}");
            let back: Problem = serde_json::from_str(&json).unwrap();
            let line = Some(3);
            assert_eq!(back.location, Some(Location::File { path, line }));
        }
    }
}
