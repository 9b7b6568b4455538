use super::*;
use crate::discovery::{Discovered, Limits, SkillRoot, discover};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const TEXT: &str = "---\nname: pack\ndescription: Packs boxes.\n---\n# Pack\n";

/// A root with the skill `pack` in it.
fn shelf() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let pack = directory.path().join("root/pack");
    fs::create_dir_all(&pack).unwrap();
    fs::write(pack.join("SKILL.md"), TEXT).unwrap();
    (directory, pack)
}

fn scan(directory: &Path) -> Discovered {
    let root = SkillRoot {
        path: directory.join("root"),
        source: None,
        optional: false,
    };
    discover(&[root], Limits::default(), &[])
}

fn load(directory: &Path) -> (Arc<Skill>, Vec<String>) {
    let found = scan(directory);
    let prefix = format!("{}/root/pack/", directory.display());
    let problems = found.problems.iter();
    let problems = problems
        .map(|p| p.to_string().replace(&prefix, ""))
        .collect();
    (Arc::clone(&found.skills[0]), problems)
}

fn file(skill: &Skill, path: impl AsRef<[u8]>) -> Arc<File> {
    match skill.tree.find(path.as_ref()) {
        Some(Node::File(file)) => file,
        other => panic!("not a file: {other:?}"),
    }
}

fn target(skill: &Skill, path: &str) -> String {
    match skill.tree.find(path.as_bytes()) {
        Some(Node::Link(link)) => String::from_utf8(link.target.to_vec()).unwrap(),
        other => panic!("not a link: {other:?}"),
    }
}

