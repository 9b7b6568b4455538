//! Ctrl-C and SIGTERM as something to wait for.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// From now on, both signals make the descriptor readable instead of ending the process.
pub(crate) fn catch() -> io::Result<OwnedFd> {
    let (reader, writer) = UnixStream::pair()?;
    pipe::register(SIGINT, writer.try_clone()?)?;
    pipe::register(SIGTERM, writer)?;
    Ok(reader.into())
}
