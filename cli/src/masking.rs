//! What of a server's command line and URL is shown: whatever may be a secret is not. It must not know where a server was found.
//!
//! Masking too much costs a reader a word, masking too little costs a secret: in doubt a word is masked.

use daemon::config::definition::is_reference;

/// What stands in place of a value.
pub(crate) const MASK: &str = "***";

/// Parts of the names of options and variables whose value is a secret.
const SECRET: [&str; 16] = [
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "cred",
    "auth",
    "header",
    "bearer",
    "dsn",
    "conn",
    "cookie",
    "jwt",
    "signature",
    "private",
    "webhook",
];

/// How the tokens of well-known services begin.
const TOKENS: [&str; 35] = [
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxc-",
    "xoxd-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "ntn_",
    "secret_",
    "lin_api_",
    "dckr_pat_",
    "shpat_",
    "ATATT",
    "figd_",
    "tvly-",
    "gsk_",
    "whsec_",
    "ya29.",
];

/// From how many characters on a word with letters and digits mixed is taken for a secret.
const LONG: usize = 16;
/// As [`LONG`], in the path of a URL, where a word is rarely a name of someone's own.
const LONG_IN_URL: usize = 12;
/// From how many letters on a word without a digit is taken for a secret, too.
const LONG_LETTERS: usize = 24;

/// What an option says of the argument behind it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Plain,
    /// It is a secret.
    Secret,
    /// It is a header.
    Header,
    /// It is a variable with its value, or a variable's name.
    Variable,
    /// It may be a password as well as a port.
    Port,
    /// It may be a user with a password.
    User,
}

/// A value, if it says no more than where the value comes from.
pub(crate) fn shown(value: &str) -> String {
    match is_reference(value) {
        true => value.to_owned(),
        false => MASK.to_owned(),
    }
}

/// Arguments without what may be a secret.
pub(crate) fn arguments<S: AsRef<str>>(args: &[S]) -> Vec<String> {
    let mut next = Next::Plain;
    let shown = args.iter().map(|argument| {
        let argument = argument.as_ref();
        let this = std::mem::take(&mut next);
        if argument.starts_with("--") || this == Next::Plain {
            next = announced(argument);
            return on_its_own(argument);
        }
        value_of(this, argument)
    });
    shown.collect()
}

/// A URL without its query, without who signs in and without what may be a secret in its path; any other text as a word.
pub(crate) fn address(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => url(scheme, rest),
        None => word(text),
    }
}

/// A path or a word, or what is left of it.
pub(crate) fn word(text: &str) -> String {
    if text.is_empty() || is_reference(text) {
        return text.to_owned();
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return url(scheme, rest);
    }
    if text.contains(char::is_whitespace) {
        return phrase(text);
    }
    let has_default = text.contains("${") && text.contains(":-");
    if has_default || names_a_secret(text) || has_password(text) || has_token(text) {
        return MASK.to_owned();
    }
    if text.starts_with(['/', '.', '~']) {
        let parts = text.split('/').map(|part| segment(part, LONG));
        return parts.collect::<Vec<_>>().join("/");
    }
    segment(text, LONG)
}

fn announced(option: &str) -> Next {
    let lower = option.to_ascii_lowercase();
    match option {
        _ if !option.starts_with('-') || option.contains('=') => Next::Plain,
        "-H" => Next::Header,
        "-e" | "-E" | "--env" => Next::Variable,
        "-p" | "-P" => Next::Port,
        "-u" | "-U" => Next::User,
        _ if lower.contains("header") => Next::Header,
        _ if is_secret(option) => Next::Secret,
        _ => Next::Plain,
    }
}

fn value_of(what: Next, value: &str) -> String {
    match what {
        Next::Plain => word(value),
        Next::Secret => shown(value),
        Next::Header => header(value),
        Next::Variable => variable(value),
        Next::Port if value.starts_with(|first: char| first.is_ascii_digit()) => {
            let is_port = |byte: u8| byte.is_ascii_digit() || b":./-".contains(&byte);
            match value.bytes().all(is_port) {
                true => value.to_owned(),
                false => MASK.to_owned(),
            }
        }
        Next::Port => shown(value),
        Next::User if value.contains(':') => shown(value),
        Next::User => word(value),
    }
}

/// An argument that no option before it speaks of.
fn on_its_own(argument: &str) -> String {
    let flag = argument.strip_prefix('-').unwrap_or_default();
    let is_short = !flag.is_empty() && !flag.starts_with('-');
    match argument.split_once('=') {
        Some(("--env" | "-e", value)) => {
            format!(
                "{}={}",
                &argument[..argument.len() - value.len() - 1],
                variable(value)
            )
        }
        _ if argument.contains(char::is_whitespace) => phrase(argument),
        Some((name, _)) if name.contains("://") => address(argument),
        Some((name, value)) if is_secret(name) || is_variable(name.trim_start_matches("-e")) => {
            format!("{}={}", word(name), shown(value))
        }
        // Pairs in a value are those of a connection.
        Some((name, value)) if value.contains('=') && !value.contains("://") => {
            format!("{}={}", word(name), MASK)
        }
        Some((name, value)) => format!("{}={}", word(name), word(value)),
        // A password may stand right behind its letter.
        None if is_short && flag.len() > 3 && has_both(&flag[flag.len().min(1)..]) => {
            format!("-{}{MASK}", flag.chars().next().unwrap_or_default())
        }
        None if argument.starts_with('-') => match has_token(argument.trim_start_matches('-')) {
            true => MASK.to_owned(),
            false => segment(argument, LONG),
        },
        None => word(argument),
    }
}

