//! Reads `[policy]` and `[servers.NAME.policy]`. A fault in a section is said, and closes it: nobody knows what was meant to be refused.

use std::path::Path;

use skills::entry_id::ServerName;
use skills::problem::Location;

use super::node::{Fault, Node};
use super::reader::unknown_key;
use crate::gate::policy::{Policy, Rules};
use crate::gate::rule::{List, Rule};

/// The keys of `[policy]`.
const KEYS: [&str; 5] = ["deny", "ask", "allow", "hide", "approvers"];

/// Reads `[policy]` into the policy; what is wrong goes to `faults`.
pub(super) fn general(node: Node<'_>, path: &Path, policy: &mut Policy, faults: &mut Vec<Fault>) {
    let mut section = Section {
        path,
        name: "`policy`".to_owned(),
        of_server: false,
        rules: Rules::default(),
        approvers: None,
    };
    section.read(node, faults);
    policy.general = section.rules;
    policy.approvers = section.approvers;
}

/// Reads the `policy` of a server, if it has one.
pub(super) fn of_server(
    server: &ServerName,
    node: Node<'_>,
    path: &Path,
    policy: &mut Policy,
    faults: &mut Vec<Fault>,
) {
    // An entry that is no table can't be used, and says so itself.
    let entries = node.entries("a server").unwrap_or_default();
    for (_, value) in entries.into_iter().filter(|(key, _)| key == "policy") {
        if value.is_null() {
            continue;
        }
        let mut section = Section {
            path,
            name: format!("`policy` of server `{server}`"),
            of_server: true,
            rules: Rules::default(),
            approvers: None,
        };
        section.read(value, faults);
        policy.servers.insert(server.clone(), section.rules);
    }
}

/// A `policy` that stands twice closes all of it.
pub(super) fn twice(node: Node<'_>, path: &Path, policy: &mut Policy) -> Fault {
    let fault = Fault::new(node.line(), "`policy` stands twice in the file");
    policy.general.fault = Some(super::problem(path, fault.clone()));
    fault.hint("write one section")
}

struct Section<'a> {
    path: &'a Path,
    name: String,
    of_server: bool,
    rules: Rules,
    approvers: Option<Vec<u32>>,
}

impl Section<'_> {
    fn read(&mut self, node: Node<'_>, faults: &mut Vec<Fault>) {
        let first = faults.len();
        match node.table(&self.name) {
            Ok(table) => {
                for (key, value) in table {
                    self.key(&key, value, faults);
                }
            }
            Err(fault) => faults.push(fault),
        }
        if let Some(fault) = faults.get(first) {
            self.rules.fault = Some(super::problem(self.path, fault.clone()));
        }
    }

    fn key(&mut self, key: &str, value: Node<'_>, faults: &mut Vec<Fault>) {
        match key {
            "deny" => self.rules.deny = self.list(List::Deny, value, faults),
            "ask" => self.rules.ask = self.list(List::Ask, value, faults),
            "hide" => self.rules.hide = self.list(List::Hide, value, faults),
            "allow" => {
                self.rules.allow = Some(self.list(List::Allow, value, faults));
                self.rules.allow_written = Some(Location::File {
                    path: self.path.to_owned(),
                    line: Some(value.line()),
                });
            }
            "approvers" if !self.of_server => match approvers(value) {
                Ok(approvers) => self.approvers = Some(approvers),
                Err(fault) => {
                    // Then nobody is.
                    self.approvers = Some(Vec::new());
                    faults.push(fault);
                }
            },
            _ => {
                let known = if self.of_server { &KEYS[..4] } else { &KEYS };
                faults.push(unknown_key(key, &self.name, known, value));
            }
        }
    }

    fn list(&self, list: List, node: Node<'_>, faults: &mut Vec<Fault>) -> Vec<Rule> {
        let what = format!("`{}` of {}", list.as_str(), self.name);
        let elements = match node.list(&what) {
            Ok(elements) => elements,
            Err(fault) => {
                faults.push(fault);
                return Vec::new();
            }
        };
        let mut rules = Vec::with_capacity(elements.len());
        for element in elements {
            match self.rule(list, element, &what) {
                Ok(rule) => rules.push(rule),
                Err(fault) => faults.push(fault),
            }
        }
        rules
    }

    fn rule(&self, list: List, node: Node<'_>, what: &str) -> Result<Rule, Fault> {
        let text = node.text(&format!("a rule in {what}"))?;
        let line = node.line();
        let written = (self.path.to_owned(), line);
        Rule::parse(list, &text, self.of_server, written).map_err(|(fault, hint)| {
            Fault::new(line, format!("`{text}` in {what} {fault}")).hint(hint)
        })
    }
}

/// Users by their numbers: a name could be given to another.
fn approvers(node: Node<'_>) -> Result<Vec<u32>, Fault> {
    let what = "`approvers` of `policy`";
    let users = node.list(what)?.into_iter().map(|user| {
        let number = user.number().and_then(|number| number.parse().ok());
        number.ok_or_else(|| {
            Fault::new(
                user.line(),
                format!("an element of {what} must be the number of a user"),
            )
            .hint("`id -u` prints it")
        })
    });
    users.collect()
}

#[cfg(test)]
mod tests;
