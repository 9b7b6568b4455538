//! Starts the daemon as a process of its own, and waits until it is ready.
//!
//! The daemon inherits the environment; everything else is handed over as JSON on its standard input. It answers on its
//! standard output, one [`Report`] a line.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use daemon::run::{Event, Options, Output};
use daemon::surroundings::Surroundings;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use skills::discovery::SkillRoot;
use skills::problem::{Problem, ProblemKind};

use crate::descriptors;
use crate::error::usage;

/// The first argument of the daemon's process.
pub(crate) const DAEMON: &str = "__daemon";

/// How much of a dead daemon's stderr is shown.
const TAIL_LINES: usize = 20;

/// How long a daemon that will not be used may take to end, and how often to look.
const END: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_millis(10);

/// What the daemon's process is handed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HandOver {
    #[serde(with = "skills::paths")]
    config: Option<PathBuf>,
    skills: Vec<Root>,
    #[serde(with = "skills::paths")]
    project: Option<PathBuf>,
    output: Output,
    wait: Duration,
}

/// A [`SkillRoot`] on its way.
#[derive(Debug, Serialize, Deserialize)]
struct Root {
    #[serde(with = "skills::paths")]
    path: PathBuf,
    source: Option<String>,
    optional: bool,
}

/// What the daemon's process says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Report {
    /// It gets on.
    Event(Event),
    /// It could not become ready.
    Failed(Problem),
}

impl From<Options> for HandOver {
    fn from(options: Options) -> Self {
        let root = |root: SkillRoot| Root {
            path: root.path,
            source: root.source,
            optional: root.optional,
        };
        Self {
            config: options.config,
            skills: options.skills.into_iter().map(root).collect(),
            project: options.project,
            output: options.output,
            wait: options.wait,
        }
    }
}

impl HandOver {
    /// Puts the options together again at the other end.
    pub(crate) fn into_options(self, surroundings: Surroundings) -> Options {
        let root = |root: Root| SkillRoot {
            path: root.path,
            source: root.source,
            optional: root.optional,
        };
        Options {
            surroundings,
            config: self.config,
            skills: self.skills.into_iter().map(root).collect(),
            project: self.project,
            output: self.output,
            wait: self.wait,
        }
    }
}

/// Starts the daemon and returns what it says when it is ready. `interrupt` ends it before that.
pub(crate) fn start(
    options: Options,
    interrupt: &OwnedFd,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Event, Problem> {
    let stderr_path = stderr_path(&options);
    let stderr = create_private(&stderr_path).map_err(|e| {
        failed(format!("the daemon's log of errors can't be made: {e}")).at_file(&stderr_path, None)
    })?;
    let named = options.config.as_deref().and_then(descriptors::named_by);
    descriptors::withhold(named.as_slice());
    let executable = options.surroundings.executable.clone();
    let handed = serde_json::to_vec(&HandOver::from(options))
        .map_err(|e| usage(format!("the daemon can't be told what to do: {e}")))?;
    let mut child = Command::new(executable)
        .arg(DAEMON)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .map_err(|e| failed(format!("the daemon can't be started: {e}")))?;

    // A daemon that died before it read this says why in its stderr, which is shown below.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(&handed);
    }
    let stdout = child.stdout.take().expect("stdout was asked for as a pipe");
    match ready(stdout, interrupt, on_progress) {
        Ok(Some(event)) => Ok(event),
        Ok(None) => Err(died(&mut child, &stderr_path)),
        Err(problem) => {
            end(&mut child);
            Err(problem)
        }
    }
}

/// Reads reports until the daemon is ready; `None` when it ended without a word.
fn ready(
    mut stdout: ChildStdout,
    interrupt: &OwnedFd,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Option<Event>, Problem> {
    let broken = |e: io::Error| failed(format!("the daemon can't be listened to: {e}"));
    let mut buffered = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        while let Some(end) = buffered.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffered.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Report::Event(Event::Progress { message })) => on_progress(&message),
                Ok(Report::Event(event @ Event::Ready { .. })) => return Ok(Some(event)),
                Ok(Report::Failed(problem)) => return Err(problem),
                Err(e) => return Err(failed(format!("the daemon's word can't be read: {e}"))),
            }
        }
        let mut watched = [
            PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(broken(e.into())),
        }
        if !watched[1].revents().is_empty() {
            return Err(Problem::new(
                ProblemKind::Interrupted,
                "interrupted; the daemon was ended",
            ));
        }
        if watched[0].revents().is_empty() {
            continue;
        }
        match stdout.read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(length) => buffered.extend_from_slice(&chunk[..length]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(broken(e)),
        }
    }
}

