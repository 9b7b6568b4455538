use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Cursor;
use std::os::unix::ffi::OsStringExt;

use super::*;

#[test]
fn a_frame_is_read_back_and_leaves_the_rest() {
    let strange = OsString::from_vec(b"not \xff UTF-8".to_vec());
    let launch = Launch {
        command: "server".into(),
        args: vec!["a b".into(), String::new()],
        environment: BTreeMap::from([
            ("NAME".into(), strange.clone()),
            (MARKER.into(), "outer".into()),
        ]),
        directory: strange.clone().into(),
        own_environment: BTreeMap::new(),
    };
    let mut bytes = encode(&launch, "inner").unwrap();
    bytes.extend_from_slice(b"{\"jsonrpc\"");
    let mut input = Cursor::new(bytes);

    let frame = read(&mut input).unwrap();

    assert_eq!(frame.command, "server");
    assert_eq!(*frame.args, ["a b", ""]);
    assert_eq!(&*frame.directory, strange.as_os_str());
    let environment: BTreeMap<_, _> = frame.environment.into_iter().collect();
    assert_eq!(&*environment[OsStr::new("NAME")], strange.as_os_str());
    assert_eq!(&*environment[OsStr::new(MARKER)], OsStr::new("inner"));
    let mut rest = String::new();
    input.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "{\"jsonrpc\"");
}

#[test]
fn a_frame_that_is_cut_is_an_error() {
    assert!(read(Cursor::new([9, 0, 0, 0, b'{'])).is_err());
    assert!(read(Cursor::new([9, 0])).is_err());
}
