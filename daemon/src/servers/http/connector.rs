//! Opening connections: straight, or by way of the proxy that the given environment asks for. Knows nothing of TLS and HTTP
//! requests.

use std::error::Error;
use std::ffi::OsStr;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::http::uri::{Scheme, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::surroundings::Environment;

/// How long a host may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);

type BoxError = Box<dyn Error + Send + Sync>;

/// The proxies of an environment.
#[derive(Clone, Debug)]
pub(super) struct Proxies(Arc<Matcher>);

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in small letters too.
    ///
    /// # Errors
    /// One that can't be used is named: going round it could lay open what it is there to hide.
    pub(super) fn of(environment: &Environment) -> Result<Self, String> {
        let value = |name: &str| {
            [name.to_ascii_lowercase(), name.to_owned()]
                .iter()
                .filter_map(|name| environment.get(OsStr::new(name))?.to_str())
                .map(str::trim)
                .find(|value| !value.is_empty())
                .unwrap_or_default()
                .to_owned()
        };
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            let proxy = value(name);
            if !proxy.is_empty() && !is_usable(&proxy) {
                return Err(format!(
                    "can't be reached, since {name} is not the http:// URL of a proxy"
                ));
            }
        }
        let matcher = Matcher::builder()
            .http(value("HTTP_PROXY"))
            .https(value("HTTPS_PROXY"))
            .all(value("ALL_PROXY"))
            .no(value("NO_PROXY"));
        Ok(Self(Arc::new(matcher.build())))
    }

    /// What a request must tell the proxy on its way; a tunnel has told it already.
    pub(super) fn authorization(&self, to: &Uri) -> Option<HeaderValue> {
        if to.scheme() == Some(&Scheme::HTTPS) {
            return None;
        }
        self.0.intercept(to)?.basic_auth().cloned()
    }
}

/// Whether a proxy is one that is spoken to in plain HTTP.
fn is_usable(proxy: &str) -> bool {
    proxy.parse::<Uri>().is_ok_and(|uri| {
        let plain = uri.scheme().is_none_or(|scheme| *scheme == Scheme::HTTP);
        plain && uri.host().is_some_and(|host| !host.is_empty())
    })
}

/// Opens connections.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    direct: HttpConnector,
    proxies: Proxies,
}

impl Connector {
    pub(super) fn new(proxies: Proxies) -> Self {
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        direct.set_nodelay(true);
        direct.set_connect_timeout(Some(CONNECT_LIMIT));
        Self { direct, proxies }
    }

    async fn connect(mut self, to: Uri) -> Result<Link, BoxError> {
        let Some(proxy) = self.proxies.0.intercept(&to) else {
            let stream = self.direct.call(to).await?;
            return Ok(Link::new(stream, false));
        };
        if to.scheme() == Some(&Scheme::HTTPS) {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), self.direct);
            if let Some(authorization) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(authorization.clone());
            }
            let stream = tunnel
                .call(to)
                .await
                .map_err(|error| Proxied(error.into()))?;
            return Ok(Link::new(stream, false));
        }
        let stream = self.direct.call(proxy.uri().clone()).await;
        Ok(Link::new(
            stream.map_err(|error| Proxied(error.into()))?,
            true,
        ))
    }
}

/// A connection that the proxy did not give.
#[derive(Debug, thiserror::Error)]
#[error("by way of the proxy")]
struct Proxied(#[source] BoxError);

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Link, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        Box::pin(self.clone().connect(to))
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Link {
    stream: TokioIo<TcpStream>,
    /// Whether a proxy reads the requests, so that they must name the host in their first line.
    proxied: bool,
}

impl Link {
    const fn new(stream: TokioIo<TcpStream>, proxied: bool) -> Self {
        Self { stream, proxied }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.proxied)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, String> {
        let pairs = variables.iter();
        Proxies::of(
            &pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    fn way(proxies: &Proxies, to: &str) -> Option<String> {
        let proxy = proxies.0.intercept(&to.parse().unwrap())?;
        Some(proxy.uri().to_string())
    }

    #[test]
    fn proxies_are_those_of_the_given_environment() {
        let proxies = proxies(&[
            ("https_proxy", "http://user:word@proxy.example:3128"),
            ("HTTP_PROXY", "plain.example:8080"),
            ("NO_PROXY", "localhost, .inside.example,10.0.0.0/8"),
        ]);
        let proxies = proxies.unwrap();
        let by = |to| way(&proxies, to);
        assert_eq!(
            by("https://a.example/x").unwrap(),
            "http://proxy.example:3128/"
        );
        assert_eq!(
            by("http://a.example/x").unwrap(),
            "http://plain.example:8080/"
        );
        for near in [
            "http://localhost:1/",
            "https://a.inside.example/",
            "http://10.1.2.3/",
        ] {
            assert_eq!(by(near), None, "{near}");
        }
        assert_eq!(
            proxies.authorization(&"https://a.example/".parse().unwrap()),
            None
        );
    }

    #[test]
    fn only_a_proxy_that_reads_the_request_is_told_the_password_with_it() {
        let proxies = proxies(&[("ALL_PROXY", "http://user:word@proxy.example")]).unwrap();
        let told = |to: &str| proxies.authorization(&to.parse().unwrap());
        assert_eq!(told("http://a.example/").unwrap(), "Basic dXNlcjp3b3Jk");
        assert_eq!(told("https://a.example/"), None);
    }

    #[test]
    fn a_proxy_that_can_not_be_used_is_not_gone_round() {
        for proxy in ["socks5://p:1", "https://p:1", "http://:80", "a b"] {
            let fault = proxies(&[("HTTPS_PROXY", proxy)]).unwrap_err();
            assert!(fault.contains("HTTPS_PROXY"), "{proxy}: {fault}");
            assert!(!fault.contains(proxy), "it may hold a password: {fault}");
        }
    }
}
