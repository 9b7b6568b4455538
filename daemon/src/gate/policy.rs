//! The policy: which calls go on, which are refused, and which wait for somebody's approval.
//!
//! It knows neither who calls nor how somebody is asked.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use skills::catalog::Hides;
use skills::entry_id::{EntryId, ServerName};
use skills::offers;
use skills::problem::{Location, Problem, ProblemKind};
use skills::tool::Tool;

use super::rule::{List, Rule, Subject, Target};

/// Every rule of a configuration. None of them is about a user: who may approve stands beside them.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Those of `[policy]`.
    pub general: Rules,
    /// Those of `[servers.NAME.policy]`, each about the tools of that server alone.
    pub servers: BTreeMap<ServerName, Rules>,
    /// The users whose approvals count; without them it is the daemon's own.
    pub approvers: Option<Vec<u32>>,
}

/// The lists of one section.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What is refused.
    pub deny: Vec<Rule>,
    /// What waits for an approval.
    pub ask: Vec<Rule>,
    /// What goes on; where it is given, nothing else does.
    pub allow: Option<Vec<Rule>>,
    /// What is not on the shelf.
    pub hide: Vec<Rule>,
    /// Where `allow` is written.
    pub allow_written: Option<Location>,
    /// What is wrong with the section: nobody knows what it was meant to refuse.
    pub fault: Option<Problem>,
}

/// What the policy says to a call.
#[derive(Clone, Debug)]
pub enum Ruling<'a> {
    /// It may go on.
    Allowed,
    /// It may not; the message says which rule refuses it.
    Refused(Problem),
    /// It may when somebody approves it.
    Ask(&'a Rule),
}

impl Policy {
    /// Whether nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.sections().all(Rules::is_empty)
    }

    fn sections(&self) -> impl Iterator<Item = &Rules> {
        std::iter::once(&self.general).chain(self.servers.values())
    }

    /// Judges a call: what can't be read refuses all, then the first that matches in the order `deny`, `ask`, `allow`, whichever
    /// section it stands in. What nothing matches goes on unless there is an `allow`.
    pub fn judge(&self, subject: &Subject<'_>) -> Ruling<'_> {
        let own = subject
            .target
            .and_then(|(server, _)| self.servers.get(server));
        let sections = || std::iter::once(&self.general).chain(own);
        if let Some(fault) = sections().find_map(|rules| rules.fault.as_ref()) {
            let problem = refused(format!("refused, since the policy can't be read: {fault}"));
            return Ruling::Refused(
                problem.hint("mend the configuration; `shelf status` lists its faults"),
            );
        }
        let find = |list: fn(&Rules) -> &[Rule]| {
            let mut rules = sections().flat_map(list);
            rules.find(|rule| rule.is_about(subject))
        };
        if let Some(rule) = find(|rules| &rules.deny) {
            return Ruling::Refused(refused(format!("refused by {rule}")));
        }
        if let Some(rule) = find(|rules| &rules.ask) {
            return Ruling::Ask(rule);
        }
        if find(|rules| rules.allow.as_deref().unwrap_or_default()).is_some() {
            return Ruling::Allowed;
        }
        let Some(given) = sections().find(|rules| rules.allow.is_some()) else {
            return Ruling::Allowed;
        };
        let place = given.allow_written.as_ref();
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        Ruling::Refused(refused(format!(
            "refused: there is a list {}{place}, and nothing in it matches",
            List::Allow.as_str()
        )))
    }

    /// What it leaves off the shelf.
    pub fn hidden(&self) -> Hidden {
        let hidden = |rules: &Rules| rules.hide.clone();
        let own = self.servers.iter();
        Hidden {
            general: hidden(&self.general),
            servers: own
                .map(|(name, rules)| (name.clone(), hidden(rules)))
                .collect(),
        }
    }
}

impl Rules {
    fn is_empty(&self) -> bool {
        let lists = [&self.deny, &self.ask, &self.hide];
        lists.iter().all(|list| list.is_empty()) && self.allow.is_none() && self.fault.is_none()
    }
}

fn refused(message: String) -> Problem {
    Problem::new(ProblemKind::Refused, message)
}

/// The rules about what is not on the shelf. What the configuration has of it beside a fault is followed: nothing of a section
/// with a fault can be called anyway.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    general: Vec<Rule>,
    servers: BTreeMap<ServerName, Vec<Rule>>,
}

impl Hidden {
    /// Whether it hides nothing.
    pub fn is_empty(&self) -> bool {
        self.general.is_empty() && self.servers.values().all(Vec::is_empty)
    }

    /// Whether the two hide the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |one: &[Rule], other: &[Rule]| {
            one.len() == other.len()
                && std::iter::zip(one, other).all(|(one, other)| one.says_same(other))
        };
        same(&self.general, &other.general)
            && self.servers.len() == other.servers.len()
            && std::iter::zip(&self.servers, &other.servers)
                .all(|((name, one), (named, other))| name == named && same(one, other))
    }
}

impl Hidden {
    fn hides(&self, server: &ServerName, id: &EntryId, target: Target<'_>) -> bool {
        let subject = Subject {
            id,
            target: Some((server, target)),
        };
        let own = self.servers.get(server).into_iter().flatten();
        let mut rules = self.general.iter().chain(own);
        rules.any(|rule| rule.is_about(&subject))
    }
}

impl Hides for Hidden {
    fn hides_tool(&self, server: &ServerName, id: &EntryId, tool: &Tool) -> bool {
        self.hides(server, id, Target::Tool(tool))
    }

    fn hides_offers(&self, server: &ServerName, id: &EntryId, kind: offers::Kind) -> bool {
        self.hides(server, id, Target::Offers(kind))
    }

    fn hides_skill(&self, id: &EntryId) -> bool {
        let subject = Subject { id, target: None };
        self.general.iter().any(|rule| rule.is_about(&subject))
    }

    fn rules(&self) -> String {
        let general = self.general.iter().map(|rule| (None, rule));
        let own = self.servers.iter().flat_map(|(server, rules)| {
            let server = Some(server.as_str());
            rules.iter().map(move |rule| (server, rule))
        });
        let mut text = String::new();
        for (server, rule) in general.chain(own) {
            // Writing to a string can't fail. A rule says the same wherever it stands in a file.
            let _ = writeln!(text, "{server:?} {:?}", rule.quoted());
        }
        text
    }
}

#[cfg(test)]
mod tests;
