//! Floor: as many octets as in the GIOP messages, exchanged over blocking sockets. Each client has a connection and a
//! thread on either side; the operating system's priorities apply, and nothing else is done.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use super::{Caller, Task, priority, protocol, run, toil};
use crate::Result;
use crate::session;
use crate::wire::{self, Lengths};

/// Returns the lengths of the messages of a call with work; the request of a plain call is seven octets shorter.
fn lengths() -> Lengths {
    wire::call("toil", 8, 1)
}

/// Serves until standard input closes; all objects are equal.
pub(super) fn serve(at: Option<&str>, objects: usize) -> Result {
    let address = match at {
        Some(path) => {
            let listener = UnixListener::bind(path)?;
            std::thread::spawn(move || -> std::io::Result<()> {
                loop {
                    answer_beside(listener.accept()?.0);
                }
            });
            path.to_owned()
        }
        None => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let address = listener.local_addr()?.to_string();
            std::thread::spawn(move || -> std::io::Result<()> {
                loop {
                    let (stream, _) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    answer_beside(stream);
                }
            });
            address
        }
    };
    session::announce(&vec![address; objects].join(" "))
}

/// Answers in a separate thread.
fn answer_beside(stream: impl Read + Write + Send + 'static) {
    std::thread::spawn(move || -> Result {
        answer(stream).inspect_err(|error| eprintln!("floor server: {error}"))
    });
}

/// Answers the requests of a client. The first octets of the connection are the client's priority.
fn answer(mut stream: impl Read + Write) -> Result {
    let mut first = [0; 2];
    stream.read_exact(&mut first)?;
    priority::set(i16::from_le_bytes(first))?;
    let lengths = lengths();
    let mut buffer = vec![0; lengths.longer()];
    loop {
        match stream.read_exact(&mut buffer[..lengths.request]) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let work = u32::from_le_bytes(buffer[4..8].try_into()?);
        if work > 0 {
            toil(Duration::from_micros(work.into()));
        }
        buffer[0] = buffer[0].wrapping_pow(3);
        stream.write_all(&buffer[..lengths.reply])?;
    }
}

/// Calls the server at these addresses as requested on standard input.
pub(super) fn call(addresses: &[String]) -> Result {
    protocol::serve(|tasks, duration| {
        run(tasks, duration, |task| Raw::connect(&addresses[task.object], task))
    })
}

/// Connection of one client.
trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

struct Raw {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

impl Raw {
    fn connect(address: &str, task: &Task) -> Result<Raw> {
        priority::set(task.priority)?;
        let mut stream: Box<dyn Stream> = match address.starts_with('/') {
            true => Box::new(UnixStream::connect(address)?),
            false => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        };
        stream.write_all(&task.priority.to_le_bytes())?;
        let buffer = vec![0; lengths().longer()];
        Ok(Raw { stream, buffer })
    }
}

impl Caller for Raw {
    fn cube(&mut self, value: u8, work: Duration) -> Result<u8> {
        let lengths = lengths();
        self.buffer[0] = value;
        self.buffer[4..8].copy_from_slice(&(work.as_micros() as u32).to_le_bytes());
        self.stream.write_all(&self.buffer[..lengths.request])?;
        self.stream.read_exact(&mut self.buffer[..lengths.reply])?;
        Ok(self.buffer[0])
    }
}
