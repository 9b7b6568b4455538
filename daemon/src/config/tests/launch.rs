use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use proptest::prelude::*;

use super::*;

/// Launches a server whose one argument is given, with `SET`, `EMPTY`, `HOME` and `BAD` in the environment.
fn launch(stdio: StdioConfig) -> Result<Launch, Problem> {
    let environment = Environment::from([
        ("SET".into(), "value".into()),
        ("EMPTY".into(), "".into()),
        ("HOME".into(), "/home/me/".into()),
        ("BAD".into(), OsString::from_vec(vec![0xff])),
    ]);
    let mut config = json("{\"servers\":\n\n{\"a\": {\"command\": \"x\"}}}");
    let server = config.servers.get_mut(&ServerName::new("a")).unwrap();
    server.transport = Transport::Stdio(stdio);
    let access = server.access(
        &ServerName::new("a"),
        Path::new("/etc/mcp.json"),
        &environment,
    );
    match access? {
        Access::Process(launch) => Ok(launch),
        Access::Http(endpoint) => panic!("it is a process: {endpoint:?}"),
    }
}

fn with_argument(argument: &str) -> StdioConfig {
    StdioConfig {
        command: "x".into(),
        args: vec![argument.into()],
        ..StdioConfig::default()
    }
}

#[test]
fn variables_are_expanded() {
    for (written, expanded) in [
        ("plain $SET {SET} $$", "plain $SET {SET} $$"),
        ("${SET}", "value"),
        ("a${env:SET}b${SET}", "avaluebvalue"),
        ("${SET:-x}", "value"),
        ("${NONE:-x}", "x"),
        ("${EMPTY:-x}", "x"),
        ("<${EMPTY}>", "<>"),
        ("${NONE:-}", ""),
        ("${env:NONE:-http://x:1/}", "http://x:1/"),
        ("${NONE:-${SET}-${env:NO:-y}}", "value-y"),
        ("${NONE:-{\"a\": {}}}", "{\"a\": {}}"),
        ("${SET:-{}}", "value"),
        ("$${SET} ${SET}", "${SET} value"),
        ("~/x", "~/x"),
    ] {
        let launch = launch(with_argument(written)).unwrap();
        assert_eq!(launch.args, [expanded], "{written}");
    }
}

#[test]
fn what_can_not_be_resolved_is_named_with_a_remedy() {
    for (written, message, hint) in [
        (
            "${NONE}",
            "variable `NONE` in `args` is not set",
            "set NONE",
        ),
        (
            "${env:NONE}",
            "variable `NONE` in `args` is not set",
            "${NONE:-default}",
        ),
        ("${BAD}", "variable `BAD` in `args` is not UTF-8", "UTF-8"),
        (
            "${workspaceFolder}/x",
            "variable `workspaceFolder` in `args` is not set",
            "write the path",
        ),
        (
            "${workspaceFolder:sub}",
            "`${workspaceFolder:sub}` in `args` can't be resolved",
            "write the path",
        ),
        (
            "${input:key}",
            "`${input:key}` in `args` can't be resolved",
            "${env:NAME}",
        ),
        (
            "${userHome}",
            "variable `userHome` in `args` is not set",
            "${HOME}",
        ),
        ("${/}", "`${/}` in `args` can't be resolved", "write /"),
        ("${X%.*}", "`${X%.*}` in `args` can't be resolved", "$${"),
        ("${}", "`${}` in `args` can't be resolved", "$${"),
        ("${SET", "a variable in `args` is not closed", "$${"),
        (
            "${A} ${B}",
            "variable `A` in `args` is not set; variable `B` in `args` is not set",
            "set A",
        ),
    ] {
        let problem = launch(with_argument(written)).unwrap_err();
        assert_eq!(
            problem.message,
            format!("server `a`: {message}"),
            "{written}"
        );
        assert!(
            problem.hint.as_ref().unwrap().contains(hint),
            "{written}: {problem:?}"
        );
        assert_eq!(
            problem.location,
            Some(Location::File {
                path: "/etc/mcp.json".into(),
                line: Some(3)
            })
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_expanded_or_refused(text in "[${}:A-C_ä-]{0,24}") {
        let expanded = launch(with_argument(&text));
        if !text.contains("${") {
            prop_assert_eq!(&expanded.unwrap().args[0], &text);
        }
    }
}

#[test]
fn a_launch_has_its_own_variables_over_the_environment() {
    let stdio = StdioConfig {
        command: "~/bin/${SET}".into(),
        env: BTreeMap::from([("SET".into(), "${SET}:more".into())]),
        cwd: Some("work".into()),
        ..StdioConfig::default()
    };
    let launch = launch(stdio).unwrap();
    assert_eq!(launch.command, "/home/me/bin/value");
    assert_eq!(launch.environment[&OsString::from("SET")], "value:more");
    assert_eq!(launch.environment[&OsString::from("HOME")], "/home/me/");
    assert_eq!(launch.own_environment.len(), 1);
    assert_eq!(launch.directory, Path::new("/etc/work"));
}

#[test]
fn the_directory_is_that_of_the_file_unless_said() {
    let directory = |cwd: Option<&str>| {
        let stdio = StdioConfig {
            command: "x".into(),
            cwd: cwd.map(str::to_owned),
            ..StdioConfig::default()
        };
        launch(stdio).unwrap().directory
    };
    assert_eq!(directory(None), Path::new("/etc"));
    assert_eq!(directory(Some("~")), Path::new("/home/me"));
    assert_eq!(directory(Some("/x")), Path::new("/x"));
}

#[test]
fn a_command_that_is_empty_once_expanded_is_refused() {
    let stdio = StdioConfig {
        command: "${EMPTY}".into(),
        ..StdioConfig::default()
    };
    assert!(launch(stdio).unwrap_err().message.contains("is empty"));
}

#[test]
fn debug_shows_no_secret() {
    let stdio = StdioConfig {
        args: vec!["--key=secret".into()],
        env: BTreeMap::from([("TOKEN".into(), "secret".into())]),
        ..with_argument("")
    };
    let text = format!("{stdio:?} {:?}", launch(stdio.clone()).unwrap());
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("TOKEN"), "{text}");
}
