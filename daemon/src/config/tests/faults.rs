use super::*;

#[test]
fn every_faulty_key_of_a_server_is_said_at_once() {
    let config = toml(
        "[servers.a]\ncommand = 7\nargs = [\n  'x',\n  [],\n  '${X',\n]\nenv = { 'A=B' = 'c', D = [] }\ntimeout = '0s'\n\
         idle = '10'\nshare = 'no'\ntime-out = '1s'\n[servers.b]\nurl = 'ftp://x'\nheaders = { 'a b' = 'c', Host = 'd' }\n",
    );
    assert_eq!(
        problems(&config),
        [
            "2: `command` of server `a` must be text, and is a number",
            "5: `args` of server `a` must be text, and is a list",
            "6: a variable in `args` of server `a` is not closed",
            "8: `env` of server `a` has a variable that can't be named `A=B`",
            "8: `D` in `env` of server `a` must be text, and is a list",
            "9: `timeout` of server `a` is 0",
            "10: `idle` of server `a` is no duration: `10`",
            "11: `share` of server `a` can't be \"no\"",
            "12: server `a` has the unknown key `time-out`",
            "14: server `b`: `url` begins with neither http:// nor https://",
            "15: `headers` of server `b` may not have `Host`",
            "15: `headers` of server `b` has a header that can't be named `a b`",
        ]
    );
}

#[test]
fn what_can_never_work_is_a_fault() {
    for (server, said) in [
        ("url = 'ftp://x'", "begins with neither"),
        ("url = 'ftp://${HOST}/x'", "begins with neither"),
        ("url = 'http://u:p@h/'", "has a user name in it"),
        ("url = 'http://u:${P}@h/'", "has a user name in it"),
        ("url = 'no URL'", "is no URL"),
        ("url = ''", "is no URL"),
        ("url = 'http://h:99999/'", "has a port that is none"),
        ("url = 'http://h:0/'", "has a port that is none"),
        ("url = 'http://h/${UNCLOSED'", "is not closed"),
        ("command = '${UNCLOSED'", "is not closed"),
        ("command = 'x'\ncwd = '${UNCLOSED'", "is not closed"),
        ("command = 'x'\nenv = { A = '${UNCLOSED' }", "is not closed"),
        (
            "url = 'http://h/'\nheaders = { A = '${UNCLOSED' }",
            "is not closed",
        ),
        ("type = 'weird'\ncommand = 'x'", "is of an unknown `type`"),
        ("url = 'http://h/'\ncwd = '/'", "`cwd` does nothing there"),
        (
            "url = 'http://h/'\nenv = { A = 'b' }",
            "`env` does nothing there",
        ),
        (
            "url = 'http://h/'\nargs = ['a']",
            "`args` does nothing there",
        ),
    ] {
        let config = toml(&format!("[servers.a]\n{server}\n"));
        let problems = problems(&config);
        assert_eq!(problems.len(), 1, "{server}: {problems:?}");
        assert!(problems[0].contains(said), "{server}: {problems:?}");
        assert!(!problems[0].contains("u:p"), "{problems:?}");
    }
    let config = toml("[servers.'']\ncommand = 'x'\n");
    assert_eq!(problems(&config), ["1: a server has no name"]);
}

#[test]
fn what_the_environment_may_complete_is_no_fault() {
    for server in [
        "url = '${URL}'",
        "url = '${BASE}/mcp'",
        "url = 'http${S}://h/'",
        "url = 'http://${HOST}:${PORT}/${A:-{}}?b=${C:-}'",
        "url = 'http://[::1]:80/'",
        "url = 'http://[::1]/'",
        "command = 'sh'\nargs = ['-c', 'echo $${X $Y']",
        "type = 'http'\nurl = 'http://h:8080/'\nenv = {}",
        "type = 'http'\nurl = 'http://h/'\ncommand = 'x'\nargs = ['a']",
    ] {
        let config = toml(&format!("[servers.a]\n{server}\n"));
        assert_eq!(problems(&config), [""; 0], "{server}");
    }
}
