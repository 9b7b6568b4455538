mod again;
mod corpus;

use super::*;
use std::os::unix::fs::symlink;

fn root(path: impl Into<PathBuf>) -> SkillRoot {
    SkillRoot {
        path: path.into(),
        source: None,
        optional: false,
    }
}

fn scan(paths: &[&Path]) -> Discovered {
    let roots: Vec<SkillRoot> = paths.iter().map(|path| root(*path)).collect();
    discover(&roots, Limits::default(), &[])
}

/// Writes a skill whose name is that of its directory.
fn skill(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    let name = directory.file_name().unwrap().display();
    let text = format!("---\nname: {name}\ndescription: The skill {name}.\n---\n");
    fs::write(directory.join("SKILL.md"), text).unwrap();
}

fn names(found: &Discovered) -> Vec<&str> {
    found
        .skills
        .iter()
        .map(|skill| skill.name.to_str().unwrap())
        .collect()
}

/// The problems with the directory of the test taken out.
fn problems(found: &Discovered, directory: &Path) -> Vec<String> {
    let prefix = format!("{}/", directory.display());
    found
        .problems
        .iter()
        .map(|problem| problem.to_string().replace(&prefix, ""))
        .collect()
}

#[test]
fn skills_come_in_order_of_precedence_and_then_of_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for name in ["first/b", "first/group/a", "second/b", "second/a"] {
        skill(&path.join(name));
    }
    let found = scan(&[&path.join("first"), &path.join("second")]);
    assert_eq!(names(&found), ["b", "a", "a", "b"]);
    let precedence: Vec<usize> = found.skills.iter().map(|s| s.precedence).collect();
    assert_eq!(precedence, [0, 0, 1, 1]);
    assert_eq!(problems(&found, path), Vec::<String>::new());
}

#[test]
fn a_skill_inside_a_skill_is_an_entry_and_the_outer_keeps_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("outer"));
    skill(&path.join("outer/parts/inner"));
    let found = scan(&[path]);
    assert_eq!(names(&found), ["outer", "inner"]);
    assert!(found.skills[0].tree.find(b"parts/inner/SKILL.md").is_some());
    assert!(found.skills[1].tree.find(b"SKILL.md").is_some());
}

#[test]
fn a_root_that_is_a_skill_hides_none_below_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pack");
    skill(&path);
    for number in 0..12 {
        skill(&path.join(format!("s{number:02}")));
    }
    let found = scan(&[&path]);
    assert_eq!(found.skills.len(), 13);
    assert_eq!(found.skills[0].name, "pack");
}

#[test]
fn other_spellings_of_the_file_load_with_a_warning() {
    for spelling in ["skill.md", "Skill.md", "SKILL.MD"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        skill(&path.join("pack"));
        fs::rename(path.join("pack/SKILL.md"), path.join("pack").join(spelling)).unwrap();
        let found = scan(&[path]);
        assert_eq!(names(&found), ["pack"]);
        assert!(found.skills[0].tree.get(spelling.as_bytes()).is_some());
        assert_eq!(
            problems(&found, path),
            [format!("pack/{spelling}: the file is not named SKILL.md")]
        );
    }
}

#[test]
fn of_two_spellings_the_exact_one_counts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("pack"));
    fs::write(path.join("pack/SKILL.MD"), "not this one").unwrap();
    let found = scan(&[path]);
    assert_eq!(names(&found), ["pack"]);
    assert_eq!(
        problems(&found, path),
        ["pack: several spellings of SKILL.md; SKILL.md is used"]
    );
}

#[test]
fn a_name_that_is_not_the_directorys_is_reported_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("pack"));
    fs::rename(path.join("pack"), path.join("boxes")).unwrap();
    let found = scan(&[path]);
    assert_eq!(names(&found), ["boxes"]);
    assert_eq!(found.skills[0].frontmatter.name.as_deref(), Some("pack"));
    assert_eq!(
        problems(&found, path),
        [
            "boxes/SKILL.md: the name \"pack\" is not the directory's, \"boxes\", by which the skill is known"
        ]
    );
}

#[test]
fn what_is_no_skill_is_reported_and_the_others_load() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("good"));
    fs::create_dir(path.join("bad")).unwrap();
    fs::write(path.join("bad/SKILL.md"), "# No frontmatter\n").unwrap();
    let found = scan(&[path]);
    assert_eq!(names(&found), ["good"]);
    assert_eq!(problems(&found, path), ["bad/SKILL.md:1: no frontmatter"]);
}

#[test]
fn each_real_directory_is_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("first/pack"));
    fs::create_dir_all(path.join("second")).unwrap();
    symlink("../first/pack", path.join("second/again")).unwrap();
    symlink(path.join("first"), path.join("third")).unwrap();
    let roots = ["first", "second", "third", "first"].map(|name| path.join(name));
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    assert_eq!(names(&scan(&roots)), ["pack"]);

    // Each counts once, too, by however many links it is reached.
    for number in 0..10 {
        symlink("pack", path.join(format!("first/a{number}"))).unwrap();
    }
    let limits = Limits {
        directories: 2,
        ..Limits::default()
    };
    assert_eq!(
        discover(&[root(path.join("first"))], limits, &[]).problems,
        []
    );
}

