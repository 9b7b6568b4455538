//! What is a URI (RFC 3986, letters of every script allowed as in RFC 3987), and which variables a template of one has (RFC 6570).

use crate::problem::{Problem, ProblemKind};
use crate::summary::is_invisible;

/// Refuses what is no URI: the rest is for its server to judge, which knows what it has.
///
/// # Errors
/// [`ProblemKind::Usage`] with what is wrong.
pub fn check(uri: &str) -> Result<(), Problem> {
    let wrong = |what: &str, hint: String| {
        let message = format!("`{uri}` is no URI: {what}");
        Err(Problem::new(ProblemKind::Usage, message).hint(hint))
    };
    let variables = variables(uri);
    if !variables.is_empty() {
        let names: Vec<_> = variables.iter().map(|name| format!("{{{name}}}")).collect();
        let hint = format!("write a value in the place of {}", names.join(", "));
        return wrong("it is a template", hint);
    }
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    if !scheme.is_some_and(is_scheme) {
        let hint = "it begins with a scheme: file:///notes.txt; mcp/SERVER/RESOURCES.md lists what there is";
        return wrong("it has no scheme", hint.to_owned());
    }
    if let Some(character) = uri.chars().find(|c| !may_stand(*c)) {
        let encoded: String = character
            .to_string()
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect();
        let what = format!("the character {character:?} can't stand in one");
        return wrong(&what, format!("write it as {encoded}"));
    }
    let mut parts = uri.split('%').skip(1);
    let is_encoded = |part: &str| {
        let digits = part.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if parts.any(|part| !is_encoded(part)) {
        return wrong(
            "a % has no two digits after it",
            "write % itself as %25".to_owned(),
        );
    }
    let authority = uri
        .split_once(':')
        .and_then(|(_, rest)| rest.strip_prefix("//"));
    let authority = authority.and_then(|rest| rest.split(['/', '?', '#']).next());
    if !authority.is_none_or(has_host) {
        return wrong(
            "its host has a bracket that is not matched",
            "an IPv6 address is written as http://[::1]/".to_owned(),
        );
    }
    Ok(())
}

/// Whether the brackets of an authority are those of one literal address (RFC 3986, section 3.2.2).
fn has_host(authority: &str) -> bool {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let rest = match host.strip_prefix('[') {
        Some(literal) => match literal.split_once(']') {
            Some((_, port)) if port.is_empty() || port.starts_with(':') => port,
            _ => return false,
        },
        None => host,
    };
    !rest.contains(['[', ']'])
}

fn may_stand(character: char) -> bool {
    match character {
        ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => false,
        _ => !is_invisible(character) && !character.is_whitespace(),
    }
}

/// The names of the variables in a template, each once, in order. What opens and never closes is none.
pub(super) fn variables(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else {
            break;
        };
        rest = after;
        let list = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        for variable in list.split(',') {
            let name = variable.split([':', '*']).next().unwrap_or_default();
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}
