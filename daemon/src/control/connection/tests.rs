use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use skills::entry_id::EntryId;
use skills::problem::{Problem, ProblemKind};
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

use super::{Request, Service};
use crate::caller::Caller;
use crate::client::{Client, Identity};
use crate::protocol::{
    About, Call, CallReply, ErrorObject, Message, OutputKind, Progress, VERSION, method,
};

mod questions;

/// A service whose calls do what the name of their entry says.
struct Scripted {
    about: About,
    shutdown: CancellationToken,
    runtime: tempfile::TempDir,
    sessions: std::sync::Mutex<Vec<String>>,
    cancelled: AtomicUsize,
}

impl Service for Scripted {
    fn about(&self) -> &About {
        &self.about
    }

    fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    async fn keep(&self, json: String) -> io::Result<PathBuf> {
        crate::control::payload::keep(self.runtime.path(), json).await
    }

    async fn handle(self: Arc<Self>, request: Request) -> Result<Box<RawValue>, ErrorObject> {
        self.sessions
            .lock()
            .unwrap()
            .push(request.caller.session.clone());
        let call: Call = crate::control::parameters(&request)?;
        let result = match call.entry.as_str() {
            "number" => r#"{"n":1e3,"long":123456789012345678901234567890}"#.to_owned(),
            "long" => format!("{:?}", "x".repeat(crate::protocol::MAX_LINE)),
            "progress" => {
                for step in 0..3 {
                    let progress = Progress {
                        progress: f64::from(step),
                        total: None,
                        message: None,
                    };
                    request.progress.send(progress).await.unwrap();
                }
                "{}".to_owned()
            }
            "wait" => {
                let started = Progress {
                    progress: 0.0,
                    total: None,
                    message: Some("started".into()),
                };
                request.progress.send(started).await.unwrap();
                request.cancelled.cancelled().await;
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                return Err(Problem::new(ProblemKind::Interrupted, "cancelled").into());
            }
            "question" => {
                let asked = request.questions.ask("riddle", &json!({"n": 1})).await;
                let said = match asked {
                    Some(Ok(answer)) => answer.get().to_owned(),
                    Some(Err(error)) => error.code.to_string(),
                    None => {
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        "gone".to_owned()
                    }
                };
                json!({ "said": said }).to_string()
            }
            "impatient" => {
                let waits = Duration::from_millis(50);
                let (one, two) = (json!({"n": 1}), json!({"n": 2}));
                let first = request.questions.ask("riddle", &one);
                let is_given_up = tokio::time::timeout(waits, first).await.is_err();
                let progress = Progress {
                    progress: 1.0,
                    total: None,
                    message: None,
                };
                let second = request.questions.ask("riddle", &two);
                // Beside the second question: it waits until that is answered.
                let (_, is_held) = tokio::join!(second, async {
                    tokio::time::sleep(waits).await;
                    request.progress.send(progress).await.unwrap();
                    tokio::time::sleep(waits).await;
                    request.progress.capacity() < request.progress.max_capacity()
                });
                json!({ "given up": is_given_up, "held": is_held }).to_string()
            }
            "panic" => panic!("on demand"),
            other => panic!("no such script: {other}"),
        };
        crate::control::answer(&CallReply {
            id: EntryId(call.entry.into()),
            is_error: false,
            result: RawValue::from_string(result).unwrap(),
            filled: serde_json::Map::new(),
            unchecked: None,
            warnings: Vec::new(),
            unanswered: Vec::new(),
            state_lost: None,
        })
    }
}

struct Served {
    service: Arc<Scripted>,
    socket: PathBuf,
    runtime: tokio::runtime::Runtime,
}

fn serve() -> Served {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("test.sock");
    let service = Arc::new(Scripted {
        about: About {
            instance: "test".into(),
            version: "1.2.3".into(),
            pid: 0,
            uid: 0,
            started: jiff::Timestamp::UNIX_EPOCH,
            config: None,
            project: None,
            skills: Vec::new(),
            catalog: String::new(),
            mount_point: None,
            output: OutputKind::None,
            log: PathBuf::new(),
            socket: PathBuf::new(),
        },
        shutdown: CancellationToken::new(),
        runtime: directory,
        sessions: std::sync::Mutex::default(),
        cancelled: AtomicUsize::new(0),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let listener = {
        let _inside = runtime.enter();
        UnixListener::bind(&socket).unwrap()
    };
    let accepting = service.clone();
    runtime.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let caller = Caller {
                pid: 1,
                uid: 0,
                command: "test".into(),
                session: "from the process".into(),
            };
            tokio::spawn(super::serve(stream, caller, accepting.clone()));
        }
    });
    Served {
        service,
        socket,
        runtime,
    }
}

fn connect(socket: &Path) -> Client {
    Client::connect(socket, &Identity::default()).unwrap()
}

fn call(entry: &str) -> Call {
    Call {
        entry: entry.to_owned(),
        arguments: serde_json::Map::new(),
        timeout_ms: None,
    }
}

/// Polls until the condition holds; there is nothing to wait on in the test's own process.
fn eventually(mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "it never happened");
        std::thread::yield_now();
    }
}

#[test]
fn results_keep_their_bytes_and_calls_follow_each_other() {
    let served = serve();
    let mut client = connect(&served.socket);
    assert_eq!(client.welcome().version, "1.2.3");
    for _ in 0..2 {
        let reply = client.call(&call("number"), None, &mut |_| {}).unwrap();
        assert_eq!(
            reply.result.get(),
            r#"{"n":1e3,"long":123456789012345678901234567890}"#
        );
    }
}

