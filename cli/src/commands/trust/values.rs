//! What is shown of the values in a project's file: they are a stranger's, and any of them may decide what is run. So they are shown whole.
//!
//! Masked is only what is a secret by the name that it stands under, and written out: the name is read as whoever gets the value reads
//! it, and in doubt a value is shown. It must not know what the values are for.

use std::borrow::Cow;

use crate::masking::MASK;

/// How the last word of a secret's name ends. `GIT_ASKPASS` and `TOKEN_HELPER` are programs, and none.
const SECRET: [&str; 9] = [
    "token",
    "key",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "cookie",
    "jwt",
];

/// The value of a variable, a header or a part of a query with this name.
pub(super) fn value<'a>(name: &str, value: &'a str) -> &'a str {
    match is_secret(name) && is_literal(value) && !value.is_empty() {
        true => MASK,
        false => value,
    }
}

/// A URL without its password and without the values of its query that are secrets.
pub(super) fn address(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.into();
    };
    // Else this is not the place where a client sees the host begin.
    let is_plain = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_plain || !is_literal(url) || rest.contains(|sign: char| sign.is_ascii_control()) {
        return url.into();
    }
    // As the URL standard reads it, to which a backslash is a slash.
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (before, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let query = match before.split_once('?') {
        Some((path, query)) => format!("{path}?{}", pairs(query)),
        None => before.to_owned(),
    };
    format!("{scheme}://{}{query}{fragment}", host(authority)).into()
}

fn host(authority: &str) -> Cow<'_, str> {
    let user = authority.rsplit_once('@');
    match user.and_then(|(user, host)| Some((user.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{user}:{MASK}@{host}").into(),
        None => authority.into(),
    }
}

fn pairs(query: &str) -> String {
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, text)) => format!("{name}={}", value(name, text)),
        None => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// Whether nothing in it is filled in: what `${X:-default}` has as its default is what is used.
fn is_literal(value: &str) -> bool {
    !value.contains("${")
}

fn is_secret(name: &str) -> bool {
    // With a `=` in it the name of a variable ends before it, and the value begins there.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or_default();
    name.bytes().all(is_name)
        && (last == "pat" || SECRET.iter().any(|ending| last.ends_with(ending)))
}

#[cfg(test)]
mod tests {
    use super::{address, value};

    #[test]
    fn only_what_is_written_out_under_the_name_of_a_secret_is_masked() {
        for name in [
            "TOKEN",
            "API_KEY",
            "apiKey",
            "PGPASSWORD",
            "GITHUB_PAT",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
        ] {
            assert_eq!(value(name, "hunter2"), "***", "{name}");
            for shown in ["", "Bearer ${T}", "${NONE:-./evil.so}", "${T}./evil.so"] {
                assert_eq!(value(name, shown), shown, "{name}");
            }
        }
        for name in [
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "GIT_ASKPASS",
            "SSH_AUTH_SOCK",
            "TOKEN_HELPER",
            "GIT_CONFIG_KEY_0",
            "COMPAT",
            // What the program is given is `LD_PRELOAD=TOKEN=…`.
            "LD_PRELOAD=TOKEN",
            "A TOKEN",
        ] {
            for shown in [
                "./a8f3k2l9x7q1z33bb.so",
                "--require=./payload.js",
                "sk-12345678",
            ] {
                assert_eq!(value(name, shown), shown, "{name}");
            }
        }
    }

    #[test]
    fn of_a_url_only_passwords_and_secrets_are_masked() {
        for whole in [
            "https://attacker.example/mcp?x=@",
            "https://attacker.example/a8f3k2l9x7q1z33bb/sk-12345678?cmd=evil#x",
            "https://me@attacker.example/",
            "https://attacker.example/x:y@good.example",
            "https://attacker.example\\x:y@good.example",
            "https:\\\\attacker.example/://x:y@good.example",
            "https:/attacker.example/://x:y@good.example",
            "ht\ttps:/attacker.example://x:y@good.example",
            "https://x:\t/attacker.example:y@good.example",
            "https://${NONE:-attacker.example/x}:y@good.example/?token=z",
            "https://good.example/?token=${NONE:-x&key=y}",
            "not a url",
        ] {
            assert_eq!(address(whole), whole);
        }
        assert_eq!(
            address("https://me:a:b@c@x.example:80/mcp?q=1&token=abc&x&api_key=d=e#f?key=g"),
            "https://me:***@x.example:80/mcp?q=1&token=***&x&api_key=***#f?key=g"
        );
    }
}
