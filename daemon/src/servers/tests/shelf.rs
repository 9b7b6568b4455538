//! What the tests share: fake servers without a guard, and a catalog that only remembers what it was told.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use skills::entry_id::ServerName;
use skills::problem::Problem;
use skills::server::{Definitions, Phase, Server, ServerState};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::cache::DefinitionCache;
use crate::catalog::SourceUpdate;
use crate::config::{Config, Launch, Restart, ServerConfig, Share, StdioConfig, Transport};
use crate::servers::launcher::{Eventually, Launched, Launcher, Process};
use crate::servers::{CallOptions, CallResult, Servers};
use crate::surroundings::{Directories, Environment, Surroundings};

/// How long a test waits for what should come soon.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// Whether Python is there; a machine without it skips these tests, CI fails.
pub(super) fn python() -> bool {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    assert!(
        found || std::env::var_os("CI").is_none(),
        "python3 is missing"
    );
    if !found {
        println!("skipped: python3 is missing");
    }
    found
}

/// Starts servers as plain children: the guard needs the real binary and has tests of its own.
#[derive(Debug)]
struct DirectLauncher;

struct DirectProcess(Child);

impl Launcher for DirectLauncher {
    fn launch(&self, launch: &Launch) -> io::Result<Launched> {
        let mut child = Command::new(&launch.command)
            .args(&launch.args)
            .env_clear()
            .envs(&launch.environment)
            .current_dir(&launch.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Launched {
            stdin: Box::new(child.stdin.take().expect("it was piped")),
            stdout: Box::new(child.stdout.take().expect("it was piped")),
            stderr: Box::new(child.stderr.take().expect("it was piped")),
            process: Box::new(DirectProcess(child)),
        })
    }
}

impl Process for DirectProcess {
    fn wait(&mut self) -> Eventually<'_, io::Result<ExitStatus>> {
        Box::pin(self.0.wait())
    }

    fn guard(&self) -> Option<u32> {
        None
    }

    fn stop(mut self: Box<Self>) -> Eventually<'static, ()> {
        Box::pin(async move {
            if timeout(Duration::from_secs(2), self.0.wait())
                .await
                .is_err()
            {
                let _ = self.0.kill().await;
            }
        })
    }
}

/// What the catalog was told, and the servers that told it.
pub(super) struct Shelf {
    pub(super) servers: Servers,
    pub(super) config: Config,
    pub(super) known: BTreeMap<String, Arc<Server>>,
    pub(super) problems: BTreeMap<String, Vec<Problem>>,
    pub(super) states: BTreeMap<String, ServerState>,
    /// Every update in order, in a few words.
    pub(super) journal: Vec<String>,
    updates: mpsc::UnboundedReceiver<SourceUpdate>,
    directory: PathBuf,
    // Held for its Drop.
    _temporary: tempfile::TempDir,
}

impl Shelf {
    /// A shelf with one fake server, `fake`, started with these options.
    pub(super) async fn with(options: &[&str]) -> Self {
        let mut shelf = Self::empty();
        shelf.add("fake", options);
        shelf.configure().await;
        shelf
    }