/// Several words in one argument: shown when nothing in any of them may be a secret.
fn phrase(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let is_plain = !is_secret(text) && arguments(&words) == words;
    match is_reference(text) || is_plain {
        true => text.to_owned(),
        false => MASK.to_owned(),
    }
}

/// A header's name, and its value if that is a reference.
fn header(value: &str) -> String {
    match value.split_once([':', '=']) {
        Some((name, rest)) if is_word(name, b"-_") && !has_token(name) => {
            let space = if rest.starts_with(' ') { " " } else { "" };
            let sign = &value[name.len()..=name.len()];
            format!("{name}{sign}{space}{}", shown(rest.trim_start()))
        }
        _ => shown(value),
    }
}

/// A variable's name, and its value if that is a reference.
fn variable(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) if is_word(name, b"_") => format!("{name}={}", shown(value)),
        None if is_variable(text) => text.to_owned(),
        _ => shown(text),
    }
}

fn url(scheme: &str, rest: &str) -> String {
    let scheme = match scheme.rsplit_once([':', '=']) {
        // What stands before, as in `--url=https` or `jdbc:postgresql`.
        Some((before, _)) => format!("{}{}", word(before), &scheme[before.len()..]),
        None => word(scheme),
    };
    let end = rest.find(['?', '#', ';', ',', '&', '"', '\'', ' ']);
    let (place, tail) = rest.split_at(end.unwrap_or(rest.len()));
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let (user, host) = match host.rsplit_once('@') {
        Some((_, host)) => (format!("{MASK}@"), host),
        None => (String::new(), host),
    };
    // A password may hold any sign: then what looks like a host is none.
    let has_port = host.rsplit_once(':').is_none_or(|(_, port)| {
        is_reference(port) || port.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !has_port || tail.contains('@') || (host.contains(':') && path.contains('@')) {
        return format!("{scheme}://{MASK}");
    }
    let host: Vec<_> = host.split('.').map(|part| segment(part, LONG)).collect();
    let mut before = "";
    let path = path.split('/').map(|part| {
        let is_behind_secret = before.len() == 1 || is_secret(before);
        before = part;
        match is_behind_secret && !part.is_empty() {
            true => shown(part),
            false if has_token(part) => MASK.to_owned(),
            false => segment(part, LONG_IN_URL),
        }
    });
    let path = path.collect::<Vec<_>>().join("/");
    let tail = match tail.chars().next() {
        Some(_) => format!("?{MASK}"),
        None => String::new(),
    };
    format!("{scheme}://{user}{}{path}{tail}", host.join("."))
}

/// A word, unless it is long and no name.
fn segment(text: &str, long: usize) -> String {
    let is_harmless = is_reference(text)
        || (text.len() < long && !text.contains(":-"))
        || text
            .split(|sign: char| !sign.is_alphanumeric())
            .all(is_of_a_name);
    match is_harmless {
        true => text.to_owned(),
        false => MASK.to_owned(),
    }
}

/// Whether a part between two signs is one of a name or a version: `server`, `v2`, `k8s`, `sha256`, `2025`.
fn is_of_a_name(part: &str) -> bool {
    let digits = part.trim_start_matches(|letter: char| letter.is_lowercase());
    let is_number = |text: &str| text.chars().all(|sign| sign.is_ascii_digit());
    match has_both(part) {
        false if is_number(part) => part.len() <= 8,
        false => part.len() < LONG_LETTERS,
        true => part.len() <= 3 || (part.len() <= 10 && digits.len() <= 4 && is_number(digits)),
    }
}

fn has_both(text: &str) -> bool {
    text.contains(|sign: char| sign.is_ascii_digit()) && text.contains(char::is_alphabetic)
}

/// Whether a part of the text begins as a token of a well-known service does.
fn has_token(text: &str) -> bool {
    text.split(|sign: char| !sign.is_alphanumeric() && !"-_.".contains(sign))
        .any(|part| {
            TOKENS
                .iter()
                .any(|token| part.starts_with(token) && part.len() >= token.len() + 4)
        })
}

/// Whether a text that is no option has a name in it that gives a secret away, with its value behind it.
fn names_a_secret(text: &str) -> bool {
    text.rfind([':', '='])
        .is_some_and(|end| is_secret(&text[..end]))
}

/// Whether it is `USER:PASSWORD@HOST`; packages may be `npm:NAME@VERSION`.
fn has_password(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(before, _)| {
        before
            .split_once(':')
            .is_some_and(|(kind, rest)| !["npm", "jsr"].contains(&kind) && !rest.is_empty())
    })
}

fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|sign: char| !sign.is_ascii_alphanumeric());
    SECRET.iter().any(|part| lower.contains(part))
        || words.any(|word| word.ends_with("pat") || ["pw", "dbpw", "pin", "otp"].contains(&word))
}

/// Whether it reads as a variable's name does.
fn is_variable(name: &str) -> bool {
    is_word(name, b"_")
        && name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
        && !name.contains(|letter: char| letter.is_ascii_lowercase())
        && !has_token(name)
}

fn is_word(text: &str, besides: &[u8]) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || besides.contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_it)
}

#[cfg(test)]
mod tests;
