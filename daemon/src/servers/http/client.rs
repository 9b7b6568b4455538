//! The HTTP client that all servers of a daemon share: TLS with the system's roots, proxies, kept connections, redirects.
//!
//! Knows nothing of MCP. It reads no environment but the one that it is given.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, LOCATION, PROXY_AUTHORIZATION};
use hyper::http::uri::{Scheme, Uri};
use hyper::{Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

use super::connector::{Connector, Proxies};
use super::lost;
use crate::servers::ticket::Lost;
use crate::surroundings::Environment;

/// How long an unused connection is kept: less than the five seconds after which common servers close it, so that hardly a
/// request is written to one that is just being closed.
const KEEP_UNUSED: Duration = Duration::from_secs(4);
/// How many redirects of one request are followed.
const MAX_REDIRECTS: usize = 3;

/// Sends requests.
#[derive(Debug)]
pub(in crate::servers) struct Client {
    client: legacy::Client<HttpsConnector<Connector>, Full<Bytes>>,
    proxies: Proxies,
    /// What is wrong with the roots that were asked for.
    roots_fault: Option<String>,
}

/// The client of an environment, made when it is first needed: reading the system's roots takes a while.
pub(in crate::servers) struct SharedClient {
    environment: Environment,
    client: OnceLock<Result<Arc<Client>, String>>,
}

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables may be secrets.
        f.debug_struct("SharedClient").finish_non_exhaustive()
    }
}

impl SharedClient {
    pub(in crate::servers) fn new(environment: Environment) -> Self {
        Self {
            environment,
            client: OnceLock::new(),
        }
    }

    /// The client; makes it at first, which reads files.
    pub(super) fn get(&self) -> Result<Arc<Client>, Lost> {
        let client = self
            .client
            .get_or_init(|| Client::new(&self.environment).map(Arc::new));
        client.clone().map_err(Lost::new)
    }
}

impl Client {
    fn new(environment: &Environment) -> Result<Self, String> {
        let proxies = Proxies::of(environment)?;
        let (roots, roots_fault) = roots(environment);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("can't be reached: {error}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector::new(proxies.clone()));
        // A request is begun again only where not a byte of it was written.
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEEP_UNUSED)
            .build(connector);
        Ok(Self {
            client,
            proxies,
            roots_fault,
        })
    }

    /// Sends a request and waits for the head of its reply. A redirect is followed where it stays with the same scheme, host and
    /// port and asks for the same request again; the headers go to nobody else.
    pub(super) async fn send(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Incoming>, Lost> {
        let mut at = uri.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = at.clone();
            *request.headers_mut() = headers.clone();
            if let Some(authorization) = self.proxies.authorization(&at) {
                request
                    .headers_mut()
                    .insert(PROXY_AUTHORIZATION, authorization);
            }
            let reply = self.client.request(request).await.map_err(|error| {
                lost::of_connection(&error, !error.is_connect(), self.roots_fault.as_deref())
            })?;
            if !reply.status().is_redirection() {
                return Ok(reply);
            }
            let repeats = [
                StatusCode::TEMPORARY_REDIRECT,
                StatusCode::PERMANENT_REDIRECT,
            ]
            .contains(&reply.status());
            match target(&at, reply.headers()).filter(|_| repeats) {
                Some(next) => at = next,
                None => return Err(lost::of_redirect(&at, reply.status(), reply.headers())),
            }
        }
        Err(Lost::new("redirects in a circle"))
    }

    /// A reply that broke off in the middle.
    pub(super) fn broke_off(&self, error: &hyper::Error) -> Lost {
        lost::of_connection(error, true, self.roots_fault.as_deref())
    }
}

/// Where a redirect leads, if it stays where it is.
fn target(from: &Uri, headers: &HeaderMap) -> Option<Uri> {
    let location = headers.get(LOCATION)?.to_str().ok()?;
    let location = location.split('#').next().unwrap_or_default();
    if location.starts_with('/') && !location.starts_with("//") {
        let mut parts = from.clone().into_parts();
        parts.path_and_query = Some(location.parse().ok()?);
        return Uri::from_parts(parts).ok();
    }
    let to: Uri = location.parse().ok()?;
    let origin = |uri: &Uri| {
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let host = uri.host().map(str::to_ascii_lowercase);
        (uri.scheme().cloned(), host, port)
    };
    let is_plain = to
        .authority()
        .is_some_and(|authority| !authority.as_str().contains('@'));
    (is_plain && origin(&to) == origin(from)).then_some(to)
}

/// The roots that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, else the system's; and what is wrong with those that were named.
fn roots(environment: &Environment) -> (RootCertStore, Option<String>) {
    let path = |name: &str| -> Option<PathBuf> {
        let value = environment.get(OsStr::new(name))?;
        (!value.is_empty()).then(|| value.into())
    };
    let (file, directory) = (path("SSL_CERT_FILE"), path("SSL_CERT_DIR"));
    let named = file.is_some() || directory.is_some();
    let found = if named {
        rustls_native_certs::load_certs_from_paths(file.as_deref(), directory.as_deref())
    } else {
        rustls_native_certs::load_native_certs()
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    let fault = roots.is_empty().then(|| {
        let place = |path: Option<&Path>| path.map(|path| path.display().to_string());
        match place(file.as_deref()).or(place(directory.as_deref())) {
            Some(place) => format!("no certificate can be read from {place}, which SSL_CERT_FILE or SSL_CERT_DIR names"),
            None => "this system has no root certificates: install them (ca-certificates), or name some in SSL_CERT_FILE".to_owned(),
        }
    });
    (roots, fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(from: &str, location: &str) -> Option<String> {
        let headers = HeaderMap::from_iter([(LOCATION, location.parse().unwrap())]);
        Some(target(&from.parse().unwrap(), &headers)?.to_string())
    }

    #[test]
    fn only_redirects_to_the_same_origin_are_followed() {
        let from = "https://example.org/mcp";
        for (location, to) in [
            ("/mcp/", "https://example.org/mcp/"),
            ("/mcp/?a=b#c", "https://example.org/mcp/?a=b"),
            ("https://example.org/x", "https://example.org/x"),
            ("https://EXAMPLE.org:443/x", "https://EXAMPLE.org:443/x"),
        ] {
            assert_eq!(followed(from, location).as_deref(), Some(to), "{location}");
        }
        for location in [
            "http://example.org/mcp",
            "https://example.org:444/mcp",
            "https://other.example/mcp",
            "https://example.org@other.example/mcp",
            "https://user@example.org/mcp",
            "//other.example/mcp",
            "mcp/",
            "",
        ] {
            assert_eq!(followed(from, location), None, "{location}");
        }
    }

    #[test]
    fn roots_that_were_named_and_are_not_there_are_said() {
        let environment = Environment::from([("SSL_CERT_FILE".into(), "/no/such.pem".into())]);
        let (roots, fault) = roots(&environment);
        assert!(roots.is_empty());
        assert!(fault.unwrap().contains("/no/such.pem"));
    }
}
