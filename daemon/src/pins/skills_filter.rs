//! Skills whose pins are strict: each is served as its files were when they were trusted, also when they are gone.
//!
//! While its files are those, a skill is served from its own directory, whose every file is compared by `stat` when it is opened. After
//! that it is served from the store.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use skills::catalog::Sources;
use skills::problem::{Problem, ProblemKind};
use skills::skill::Skill;

use super::files::{self, Limits, Manifest};
use super::hash::Hash;
use super::restoring;
use super::store::Store;
use super::subject::Subject;
use super::transition::{Looked, Pin, PinsBySubject, Sighting, Told};
use super::{Applied, HeldBack, Scope, State};

/// What was made last: as long as nothing changes a skill stays the very same, by which snapshots share it.
#[derive(Debug, Default)]
pub(super) struct ServedSkills {
    stats: Stats,
    restored: BTreeMap<Subject, Restored>,
}

/// What `stat` said of the files of each skill that was looked at.
#[derive(Debug, Default)]
pub(super) struct Stats(BTreeMap<Subject, (Arc<Skill>, Hash)>);

#[derive(Clone, Debug)]
struct Restored {
    hash: Hash,
    precedence: usize,
    skill: Arc<Skill>,
}

/// Puts trusted skills in place of those that are not.
pub(super) fn apply(
    state: &mut State,
    store: &Store,
    scope: &Scope,
    sources: &mut Sources,
    applied: &mut Applied,
) {
    let found: Vec<_> = std::mem::take(&mut sources.skills)
        .into_iter()
        .map(|skill| (Subject::skill(&skill), skill))
        .collect();
    let present: BTreeSet<&Subject> = found.iter().map(|(subject, _)| subject).collect();
    let mut stats = std::mem::take(&mut state.skills.stats);
    let trusted_names = trusted_names(state.ledger.pins(), scope);
    let mut seen = BTreeMap::new();
    let mut sightings = Vec::new();
    for (subject, skill) in &found {
        let told = stats.told(subject, skill);
        let stat = stats.of(subject, skill);
        match look(skill, stat, state.ledger.get(subject), store, true) {
            Ok(looked) => {
                seen.insert(subject, looked.hash);
                sightings.push(Sighting {
                    told,
                    takes_over: trusted_names.contains(&name(subject)),
                    ..sighting(subject, Some(looked), true)
                });
            }
            Err(error) if state.ledger.get(subject).is_none() => {
                let message = format!("can't be read as a whole, and so is not trusted: {error}");
                let problem = Problem::new(ProblemKind::NotTrusted, message);
                applied.problems.push(subject.locate(problem));
            }
            // What was trusted is served, and that is told. It is looked at again, as if for the first time.
            Err(_) => stats.forget(subject),
        }
    }
    for (subject, pin) in state.ledger.pins() {
        let is_skill = matches!(subject, Subject::Skill { .. });
        if is_skill && !present.contains(subject) && scope.sees(subject) {
            // What went while nobody was asked, or is trusted to be gone, does not come back.
            sightings.push(sighting(subject, None, pin.gone.is_none()));
        }
    }
    stats.retain(&present);
    state.see(store, sightings);

    let mut serving = Serving {
        store,
        before: std::mem::take(&mut state.skills.restored),
        restored: BTreeMap::new(),
        applied,
    };
    for (subject, skill) in &found {
        let Some(pin) = state.ledger.get(subject) else {
            // It could not be read whole, or nothing can be remembered: what is not known is not trusted.
            continue;
        };
        let is_trusted = pin
            .trusted_hash()
            .is_some_and(|hash| seen.get(subject) == Some(&hash));
        let served = if is_trusted {
            Some(Arc::clone(skill))
        } else {
            serving.trusted(subject, pin, skill.precedence, false)
        };
        sources.skills.extend(served);
    }
    for (subject, pin) in state.ledger.pins() {
        if present.contains(subject) || pin.gone.is_some() {
            continue;
        }
        if let Some(precedence) = scope.precedence(subject) {
            let served = serving.trusted(subject, pin, precedence, true);
            sources.skills.extend(served);
        }
    }
    sources
        .skills
        .sort_by(|a, b| (a.precedence, &a.found).cmp(&(b.precedence, &b.found)));
    state.skills = ServedSkills {
        restored: serving.restored,
        stats,
    };
}

/// The names that trusted skills have. Nothing that is not trusted may be served under one of them.
fn trusted_names(pins: &PinsBySubject, scope: &Scope) -> BTreeSet<String> {
    let is_named = |(subject, pin): &(&Subject, &Pin)| {
        pin.trusted.is_some() && pin.gone.is_none() && scope.sees(subject)
    };
    let named = pins.iter().filter(is_named);
    named.map(|(subject, _)| name(subject)).collect()
}

