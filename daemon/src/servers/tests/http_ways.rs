//! The way to an HTTP server: secrets, TLS, proxies, redirects, and what is said when it leads nowhere.

use serde_json::json;
use skills::problem::Problem;

use super::fake_http::{FakeHttp, shelf};
use super::shelf::{Shelf, nothing, python};

/// Calls what can't be called.
async fn refused(shelf: &Shelf) -> Problem {
    shelf.call("echo", json!({"text": "x"})).await.unwrap_err()
}

#[tokio::test]
async fn headers_are_sent_and_never_said() {
    if !python() {
        return;
    }
    let fake = FakeHttp::start(&["--token", "hunter2"]).await;
    let url = fake.url("/mcp");
    let asked = refused(&shelf(&url, &[], &[]).await).await;
    assert!(
        asked.message.contains("asks for authorization (HTTP 401)"),
        "{asked}"
    );
    assert!(asked.message.contains("realm: the vault"), "{asked}");
    assert!(
        asked.message.contains("https://example.org/.well-known/x"),
        "{asked}"
    );
    assert!(asked.hint.unwrap().contains("Authorization"));

    let wrong = shelf(
        &url,
        &[("Authorization", "Bearer ${T}")],
        &[("T", "s3cret")],
    )
    .await;
    let problem = refused(&wrong).await;
    assert!(
        problem.message.contains("refuses the Authorization"),
        "{problem}"
    );
    for said in [
        format!("{problem} {problem:?}"),
        format!("{:?}", wrong.config),
    ] {
        assert!(!said.contains("s3cret"), "{said}");
    }

    let headers = [
        ("authorization", "Bearer ${T}"),
        ("X-Team", "${TEAM:-core}"),
    ];
    let right = shelf(&url, &headers, &[("T", "hunter2")]).await;
    let team = right.text("header", json!({"name": "X-Team"})).await;
    assert_eq!(team, "core");
    right.servers.stop().await;
    let mut paths = vec![right.path("cache"), right.path("logs")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            let bytes = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("hunter2"), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn what_is_no_mcp_server_is_said() {
    if !python() {
        return;
    }
    for (options, words) in [
        (&["--page"][..], "answered with a web page instead of JSON"),
        (
            &["--status", "server/discover=503"],
            "HTTP 503 Service Unavailable: out of order",
        ),
        (
            &["--status", "initialize=500", "--legacy"],
            "HTTP 500 Internal Server Error: out of order",
        ),
        (
            &["--status", "server/discover=403"],
            "refuses access (HTTP 403): out of order",
        ),
        (
            &["--legacy", "--status", "initialize=404"],
            "has nothing at this URL (HTTP 404)",
        ),
        (&["--status", "tools/list=500"], "HTTP 500"),
    ] {
        let fake = FakeHttp::start(options).await;
        let problem = refused(&fake.shelf().await).await;
        assert!(problem.message.contains(words), "{options:?}: {problem}");
        assert!(!problem.to_string().contains("standard error"), "{problem}");
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", closed.local_addr().unwrap());
    drop(closed);
    let problem = refused(&shelf(&url, &[], &[]).await).await;
    assert!(
        problem.message.contains("could not be reached"),
        "{problem}"
    );
    assert!(problem.message.contains("refused"), "{problem}");
}

#[tokio::test]
async fn an_error_of_one_call_leaves_the_session() {
    if !python() {
        return;
    }
    let fake = FakeHttp::start(&["--legacy", "--status", "tools/call=502"]).await;
    let shelf = fake.shelf().await;
    for _ in 0..2 {
        let problem = refused(&shelf).await;
        assert!(
            problem.message.contains("HTTP 502 Bad Gateway"),
            "{problem}"
        );
    }
    assert_eq!((fake.count("initialize"), fake.count("tools/call")), (1, 2));
}

#[tokio::test]
async fn redirects_are_followed_within_a_host_and_nowhere_else() {
    if !python() {
        return;
    }
    let other = FakeHttp::start(&[]).await;
    let headers = [("Authorization", "Bearer t")];
    let away = FakeHttp::start(&["--redirect", &other.url("/mcp?q=1")]).await;
    let problem = refused(&shelf(&away.url("/from"), &headers, &[]).await).await;
    let there = format!(
        "redirects from 127.0.0.1 to {} (HTTP 307",
        other.url("/mcp")
    );
    assert!(problem.message.contains(&there), "{problem}");
    assert_eq!(other.requests(), [json!(null); 0]);

    let within = FakeHttp::start(&["--redirect", "/to"]).await;
    let shelf = shelf(&within.url("/from"), &headers, &[]).await;
    let token = shelf.text("header", json!({"name": "authorization"})).await;
    assert_eq!(token, "Bearer t");
    assert_eq!(within.last("tools/call")["path"], "/to");
}

#[tokio::test]
async fn a_proxy_is_used_for_plain_requests() {
    if !python() {
        return;
    }
    let (fake, proxy) = (
        FakeHttp::start(&[]).await,
        FakeHttp::start(&["--proxy"]).await,
    );
    let way = format!("http://user:word@127.0.0.1:{}", proxy.port());
    let proxied = shelf(&fake.url("/mcp"), &[], &[("HTTP_PROXY", &way)]).await;
    proxied.text("calls", nothing()).await;
    let seen = &proxy.requests()[0];
    assert_eq!(seen["path"], fake.url("/mcp"));
    assert_eq!(seen["headers"]["proxy-authorization"], "Basic dXNlcjp3b3Jk");
    let sent = fake.last("tools/call");
    assert_eq!(sent["headers"]["proxy-authorization"], json!(null));

    let before = proxy.requests().len();
    let direct = [("HTTP_PROXY", &*way), ("NO_PROXY", "127.0.0.1")];
    shelf(&fake.url("/mcp"), &[], &direct)
        .await
        .text("calls", nothing())
        .await;
    let nowhere = [("HTTP_PROXY", "socks5://127.0.0.1:1")];
    let problem = refused(&shelf(&fake.url("/mcp"), &[], &nowhere).await).await;
    assert!(problem.message.contains("HTTP_PROXY"), "{problem}");
    assert_eq!(proxy.requests().len(), before);
}

/// A certificate of 127.0.0.1 with its key, of no authority; `None` where there is no openssl to make it.
fn certificate(directory: &std::path::Path) -> Option<String> {
    let path = directory.join("certificate.pem").display().to_string();
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ])
        .args(["-nodes", "-days", "2", "-subj", "/CN=fake"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &path, "-out", &format!("{path}.crt")])
        .output();
    let made = made.is_ok_and(|output| output.status.success());
    assert!(
        made || std::env::var_os("CI").is_none(),
        "openssl is missing"
    );
    if !made {
        println!("skipped: openssl is missing");
        return None;
    }
    let certificate = std::fs::read_to_string(format!("{path}.crt")).unwrap();
    let key = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, key + &certificate).unwrap();
    Some(path)
}

