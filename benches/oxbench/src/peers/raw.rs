//! The floor: as many octets as the GIOP messages of a call, over blocking TCP, with nothing around them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use crate::Result;
use crate::experiment::Operation;
use crate::session::{self, Caller, Clock};
use crate::wire::{self, Lengths};

/// Serves exchanges of these lengths until standard input closes.
pub(super) fn serve(lengths: Lengths) -> Result {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || answer(stream?, lengths));
        }
        std::io::Result::Ok(())
    });
    session::announce(&address)
}

/// Calls the server at `address` as standard input says.
pub(super) fn call(address: &str) -> Result {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let buffer = Vec::new();
    session::serve(&mut RawCaller { stream, buffer })
}

fn answer(mut stream: TcpStream, lengths: Lengths) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; lengths.longer()];
    loop {
        stream.read_exact(&mut buffer[..lengths.request])?;
        stream.write_all(&buffer[..lengths.reply])?;
    }
}

struct RawCaller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller for RawCaller {
    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let lengths = wire::lengths(operation, size);
        self.buffer.resize(lengths.longer(), 0);
        clock.time(|| {
            self.stream.write_all(&self.buffer[..lengths.request])?;
            self.stream.read_exact(&mut self.buffer[..lengths.reply])?;
            Ok(())
        })
    }
}
