use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use skills::tree::{Content, Directory, File, Node};

use super::{UNTIL_NOTIFIED, lifetime};
use crate::mount::view::{ROOT, View};

#[test]
fn a_volatile_name_is_not_kept_by_the_kernel() {
    let file = |volatile| {
        Node::File(Arc::new(File {
            content: Content::Bytes(b"x".as_slice().into()),
            mode: 0o444,
            modified: SystemTime::UNIX_EPOCH,
            volatile,
            entry: None,
            origin: None,
        }))
    };
    let children = vec![
        (b"STATUS".as_slice().into(), file(true)),
        (b"tool.md".as_slice().into(), file(false)),
    ];
    let view = View::new(&Arc::new(Directory::new(children, SystemTime::UNIX_EPOCH)));
    let of = |name| lifetime(view.lookup(ROOT, OsStr::new(name)).unwrap().unwrap());
    assert_eq!(of("STATUS"), Duration::ZERO);
    assert_eq!(of("tool.md"), UNTIL_NOTIFIED);
    assert_eq!(lifetime(view.get(ROOT).unwrap()), UNTIL_NOTIFIED);
}
