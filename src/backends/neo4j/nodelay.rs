//! Messages to the server go out as they are written.
//!
//! The driver writes a long message in three pieces (length, body, end) and leaves Nagle's algorithm on: over a loopback
//! connection, whose segments are large, the second piece then waits 40 ms for the acknowledgement of the first. The driver opens its
//! connections itself and gives no access to them, so they are looked for among the open files of this process. Where that
//! cannot be done (another system, a container that forbids it) everything works, with that wait.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Between two looks: connections are opened rarely.
const EVERY: Duration = Duration::from_secs(1);

/// The connections to servers on a port.
#[derive(Debug)]
pub(super) struct Connections {
    port: u16,
    looked: Mutex<Option<Instant>>,
}

impl Connections {
    pub(super) fn to(port: u16) -> Self {
        Self { port, looked: Mutex::new(None) }
    }

    /// Looks for new ones, unless that was done a moment ago.
    pub(super) fn send_at_once(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|at| at.elapsed() >= EVERY) {
            *looked = Some(Instant::now());
            #[cfg(target_os = "linux")]
            if let Err(error) = linux::send_at_once(self.port) {
                tracing::debug!(%error, "long messages to the graph server may wait for acknowledgements");
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{io, net::SocketAddr, os::fd::RawFd};

    use rustix::{
        net::{getpeername, sockopt},
        process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open},
    };

    pub(super) fn send_at_once(port: u16) -> io::Result<()> {
        let this = pidfd_open(getpid(), PidfdFlags::empty())?;
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let entry = entry?;
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()) else { continue };
            let is_socket = std::fs::read_link(entry.path())
                .is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"socket:"));
            if !is_socket {
                continue;
            }
            // Another handle of the same socket; it may be closed by now, or one of another kind.
            let socket = pidfd_getfd(&this, number, PidfdGetfdFlags::empty())?;
            let peer = getpeername(&socket).ok().flatten().and_then(|peer| SocketAddr::try_from(peer).ok());
            if peer.is_some_and(|peer| peer.port() == port) {
                sockopt::set_tcp_nodelay(&socket, true)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn connections_to_the_port_and_no_others_send_at_once() {
        let listeners = [TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap()];
        let [ours, other] = listeners.each_ref().map(|it| TcpStream::connect(it.local_addr().unwrap()).unwrap());
        Connections::to(listeners[0].local_addr().unwrap().port()).send_at_once();
        assert_eq!([ours.nodelay().unwrap(), other.nodelay().unwrap()], [true, false]);
    }
}
