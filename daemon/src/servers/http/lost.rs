//! Why an HTTP request has no reply, in words. What a server or a header says is cleaned before it is repeated.

use std::error::Error;

use hyper::header::{HeaderMap, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::uri::Uri;
use hyper::{Response, StatusCode};
use skills::summary::one_line;

use crate::servers::ticket::Lost;

/// The longest text of a server that is repeated, in characters.
const MAX_TEXT: usize = 300;

/// A request that failed below HTTP, or whose reply broke off.
pub(super) fn of_connection(
    error: &(dyn Error + 'static),
    was_sent: bool,
    roots: Option<&str>,
) -> Lost {
    let mut reasons: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let reason = error.to_string();
        // The layers of the client say little more than that they failed, or repeat what is below them.
        let says_more = !reason.starts_with("client error")
            && reasons.last().is_none_or(|last| !last.ends_with(&reason));
        if says_more {
            reasons.push(reason);
        }
        cause = error.source();
    }
    let reasons = text(&reasons.join(": "));
    let lost = if was_sent {
        Lost::new(format!("broke off before it answered: {reasons}"))
    } else {
        Lost::new(format!("could not be reached: {reasons}")).unreachable()
    };
    if !reasons.contains("certificate") {
        return lost;
    }
    lost.hint(
        roots.unwrap_or(
            "if its certificate is of an authority of your own, name that in SSL_CERT_FILE",
        ),
    )
}

/// A reply that is not a success. `has_authorization` says whether the configuration sends one.
pub(super) fn of_status<B>(reply: &Response<B>, has_authorization: bool, body: &str) -> Lost {
    let status = reply.status();
    let said = said(body);
    match status {
        StatusCode::UNAUTHORIZED => unauthorized(reply.headers(), has_authorization),
        StatusCode::FORBIDDEN => Lost::new(format!("refuses access (HTTP 403){said}"))
            .hint("check what the `headers` of its entry authorize"),
        StatusCode::NOT_FOUND => Lost::new(format!("has nothing at this URL (HTTP 404){said}"))
            .hint("check the `url` of its entry: many end in /mcp"),
        StatusCode::METHOD_NOT_ALLOWED => {
            Lost::new(format!("takes no messages at this URL (HTTP 405){said}"))
                .hint("check the `url` of its entry: that of the old HTTP with SSE, often /sse, is not supported")
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Lost::new("could not be reached: the proxy asks for authorization (HTTP 407)")
                .hint("write it into the proxy's variable: http://user:password@host:port")
        }
        _ => {
            let later = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let later = later.map_or_else(String::new, |later| {
                format!(", to be asked again after {}", text(later))
            });
            Lost::new(format!("answered with HTTP {}{later}{said}", of(status)))
        }
    }
}

/// A redirect that is not followed, with where it leads.
pub(super) fn of_redirect(from: &Uri, status: StatusCode, headers: &HeaderMap) -> Lost {
    let target = headers
        .get(LOCATION)
        .and_then(|location| location.to_str().ok());
    let Some(target) = target else {
        return Lost::new(format!("redirects to nowhere (HTTP {})", of(status)));
    };
    // A query may hold what is nobody's business.
    let target = text(target.split(['?', '#']).next().unwrap_or_default());
    let host = from.host().unwrap_or_default();
    Lost::new(format!(
        "redirects from {host} to {target} (HTTP {}), which is not followed",
        of(status)
    ))
    .hint("if that is right, write it in the `url` of its entry: its `headers` go nowhere else")
}

/// A reply of a type that is not MCP's.
pub(super) fn of_content(content_type: Option<&str>) -> Lost {
    let what = match content_type.map(|kind| kind.split(';').next().unwrap_or_default().trim()) {
        None | Some("") => "something without a type".to_owned(),
        Some("text/html") => "a web page".to_owned(),
        Some(other) => text(other),
    };
    Lost::new(format!("answered with {what} instead of JSON"))
        .hint("check the `url` of its entry: many end in /mcp")
}

fn unauthorized(headers: &HeaderMap, has_authorization: bool) -> Lost {
    let mut what = if has_authorization {
        "refuses the Authorization in `headers` (HTTP 401)".to_owned()
    } else {
        "asks for authorization (HTTP 401), and `headers` has no Authorization".to_owned()
    };
    for challenge in headers.get_all(WWW_AUTHENTICATE) {
        let Ok(challenge) = challenge.to_str() else {
            continue;
        };
        for name in [
            "realm",
            "scope",
            "error",
            "error_description",
            "resource_metadata",
        ] {
            if let Some(value) = parameter(challenge, name) {
                what.push_str(&format!("; {name}: {}", text(&value)));
            }
        }
    }
    Lost::new(what).hint(
        "write its token in its entry: \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}; signing in with OAuth is not \
         supported yet",
    )
}

/// The value of a parameter of a challenge (RFC 9110, 11.2).
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    loop {
        let start = rest.find('=')?;
        let (before, after) = (&rest[..start], rest[start + 1..].trim_start());
        let found = before
            .rsplit([' ', ',', '\t'])
            .find(|word| !word.is_empty())?;
        let found = found.eq_ignore_ascii_case(name);
        let (value, behind) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
        };
        if found {
            return Some(value);
        }
        rest = behind;
    }
}