#[test]
fn a_linked_directory_is_searched_under_the_links_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("elsewhere/pack"));
    fs::create_dir(path.join("root")).unwrap();
    symlink("../elsewhere/pack", path.join("root/boxes")).unwrap();
    let found = scan(&[&path.join("root")]);
    assert_eq!(names(&found), ["boxes"]);
    let real = fs::canonicalize(path.join("elsewhere/pack")).unwrap();
    assert_eq!(found.skills[0].directory, real);
    assert_eq!(found.skills[0].found, path.join("root/boxes"));
    assert!(found.watch.concerns(&real.join("new.txt")));
}

#[test]
fn cycles_and_dangling_links_are_survived() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("plugins/pack"));
    symlink("..", path.join("plugins/up")).unwrap();
    symlink("self", path.join("plugins/self")).unwrap();
    symlink("/nowhere/at-all", path.join("plugins/gone")).unwrap();
    fs::create_dir(path.join("plugins/lost")).unwrap();
    symlink("/nowhere/SKILL.md", path.join("plugins/lost/SKILL.md")).unwrap();
    let found = scan(&[path]);
    assert_eq!(names(&found), ["pack"]);
    let problems = problems(&found, path);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems[0].starts_with("plugins/gone: a link to /nowhere/at-all that can't be followed")
    );
    assert!(problems[1].starts_with("plugins/self: a link to self that can't be followed"));
    assert_eq!(
        problems[2],
        "plugins/lost/SKILL.md: a link whose target does not exist"
    );
}

#[test]
fn a_link_of_a_nested_skill_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("outer"));
    skill(&path.join("outer/inner"));
    symlink("gone", path.join("outer/inner/A.md")).unwrap();
    assert_eq!(
        problems(&scan(&[path]), path),
        ["outer/inner/A.md: a link to gone, which does not exist"]
    );
}

#[test]
fn git_and_node_modules_are_not_searched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join(".git/hidden"));
    skill(&path.join("pack/node_modules/hidden"));
    skill(&path.join("pack"));
    let found = scan(&[path]);
    assert_eq!(names(&found), ["pack"]);
    let real = fs::canonicalize(path.join("pack/node_modules")).unwrap();
    assert!(
        !found
            .watch
            .directories()
            .any(|watched| watched.starts_with(&real))
    );
}

#[test]
fn a_limit_that_is_reached_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("a/b/pack"));
    skill(&path.join("a/b/c/deep"));
    let depth = Limits {
        depth: 3,
        ..Limits::default()
    };
    let found = discover(&[root(path)], depth, &[]);
    assert_eq!(names(&found), ["pack"]);
    assert_eq!(
        problems(&found, path),
        ["a/b/c/deep: more than 3 levels below its root; not searched"]
    );
    let count = Limits {
        directories: 3,
        ..Limits::default()
    };
    let found = discover(&[root(path)], count, &[]);
    assert_eq!(
        problems(&found, path.parent().unwrap())[0]
            .split_once(": ")
            .unwrap()
            .1,
        "more than 3 directories; the rest is not searched"
    );
    let enough = Limits {
        directories: 6,
        ..Limits::default()
    };
    assert_eq!(discover(&[root(path)], enough, &[]).problems, []);
}

#[test]
fn a_nearer_root_goes_deeper_where_an_earlier_one_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("a/b/outer"));
    skill(&path.join("a/b/outer/inner"));
    let limits = Limits {
        depth: 3,
        ..Limits::default()
    };
    let found = discover(&[root(path), root(path.join("a/b/outer"))], limits, &[]);
    assert_eq!(names(&found), ["outer", "inner"]);
}

#[test]
fn only_a_root_that_is_not_there_is_absent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("file"), "").unwrap();
    let optional = |name: &str| SkillRoot {
        optional: true,
        ..root(path.join(name))
    };
    let limits = Limits::default();
    let found = discover(&[optional("none"), optional("file/none")], limits, &[]);
    assert_eq!(found.problems, []);
    assert!(
        found
            .watch
            .concerns(&fs::canonicalize(path).unwrap().join("none"))
    );
    assert!(
        !found
            .watch
            .concerns(&fs::canonicalize(path).unwrap().join("other"))
    );

    let found = discover(&[root(path.join("none"))], limits, &[]);
    assert_eq!(
        problems(&found, path),
        ["none: the skills root does not exist"]
    );
    let found = discover(&[optional("file")], limits, &[]);
    assert_eq!(
        problems(&found, path),
        ["file: the skills root is not a directory"]
    );
    // Stands for EACCES, which root never gets: any error but the two is no absence.
    let found = discover(&[optional(&"x".repeat(300))], limits, &[]);
    assert!(
        found.problems[0]
            .message
            .starts_with("the skills root can't be read")
    );
}

#[test]
fn a_directory_that_cannot_be_read_is_reported_and_passed_over() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("pack"));
    let closed = path.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&closed).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let found = scan(&[path]);
    assert_eq!(names(&found), ["pack"]);
    assert_eq!(
        problems(&found, path),
        ["closed: can't be read: Permission denied (os error 13)"]
    );
}

#[test]
fn forbidden_directories_are_not_entered_whatever_leads_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    skill(&path.join("mount/skills/pack"));
    fs::create_dir(path.join("root")).unwrap();
    symlink("../mount/skills", path.join("root/link")).unwrap();
    let mount = fs::canonicalize(path.join("mount")).unwrap();
    let roots = [root(path.join("root"))];
    let found = discover_outside(&roots, Limits::default(), &[mount], &[]);
    assert_eq!(names(&found), Vec::<&str>::new());
    assert_eq!(
        problems(&found, path),
        ["root/link: lies in a shelf mount and is not searched for skills"]
    );
}
