//! What is found where somebody works, and what is not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use skills::problem::ProblemKind;

use super::{Place, servers, text};
use crate::project::file::ServersFile;
use crate::project::trust::Trust;
use crate::project::{Project, SERVERS};

fn found(working: &Path) -> Option<std::path::PathBuf> {
    Project::find(working, None).map(|project| project.directory)
}

#[test]
fn the_nearest_directory_up_to_the_root_of_the_repository_is_the_project() {
    let place = Place::new();
    place.write(".mcp.json", "{}");
    let repository = place.make("repository");
    let deep = place.make("repository/package/src/deep");
    // Outside a repository nothing above counts.
    assert_eq!(found(&deep), None);
    assert_eq!(found(&place.root), Some(place.root.clone()));
    place.make("repository/.git");
    assert_eq!(found(&deep), None, "what is above the repository");
    place.make("repository/.claude/skills");
    assert_eq!(found(&deep), Some(repository));
    let package = place.make("repository/package");
    place.write("repository/package/.mcp.json", "{}");
    assert_eq!(found(&deep), Some(package));
    // A repository within is a project of its own; its `.git` may be a file (a worktree, a submodule).
    let nested = place.make("repository/package/nested/src");
    place.write("repository/package/nested/.git", "gitdir: elsewhere");
    assert_eq!(found(&nested), None);
}

#[test]
fn whatever_is_called_so_is_seen_and_nothing_of_it_is_read() {
    let place = Place::new();
    place.make(".mcp.json");
    place.write(".agents/skills", "a file");
    let project = Project::find(&place.root, None).unwrap();
    assert!(project.has_servers);
    assert_eq!(project.skills, []);
    fs::remove_dir(place.path(".mcp.json")).unwrap();
    assert_eq!(found(&place.root), None);
    symlink("nowhere", place.path(".mcp.json")).unwrap();
    assert!(Project::find(&place.root, None).unwrap().has_servers);
}

#[test]
fn neither_the_home_directory_nor_the_root_is_a_project() {
    let place = Place::new();
    let home = place.make("home");
    place.write("home/.mcp.json", "{}");
    place.make("home/.git");
    let below = place.make("home/src/tool");
    for working in [&home, &below] {
        assert_eq!(Project::find(working, Some(&home)), None);
    }
    // However it is written.
    let link = place.path("link");
    symlink(&home, &link).unwrap();
    assert_eq!(Project::find(&home, Some(&link)), None);
    for (reserved, home) in [(&*home, Some(&*home)), (Path::new("/"), None)] {
        let problem = Project::named(reserved, home).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Usage, "{problem}");
    }
    assert!(Project::named(&home, None).is_ok());
}

#[test]
fn a_project_is_named_by_its_own_directory_whatever_leads_there() {
    let place = Place::new();
    place.make("app/.git");
    place.write("app/.mcp.json", "{}");
    let inside = place.make("app/src");
    let problem = Project::named(&inside, None).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
    assert!(problem.hint.unwrap().ends_with(&text(&place.path("app"))));
    let link = place.path("link");
    symlink(place.path("app"), &link).unwrap();
    let project = Project::named(&link, None).unwrap();
    assert_eq!(project.directory, place.path("app"));
    let problem = Project::named(&place.path("absent"), None).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::NotFound);
}

#[test]
fn what_is_no_file_of_servers_is_said_with_its_place_and_not_waited_for() {
    let place = Place::new();
    let path = place.path(SERVERS);
    let fault = || match ServersFile::read(&place.root) {
        Ok(file) => file.unwrap().parse().unwrap_err().to_string(),
        Err(problem) => problem.to_string(),
    };
    assert!(ServersFile::read(&place.root).unwrap().is_none());
    let said = |what: &str| {
        let fault = fault();
        assert!(fault.starts_with(&text(&path)), "{fault}");
        assert!(fault.contains(what), "{fault}");
    };
    fs::create_dir(&path).unwrap();
    said("directory");
    fs::remove_dir(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    // Somebody who would write, and does not: who waited for it would wait here.
    let _writer = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    said("no regular file");
    fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    said("No such file");
    fs::remove_file(&path).unwrap();
    let large = fs::File::create(&path).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    said("longer than 16 MiB");
    fs::write(&path, "{\n  \"mcpServers\": {,}\n}").unwrap();
    said(&format!("{}:2", text(&path)));
    fs::write(&path, b"{\n\n\"\xff\": 1}").unwrap();
    said(&format!("{}:3: is not UTF-8", text(&path)));
    fs::write(
        &path,
        "{\"mcpServers\": {},\n\"policy\": {\"deny\": [\"*\"]}}",
    )
    .unwrap();
    said(":2: `policy` counts in your own configuration alone");
}

#[test]
fn what_is_not_trusted_as_it_is_now_is_named() {
    let place = Place::new();
    place.write(".mcp.json", &servers(&["one"]));
    place.make(".agents/skills");
    let project = Project::find(&place.root, None).unwrap();
    assert_eq!(project.untrusted(None), [SERVERS, ".agents/skills"]);
    let file = ServersFile::read(&place.root).unwrap();
    let trust = Trust::of(&project, file.as_ref());
    assert_eq!(project.untrusted(Some(&trust)), [""; 0]);

    place.write(".mcp.json", &servers(&["other"]));
    place.make("elsewhere");
    fs::remove_dir(place.path(".agents/skills")).unwrap();
    symlink("../elsewhere", place.path(".agents/skills")).unwrap();
    place.make(".claude/skills");
    let project = Project::find(&place.root, None).unwrap();
    let changed = [SERVERS, ".agents/skills", ".claude/skills"];
    assert_eq!(project.untrusted(Some(&trust)), changed);
    // The same bytes by another way are the same.
    place.write("kept.json", &servers(&["one"]));
    fs::remove_file(place.path(".mcp.json")).unwrap();
    symlink("kept.json", place.path(".mcp.json")).unwrap();
    assert_eq!(project.untrusted(Some(&trust))[0], ".agents/skills");
}