/// Ends a daemon that will not be used: it unmounts on SIGTERM, unless something keeps it.
fn end(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // One that has exited is still ours to wait for, so its number can't mean another process.
        let _ = kill_process(pid, Signal::TERM);
    }
    let deadline = Instant::now() + END;
    while let Ok(None) = child.try_wait() {
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(INTERVAL);
    }
}

fn died(child: &mut Child, stderr_path: &Path) -> Problem {
    let how = child
        .wait()
        .map_or_else(|e| e.to_string(), |status| status.to_string());
    let said = tail(stderr_path);
    let separator = if said.is_empty() { "" } else { "\n" };
    failed(format!(
        "the daemon ended before it was ready ({how}){separator}{said}"
    ))
    .at_file(stderr_path, None)
}

fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// Where the daemon's stderr goes: one file for each place where a tree is shown, else for each configuration, begun anew at each start.
fn stderr_path(options: &Options) -> PathBuf {
    let name = match &options.output {
        Output::Mount { mount_point, .. } => skills::names::encode(mount_point),
        Output::MirrorOnce { target } | Output::Mirror { target } => skills::names::encode(target),
        Output::None => {
            let mut name = OsString::from("call");
            for part in options.config.iter().chain(&options.project) {
                name.push(" ");
                name.push(part);
            }
            skills::names::encode(name)
        }
    };
    options
        .surroundings
        .directories
        .state
        .join("daemons")
        .join(format!("{name}.stderr"))
}

fn create_private(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .and_then(|file| file.set_len(0).map(|()| file))
}

fn failed(message: String) -> Problem {
    Problem::new(ProblemKind::Daemon, message)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;
    use std::time::Duration;

    use daemon::run::{Event, Options, Output};
    use daemon::surroundings::{Directories, Surroundings};
    use skills::discovery::SkillRoot;

    use super::{HandOver, Report, tail};

    #[test]
    fn the_options_survive_the_hand_over() {
        let surroundings = Surroundings {
            directories: Directories {
                cache: "/c".into(),
                state: "/s".into(),
                runtime: "/r".into(),
            },
            environment: [("KEY".into(), "secret".into())].into(),
            executable: "/bin/shelf".into(),
        };
        let options = Options {
            surroundings: surroundings.clone(),
            config: Some("/etc/mcp.json".into()),
            skills: vec![SkillRoot {
                path: OsStr::from_bytes(b"/skills\xff").into(),
                source: Some("team".into()),
                optional: true,
            }],
            project: Some("/project".into()),
            output: Output::Mount {
                mount_point: OsStr::from_bytes(b"/mnt\xff").into(),
                allow_other: true,
                nonempty: false,
            },
            wait: Duration::from_millis(1_500),
        };
        let json = serde_json::to_string(&HandOver::from(options.clone())).unwrap();
        assert!(!json.contains("secret"), "the environment is inherited");
        let back = serde_json::from_str::<HandOver>(&json).unwrap();
        let back = back.into_options(surroundings);
        assert_eq!(format!("{back:?}"), format!("{options:?}"));
    }

    #[test]
    fn a_report_is_one_line() {
        let report = Report::Event(Event::Ready {
            mount_point: Some(PathBuf::from("/a\nb")),
            entries: 1,
            problems: Vec::new(),
            elapsed_ms: 5,
            pending: Vec::new(),
        });
        let json = serde_json::to_string(&report).unwrap();
        assert!(!json.contains('\n'));
        let Report::Event(Event::Ready { entries, .. }) = serde_json::from_str(&json).unwrap()
        else {
            panic!("another report: {json}");
        };
        assert_eq!(entries, 1);
    }

    #[test]
    fn the_tail_is_short() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: Vec<_> = (0..50).map(|n| format!("line {n}")).collect();
        std::fs::write(file.path(), text.join("\n")).unwrap();
        let shown = tail(file.path());
        assert!(shown.starts_with("line 30\n") && shown.ends_with("line 49"));
    }
}
