//! A shelf of a test's own: the real binary, directories that nobody else uses, and an end that leaves nothing.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::needs::workspace;
use super::processes;
use super::{DEADLINE, INTERVAL, SHELF, wait_for};

/// The variable by which everything that a test started is found again.
const MARK: &str = "SHELF_TEST_PLACE";

/// A place for one shelf. Dropping it ends what runs there, and fails the test when that is more than it should be.
pub(crate) struct Shelf(tempfile::TempDir);

impl Shelf {
    /// Makes a place without servers and skills.
    pub(crate) fn new() -> Self {
        let temporary = std::env::temp_dir().canonicalize().unwrap();
        let shelf = Self(tempfile::tempdir_in(temporary).unwrap());
        for name in ["home", "runtime", "skills", "mount"] {
            fs::create_dir(shelf.path(name)).unwrap();
        }
        fs::set_permissions(shelf.path("runtime"), fs::Permissions::from_mode(0o700)).unwrap();
        shelf.servers(json!({}));
        shelf
    }

    /// Makes a place with one fake server of this name and these options.
    pub(crate) fn with_fake(name: &str, options: &[&str]) -> Self {
        let shelf = Self::new();
        shelf.servers(json!({ name: shelf.fake(options) }));
        shelf
    }

    /// The place itself.
    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// A path in the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// A path in the mount.
    pub(crate) fn mounted(&self, name: &str) -> PathBuf {
        self.path("mount").join(name)
    }

    /// The text of a file in the mount.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.mounted(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Waits until a file in the mount reads as it should.
    #[track_caller]
    pub(crate) fn wait_for_text(&self, name: &str, holds: impl Fn(&str) -> bool) -> String {
        wait_for(name, || {
            fs::read_to_string(self.mounted(name))
                .ok()
                .filter(|text| holds(text))
        })
    }

    /// Waits until the indexes have no estimate of tokens left: after that nothing but definitions changes them.
    pub(crate) fn wait_until_counted(&self) {
        wait_for("tokens are counted", || {
            let servers = fs::read_dir(self.mounted("mcp")).ok()?;
            let indexes = servers
                .flatten()
                .map(|server| server.path().join("INDEX.md"));
            let own = ["INDEX.md", "skills/INDEX.md"].map(|name| self.mounted(name));
            let mut all = indexes.chain(own);
            let is_counted =
                |index| fs::read_to_string(index).is_ok_and(|text| !text.contains('≈'));
            all.all(is_counted).then_some(())
        });
    }

    /// Writes a file of the place, with its directories.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a skill with a description.
    pub(crate) fn skill(&self, name: &str, description: &str) -> PathBuf {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n");
        self.write(&format!("skills/{name}/SKILL.md"), text)
    }

    /// Writes the configuration.
    #[allow(clippy::needless_pass_by_value, reason = "it is written in place")]
    pub(crate) fn servers(&self, servers: Value) {
        let config = json!({ "mcpServers": servers });
        // Replaced as editors do it, so that nobody reads half of it.
        let written = self.write("mcp.json.new", config.to_string());
        fs::rename(written, self.path("mcp.json")).unwrap();
    }

    /// The configuration of the fake server.
    pub(crate) fn fake(&self, options: &[&str]) -> Value {
        let program = workspace().join("tests/servers/fake.py");
        let mut args = vec![program.to_str().unwrap().to_owned()];
        args.extend(options.iter().map(|&option| option.to_owned()));
        json!({ "command": "python3", "args": args, "cwd": self.root() })
    }

