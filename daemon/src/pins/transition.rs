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
    /// The version that is trusted; where nobody is asked, the one that was seen last. `None` where none ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trusted: Option<Version>,
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
            trusted: Some(version),
            ..Self::untrusted()
        }
    }

    const fn untrusted() -> Self {
        Self {
            trusted: None,
            before: None,
            held: None,
            gone: None,
            looked: None,
        }
    }

    /// The hash of what is trusted.
    pub(super) fn trusted_hash(&self) -> Option<Hash> {
        self.trusted.as_ref().map(|version| version.hash)
    }
}

pub(super) type PinsBySubject = BTreeMap<Subject, Pin>;

/// How recent it is what a source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It was just asked.
    Now,
    /// It is what was kept of an earlier asking: another daemon may have seen a later version.
    Before,
    /// It is what this daemon has taken over already.
    Still,
}

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
    pub(super) told: Told,
    /// Whether it would take the place of something that is trusted, so that it is not trusted at first sight.
    pub(super) takes_over: bool,
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
    let known = pins.get(&sighting.subject);
    // What is news does not depend on the time.
    let (pin, _) = after(known, sighting, Timestamp::UNIX_EPOCH);
    pin.as_ref() != known
}

/// Takes over what was seen; says what is to be told of it.
pub(super) fn see(
    pins: &mut PinsBySubject,
    sighting: &Sighting,
    now: Timestamp,
) -> Option<Noticed> {
    let (pin, noticed) = after(pins.get(&sighting.subject), sighting, now);
    match pin {
        Some(pin) => drop(pins.insert(sighting.subject.clone(), pin)),
        None => drop(pins.remove(&sighting.subject)),
    }
    noticed
}

/// What a pin is after something was seen, and what is to be told of it.
fn after(
    known: Option<&Pin>,
    sighting: &Sighting,
    now: Timestamp,
) -> (Option<Pin>, Option<Noticed>) {
    let held_back = || Some(Noticed::Held(sighting.subject.clone()));
    let Some(hash) = sighting.hash else {
        let Some(mut pin) = known.cloned() else {
            return (None, None);
        };
        let noticed = gone(&mut pin, sighting, now).then(held_back).flatten();
        // Of what was never trusted nothing is left to be compared.
        let is_left = pin.trusted.is_some() || sighting.told != Told::Now;
        return (is_left.then_some(pin), noticed);
    };
    let version = Version { hash, since: now };
    let Some(known) = known else {
        let mut pin = if sighting.takes_over && sighting.strict {
            Pin {
                held: Some(Held::Changed(version)),
                ..Pin::untrusted()
            }
        } else {
            Pin::new(version)
        };
        pin.looked.clone_from(&sighting.looked);
        let noticed = pin.held.is_some().then(held_back).flatten();
        return (Some(pin), noticed);
    };
    let mut pin = known.clone();
    pin.looked.clone_from(&sighting.looked);
    let is_trusted = pin.trusted_hash() == Some(hash);
    if sighting.strict && is_outdated(&pin, sighting.told) {
        return (Some(pin), None);
    }
    pin.gone = None;
    if is_trusted {
        pin.held = None;
        return (Some(pin), None);
    }
    let same = match pin.held.take() {
        Some(Held::Changed(held)) if held.hash == hash => Some(held),
        _ => None,
    };
    if sighting.strict {
        let is_new = same.is_none();
        pin.held = Some(Held::Changed(same.unwrap_or(version)));
        return (Some(pin), is_new.then(held_back).flatten());
    }
    let from = pin.trusted.replace(same.unwrap_or(version));
    let noticed = from.as_ref().map(|from| Noticed::Changed {
        subject: sighting.subject.clone(),
        from: from.hash,
        to: hash,
    });
    pin.before = from;
    (Some(pin), noticed)
}

/// Whether another daemon may know better.
const fn is_outdated(pin: &Pin, told: Told) -> bool {
    match told {
        Told::Now => false,
        // It may have seen what follows; where none has, it is a change as any.
        Told::Before => pin.held.is_some(),
        Told::Still => true,
    }
}

/// Takes over that it is not there; says whether that is held back, and was not before.
fn gone(pin: &mut Pin, sighting: &Sighting, now: Timestamp) -> bool {
    if is_outdated(pin, sighting.told) {
        return false;
    }
    if sighting.strict {
        let is_new = !matches!(pin.held, Some(Held::Gone(_)));
        if is_new && pin.trusted.is_some() {
            pin.held = Some(Held::Gone(now));
        }
        return is_new && pin.trusted.is_some();
    }
    pin.held = None;
    pin.gone.get_or_insert(now);
    false
}

#[cfg(test)]
mod tests;
