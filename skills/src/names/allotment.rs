//! Gives out file names so that no two entries share one and none takes a name of the layout's own.

use std::collections::HashMap;
use std::ffi::OsStr;

use super::{LETTERS, MANY_LETTERS, encode, suffixed};

/// Something that wants a file name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    /// Its own name.
    pub(crate) name: &'a OsStr,
    /// What tells it from others of the same name.
    pub(crate) source: &'a OsStr,
}

/// What happens to claims on one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ties {
    /// The first claim keeps the plain name: claims come in an order of precedence.
    FirstKeeps,
    /// Every claim gets the suffix: there is no order but that of arrival, which must not matter.
    NoneKeeps,
}

/// What else wants the plain name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The layout itself.
    ByLayout,
    /// The claim at this position.
    ByClaim(usize),
}

/// The file name that a claim got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allotted {
    /// The file name.
    pub(crate) file_name: String,
    /// Why it isn't the plain one; `None` when it is.
    pub(crate) taken: Option<Taken>,
    /// How many letters of the hash it has.
    letters: usize,
}

impl Allotted {
    fn plain(claim: &Claim<'_>) -> Self {
        Self {
            file_name: encode(claim.name),
            taken: None,
            letters: 0,
        }
    }

    fn lengthen(&mut self, claim: &Claim<'_>, taken: Taken) {
        self.letters = if self.letters == 0 {
            LETTERS
        } else {
            MANY_LETTERS
        };
        self.file_name = suffixed(claim.name, claim.source, self.letters);
        self.taken.get_or_insert(taken);
    }
}

/// Gives each claim a file name of its own, in the order of the claims.
pub(crate) fn allot(claims: &[Claim<'_>], reserved: &[&str], ties: Ties) -> Vec<Allotted> {
    let mut names: Vec<Allotted> = claims.iter().map(Allotted::plain).collect();
    for (name, claim) in names.iter_mut().zip(claims) {
        if reserved.contains(&name.file_name.as_str()) {
            name.lengthen(claim, Taken::ByLayout);
        }
    }
    loop {
        let rivals = rivals(&names, ties);
        if rivals.is_empty() {
            return names;
        }
        for (at, rival) in rivals {
            names[at].lengthen(&claims[at], Taken::ByClaim(rival));
        }
    }
}

/// The claims that must get a longer name, each with the claim that it shares its name with.
fn rivals(names: &[Allotted], ties: Ties) -> Vec<(usize, usize)> {
    let mut sharing: HashMap<&str, Vec<usize>> = HashMap::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        sharing.entry(&name.file_name).or_default().push(at);
    }
    sharing.retain(|_, claims| claims.len() > 1);
    let mut rivals = Vec::new();
    for claims in sharing.values() {
        let first = claims[0];
        let first_keeps = ties == Ties::FirstKeeps && names[first].letters == 0;
        for &at in claims {
            let rival = if at == first { claims[1] } else { first };
            // A name with every letter can only be shared by the same claim made twice.
            let can_lengthen = names[at].letters < MANY_LETTERS;
            if can_lengthen && !(first_keeps && at == first) {
                rivals.push((at, rival));
            }
        }
    }
    rivals
}
