//! The attachment: the file system put onto its mount point, and taken off it again.
//!
//! Not left to fuser, whose own mount is unmounted by path when it is dropped: after an outside umount that would be
//! whatever somebody else has mounted there since.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::makedev;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{getegid, geteuid};
use skills::problem::{Problem, ProblemKind};

use super::MountOptions;
use super::mount_point::{FUSERMOUNT, unmount_lazily};
use crate::mount_table::MountTable;

#[cfg(test)]
mod tests;

const DEVICE: &str = "/dev/fuse";
const FILE_SYSTEM: &str = "fuse.shelf";
const MIRROR: &str = "or use `shelf mirror DIR`, which writes plain files and needs no FUSE";

/// Set-user-id bits and device files have no place in a directory of text; scripts are run from it.
const FLAGS: MountFlags = MountFlags::RDONLY
    .union(MountFlags::NOSUID)
    .union(MountFlags::NODEV);

/// The kernel judges by the modes itself: without it `test -x` would say yes to every file, or cost a request.
const PERMISSIONS: &str = "default_permissions";

/// A mount that we made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attachment {
    mount_point: PathBuf,
    instance: String,
    /// The device number of the mounted file system.
    device: String,
}

impl Attachment {
    /// Mounts and returns the connection to the kernel. `mount_point` is resolved.
    pub(super) fn attach(
        mount_point: &Path,
        options: &MountOptions,
    ) -> Result<(OwnedFd, Self), Problem> {
        let connection = open_device(Path::new(DEVICE)).map_err(|error| device_problem(&error))?;
        let connection = match mount_directly(&connection, mount_point, options) {
            Ok(()) => connection,
            Err(Errno::PERM) if !geteuid().is_root() => mount_as_user(mount_point, options)?,
            Err(error) => return Err(mount_problem(error).at_file(mount_point, None)),
        };
        if let Ok(Some(device)) = mounted_device(mount_point, &options.instance) {
            let attachment = Self {
                mount_point: mount_point.to_owned(),
                instance: options.instance.clone(),
                device,
            };
            return Ok((connection, attachment));
        }
        // Closing the connection would leave a dead mount behind. It is ours: nobody had time to mount another.
        let _ = unmount_lazily(mount_point);
        Err(Problem::new(
            ProblemKind::Mount,
            "the new mount does not show in /proc/self/mountinfo",
        )
        .at_file(mount_point, None)
        .hint(format!("mount /proc, {MIRROR}")))
    }

    /// Unmounts lazily, unless something else is mounted there by now.
    pub(super) fn detach(&self) -> io::Result<()> {
        let device = mounted_device(&self.mount_point, &self.instance)?;
        if device.as_ref() == Some(&self.device) {
            unmount_lazily(&self.mount_point)?;
        }
        Ok(())
    }
}

/// The device number of what is mounted there, if it is the shelf of this instance.
fn mounted_device(mount_point: &Path, instance: &str) -> io::Result<Option<String>> {
    let table = MountTable::read()?;
    Ok(table
        .mounted_on(mount_point)
        .filter(|mount| {
            mount
                .shelf()
                .is_some_and(|shelf| shelf.instance == instance)
        })
        .map(|mount| mount.device.clone()))
}

fn open_device(path: &Path) -> io::Result<OwnedFd> {
    let device = OpenOptions::new().read(true).write(true).open(path)?;
    // Some sandboxes hide a device below /dev/null; the mount would only say `Invalid argument`.
    if device.metadata()?.rdev() != makedev(10, 229) {
        return Err(Errno::NODEV.into());
    }
    Ok(device.into())
}

fn source(options: &MountOptions) -> String {
    format!("shelf:{}", options.instance)
}

fn mount_directly(
    connection: &OwnedFd,
    mount_point: &Path,
    options: &MountOptions,
) -> Result<(), Errno> {
    let mut data = format!(
        "fd={},rootmode=40000,user_id={},group_id={},{PERMISSIONS}",
        connection.as_raw_fd(),
        geteuid().as_raw(),
        getegid().as_raw(),
    );
    if options.allow_other {
        data.push_str(",allow_other");
    }
    let data = CString::new(data).map_err(|_| Errno::INVAL)?;
    mount(
        source(options),
        mount_point,
        FILE_SYSTEM,
        FLAGS,
        data.as_c_str(),
    )
}

