//! Who shares a server, and what starts it again.

use super::{json, problems, server, toml};
use crate::config::{Restart, Transport};

#[test]
fn who_shares_a_server_is_no_guess() {
    let source = "[servers.a]\ncommand = \"x\"\nshare = \"everyone\"\n";
    let config = toml(source);
    assert_eq!(
        problems(&config),
        ["3: `share` of server `a` can't be \"everyone\""]
    );
    let hint = config.problems[0].hint.as_deref();
    assert_eq!(hint, Some("write \"all\" or \"session\""));
    assert!(matches!(
        server(&config, "a").transport,
        Transport::Invalid(_)
    ));
    // Another client may mean something else by it.
    let config = json(r#"{"mcpServers": {"a": {"command": "x", "restart": "always"}}}"#);
    assert_eq!(server(&config, "a").restart, Restart::OnCall);
    assert!(matches!(
        server(&config, "a").transport,
        Transport::Stdio(_)
    ));
    assert_eq!(config.problems.len(), 1);
}
