//! What a shelf takes of a project, before and after it changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use skills::entry_id::ServerName;

use super::{Place, servers, text};
use crate::config::Config;
use crate::project::Project;
use crate::project::file::ServersFile;
use crate::project::trust::{Trust, Trusts};
use crate::project::trusted::TrustedProject;

impl Place {
    fn trusts(&self) -> Trusts {
        Trusts::below(&self.path("state"))
    }

    /// Trusts the project as it is.
    fn trust(&self) {
        let project = Project::named(&self.path("app"), None).unwrap();
        let file = ServersFile::read(&project.directory).unwrap();
        let trust = Trust::of(&project, file.as_ref());
        self.trusts().add(trust).unwrap();
    }

    fn project(&self) -> TrustedProject {
        TrustedProject::new(&self.path("app"), &self.path("state"))
    }
}

/// What is used, with the user's own configuration beside it.
fn taken(project: &TrustedProject) -> Config {
    let mut config = Config::default();
    project.add_to(&mut config);
    config
}

fn names(config: &Config) -> Vec<&str> {
    config.servers.keys().map(ServerName::as_str).collect()
}

fn problems(config: &Config) -> String {
    let problems = config.problems.iter().map(ToString::to_string);
    problems.collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_is_taken_before_it_is_trusted_nor_after() {
    let place = Place::new();
    place.write("app/.mcp.json", &servers(&["one"]));
    place.make("app/.agents/skills");
    let project = place.project();
    let is_nothing = |config: &Config| {
        assert!(names(config).is_empty() && config.skills.is_empty());
        assert!(problems(config).contains("no longer trusted"));
    };
    is_nothing(&taken(&project));
    place.trust();
    let config = taken(&project);
    assert_eq!(names(&config), ["one"]);
    assert_eq!(config.skills[0].path, place.path("app/.agents/skills"));
    assert_eq!(problems(&config), "");
    let name = ServerName::new("one");
    assert_eq!(config.file_of(&name), place.path("app/.mcp.json"));
    assert!(place.trusts().remove(&place.path("app")).unwrap().is_some());
    is_nothing(&taken(&project));
    assert_eq!(place.trusts().remove(&place.path("app")).unwrap(), None);
}

#[test]
fn a_changed_file_is_never_taken_and_what_was_trusted_goes_on() {
    let place = Place::new();
    place.write("app/.mcp.json", &servers(&["one"]));
    place.trust();
    let project = place.project();
    assert_eq!(names(&taken(&project)), ["one"]);
    place.write("app/.mcp.json", &servers(&["one", "evil"]));
    let config = taken(&project);
    assert_eq!(names(&config), ["one"]);
    let said = problems(&config);
    let path = text(&place.path("app/.mcp.json"));
    assert!(
        said.starts_with(&path) && said.contains("still in use"),
        "{said}"
    );
    assert!(
        config.problems[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("shelf trust")
    );
    // Whoever starts only now never saw what was trusted.
    let config = taken(&place.project());
    assert!(names(&config).is_empty());
    assert!(problems(&config).contains("left out"));
    // Neither of the two is what is trusted when another was trusted meanwhile.
    place.write("app/.mcp.json", &servers(&["two"]));
    place.trust();
    place.write("app/.mcp.json", &servers(&["evil"]));
    assert!(names(&taken(&project)).is_empty());
    place.write("app/.mcp.json", &servers(&["two"]));
    assert_eq!(names(&taken(&project)), ["two"]);
    fs::remove_file(place.path("app/.mcp.json")).unwrap();
    let config = taken(&project);
    assert!(names(&config).is_empty() && config.problems.is_empty());
}

#[test]
fn what_was_read_is_what_is_trusted_whatever_lies_there_by_now() {
    let place = Place::new();
    place.write("app/.mcp.json", &servers(&["shown"]));
    let project = Project::named(&place.path("app"), None).unwrap();
    let file = ServersFile::read(&project.directory).unwrap().unwrap();
    // Replaced after it was shown, and before somebody said yes.
    place.write("app/.mcp.json", &servers(&["evil"]));
    let shown = file.parse().unwrap();
    assert_eq!(names(&shown), ["shown"]);
    place
        .trusts()
        .add(Trust::of(&project, Some(&file)))
        .unwrap();
    assert!(names(&taken(&place.project())).is_empty());
    place.write("app/.mcp.json", &servers(&["shown"]));
    assert_eq!(names(&taken(&place.project())), ["shown"]);
}

#[test]
fn the_users_own_server_is_meant_and_the_projects_is_reported() {
    let place = Place::new();
    place.write("app/.mcp.json", "{\"mcpServers\": {\n\"mine\": {\"command\": \"evil\"},\n\"new\": {\"command\": \"x\"}},\n\"skills\": [\"/\"], \"index\": {\"max_tokens\": 1}}");
    place.trust();
    let own = place.write(
        "own.json",
        "{\"mcpServers\": {\"mine\": {\"command\": \"good\"}}}",
    );
    let mut config = Config::load(&own).unwrap();
    let before = config.servers.clone();
    place.project().add_to(&mut config);
    assert_eq!(names(&config), ["mine", "new"]);
    let mine = ServerName::new("mine");
    assert_eq!(config.servers[&mine], before[&mine]);
    assert_eq!(config.file_of(&mine), own);
    let said = problems(&config);
    let path = text(&place.path("app/.mcp.json"));
    assert!(said.contains(&format!(
        "{path}:2: server `mine` of the project is left out"
    )));
    // Settings are the user's to make.
    assert!(config.skills.is_empty() && config.index == Config::default().index);
    for section in ["skills", "index"] {
        let line = format!("{path}:4: `{section}` counts in your own configuration alone");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn a_projects_policy_can_only_restrict() {
    let place = Place::new();
    place.write("app/.mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"policy\": {\"allow\": [\"*\"]}}, \"b\": {\"command\": \"x\", \"policy\": {\"deny\": [\"*\"]}}}}");
    place.trust();
    let config = taken(&place.project());
    let rules = |name: &str| &config.policy.servers[&ServerName::new(name)];
    let fault = rules("a").fault.as_ref().unwrap();
    assert!(fault.message.contains("`allow` counts"), "{fault}");
    assert!(rules("b").fault.is_none() && rules("b").deny.len() == 1);
}

#[test]
fn skills_are_left_out_when_their_directory_leads_elsewhere() {
    let place = Place::new();
    place.make("app/.agents/skills");
    place.trust();
    place.make("elsewhere");
    fs::remove_dir(place.path("app/.agents/skills")).unwrap();
    let project = place.project();
    assert_eq!(taken(&project).skills.len(), 1, "it may come back");
    symlink(place.path("elsewhere"), place.path("app/.agents/skills")).unwrap();
    let config = taken(&project);
    assert!(config.skills.is_empty());
    assert!(problems(&config).contains("leads elsewhere"));
}

#[test]
fn a_project_that_was_moved_is_another_and_the_list_is_private() {
    let place = Place::new();
    place.write("app/.mcp.json", &servers(&["one"]));
    place.trust();
    fs::rename(place.path("app"), place.path("moved")).unwrap();
    let trusts = place.trusts();
    assert_eq!(trusts.find(&place.path("moved")).unwrap(), None);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(trusts.path()), 0o600);
    assert_eq!(mode(trusts.path().parent().unwrap()), 0o700);
    // Trusted anew it stands there once.
    fs::rename(place.path("moved"), place.path("app")).unwrap();
    place.trust();
    assert_eq!(trusts.all().unwrap().len(), 1);
}

#[test]
fn of_a_list_that_cant_be_used_nothing_is_trusted_and_it_is_said() {
    let place = Place::new();
    place.write("app/.mcp.json", &servers(&["one"]));
    place.trust();
    let trusts = place.trusts();
    let good = fs::read_to_string(trusts.path()).unwrap();
    let project = place.project();
    assert_eq!(names(&taken(&project)), ["one"]);
    let spoil = |spoil: &dyn Fn()| {
        spoil();
        let config = taken(&project);
        assert!(names(&config).is_empty());
        let said = problems(&config);
        assert!(
            said.contains("the list of trusted projects can't be used"),
            "{said}"
        );
        fs::remove_file(trusts.path()).unwrap();
        fs::write(trusts.path(), &good).unwrap();
        fs::set_permissions(trusts.path(), fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(names(&taken(&project)), ["one"]);
    };
    let write = |text: &str| fs::write(trusts.path(), text).unwrap();
    spoil(&|| write(&good[..good.len() / 2]));
    spoil(&|| write(&good.replace("\"version\": 1", "\"version\": 2")));
    let open = fs::Permissions::from_mode(0o666);
    spoil(&|| fs::set_permissions(trusts.path(), open.clone()).unwrap());
    let copy = place.write("copy", &good);
    spoil(&|| {
        fs::remove_file(trusts.path()).unwrap();
        symlink(&copy, trusts.path()).unwrap();
    });
}