#[test]
fn the_file_is_held_byte_for_byte_with_its_origin() {
    let (directory, pack) = shelf();
    let text = "\u{feff}---\r\nname: pack\r\ndescription: d\r\n---\r\nBody\r\n";
    fs::write(pack.join("SKILL.md"), text).unwrap();
    let (skill, problems) = load(directory.path());
    assert_eq!(&*skill.text, text.as_bytes());
    let node = file(&skill, "SKILL.md");
    assert!(matches!(&node.content, Content::Bytes(bytes) if Arc::ptr_eq(bytes, &skill.text)));
    let origin = node.origin.as_ref().unwrap();
    assert_eq!(origin.root, skill.directory);
    assert_eq!(origin.path, Path::new("SKILL.md"));
    assert_eq!(origin.stat.size, text.len() as u64);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn headings_are_read_from_the_body() {
    let (directory, pack) = shelf();
    let body = "# One `two`\n\n```\n# no\n```\n\nThree\n=====\n\n## *Four* [five](x)\n";
    fs::write(pack.join("SKILL.md"), format!("{TEXT}{body}")).unwrap();
    let (skill, _) = load(directory.path());
    assert_eq!(skill.headings, ["Pack", "One two", "Three", "Four five"]);
}

#[test]
fn a_skill_of_many_lines_and_kilobytes_loads() {
    let (directory, pack) = shelf();
    fs::write(
        pack.join("SKILL.md"),
        format!("{TEXT}{}", "A line of text.\n".repeat(8_000)),
    )
    .unwrap();
    let (skill, problems) = load(directory.path());
    assert!(skill.text.len() > 100_000);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn files_keep_their_execute_bits_and_lose_the_writable_ones() {
    let (directory, pack) = shelf();
    fs::create_dir(pack.join("scripts")).unwrap();
    for (name, mode) in [
        ("run", 0o755),
        ("plain", 0o644),
        ("private", 0o600),
        ("owner", 0o4700),
    ] {
        let path = pack.join("scripts").join(name);
        fs::write(&path, [0, 159, 146, 150]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let (skill, _) = load(directory.path());
    let modes = ["run", "plain", "private", "owner"]
        .map(|name| file(&skill, format!("scripts/{name}")).mode);
    assert_eq!(modes, [0o555, 0o444, 0o400, 0o500]);
    let run = file(&skill, "scripts/run");
    assert_eq!(run.size(), 4);
    let Content::Source(source) = &run.content else {
        panic!("read at open");
    };
    assert_eq!(source.path, Path::new("scripts/run"));
    let metadata = fs::metadata(pack.join("scripts/run")).unwrap();
    assert_eq!(run.modified, metadata.modified().unwrap());
}

#[test]
fn git_is_left_out_and_node_modules_is_served() {
    let (directory, pack) = shelf();
    for name in [".git", "node_modules/left-pad", ".hidden"] {
        fs::create_dir_all(pack.join(name)).unwrap();
        fs::write(pack.join(name).join("x"), "x").unwrap();
    }
    let (skill, _) = load(directory.path());
    assert!(skill.tree.get(b".git").is_none());
    assert!(skill.tree.find(b"node_modules/left-pad/x").is_some());
    assert!(skill.tree.find(b".hidden/x").is_some());
}

#[test]
fn file_names_that_are_not_utf_8_are_kept() {
    let (directory, pack) = shelf();
    fs::write(pack.join(OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
    let (skill, _) = load(directory.path());
    assert_eq!(file(&skill, b"caf\xe9").size(), 1);
}

#[test]
fn a_directory_has_the_real_ones_modification_time() {
    let (directory, pack) = shelf();
    let (skill, _) = load(directory.path());
    let modified = fs::metadata(&pack).unwrap().modified().unwrap();
    assert_eq!(skill.tree.modified, modified);
}

#[test]
fn what_is_no_file_is_left_out_and_reported() {
    let (directory, pack) = shelf();
    let _socket = std::os::unix::net::UnixListener::bind(pack.join("socket")).unwrap();
    let (skill, problems) = load(directory.path());
    assert!(skill.tree.get(b"socket").is_none());
    assert_eq!(
        problems,
        ["socket: neither a file nor a directory nor a link; left out"]
    );
}

#[test]
fn links_that_stay_inside_are_shown_as_relative_links() {
    let (directory, pack) = shelf();
    fs::create_dir_all(pack.join("docs/deep")).unwrap();
    fs::write(pack.join("docs/a.md"), "a").unwrap();
    symlink("../a.md", pack.join("docs/deep/relative")).unwrap();
    symlink(pack.join("docs/a.md"), pack.join("docs/deep/absolute")).unwrap();
    symlink(&pack, pack.join("docs/deep/top")).unwrap();
    symlink("../../root/pack/docs", pack.join("round")).unwrap();
    symlink(".", pack.join("self")).unwrap();
    symlink("round/a.md", pack.join("chain")).unwrap();
    let (skill, problems) = load(directory.path());
    assert_eq!(target(&skill, "docs/deep/relative"), "../a.md");
    assert_eq!(target(&skill, "docs/deep/absolute"), "../a.md");
    assert_eq!(target(&skill, "docs/deep/top"), "../..");
    assert_eq!(target(&skill, "round"), "docs");
    assert_eq!(target(&skill, "self"), ".");
    assert_eq!(target(&skill, "chain"), "round/a.md");
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_link_that_leads_out_dangles_and_is_reported() {
    let (directory, pack) = shelf();
    fs::write(directory.path().join("secret"), "s").unwrap();
    fs::create_dir(pack.join("docs")).unwrap();
    symlink("../../secret", pack.join("up")).unwrap();
    symlink("/etc/pass%wd", pack.join("docs/absolute")).unwrap();
    symlink("../..", pack.join("docs/above")).unwrap();
    symlink("..", pack.join("parent")).unwrap();
    // Out and, through another link, in again.
    symlink(&pack, directory.path().join("back")).unwrap();
    symlink("../../back/SKILL.md", pack.join("again")).unwrap();
    let (skill, problems) = load(directory.path());
    assert_eq!(target(&skill, "up"), ".outside/..%2F..%2Fsecret");
    assert_eq!(
        target(&skill, "docs/absolute"),
        "../.outside/%2Fetc%2Fpass%25wd"
    );
    assert_eq!(target(&skill, "docs/above"), "../.outside/..%2F..");
    assert_eq!(target(&skill, "parent"), ".outside/%2E%2E");
    assert_eq!(target(&skill, "again"), "SKILL.md");
    assert_eq!(
        problems,
        [
            "docs/above: a link out of the skill, to ../..; not followed",
            "docs/absolute: a link out of the skill, to /etc/pass%wd; not followed",
            "parent: a link out of the skill, to ..; not followed",
            "up: a link out of the skill, to ../../secret; not followed",
        ]
    );
}

#[test]
fn a_dangling_link_inside_is_shown_as_it_is_and_reported() {
    let (directory, pack) = shelf();
    symlink("gone.md", pack.join("lost")).unwrap();
    symlink("loop", pack.join("loop")).unwrap();
    let (skill, problems) = load(directory.path());
    assert_eq!(target(&skill, "lost"), "gone.md");
    assert_eq!(target(&skill, "loop"), "loop");
    assert_eq!(
        problems,
        [
            "loop: a link to loop, which does not exist",
            "lost: a link to gone.md, which does not exist",
        ]
    );
}

#[test]
fn a_linked_skill_file_is_a_regular_file_when_its_target_lies_in_a_root() {
    let (directory, pack) = shelf();
    let other = directory.path().join("root/other");
    fs::create_dir_all(&other).unwrap();
    symlink("../pack/SKILL.md", other.join("SKILL.md")).unwrap();
    symlink("SKILL.md", pack.join("copy.md")).unwrap();
    let found = scan(directory.path());
    assert_eq!(found.skills.len(), 2);
    let node = file(&found.skills[0], "SKILL.md");
    let origin = node.origin.as_ref().unwrap();
    assert_eq!(&*found.skills[0].text, TEXT.as_bytes());
    assert!(origin.root.ends_with("root"));
    assert_eq!(origin.path, Path::new("pack/SKILL.md"));
    assert_eq!(target(&found.skills[1], "copy.md"), "SKILL.md");
}

#[test]
fn a_linked_skill_file_of_a_nested_skill_is_a_regular_file_of_the_outer_too() {
    let (directory, pack) = shelf();
    let other = directory.path().join("root/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("SKILL.md"), TEXT).unwrap();
    fs::create_dir(pack.join("inner")).unwrap();
    symlink("../../other/SKILL.md", pack.join("inner/SKILL.md")).unwrap();
    let found = scan(directory.path());
    let outer = found
        .skills
        .iter()
        .find(|skill| skill.name == "pack")
        .unwrap();
    assert_eq!(file(outer, "inner/SKILL.md").size(), TEXT.len() as u64);
}

#[test]
fn a_linked_skill_file_whose_target_lies_in_no_root_is_reported() {
    let (directory, pack) = shelf();
    fs::rename(pack.join("SKILL.md"), directory.path().join("SKILL.md")).unwrap();
    symlink("../../SKILL.md", pack.join("SKILL.md")).unwrap();
    let found = scan(directory.path());
    assert_eq!(found.skills.len(), 0);
    assert_eq!(found.problems[0].kind, ProblemKind::SkillSkipped);
    let message = &found.problems[0].message;
    assert!(message.ends_with("which lies in no root"), "{message}");
}

#[test]
fn a_skill_file_that_is_no_file_or_too_large_is_reported() {
    let (directory, pack) = shelf();
    fs::remove_file(pack.join("SKILL.md")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(pack.join("SKILL.md")).unwrap();
    assert_eq!(
        scan(directory.path()).problems[0].message,
        "not a regular file"
    );
    drop(socket);
    fs::remove_file(pack.join("SKILL.md")).unwrap();
    fs::File::create(pack.join("SKILL.md"))
        .and_then(|file| file.set_len(MAX_FILE + 1))
        .unwrap();
    let found = scan(directory.path());
    assert_eq!(found.problems[0].message, "larger than 4194304 bytes");
}

#[test]
fn directories_without_end_are_cut_and_reported() {
    let (directory, pack) = shelf();
    let deep: PathBuf = std::iter::repeat_n("d", 70).collect();
    fs::create_dir_all(pack.join(&deep)).unwrap();
    let (skill, problems) = load(directory.path());
    let at = |depth: usize| vec!["d"; depth].join("/").into_bytes();
    assert!(skill.tree.find(&at(64)).is_some());
    assert!(skill.tree.find(&at(65)).is_none());
    assert!(
        problems
            .iter()
            .any(|p| p.ends_with("64 directories deep; left out"))
    );
}
