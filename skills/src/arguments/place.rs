//! What a flag names: an argument, or by dots a member of the object that an argument is.
//!
//! It knows names and their schemas, not the texts that come with them.

use super::parameters::{Parameters, Schemas};
use super::schema::{Kind, Root, Shape};

/// How many names lead to a place at most.
const DEPTH: usize = 16;

/// A place in the arguments, with what the schema allows there.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    /// The names that lead to it, the argument's own first.
    pub(super) path: Vec<String>,
    pub(super) shape: Shape<'a>,
    schemas: Schemas<'a>,
}

/// Which names of members are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Those that the schema declares.
    Declared,
    /// Also those that an object takes without declaring them.
    Any,
}

impl<'a> Place<'a> {
    /// The place of a name: an argument of exactly this name, else the longest one that the rest of the name leads on from.
    pub(super) fn find(parameters: &Parameters<'a>, name: &str, names: Names) -> Option<Self> {
        find(parameters, name, names, 0)
    }

    fn new(root: &'a Root, name: &str, schemas: &Schemas<'a>) -> Self {
        Self {
            path: vec![name.to_owned()],
            shape: schemas.shape(root),
            schemas: schemas.clone(),
        }
    }

    /// What the object that stands there may have; `None` where none may stand.
    pub(super) fn members(&self, root: &'a Root) -> Option<Parameters<'a>> {
        let holds_objects = self.shape.as_ref().is_none_or(|shape| {
            let mut kinds = shape.iter().map(|alternative| alternative.kind);
            kinds.any(|kind| kind == Kind::Object)
        });
        holds_objects.then(|| Parameters::within(root, &self.schemas))
    }

    /// Goes on from here by the rest of a name.
    fn onward(mut self, root: &'a Root, rest: &str, names: Names, depth: usize) -> Option<Self> {
        let members = self.members(root)?;
        let place = find(&members, rest, names, depth)
            .or_else(|| undeclared(&members, rest, names, depth))?;
        self.path.extend(place.path);
        Some(Self {
            path: self.path,
            ..place
        })
    }
}

fn find<'a>(
    parameters: &Parameters<'a>,
    name: &str,
    names: Names,
    depth: usize,
) -> Option<Place<'a>> {
    let root = parameters.root();
    let declared = |name: &str| {
        let parameter = parameters.get(name)?;
        Some(Place::new(root, name, &parameter.schemas))
    };
    if depth > DEPTH {
        return None;
    }
    declared(name).or_else(|| {
        name.rmatch_indices('.').find_map(|(dot, _)| {
            declared(&name[..dot])?.onward(root, &name[dot + 1..], names, depth + 1)
        })
    })
}

/// A member of an object that takes names which it does not declare. Where such a member may be an object itself, a dot leads into it.
fn undeclared<'a>(
    members: &Parameters<'a>,
    name: &str,
    names: Names,
    depth: usize,
) -> Option<Place<'a>> {
    if names == Names::Declared || name.is_empty() || depth > DEPTH {
        return None;
    }
    let root = members.root();
    let schemas = members.other()?;
    let whole = Place::new(root, name, schemas);
    match name.split_once('.') {
        Some((first, rest)) if !first.is_empty() && whole.members(root).is_some() => {
            Place::new(root, first, schemas).onward(root, rest, names, depth + 1)
        }
        _ => Some(whole),
    }
}
