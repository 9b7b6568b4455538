use super::*;

fn endpoint(url: &str, headers: &[(&str, &str)]) -> Result<Endpoint, Problem> {
    let environment = Environment::from([
        ("HOST".into(), "example.org".into()),
        ("TOKEN".into(), "hunter2".into()),
        ("LINES".into(), "hunter2\nX-Other: 1".into()),
    ]);
    let headers = headers.iter();
    let http = HttpConfig {
        url: url.to_owned(),
        headers: headers
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    };
    let server = ServerConfig::new(Transport::Http(http), 3);
    let (name, file) = (ServerName::new("a"), Path::new("/etc/mcp.json"));
    match server.access(&name, file, &environment)? {
        Access::Http(endpoint) => Ok(endpoint),
        Access::Process(launch) => panic!("it is no process: {launch:?}"),
    }
}

#[test]
fn url_and_headers_are_expanded() {
    let headers = [
        ("Authorization", "Bearer ${TOKEN}"),
        ("X-Team", "${TEAM:-core} "),
    ];
    let endpoint = endpoint("https://${HOST}:8443/mcp?a=b", &headers).unwrap();
    assert_eq!(endpoint.uri, "https://example.org:8443/mcp?a=b");
    assert_eq!(endpoint.headers["authorization"], "Bearer hunter2");
    assert_eq!(endpoint.headers["x-team"], "core");
    assert!(!format!("{endpoint:?} {:?}", endpoint.headers).contains("hunter2"));
}

#[test]
fn what_can_not_be_connected_to_is_named_and_no_secret_is() {
    for (url, headers, words) in [
        ("${NONE}", &[][..], "variable `NONE` in `url` is not set"),
        ("example.org/mcp", &[], "`url` is no URL"),
        ("/mcp", &[], "neither http:// nor https://"),
        ("ftp://example.org/", &[], "neither http:// nor https://"),
        ("https://", &[], "`url` is no URL"),
        ("https://a b/", &[], "`url` is no URL"),
        (
            "https://hunter2:x@example.org/",
            &[],
            "has a user name in it",
        ),
        (
            "https://x",
            &[("A", "${NONE}")],
            "variable `NONE` in `headers.A` is not set",
        ),
        (
            "https://x",
            &[("A", "${LINES}")],
            "`headers.A` has characters that no header may have",
        ),
    ] {
        let problem = endpoint(url, headers).unwrap_err();
        assert!(problem.message.contains(words), "{url}: {problem}");
        assert!(!format!("{problem} {:?}", problem.hint).contains("hunter2"));
        assert_eq!(
            problem.location,
            Some(Location::File {
                path: "/etc/mcp.json".into(),
                line: Some(3)
            })
        );
    }
}
