use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use skills::problem::ProblemKind;

use super::{
    Selector, StartLock, containing, find, look, new_id, prepare_directory, register, running,
    socket_path,
};
use crate::protocol::{About, OutputKind};

fn about(instance: &str, config: Option<&Path>) -> About {
    About {
        instance: instance.to_owned(),
        version: "0.0.0".into(),
        pid: 1,
        uid: 0,
        started: jiff::Timestamp::UNIX_EPOCH,
        config: config.map(Path::to_owned),
        project: None,
        skills: Vec::new(),
        catalog: String::new(),
        mount_point: Some(PathBuf::from(format!("/shelf/{instance}"))),
        output: OutputKind::Mount,
        log: PathBuf::from("/log"),
        socket: PathBuf::from(format!("/run/{instance}.sock")),
    }
}

#[test]
fn ids_are_short_and_differ() {
    let (one, other) = (new_id().unwrap(), new_id().unwrap());
    assert_eq!(one.len(), 8);
    assert_ne!(one, other);
}

#[test]
fn the_directory_and_the_socket_are_private() {
    let parent = tempfile::tempdir().unwrap();
    let runtime = parent.path().join("toolshelf");
    let (registration, _listener) = register(&runtime, &about("one", None)).unwrap();
    assert_eq!(fs::metadata(&runtime).unwrap().mode() & 0o777, 0o700);
    let socket = registration.socket();
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
    drop(registration);
    assert_eq!(fs::read_dir(&runtime).unwrap().count(), 0);
}

#[test]
fn an_open_directory_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let runtime = tempfile::tempdir().unwrap();
    fs::set_permissions(runtime.path(), fs::Permissions::from_mode(0o755)).unwrap();
    prepare_directory(runtime.path()).unwrap();
    assert_eq!(fs::metadata(runtime.path()).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_linked_directory_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let real = parent.path().join("real");
    fs::create_dir(&real).unwrap();
    for target in [real.as_path(), Path::new("missing")] {
        let link = parent.path().join("link");
        symlink(target, &link).unwrap();
        let problem = prepare_directory(&link).unwrap_err();
        assert!(problem.message.contains("symbolic link"), "{problem}");
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn a_path_that_is_too_long_says_so() {
    let parent = tempfile::tempdir().unwrap();
    let runtime = parent.path().join("x".repeat(100));
    let problem = register(&runtime, &about("one", None)).unwrap_err();
    assert!(problem.message.contains("too long"), "{problem}");
    assert!(problem.hint.unwrap().contains("XDG_RUNTIME_DIR"));
}

#[test]
fn no_daemon_is_a_problem_with_a_way_out() {
    let parent = tempfile::tempdir().unwrap();
    let problem = find(&Selector::new(&parent.path().join("absent"))).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Daemon);
    assert!(problem.hint.unwrap().contains("shelf mount"));
}

#[test]
fn the_only_daemon_is_found_and_a_dead_one_is_cleared() {
    let runtime = tempfile::tempdir().unwrap();
    let (_registration, _listener) = register(runtime.path(), &about("live", None)).unwrap();
    drop(UnixListener::bind(socket_path(runtime.path(), "dead")).unwrap());
    fs::write(runtime.path().join("dead.json"), "{}").unwrap();

    let found = find(&Selector::new(runtime.path())).unwrap();
    assert_eq!(found.socket, socket_path(runtime.path(), "live"));
    assert!(!socket_path(runtime.path(), "dead").exists());
    assert!(!runtime.path().join("dead.json").exists());
    assert_eq!(running(runtime.path()).unwrap().len(), 1);
}

#[test]
fn several_daemons_are_listed_until_one_is_named() {
    let runtime = tempfile::tempdir().unwrap();
    let configs = tempfile::tempdir().unwrap();
    let first_config = configs.path().canonicalize().unwrap().join("first.json");
    fs::write(&first_config, "{}").unwrap();
    let second_config = configs.path().join("second.json");
    let (_first, _a) = register(runtime.path(), &about("first", Some(&first_config))).unwrap();
    let (_second, _b) = register(runtime.path(), &about("second", Some(&second_config))).unwrap();

    let problem = find(&Selector::new(runtime.path())).unwrap_err();
    for part in ["first.json", "/shelf/first", "second.json", "/shelf/second"] {
        assert!(problem.message.contains(part), "{problem}");
    }
    let hint = problem.hint.unwrap();
    for name in ["first", "second"] {
        let command = format!("\n  export SHELF_SOCKET=/run/{name}.sock  # shown at ");
        assert!(hint.contains(&command), "{hint}");
    }

    let link = configs.path().join("link.json");
    symlink(&first_config, &link).unwrap();
    let named = Selector {
        config: Some(&link),
        ..Selector::new(runtime.path())
    };
    let first = socket_path(runtime.path(), "first");
    assert_eq!(find(&named).unwrap().socket, first);

    let default = Selector {
        default_config: Some(&first_config),
        ..Selector::new(runtime.path())
    };
    assert_eq!(find(&default).unwrap().socket, first);

    let other = configs.path().join("other.json");
    let unserved = Selector {
        config: Some(&other),
        ..Selector::new(runtime.path())
    };
    let problem = find(&unserved).unwrap_err();
    assert!(problem.to_string().contains("other.json"), "{problem}");
}

#[test]
fn a_named_socket_decides() {
    let selector = Selector {
        socket: Some(Path::new("/some/socket")),
        ..Selector::new(Path::new("/nowhere"))
    };
    assert_eq!(find(&selector).unwrap().socket, Path::new("/some/socket"));
}

/// A daemon that shows nothing, or a mirror.
fn other(instance: &str, config: &Path, output: OutputKind, target: Option<&Path>) -> About {
    About {
        output,
        mount_point: target.map(Path::to_owned),
        ..about(instance, Some(config))
    }
}

#[test]
fn a_daemon_that_shows_nothing_is_meant_only_by_its_configuration() {
    let runtime = tempfile::tempdir().unwrap();
    let (mine, theirs) = (Path::new("/mine.json"), Path::new("/theirs.json"));
    let passing = other("passing", mine, OutputKind::None, None);
    let (_passing, _a) = register(runtime.path(), &passing).unwrap();
    let selector = Selector::new(runtime.path());
    assert_eq!(look(&selector).unwrap(), None);
    let default = |config| Selector {
        default_config: Some(config),
        ..selector
    };
    assert_eq!(look(&default(theirs)).unwrap(), None);
    let found = look(&default(mine)).unwrap().unwrap();
    assert!(found.is_passing && found.socket.ends_with("passing.sock"));

    // Another one beside it is no choice to be made, and one that is shown comes before both.
    let passing = About {
        started: jiff::Timestamp::from_second(1).unwrap(),
        ..other("newer", mine, OutputKind::None, None)
    };
    let (_newer, _b) = register(runtime.path(), &passing).unwrap();
    let named = Selector {
        config: Some(mine),
        ..selector
    };
    assert!(find(&named).unwrap().socket.ends_with("newer.sock"));
    let (_shown, _c) = register(runtime.path(), &about("shown", Some(mine))).unwrap();
    for selector in [named, default(mine), default(theirs), selector] {
        let found = find(&selector).unwrap();
        assert!(!found.is_passing && found.socket.ends_with("shown.sock"));
    }
}

#[test]
fn a_project_makes_a_configuration_of_its_own() {
    let runtime = tempfile::tempdir().unwrap();
    let (mine, given) = (Path::new("/mine.json"), Path::new("/given.json"));
    let (here, there) = (Path::new("/here"), Path::new("/there"));
    let of = |instance, project: Option<&Path>, output| About {
        project: project.map(Path::to_owned),
        output,
        ..about(instance, Some(mine))
    };
    let outside = Selector {
        default_config: Some(mine),
        ..Selector::new(runtime.path())
    };
    let inside = Selector {
        project: Some(here),
        ..outside
    };
    let chosen = |selector: &Selector<'_>| {
        let found = look(selector).unwrap()?;
        Some(found.socket.file_stem()?.to_str()?.to_owned())
    };
    let register = |about| register(runtime.path(), &about).unwrap();

    // Outside, what is shown is meant as long as it is the only one; what a call started is not.
    let passing = register(of("passing", Some(here), OutputKind::None));
    assert_eq!(chosen(&outside), None);
    assert_eq!(chosen(&inside).as_deref(), Some("passing"));
    let other = register(of("other", Some(there), OutputKind::Mount));
    assert_eq!(chosen(&outside).as_deref(), Some("other"));
    assert_eq!(chosen(&inside).as_deref(), Some("passing"));
    let alone = register(of("alone", None, OutputKind::Mount));
    assert_eq!(chosen(&outside).as_deref(), Some("alone"));
    assert_eq!(chosen(&inside).as_deref(), Some("passing"));
    drop(passing);
    assert_eq!(chosen(&inside), None);
    let problem = find(&inside).unwrap_err();
    assert!(problem.to_string().contains("/here"), "{problem}");
    // One that was given its file was chosen by somebody.
    let _given = register(about("given", Some(given)));
    assert_eq!(chosen(&inside).as_deref(), Some("given"));
    let _both = register(of("both", Some(here), OutputKind::Mount));
    assert_eq!(chosen(&inside).as_deref(), Some("both"));
    // Who names a configuration means it alone.
    let named = Selector {
        config: Some(mine),
        ..inside
    };
    assert_eq!(chosen(&named).as_deref(), Some("alone"));
    drop((other, alone));
    assert_eq!(chosen(&named), None);
}

