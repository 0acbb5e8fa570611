//! Just enough Bolt to ask a server for the plan of a statement, which the driver throws away, and to be a server that says
//! what a real one would have to be set up for, or stand in its way.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

const SUCCESS: u8 = 0x70;
const RECORD: u8 = 0x71;
const FAILURE: u8 = 0x7F;
const COMMIT: &[u8] = &[0, 2, 0xB0, 0x12, 0, 0];

/// A message of a server.
pub struct Reply(Vec<u8>);

impl Reply {
    /// It went well.
    pub fn success() -> Self {
        Self([&[0xB1, SUCCESS][..], &map(&[])].concat())
    }

    /// It went well and gives this column.
    pub fn fields(column: &str) -> Self {
        Self([&[0xB1, SUCCESS, 0xA1][..], &text("fields"), &[0x91], &text(column)].concat())
    }

    /// A row of one text.
    pub fn record(value: &str) -> Self {
        Self([&[0xB1, RECORD, 0x91][..], &text(value)].concat())
    }

    /// It went wrong.
    pub fn failure(code: &str) -> Self {
        Self([&[0xB1, FAILURE][..], &map(&[("code", code), ("message", "as the server puts it")])].concat())
    }
}

/// A server for one connection, which gives these replies one after the other; its address.
pub fn serve(replies: Vec<Reply>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("bolt://{}", listener.local_addr()?);
    thread::spawn(move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.read_exact(&mut [0; 20])?;
        stream.write_all(&[0, 0, 4, 4])?;
        let mut bolt = Bolt(stream);
        for Reply(message) in replies {
            bolt.send(&message)?;
        }
        // Until the client has read everything and goes.
        bolt.0.read_to_end(&mut Vec::new())?;
        Ok(())
    });
    Ok(url)
}

/// A connection to a server without authentication.
pub struct Bolt(TcpStream);

impl Bolt {
    /// Connects to `bolt://HOST:PORT`.
    pub fn connect(url: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(host(url))?;
        // Version 4.4 and nothing else.
        stream.write_all(&[&[0x60, 0x60, 0xB0, 0x17, 0, 0, 4, 4][..], &[0; 12][..]].concat())?;
        stream.read_exact(&mut [0; 4])?;
        let mut bolt = Self(stream);
        bolt.send(&[&[0xB1, 0x01][..], &map(&[("user_agent", "recollect-tests"), ("scheme", "none")])].concat())?;
        bolt.answer()?;
        Ok(bolt)
    }

    /// The plan of a statement as the server packs it: names of operators stand in it as they are.
    pub fn explain(&mut self, statement: &str) -> io::Result<String> {
        self.send(&[&[0xB3, 0x10][..], &text(&format!("EXPLAIN {statement}")), &map(&[]), &map(&[])].concat())?;
        self.answer()?;
        // PULL {n: -1}
        self.send(&[0xB1, 0x3F, 0xA1, 0x81, b'n', 0xFF])?;
        self.answer()
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        for chunk in message.chunks(0xFFFF) {
            let length = u16::try_from(chunk.len()).map_err(io::Error::other)?;
            self.0.write_all(&length.to_be_bytes())?;
            self.0.write_all(chunk)?;
        }
        self.0.write_all(&[0, 0])
    }

    /// The next message; an error unless it says that it went well.
    fn answer(&mut self) -> io::Result<String> {
        let mut message = Vec::new();
        loop {
            let mut length = [0; 2];
            self.0.read_exact(&mut length)?;
            match usize::from(u16::from_be_bytes(length)) {
                0 if message.is_empty() => {}
                0 => break,
                length => {
                    let start = message.len();
                    message.resize(start + length, 0);
                    self.0.read_exact(&mut message[start..])?;
                }
            }
        }
        let shown = String::from_utf8_lossy(&message).into_owned();
        if message.get(1) == Some(&SUCCESS) { Ok(shown) } else { Err(io::Error::other(shown)) }
    }
}

/// A way to `server` on which the answer to the first commit is lost, with its connection; the address of its beginning.
pub fn losing_a_commit(server: &str) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("bolt://{}", listener.local_addr()?);
    let server = host(server).to_owned();
    let lost = Arc::new(AtomicBool::new(false));
    thread::spawn(move || -> io::Result<()> {
        for client in listener.incoming() {
            let (client, server) = (client?, TcpStream::connect(&server)?);
            let (mut asked, mut passed_on) = (client.try_clone()?, server.try_clone()?);
            let (mut answered, mut told) = (server, client);
            let (lost, losing) = (lost.clone(), Arc::new(AtomicBool::new(false)));
            let loses = losing.clone();
            thread::spawn(move || -> io::Result<()> {
                let mut bytes = vec![0; 64 << 10];
                loop {
                    let length = asked.read(&mut bytes)?;
                    if bytes[..length].ends_with(COMMIT) && !lost.swap(true, Ordering::SeqCst) {
                        loses.store(true, Ordering::SeqCst);
                    }
                    passed_on.write_all(&bytes[..length])?;
                    if length == 0 {
                        return passed_on.shutdown(Shutdown::Both);
                    }
                }
            });
            thread::spawn(move || -> io::Result<()> {
                let mut bytes = vec![0; 64 << 10];
                loop {
                    let length = answered.read(&mut bytes)?;
                    if length == 0 || losing.load(Ordering::SeqCst) {
                        return told.shutdown(Shutdown::Both);
                    }
                    told.write_all(&bytes[..length])?;
                }
            });
        }
        Ok(())
    });
    Ok(url)
}

fn host(url: &str) -> &str {
    url.split("://").last().unwrap_or_default()
}

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&[0xD2][..], &length.to_be_bytes(), text.as_bytes()].concat()
}

fn map(fields: &[(&str, &str)]) -> Vec<u8> {
    let count = u8::try_from(fields.len()).unwrap_or(u8::MAX);
    let pairs = fields.iter().flat_map(|(name, value)| [text(name), text(value)].concat());
    [0xD8, count].into_iter().chain(pairs).collect()
}
