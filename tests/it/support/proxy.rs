//! Stands between a client and a server, and passes on what it gets, until it is told to hang, to cut or to be slow.
//!
//! It knows bytes and nothing of what they mean, so it serves for every protocol.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They go on.
    Pass,
    /// They wait; connections stay, and new ones are taken.
    Hang,
    /// Every connection is closed, and new ones at once.
    Down,
    /// Answers wait this long.
    Slow(Duration),
    /// The next answer goes on up to its middle, then its connection is closed; after that they pass.
    CutOnce,
}

/// See the module. Closed when dropped.
pub struct Proxy {
    pub address: SocketAddr,
    mode: watch::Sender<Mode>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port, before `server`.
    pub async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mode = watch::Sender::new(Mode::Pass);
        let connections = Arc::new(AtomicUsize::new(0));
        let (told, counted) = (mode.clone(), connections.clone());
        let accepting = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                open.spawn(connection(client, server, told.clone()));
            }
        });
        Self { address, mode, connections, accepting }
    }

    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Connections that were made so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connection(client: TcpStream, server: SocketAddr, mode: watch::Sender<Mode>) {
    if *mode.borrow() == Mode::Down {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut down = mode.subscribe();
    tokio::select! {
        _ = pump(from_client, to_server, &mode, false) => {}
        _ = pump(from_server, to_client, &mode, true) => {}
        _ = down.wait_for(|mode| *mode == Mode::Down) => {}
    }
}

async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mode: &watch::Sender<Mode>,
    answers: bool,
) -> std::io::Result<()> {
    let mut told = mode.subscribe();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let length = from.read(&mut bytes).await?;
        if length == 0 {
            return Ok(());
        }
        let now = *told.wait_for(|mode| *mode != Mode::Hang).await.expect("the sender is here");
        match now {
            Mode::Slow(pause) if answers => tokio::time::sleep(pause).await,
            // Short ones are the protocol's own.
            Mode::CutOnce if answers && length > 100 => {
                mode.send_replace(Mode::Pass);
                return to.write_all(&bytes[..length / 2]).await;
            }
            _ => {}
        }
        to.write_all(&bytes[..length]).await?;
    }
}