#[test]
fn a_path_leads_to_the_innermost_mirror() {
    let runtime = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    let outer = place.path().canonicalize().unwrap();
    let inner = outer.join("inner");
    fs::create_dir(&inner).unwrap();
    let config = Path::new("/mcp.json");
    let mirror = |instance, target| other(instance, config, OutputKind::Mirror, Some(target));
    let (_outer, _a) = register(runtime.path(), &mirror("outer", &outer)).unwrap();
    let (_inner, _b) = register(runtime.path(), &mirror("inner", &inner)).unwrap();
    let of = |path: &Path| containing(runtime.path(), path).unwrap();
    assert_eq!(of(&inner.join("mcp/a.md")).unwrap().instance, "inner");
    assert_eq!(of(&outer.join("inner.md")).unwrap().instance, "outer");
    assert_eq!(of(Path::new("/elsewhere")), None);
    let path = inner.join("no/such.md");
    let selector = Selector {
        path: Some(&path),
        ..Selector::new(runtime.path())
    };
    let found = find(&selector).unwrap();
    assert_eq!(found.socket, socket_path(runtime.path(), "inner"));
    assert_eq!(found.mount_point, None, "there is nothing to unmount");
}

#[test]
fn one_command_at_a_time_starts_a_daemon() {
    let parent = tempfile::tempdir().unwrap();
    let runtime = parent.path().join("runtime");
    let lock = StartLock::take(&runtime).unwrap().unwrap();
    assert!(StartLock::take(&runtime).unwrap().is_none());
    drop(lock);
    assert!(StartLock::take(&runtime).unwrap().is_some());
    assert_eq!(
        fs::read_dir(&runtime).unwrap().count(),
        0,
        "nothing is left"
    );
}
