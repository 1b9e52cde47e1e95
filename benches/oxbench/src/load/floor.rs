//! The floor: as many octets over blocking sockets, a connection and a thread on either side for each client, with the
//! operating system's priorities and nothing else.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use super::{Caller, Task, priority, protocol, run, toil};
use crate::Result;
use crate::session;
use crate::wire::{self, Lengths};

/// Octets of the call with work; the plain one is eight shorter.
fn lengths() -> Lengths {
    wire::call("toil", 8, 1)
}

/// Serves until standard input closes; all objects are the same.
pub(super) fn serve(objects: usize) -> Result {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || -> Result {
                answer(stream?).inspect_err(|error| eprintln!("floor server: {error}"))
            });
        }
        std::io::Result::Ok(())
    });
    session::announce(&vec![address; objects].join(" "))
}

/// A connection begins with the priority of its client.
fn answer(mut stream: TcpStream) -> Result {
    stream.set_nodelay(true)?;
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

/// Calls the server at these addresses as standard input says.
pub(super) fn call(addresses: &[String]) -> Result {
    protocol::serve(|tasks, duration| {
        run(tasks, duration, |task| {
            Raw::connect(&addresses[task.object], task)
        })
    })
}

struct Raw {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Raw {
    fn connect(address: &str, task: &Task) -> Result<Raw> {
        priority::set(task.priority)?;
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
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
