//! The server over pipes, in front of a shelf that is made up.

mod calls;
mod fake;
mod protocol;
mod sdk;
mod searches;

use std::io::{self, BufRead, BufReader, PipeWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use super::serve;
use fake::FakeShelf;

/// How long an answer may take before the test fails.
const DEADLINE: Duration = Duration::from_secs(20);

/// A client, with the server on a thread.
struct TestClient {
    shelf: Arc<FakeShelf>,
    input: Option<PipeWriter>,
    lines: Receiver<String>,
    server: Option<JoinHandle<()>>,
}

impl TestClient {
    fn of(shelf: FakeShelf) -> Self {
        let shelf = Arc::new(shelf);
        let (from_client, input) = io::pipe().unwrap();
        let (output, to_client) = io::pipe().unwrap();
        let served = Arc::clone(&shelf);
        let server = thread::spawn(move || {
            serve(
                BufReader::new(from_client),
                to_client,
                Arc::new(served),
                "1.2.3",
            )
            .unwrap();
        });
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            shelf,
            input: Some(input),
            lines,
            server: Some(server),
        }
    }

    /// One that has said `initialize`.
    fn initialized(shelf: FakeShelf) -> Self {
        let mut client = Self::of(shelf);
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
        client.request("initialize", params);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn write(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).unwrap()
    }

    #[track_caller]
    fn receive(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Sends a request and gives the answer, which has to be the next message.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }));
        let answer = self.receive();
        assert_eq!(answer["id"], method, "{answer}");
        answer
    }

    /// The result of a request that has to work.
    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert_eq!(answer.get("error"), None, "{answer}");
        answer["result"].clone()
    }

    /// The code of the error that a request has to end with.
    #[track_caller]
    fn refused(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, params);
        assert_eq!(answer.get("result"), None, "{answer}");
        answer["error"]["code"].as_i64().unwrap()
    }

    fn begin(&mut self, id: &Value, name: &str, arguments: Value) {
        let params =
            json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": id } });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }

    fn cancel(&mut self, id: &Value) {
        let params = json!({ "requestId": id });
        self.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        );
    }

    /// The text that one of the two tools answers, which is an error or not.
    #[track_caller]
    fn text(&mut self, name: &str, arguments: Value, is_error: bool) -> String {
        let result = self.request(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        );
        assert_eq!(
            result["isError"].as_bool().unwrap_or_default(),
            is_error,
            "{result}"
        );
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn search(&mut self, arguments: Value) -> String {
        self.text("search_tools", arguments, false)
    }

    /// Closes the input, waits for the end of the server, and gives what it still had to say.
    #[track_caller]
    fn close(mut self) -> Vec<String> {
        self.input = None;
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server did not end"),
            }
        }
        self.server.take().unwrap().join().unwrap();
        rest
    }
}