    pub(super) fn empty() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().to_owned();
        let cache = DefinitionCache::open(&directory.join("cache"), "test").unwrap();
        Self::over(temporary, directory, cache, std::env::vars_os().collect())
    }

    /// A shelf without servers whose daemon was given no other variables than these.
    pub(super) fn in_environment(environment: Environment) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().to_owned();
        let cache = DefinitionCache::open(&directory.join("cache"), "test").unwrap();
        Self::over(temporary, directory, cache, environment)
    }

    fn over(
        temporary: tempfile::TempDir,
        directory: PathBuf,
        cache: DefinitionCache,
        environment: Environment,
    ) -> Self {
        let surroundings = Surroundings {
            directories: Directories {
                cache: directory.join("cache"),
                state: directory.join("state"),
                runtime: directory.join("runtime"),
            },
            environment,
            executable: PathBuf::from("shelf"),
        };
        let (sender, updates) = mpsc::unbounded_channel();
        let launcher = Arc::new(DirectLauncher);
        Self {
            servers: Servers::with_launcher(
                surroundings,
                directory.join("logs"),
                cache,
                sender,
                launcher,
            ),
            config: Config {
                path: Some(directory.join("config.json")),
                ..Config::default()
            },
            known: BTreeMap::new(),
            problems: BTreeMap::new(),
            states: BTreeMap::new(),
            journal: Vec::new(),
            updates,
            directory,
            _temporary: temporary,
        }
    }

    /// Another daemon for the same configuration and cache, after the first has stopped.
    pub(super) async fn restarted(self) -> Self {
        self.servers.stop().await;
        let cache = DefinitionCache::open(&self.directory.join("cache"), "test").unwrap();
        let mut next = Self::over(
            self._temporary,
            self.directory,
            cache,
            std::env::vars_os().collect(),
        );
        next.config = self.config;
        next.configure().await;
        next
    }

    /// Adds a fake server to the configuration; `configure` takes it over.
    pub(super) fn add(&mut self, name: &str, options: &[&str]) -> &mut ServerConfig {
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/servers/fake.py");
        let starts = self.directory.join(format!("{name}.starts"));
        let mut args = vec![fake.display().to_string()];
        args.extend(["--starts".to_owned(), starts.display().to_string()]);
        args.extend(options.iter().map(|option| (*option).to_owned()));
        let server = ServerConfig {
            transport: Transport::Stdio(StdioConfig {
                command: "python3".to_owned(),
                args,
                env: BTreeMap::new(),
                cwd: None,
            }),
            disabled: false,
            start_timeout: SOON,
            timeout: SOON,
            idle: None,
            share: Share::default(),
            restart: Restart::default(),
            roots: Vec::new(),
            line: 1,
        };
        self.config.servers.insert(ServerName::new(name), server);
        self.server(name)
    }

    pub(super) fn server(&mut self, name: &str) -> &mut ServerConfig {
        self.config
            .servers
            .get_mut(&ServerName::new(name))
            .expect("it was added")
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(super) async fn configure(&mut self) {
        self.servers.configure(&self.config);
        self.take_updates();
    }

    pub(super) async fn refresh(&mut self) {
        self.servers.refresh().await;
        self.take_updates();
    }

    fn take_updates(&mut self) {
        while let Ok(update) = self.updates.try_recv() {
            self.take(update);
        }
    }

    fn take(&mut self, update: SourceUpdate) {
        match update {
            SourceUpdate::Server { server, problems } => {
                let name = server.name.to_string();
                self.journal.push(format!("{name} definitions"));
                self.problems.insert(name.clone(), problems);
                self.known.insert(name, server);
            }
            SourceUpdate::State { name, state } => {
                let phase = match &state.phase {
                    Phase::Failed(_) => "Failed".to_owned(),
                    phase => format!("{phase:?}"),
                };
                self.journal.push(format!("{name} {phase}"));
                self.states.insert(name.to_string(), state);
            }
            SourceUpdate::Removed { name } => {
                self.journal.push(format!("{name} removed"));
                self.known.remove(name.as_str());
                self.states.remove(name.as_str());
            }
            // It says nothing of what is known.
            SourceUpdate::Listed { .. } => {}
            other => panic!("unexpected {other:?}"),
        }
    }

    /// Waits until what the catalog was told fulfils a condition.
    pub(super) async fn until(&mut self, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + SOON;
        self.take_updates();
        while !condition(self) {
            let update = tokio::time::timeout_at(deadline, self.updates.recv()).await;
            let Ok(Some(update)) = update else {
                panic!("it never came; so far: {:#?}", self.journal);
            };
            self.take(update);
        }
    }

    pub(super) async fn until_phase(&mut self, phase: Phase) {
        self.until(|shelf| shelf.phase() == phase).await;
    }

    /// The phase of `fake`.
    pub(super) fn phase(&self) -> Phase {
        self.states["fake"].phase.clone()
    }

    /// Why `fake` failed.
    pub(super) fn failure(&self) -> String {
        match self.phase() {
            Phase::Failed(why) => why,
            phase => panic!("{phase:?} is no failure"),
        }
    }

    /// The definitions of `fake`.
    pub(super) fn definitions(&self) -> Arc<Definitions> {
        self.known["fake"]
            .definitions
            .clone()
            .expect("they are known")
    }

    pub(super) fn names(&self) -> Vec<String> {
        let tools = &self.definitions().tools;
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    /// How often a server was started.
    pub(super) fn starts(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(&format!("{name}.starts")))
            .map_or(0, |starts| starts.lines().count())
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, Problem> {
        call(&self.servers, tool, arguments, options()).await
    }

    /// The text that a tool of `fake` answers.
    pub(super) async fn text(&self, tool: &str, arguments: Value) -> String {
        text(&self.call(tool, arguments).await.unwrap())
    }
}

pub(super) fn options() -> CallOptions {
    CallOptions {
        timeout: None,
        cancelled: CancellationToken::new(),
        progress: None,
        questions: None,
        session: String::new(),
    }
}

pub(super) async fn call(
    servers: &Servers,
    tool: &str,
    arguments: Value,
    options: CallOptions,
) -> Result<CallResult, Problem> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    servers
        .call(&ServerName::new("fake"), tool, arguments, options)
        .await
}

pub(super) fn text(result: &CallResult) -> String {
    let value: Value = serde_json::from_str(result.raw.get()).unwrap();
    value["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Waits for something that no update tells of.
pub(super) async fn eventually<F: Future<Output = bool>>(mut condition: impl FnMut() -> F) {
    let deadline = Instant::now() + SOON;
    while !condition().await {
        assert!(Instant::now() < deadline, "it never came");
        sleep(Duration::from_millis(20)).await;
    }
}

pub(super) fn nothing() -> Value {
    json!({})
}