#[test]
fn a_long_result_comes_in_a_file_that_is_gone_afterwards() {
    let served = serve();
    let reply = connect(&served.socket)
        .call(&call("long"), None, &mut |_| {})
        .unwrap();
    assert_eq!(reply.result.get().len(), crate::protocol::MAX_LINE + 2);
    let left = std::fs::read_dir(served.service.runtime.path()).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["test.sock"]);
}

#[test]
fn progress_comes_before_the_result_and_in_order() {
    let served = serve();
    let mut seen = Vec::new();
    connect(&served.socket)
        .call(&call("progress"), None, &mut |p| seen.push(p.progress))
        .unwrap();
    assert_eq!(seen, [0.0, 1.0, 2.0]);
}

#[test]
fn an_interrupt_cancels_and_waits_for_the_word_of_the_daemon() {
    let served = serve();
    let (reader, writer) = BlockingStream::pair().unwrap();
    let interrupt = OwnedFd::from(reader);
    let mut writer = Some(writer);
    let problem = connect(&served.socket)
        .call(&call("wait"), Some(&interrupt), &mut |_| {
            // The call runs: now the user changes their mind.
            writer.take().unwrap().write_all(b"x").unwrap();
        })
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Interrupted);
    assert_eq!(problem.message, "cancelled");
    assert_eq!(served.service.cancelled.load(Ordering::SeqCst), 1);
}

#[test]
fn closing_the_connection_cancels() {
    let served = serve();
    let mut wire = Wire::greeted(&served.socket);
    wire.send(&json!({"jsonrpc": "2.0", "id": 2, "method": method::CALL, "params": call("wait")}));
    assert_eq!(wire.receive().method.unwrap(), method::PROGRESS);
    drop(wire);
    eventually(|| served.service.cancelled.load(Ordering::SeqCst) == 1);
}

#[test]
fn the_end_of_the_daemon_cancels() {
    let served = serve();
    let shutdown = served.service.shutdown.clone();
    let problem = connect(&served.socket)
        .call(&call("wait"), None, &mut |_| shutdown.cancel())
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Interrupted);
}

#[test]
fn a_request_that_breaks_down_is_answered() {
    let served = serve();
    let problem = connect(&served.socket)
        .call(&call("panic"), None, &mut |_| {})
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Internal);
}

#[test]
fn the_session_of_the_greeting_wins() {
    let served = serve();
    let long = "x".repeat(100_000);
    for session in [Some("mine"), Some(""), None, Some(&*long)] {
        let identity = Identity {
            session: session.map(str::to_owned),
            ..Identity::default()
        };
        let mut client = Client::connect(&served.socket, &identity).unwrap();
        client.call(&call("number"), None, &mut |_| {}).unwrap();
    }
    let sessions = served.service.sessions.lock().unwrap();
    assert_eq!(
        sessions[..3],
        ["mine", "from the process", "from the process"]
    );
    assert_eq!(sessions[3], "x".repeat(256), "each line of the log has it");
}

#[test]
fn another_protocol_is_refused_with_both_versions() {
    let served = serve();
    let mut wire = Wire::open(&served.socket);
    wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": VERSION + 1, "version": "9.9"}}));
    let problem = *wire.receive().error.unwrap().data;
    assert_eq!(problem.kind, ProblemKind::Daemon);
    assert!(problem.message.contains("9.9") && problem.message.contains("1.2.3"));
    wire.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "status"}));
    let code = wire.receive().error.unwrap().code;
    assert_eq!(code, ErrorObject::INVALID_REQUEST);
}

#[test]
fn what_is_no_message_is_answered_and_the_connection_lives_on() {
    let served = serve();
    let mut wire = Wire::greeted(&served.socket);
    for (line, code) in [
        ("not json", ErrorObject::PARSE_ERROR),
        (r#"{"jsonrpc":"1.0","id":2}"#, ErrorObject::PARSE_ERROR),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"call","params":{"entry":1}}"#,
            ErrorObject::INVALID_PARAMS,
        ),
    ] {
        wire.send_line(line);
        assert_eq!(wire.receive().error.unwrap().code, code, "{line}");
    }
}

#[test]
fn one_request_at_a_time() {
    let served = serve();
    let mut wire = Wire::greeted(&served.socket);
    wire.send(&json!({"jsonrpc": "2.0", "id": 2, "method": method::CALL, "params": call("wait")}));
    assert_eq!(wire.receive().method.unwrap(), method::PROGRESS);
    wire.send(
        &json!({"jsonrpc": "2.0", "id": 3, "method": method::CALL, "params": call("number")}),
    );
    let refused = wire.receive();
    assert_eq!(refused.id, Some(3));
    assert_eq!(refused.error.unwrap().code, ErrorObject::INVALID_REQUEST);
}

#[test]
fn a_daemon_that_goes_away_is_a_problem() {
    let served = serve();
    let socket = served.socket.clone();
    let mut client = connect(&socket);
    served.runtime.shutdown_background();
    let problem = client.call(&call("number"), None, &mut |_| {}).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Daemon);
    let problem = Client::connect(&socket, &Identity::default()).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Daemon);
}

/// The socket without the client, for what the client never does.
struct Wire {
    stream: BlockingStream,
    lines: BufReader<BlockingStream>,
}

impl Wire {
    fn open(socket: &Path) -> Self {
        let stream = BlockingStream::connect(socket).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap());
        Self { stream, lines }
    }

    fn greeted(socket: &Path) -> Self {
        let mut wire = Self::open(socket);
        wire.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": VERSION, "version": "0"}}));
        assert!(wire.receive().error.is_none());
        wire
    }

    fn send(&mut self, message: &serde_json::Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        writeln!(self.stream, "{line}").unwrap();
    }

    fn receive(&mut self) -> Message {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