    /// A command in the surroundings of the place.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir(self.root());
        for variable in ["SHELF_SESSION", "SHELF_SOCKET"] {
            command.env_remove(variable);
        }
        command
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home/config"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_RUNTIME_DIR", self.path("runtime"))
            .env(MARK, self.root());
        // `shelf`, as users write it.
        let directory = Path::new(SHELF).parent().unwrap();
        let mut path = directory.as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path);
        command
    }

    /// Runs `shelf` with arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(SHELF).args(arguments))
    }

    /// Runs `shelf` with arguments and a standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Finished {
        let mut command = self.command(SHELF);
        command.args(arguments).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// Runs a script of the shell.
    pub(crate) fn shell(&self, script: &str) -> Finished {
        Finished::of(self.command("bash").args(["-c", script]))
    }

    /// Mounts, with the configuration and the skills of the place and further arguments.
    #[track_caller]
    pub(crate) fn mount_with(&self, more: &[&str]) -> Finished {
        let (mount, config) = (self.path("mount"), self.path("mcp.json"));
        let mut command = self.command(SHELF);
        command.arg("mount").arg(mount).arg("--config").arg(config);
        command.arg("--skills").arg(self.path("skills")).args(more);
        Finished::of(&mut command)
    }

    /// Mounts; that has to work.
    #[track_caller]
    pub(crate) fn mount(&self) -> Finished {
        let finished = self.mount_with(&[]);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        finished
    }

    /// Keeps a mirror where a mount would be, with the configuration and the skills of the place; that has to work.
    #[track_caller]
    pub(crate) fn mirror(&self) -> Finished {
        let mirror = [
            "mirror", "mount", "--config", "mcp.json", "--skills", "skills",
        ];
        let finished = self.run(&mirror);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        finished
    }

    /// Unmounts; that has to work, and to leave nothing.
    #[track_caller]
    pub(crate) fn unmount(&self) {
        self.run(&["unmount", self.path("mount").to_str().unwrap()])
            .succeeds();
        self.wait_until_nothing_is_left();
    }

    /// Calls a tool; that has to work.
    #[track_caller]
    pub(crate) fn call(&self, words: &[&str]) -> String {
        self.run(&[&["call"], words].concat()).succeeds()
    }

    /// The answer of `shelf status --json`.
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["status", "--json"]).succeeds()).unwrap()
    }

    /// The process id of the daemon.
    #[track_caller]
    pub(crate) fn daemon(&self) -> i32 {
        i32::try_from(self.status()["pid"].as_i64().unwrap()).unwrap()
    }

    /// The lines of the log.
    #[track_caller]
    pub(crate) fn log(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self
            .run(&[&["log", "--json"], arguments].concat())
            .succeeds();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Waits until the log has a line.
    #[track_caller]
    pub(crate) fn wait_for_line(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.log(&[]).into_iter().find(|line| is(line)))
    }

    /// The processes of this place that run, with their command lines.
    pub(crate) fn running(&self) -> Vec<(i32, String)> {
        processes::with_variable(&format!("{MARK}={}", self.root().display()))
    }

    /// How often a fake server has been started that writes that into a file.
    pub(crate) fn starts(&self, file: &str) -> usize {
        fs::read_to_string(self.path(file)).map_or(0, |text| text.lines().count())
    }

    /// Waits until neither a process nor a mount is left.
    #[track_caller]
    pub(crate) fn wait_until_nothing_is_left(&self) {
        let left = || (self.running(), processes::mounts_below(self.root()));
        let start = Instant::now();
        while left() != Default::default() {
            assert!(start.elapsed() < DEADLINE, "left: {:?}", left());
            sleep(INTERVAL);
        }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let mount = self.path("mount");
        if !processes::mounts_below(self.root()).is_empty() {
            let _ = self.run(&["unmount", mount.to_str().unwrap()]);
        }
        if std::thread::panicking() {
            for (pid, _) in self.running() {
                processes::signal(pid, Signal::KILL);
            }
            for point in processes::mounts_below(self.root()) {
                let _ = rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH);
            }
        } else {
            self.wait_until_nothing_is_left();
        }
    }
}

/// What a command ended with.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    /// The output of a command that has to work.
    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The complaints of a command that has to fail so, with nothing on standard output.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!((self.code, &*self.stdout), (code, ""), "{}", self.stderr);
        self.stderr
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
