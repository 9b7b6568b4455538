//! What a daemon is called, and where the state of its configuration is kept.

use std::path::{Path, PathBuf};

use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};

use super::{Options, Output};
use crate::cache::IndexCache;
use crate::config::Config;
use crate::instance;
use crate::mount_table;
use crate::protocol::{About, OutputKind};

/// What tells the state of one configuration from that of another: a hash of its canonical path, or of the roots alone, and of the
/// project whose servers are beside its own.
pub(crate) fn configuration_name(
    config: Option<&Path>,
    skills: &[SkillRoot],
    project: Option<&Path>,
) -> String {
    let mut hasher = blake3::Hasher::new();
    match config {
        Some(config) => {
            let path = config.canonicalize().unwrap_or_else(|_| config.to_owned());
            hasher.update(path.as_os_str().as_encoded_bytes());
        }
        None => {
            for root in skills {
                hasher
                    .update(root.path.as_os_str().as_encoded_bytes())
                    .update(b"\0");
            }
        }
    }
    if let Some(project) = project {
        // No path has a NUL in it, so that no other configuration is hashed alike.
        hasher
            .update(b"\0project\0")
            .update(project.as_os_str().as_encoded_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The same for a daemon.
pub(super) fn configuration_of(options: &Options) -> String {
    let (config, project) = (options.config.as_deref(), options.project.as_deref());
    configuration_name(config, &options.skills, project)
}

/// What tells what is known of one catalog from what is known of another: the configuration and the roots that were given beside
/// it. Two daemons that show different skills must not take each other's for removed.
pub(crate) fn catalog_name(
    config: Option<&Path>,
    skills: &[SkillRoot],
    project: Option<&Path>,
) -> String {
    let name = configuration_name(config, skills, project);
    if config.is_none() || skills.is_empty() {
        return name;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(name.as_bytes());
    for root in skills {
        hasher
            .update(b"\0")
            .update(real(&root.path).as_os_str().as_encoded_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// What tells the pins of one user's configuration from those of another: the configuration alone. With whatever stands beside it, be
/// it roots or a project, what was trusted of it is trusted, and nothing else.
pub(crate) fn pins_name(config: Option<&Path>) -> String {
    configuration_name(config, &[], None)
}

/// Where the search index is kept for those who search without a daemon; `None` for a catalog that nobody reads without one, which is
/// a configuration with skills given beside it.
pub(super) fn index_cache(options: &Options) -> Option<IndexCache> {
    let is_read = options.config.is_none() || options.skills.is_empty();
    let cache = &options.surroundings.directories.cache;
    is_read.then(|| IndexCache::new(cache, &configuration_of(options)))
}

/// Where it is kept what a mirror wrote to a directory.
pub(super) fn manifest_path(state: &Path, target: &Path) -> PathBuf {
    let hash = blake3::hash(real(target).as_os_str().as_encoded_bytes()).to_hex();
    state
        .join("mirrors")
        .join(format!("{}.manifest", &hash[..16]))
}

/// Where the servers' own logs are: apart for each place of a shelf, since only one daemon at a time shows something there.
pub(super) fn server_logs(state: &Path, options: &Options) -> PathBuf {
    let place = match options.output.target() {
        Some(target) => skills::names::encode(target),
        None => configuration_of(options),
    };
    state.join("servers").join(place)
}

pub(super) fn about(options: &Options, config: &Config) -> Result<About, Problem> {
    let (mount_point, output) = match &options.output {
        Output::Mount { mount_point, .. } => (Some(mount_point.clone()), OutputKind::Mount),
        Output::Mirror { target } => (Some(target.clone()), OutputKind::Mirror),
        // It is done before anybody could ask for it.
        Output::MirrorOnce { .. } => (None, OutputKind::Mirror),
        Output::None => (None, OutputKind::None),
    };
    let instance = instance::new_id()?;
    let runtime = &options.surroundings.directories.runtime;
    Ok(About {
        socket: instance::socket_path(runtime, &instance),
        log: options.surroundings.directories.state.join("log"),
        instance,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        uid: rustix::process::geteuid().as_raw(),
        started: jiff::Timestamp::now(),
        config: options
            .config
            .as_ref()
            .map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())),
        skills: options
            .skills
            .iter()
            .chain(&config.skills)
            .map(|root| root.path.clone())
            .collect(),
        catalog: catalog_name(
            options.config.as_deref(),
            &options.skills,
            options.project.as_deref(),
        ),
        project: options.project.clone(),
        mount_point,
        output,
    })
}

/// Refuses a skill root that contains the place where the tree is shown: the daemon would find its own output below it.
pub(super) fn refuse_roots_around(target: &Path, roots: &[PathBuf]) -> Result<(), Problem> {
    // Not looked at itself: it may be the mount of a daemon that hangs.
    let target = mount_table::resolve(target).unwrap_or_else(|_| target.to_owned());
    match roots.iter().find(|root| target.starts_with(real(root))) {
        None => Ok(()),
        Some(root) => Err(Problem::new(
            ProblemKind::Usage,
            format!(
                "the skill root {} contains the place of the shelf",
                root.display()
            ),
        )
        .at_file(target, None)
        .hint("choose a place elsewhere, or name the directories below the root one by one")),
    }
}

/// Refuses a mount that would hide the files that the daemon is configured by: it would find its own output in their place, and
/// servers would be started in it. A mirror leaves them as they are.
pub(super) fn refuse_hidden_settings(
    mount_point: &Path,
    config: Option<&Path>,
    project: Option<&Path>,
) -> Result<(), Problem> {
    let place = mount_table::resolve(mount_point).unwrap_or_else(|_| mount_point.to_owned());
    let config = config.iter().map(|path| ("configuration", path));
    let project = project.iter().map(|path| ("project", path));
    match config
        .chain(project)
        .find(|(_, path)| lies_in(path, &place))
    {
        None => Ok(()),
        Some((what, path)) => Err(Problem::new(
            ProblemKind::Usage,
            format!(
                "the {what} {} lies in the place of the shelf, which would hide it",
                path.display()
            ),
        )
        .at_file(place, None)
        .hint("choose a place elsewhere, or a directory below it")),
    }
}

/// Whether a path leads through a directory, be it that a link stands there or that one leads there.
fn lies_in(path: &Path, directory: &Path) -> bool {
    let parent = path.parent().map(real);
    parent.is_some_and(|parent| parent.starts_with(directory)) || real(path).starts_with(directory)
}

/// The one path of a place, however it was written; of a place that is not there yet, as far as it is.
fn real(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|error| match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
            _ => Err(error),
        })
        .unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use skills::discovery::SkillRoot;

    use super::{
        catalog_name, configuration_name, manifest_path, pins_name, refuse_hidden_settings,
    };

    #[test]
    fn a_catalog_is_a_configuration_and_the_roots_beside_it() {
        let config = Some(Path::new("/none/servers.json"));
        let roots = |paths: &[&str]| -> Vec<SkillRoot> {
            let paths = paths.iter();
            let root = |path: &&str| SkillRoot {
                path: path.into(),
                source: None,
                optional: false,
            };
            paths.map(root).collect()
        };
        let names = [&[][..], &["/none/a"], &["/none/b"], &["/none/a", "/none/b"]]
            .map(|paths| catalog_name(config, &roots(paths), None));
        for (number, name) in names.iter().enumerate() {
            assert!(!names[..number].contains(name), "{names:?}");
        }
        // What was kept before roots counted stays found, and definitions depend on no root.
        assert_eq!(names[0], configuration_name(config, &[], None));
        let beside = configuration_name(config, &roots(&["/none/a"]), None);
        assert_eq!(names[0], beside);
        let alone = roots(&["/none/a"]);
        let catalog = catalog_name(None, &alone, None);
        assert_eq!(catalog, configuration_name(None, &alone, None));
        let other = Some(Path::new("/none/other.json"));
        assert_ne!(catalog_name(other, &alone, None), names[1]);
    }

    #[test]
    fn a_mount_hides_no_settings_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let [place, other] = ["place", "other"].map(|name| base.join(name));
        std::fs::create_dir_all(place.join("below")).unwrap();
        std::fs::create_dir(&other).unwrap();
        for file in [place.join("config.json"), other.join("config.json")] {
            std::fs::write(file, "{}").unwrap();
        }
        let link = std::os::unix::fs::symlink;
        link(other.join("config.json"), place.join("link.json")).unwrap();
        link(place.join("config.json"), other.join("link.json")).unwrap();
        link(place.clone(), base.join("linked")).unwrap();
        let refused = |place: &Path, config: PathBuf, project: Option<&PathBuf>| {
            let refused =
                refuse_hidden_settings(place, Some(&config), project.map(PathBuf::as_path));
            refused.err().map(|problem| problem.message)
        };
        for config in [
            place.join("config.json"),
            place.join("link.json"),
            other.join("link.json"),
            base.join("linked/config.json"),
        ] {
            for place in [&place, &base.join("linked"), &base] {
                let said = refused(place, config.clone(), None);
                assert!(said.is_some_and(|said| said.contains("the configuration /")));
            }
            // A directory beside it can be hidden all the same.
            assert_eq!(refused(&place.join("below"), config, None), None);
        }
        let config = || other.join("config.json");
        assert_eq!(refused(&place, config(), Some(&base)), None);
        for project in [&place, &place.join("below")] {
            let said = refused(&place, config(), Some(project));
            assert!(said.is_some_and(|said| said.contains("the project /")));
        }
    }

    #[test]
    fn a_project_has_a_state_of_its_own_beside_the_same_configuration() {
        let config = Some(Path::new("/none/servers.json"));
        let projects = [None, Some("/none/one"), Some("/none/two")].map(|it| it.map(Path::new));
        for name in [configuration_name, catalog_name] {
            let [alone, one, two] = projects.map(|project| name(config, &[], project));
            assert!(alone != one && one != two && two != alone);
            let without = name(None, &[], projects[1]);
            assert!(without != one && without != name(None, &[], None));
        }
    }

    #[test]
    fn pins_depend_on_the_configuration_alone() {
        let config = |path: &'static str| Some(Path::new(path));
        let name = pins_name(config("/none/servers.json"));
        assert_eq!(
            name,
            configuration_name(config("/none/servers.json"), &[], None)
        );
        assert_ne!(name, pins_name(config("/none/other.json")));
    }

    #[test]
    fn a_mirror_has_one_manifest_however_its_place_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (state, target) = (Path::new("/state"), directory.path().join("mirror"));
        let before = manifest_path(state, &target);
        std::fs::create_dir(&target).unwrap();
        assert_eq!(manifest_path(state, &target), before);
        assert_eq!(manifest_path(state, &target.join("../mirror/.")), before);
        assert_ne!(manifest_path(state, directory.path()), before);
    }
}