#[tokio::test]
async fn tls_trusts_the_roots_of_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let Some(certificate) = python().then(|| certificate(directory.path())).flatten() else {
        return;
    };
    let fake = FakeHttp::start(&["--certificate", &certificate]).await;
    let url = fake.url("/mcp").replace("http://", "https://");
    let stranger = refused(&shelf(&url, &[], &[]).await).await;
    assert!(stranger.message.contains("certificate"), "{stranger}");
    assert!(stranger.hint.unwrap().contains("SSL_CERT_FILE"));

    let trusted = [("SSL_CERT_FILE", &*certificate)];
    let known = shelf(&url, &[], &trusted).await;
    assert_eq!(known.text("echo", json!({"text": "kept"})).await, "kept");

    let proxy = FakeHttp::start(&["--proxy"]).await;
    let way = format!("http://127.0.0.1:{}", proxy.port());
    let tunnelled = [trusted[0], ("HTTPS_PROXY", &*way)];
    let tunnelled = shelf(&url, &[("X-Key", "s3cret")], &tunnelled).await;
    assert_eq!(
        tunnelled.text("header", json!({"name": "X-Key"})).await,
        "s3cret"
    );
    let seen = &proxy.requests()[0];
    assert_eq!(seen["method"], "CONNECT");
    assert!(!seen.to_string().contains("s3cret"), "{seen}");
}
