use std::io;
use std::path::Path;

use rustix::io::Errno;
use skills::problem::{Problem, ProblemKind};

use super::{device_problem, helper_problem, mount_problem, open_device};

fn says(problem: &Problem, words: &[&str]) {
    let said = format!("{problem} {}", problem.hint.as_deref().unwrap_or_default());
    assert_eq!(problem.kind, ProblemKind::Mount);
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said:?}");
    }
}

#[test]
fn a_machine_without_fuse_is_told_so_with_the_way_out() {
    let error = open_device(Path::new("/dev/there-is-no-fuse")).unwrap_err();
    says(
        &device_problem(&error),
        &["there is no /dev/fuse", "modprobe fuse", "shelf mirror DIR"],
    );
    let denied = io::Error::from(Errno::ACCESS);
    says(
        &device_problem(&denied),
        &["can't be opened", "0666", "shelf mirror DIR"],
    );
    let dead = io::Error::from(Errno::NODEV);
    says(
        &device_problem(&dead),
        &["modprobe fuse", "shelf mirror DIR"],
    );
}

#[test]
fn a_container_is_told_what_it_lacks() {
    says(
        &mount_problem(Errno::PERM),
        &["CAP_SYS_ADMIN", "--cap-add", "shelf mirror DIR"],
    );
    says(
        &mount_problem(Errno::ACCESS),
        &["security profile", "apparmor", "shelf mirror DIR"],
    );
    says(
        &mount_problem(Errno::NODEV),
        &["kernel", "shelf mirror DIR"],
    );
}

#[test]
fn what_fusermount3_says_is_passed_on() {
    says(
        &helper_problem("fusermount3: user has no write access to mountpoint /x\n"),
        &["no write access", "shelf mirror DIR"],
    );
    says(
        &helper_problem(
            "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf",
        ),
        &["/etc/fuse.conf", "allow_other off"],
    );
}