/// The name that a skill asks for, without regard to case, as it is allotted.
fn name(subject: &Subject) -> String {
    let Subject::Skill { source, found } = subject else {
        return String::new();
    };
    let own = skills::names::encode(found.file_name().unwrap_or_default());
    let name = match source {
        Some(source) => format!("{source}:{own}"),
        None => own,
    };
    name.to_lowercase()
}

/// Which version a skill's files are; they are read only where `stat` says that they may have changed, or where the trusted version is
/// not kept as it has to be. `whole` says that this one is to be served from what is kept; of others only the texts are.
pub(super) fn look(
    skill: &Skill,
    stat: Hash,
    pin: Option<&Pin>,
    store: &Store,
    whole: bool,
) -> io::Result<Looked> {
    // Who only looks serves no file.
    let keeps_whole = whole && !store.is_read_only();
    let is_trusted = |hash| pin.is_none_or(|pin| pin.trusted_hash() == Some(hash));
    let known = pin.and_then(|pin| pin.looked.as_ref());
    let is_kept = |known: &&Looked| known.whole || !keeps_whole || !is_trusted(known.hash);
    if let Some(known) = known.filter(|known| known.stat == stat).filter(is_kept) {
        return Ok(known.clone());
    }
    let read = |limits| Manifest::read(skill, store, limits);
    let mut whole = keeps_whole && pin.is_none();
    let mut hash = read(if whole { Limits::WHOLE } else { Limits::TEXTS })?;
    if keeps_whole && !whole && is_trusted(hash) {
        hash = read(Limits::WHOLE)?;
        whole = true;
    }
    Ok(Looked { stat, hash, whole })
}

pub(super) fn sighting(subject: &Subject, looked: Option<Looked>, strict: bool) -> Sighting {
    Sighting {
        subject: subject.clone(),
        hash: looked.as_ref().map(|looked| looked.hash),
        looked,
        strict,
        told: Told::Now,
        takes_over: false,
    }
}

impl Stats {
    /// Whether a skill was looked at already, and was not scanned anew since.
    fn told(&self, subject: &Subject, skill: &Arc<Skill>) -> Told {
        match self.0.get(subject) {
            Some((known, _)) if Arc::ptr_eq(known, skill) => Told::Still,
            _ => Told::Now,
        }
    }

    fn forget(&mut self, subject: &Subject) {
        self.0.remove(subject);
    }

    /// What `stat` said of a skill's files when they were scanned.
    pub(super) fn of(&mut self, subject: &Subject, skill: &Arc<Skill>) -> Hash {
        if let Some((known, stat)) = self.0.get(subject)
            && Arc::ptr_eq(known, skill)
        {
            return *stat;
        }
        let stat = files::stat(skill);
        self.0.insert(subject.clone(), (Arc::clone(skill), stat));
        stat
    }
}

impl Stats {
    /// Forgets the skills that are not there.
    pub(super) fn retain<S: Borrow<Subject> + Ord>(&mut self, present: &BTreeSet<S>) {
        self.0.retain(|subject, _| present.contains(subject));
    }
}

impl Scope {
    /// The precedence of a skill that is not there: that of its root. `None` when no root is configured in which it could be.
    pub(super) fn precedence(&self, subject: &Subject) -> Option<usize> {
        let Subject::Skill { source, found } = subject else {
            return None;
        };
        let mut roots = self.roots.iter();
        roots.position(|root| root.source == *source && found.starts_with(&root.path))
    }
}

/// What is served in place of what there is.
struct Serving<'a> {
    store: &'a Store,
    before: BTreeMap<Subject, Restored>,
    restored: BTreeMap<Subject, Restored>,
    applied: &'a mut Applied,
}

impl Serving<'_> {
    fn trusted(
        &mut self,
        subject: &Subject,
        pin: &Pin,
        precedence: usize,
        is_gone: bool,
    ) -> Option<Arc<Skill>> {
        let Subject::Skill { source, found } = subject else {
            return None;
        };
        let Some(hash) = pin.trusted_hash() else {
            self.applied.held.push(HeldBack {
                subject: subject.clone(),
                became: "is new",
                missing: Some("it would take the name of a trusted skill".to_owned()),
            });
            return None;
        };
        let before = self.before.remove(subject);
        let before = before.filter(|before| before.hash == hash && before.precedence == precedence);
        let restored = match before {
            Some(before) => Ok(before.skill),
            None => restoring::skill(self.store, source.clone(), found.clone(), precedence, hash),
        };
        let (skill, missing) = match restored {
            Ok(skill) => (Some(skill), None),
            Err(why) => (None, Some(why)),
        };
        if let Some(skill) = &skill {
            let restored = Restored {
                hash,
                precedence,
                skill: Arc::clone(skill),
            };
            self.restored.insert(subject.clone(), restored);
        }
        self.applied.held.push(HeldBack {
            subject: subject.clone(),
            became: if is_gone { "is gone" } else { "changed" },
            missing,
        });
        skill
    }
}
