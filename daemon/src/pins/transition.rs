//! What a pin becomes when something is seen: a pure function of what was known.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::files::Manifest;
use super::hash::Hash;
use super::store::Store;
use super::subject::Subject;

/// One version, and since when it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) hash: Hash,
    pub(super) since: Timestamp,
}

/// What there is in place of the trusted version, and nobody has trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Held {
    /// Another version.
    Changed(Version),
    /// Nothing.
    Gone(Timestamp),
}

/// What reading a skill's files gave, for as long as `stat` says the same of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Looked {
    pub(super) stat: Hash,
    pub(super) hash: Hash,
    /// Whether large files were kept, too, as strict pins need them.
    pub(super) whole: bool,
}

/// What is known of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pin {
    /// The version that is trusted; where nobody is asked, the one that was seen last.
    pub(super) trusted: Version,
    /// The one before it, where nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Version>,
    /// What is not trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<Held>,
    /// Since when it is not there. What is forgotten would be trusted when it comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gone: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) looked: Option<Looked>,
}

impl Pin {
    pub(super) fn new(version: Version) -> Self {
        Self {
            trusted: version,
            before: None,
            held: None,
            gone: None,
            looked: None,
        }
    }
}

pub(super) type PinsBySubject = BTreeMap<Subject, Pin>;

/// Something that was looked at.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub(super) subject: Subject,
    /// Its version; `None` when it is gone.
    pub(super) hash: Option<Hash>,
    /// How that is known, of a skill.
    pub(super) looked: Option<Looked>,
    /// Whether a change is held back.
    pub(super) strict: bool,
}

/// What the journal may have to say, beside what it sees itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Noticed {
    /// A change is held back.
    Held(Subject),
    /// Another version is served now.
    Changed {
        subject: Subject,
        from: Hash,
        to: Hash,
    },
}

impl Noticed {
    pub(super) const fn subject(&self) -> &Subject {
        match self {
            Self::Held(subject) | Self::Changed { subject, .. } => subject,
        }
    }

    /// The sign by which the journal says it.
    pub(super) const fn sign(&self) -> char {
        match self {
            Self::Held(_) => '?',
            Self::Changed { .. } => '~',
        }
    }

    /// Whether the journal does not see it itself: that compares definitions, of which a skill's SKILL.md is one.
    pub(super) fn is_worth_a_line(&self, store: &Store) -> bool {
        match self {
            Self::Held(_) => true,
            Self::Changed { subject, from, to } => {
                let own = |hash| Manifest::load(store, hash).and_then(|kept| kept.own_hash());
                matches!(subject, Subject::Skill { .. }) && own(*from) == own(*to)
            }
        }
    }
}

/// Whether taking over what was seen would change anything.
pub(super) fn is_news(pins: &PinsBySubject, sighting: &Sighting) -> bool {
    let Some(pin) = pins.get(&sighting.subject) else {
        return sighting.hash.is_some();
    };
    match sighting.hash {
        Some(hash) => {
            let is_as_before = match &pin.held {
                None => pin.trusted.hash == hash,
                Some(Held::Changed(held)) => sighting.strict && held.hash == hash,
                Some(Held::Gone(_)) => false,
            };
            !is_as_before || pin.gone.is_some() || pin.looked != sighting.looked
        }
        None if sighting.strict => !matches!(pin.held, Some(Held::Gone(_))),
        None => pin.gone.is_none() || pin.held.is_some(),
    }
}

/// Takes over what was seen; says what is to be told of it.
pub(super) fn see(
    pins: &mut PinsBySubject,
    sighting: &Sighting,
    now: Timestamp,
) -> Option<Noticed> {
    let subject = &sighting.subject;
    let Some(hash) = sighting.hash else {
        return gone(pins.get_mut(subject)?, sighting, now);
    };
    let version = Version { hash, since: now };
    let Some(pin) = pins.get_mut(subject) else {
        let pin = Pin {
            looked: sighting.looked.clone(),
            ..Pin::new(version)
        };
        pins.insert(subject.clone(), pin);
        return None;
    };
    pin.gone = None;
    pin.looked.clone_from(&sighting.looked);
    if hash == pin.trusted.hash {
        pin.held = None;
        return None;
    }
    let known = match pin.held.take() {
        Some(Held::Changed(held)) if held.hash == hash => Some(held),
        _ => None,
    };
    if sighting.strict {
        let is_new = known.is_none();
        pin.held = Some(Held::Changed(known.unwrap_or(version)));
        return is_new.then(|| Noticed::Held(subject.clone()));
    }
    let from = std::mem::replace(&mut pin.trusted, known.unwrap_or(version));
    let noticed = Noticed::Changed {
        subject: subject.clone(),
        from: from.hash,
        to: hash,
    };
    pin.before = Some(from);
    Some(noticed)
}

fn gone(pin: &mut Pin, sighting: &Sighting, now: Timestamp) -> Option<Noticed> {
    if sighting.strict {
        if matches!(pin.held, Some(Held::Gone(_))) {
            return None;
        }
        pin.held = Some(Held::Gone(now));
        return Some(Noticed::Held(sighting.subject.clone()));
    }
    pin.held = None;
    pin.gone.get_or_insert(now);
    None
}

#[cfg(test)]
mod tests;
