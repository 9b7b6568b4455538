//! The SDK's own client, in each of the ways in which it opens a conversation.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use serde_json::json;

use super::super::serve;
use super::fake::{FakeShelf, tool};

#[tokio::test]
async fn the_client_of_the_sdk_is_served_in_every_era() {
    let newest = vec![ProtocolVersion::V_2026_07_28];
    for (mode, revision) in [
        (ClientLifecycleMode::Initialize, "2025-11-25"),
        (
            ClientLifecycleMode::Discover {
                preferred_versions: newest.clone(),
            },
            "2026-07-28",
        ),
        (
            ClientLifecycleMode::Auto {
                preferred_versions: newest.clone(),
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            "2026-07-28",
        ),
    ] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let shelf = Arc::new(FakeShelf::new(&[("git/fail", &tool(10))]));
        let input = BufReader::new(ours.try_clone().unwrap());
        let server = thread::spawn(move || serve(input, ours, Arc::new(shelf), "1.2.3").unwrap());

        theirs.set_nonblocking(true).unwrap();
        let transport = tokio::net::UnixStream::from_std(theirs)
            .unwrap()
            .into_split();
        let implementation = Implementation::new("test", "1");
        let config = ClientConfig::new(ClientCapabilities::default(), implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let client = serve_client_with_lifecycle(config, transport, mode)
            .await
            .unwrap();
        let about = client.peer_info().unwrap();
        assert_eq!(about.protocol_version.as_str(), revision);
        assert!(
            about
                .instructions
                .as_ref()
                .unwrap()
                .contains("- git: 1 tool")
        );
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["search_tools", "call_tool"]);
        let arguments = json!({ "id": "git/fail" }).as_object().unwrap().clone();
        let params = CallToolRequestParams::new("call_tool").with_arguments(arguments);
        let result = client.call_tool(params).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{revision}");
        client.cancel().await.unwrap();
        server.join().unwrap();
    }
}