/// Has fusermount3, which is setuid, mount: it sends the connection over the socket that it is given as its stdin.
fn mount_as_user(mount_point: &Path, options: &MountOptions) -> Result<OwnedFd, Problem> {
    let mut arguments = format!(
        "ro,nosuid,nodev,{PERMISSIONS},fsname={},subtype=shelf",
        source(options)
    );
    if options.allow_other {
        arguments.push_str(",allow_other");
    }
    for program in FUSERMOUNT {
        let (ours, theirs) = UnixStream::pair().map_err(|error| receive_problem(&error))?;
        let output = Command::new(program)
            .args(["-o", &arguments, "--"])
            .arg(mount_point)
            .env("_FUSE_COMMFD", "0")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .output();
        return match output {
            Err(_) => continue,
            Ok(output) if output.status.success() => {
                receive(&ours).map_err(|error| receive_problem(&error))
            }
            Ok(output) => {
                Err(helper_problem(&String::from_utf8_lossy(&output.stderr))
                    .at_file(mount_point, None))
            }
        };
    }
    Err(Problem::new(
        ProblemKind::Mount,
        "mounting as a user needs fusermount3, which is not installed",
    )
    .hint(format!("install the package fuse3, {MIRROR}")))
}

fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    control
        .drain()
        .find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        })
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn device_problem(error: &io::Error) -> Problem {
    let problem = |message: String| Problem::new(ProblemKind::Mount, message);
    let missing = |why: &str| {
        problem(format!("FUSE is missing here: {why}")).hint(format!(
            "load the module (modprobe fuse) or give the container --device {DEVICE}, {MIRROR}"
        ))
    };
    match error.kind() {
        io::ErrorKind::NotFound => missing(&format!("there is no {DEVICE}")),
        _ if Errno::from_io_error(error) == Some(Errno::NODEV) => {
            missing(&format!("there is no FUSE behind {DEVICE}"))
        }
        io::ErrorKind::PermissionDenied => {
            problem(format!("FUSE may not be used here: {DEVICE} can't be opened: {error}")).hint(
                format!(
                    "make {DEVICE} readable and writable (0666) or give the container --device {DEVICE}, {MIRROR}"
                ),
            )
        }
        _ => problem(format!("FUSE does not work here: {DEVICE} can't be opened: {error}"))
            .hint(format!("load the module (modprobe fuse), {MIRROR}")),
    }
}

fn mount_problem(error: Errno) -> Problem {
    let problem = |message: String| Problem::new(ProblemKind::Mount, message);
    match error {
        Errno::PERM => problem(format!(
            "mounting is not permitted here, as in most containers: CAP_SYS_ADMIN is missing ({error})"
        ))
        .hint(format!(
            "give the container --cap-add SYS_ADMIN --device {DEVICE}, {MIRROR}"
        )),
        Errno::ACCESS => problem(format!(
            "mounting is not permitted here: a security profile forbids it ({error})"
        ))
        .hint(format!(
            "give the container --security-opt apparmor=unconfined, {MIRROR}"
        )),
        Errno::NODEV => problem("FUSE is missing here: the kernel does not know the file system".to_owned())
            .hint(format!("load the module (modprobe fuse), {MIRROR}")),
        _ => problem(format!("the mount failed: {error}")).hint(MIRROR.to_owned()),
    }
}

fn helper_problem(said: &str) -> Problem {
    let said = said.trim();
    let problem = Problem::new(ProblemKind::Mount, format!("the mount failed: {said}"));
    if said.contains("user_allow_other") {
        return problem
            .hint("add the line user_allow_other to /etc/fuse.conf, or leave allow_other off");
    }
    problem.hint(format!("mount onto a directory that you own, {MIRROR}"))
}

fn receive_problem(error: &io::Error) -> Problem {
    Problem::new(
        ProblemKind::Mount,
        format!("fusermount3 did not hand over the connection: {error}"),
    )
    .hint(MIRROR)
}