/// What stands up to the closing quotation mark, and what follows that.
fn unquote(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (value, "")
}

/// What a body says, where it is a line of plain text or the message of a JSON error.
fn said(body: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Body {
        error: Option<serde_json::Value>,
        message: Option<String>,
    }
    let said = match serde_json::from_str::<Body>(body) {
        Ok(Body {
            message: Some(message),
            ..
        }) => message,
        Ok(Body {
            error: Some(error), ..
        }) => match error.get("message").or(Some(&error)) {
            Some(serde_json::Value::String(message)) => message.clone(),
            _ => return String::new(),
        },
        Ok(_) => return String::new(),
        Err(_) if body.trim_start().starts_with(['<', '{', '[']) => return String::new(),
        Err(_) => body.to_owned(),
    };
    let said = text(&said);
    if said.is_empty() {
        said
    } else {
        format!(": {said}")
    }
}

fn of(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// A stranger's text on one line, cleaned and cut.
pub(super) fn text(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, headers: &[(&str, &str)]) -> Response<()> {
        let mut reply = Response::builder().status(status);
        for (name, value) in headers {
            reply = reply.header(*name, *value);
        }
        reply.body(()).unwrap()
    }

    #[test]
    fn a_401_says_what_is_missing() {
        let challenge = "Bearer realm=\"a \\\"b\\\", c\", error=invalid_token, scope=\"x y\", \
            resource_metadata=\"https://example.org/.well-known/oauth\"";
        let asked = of_status(&reply(401, &[("www-authenticate", challenge)]), false, "");
        assert_eq!(
            asked.what,
            "asks for authorization (HTTP 401), and `headers` has no Authorization; realm: a \"b\", c; scope: x y; \
             error: invalid_token; resource_metadata: https://example.org/.well-known/oauth"
        );
        assert!(asked.hint.unwrap().contains("Bearer ${TOKEN}"));
        let refused = of_status(&reply(401, &[]), true, "");
        assert!(
            refused.what.contains("refuses the Authorization"),
            "{refused:?}"
        );
    }

    #[test]
    fn challenges_that_are_cut_off_end() {
        for challenge in [
            "",
            "Bearer",
            "Bearer realm",
            "Bearer realm=",
            "Bearer a=\"b",
            "=",
            "a=,b==\"\\",
        ] {
            assert_ne!(
                parameter(challenge, "scope"),
                Some("x".to_owned()),
                "{challenge}"
            );
        }
        assert_eq!(parameter("Bearer scope=\"x\"", "SCOPE").unwrap(), "x");
    }

    #[test]
    fn what_a_server_says_is_repeated_where_it_is_short_and_clean() {
        let what = |body: &str| of_status(&reply(503, &[("retry-after", "30")]), true, body).what;
        let plain = "answered with HTTP 503 Service Unavailable, to be asked again after 30";
        assert_eq!(what(""), plain);
        assert_eq!(what("<html>no</html>"), plain);
        assert_eq!(what("down\u{1b}[31m\nnow"), format!("{plain}: down now"));
        assert_eq!(
            what(r#"{"error": {"message": "full"}}"#),
            format!("{plain}: full")
        );
        assert_eq!(
            what(r#"{"error": "slow_down"}"#),
            format!("{plain}: slow_down")
        );
        assert!(what(&"x".repeat(9_000)).chars().count() < 400);
    }

    #[test]
    fn a_redirect_is_named_without_its_query() {
        let from = "https://example.org/mcp?key=1".parse().unwrap();
        let reply = reply(
            302,
            &[("location", "https://other.example/in?token=secret")],
        );
        let lost = of_redirect(&from, reply.status(), reply.headers());
        assert_eq!(
            lost.what,
            "redirects from example.org to https://other.example/in (HTTP 302 Found), which is not followed"
        );
    }
}
