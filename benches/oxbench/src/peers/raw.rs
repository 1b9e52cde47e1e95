//! Floor: as many octets as in the GIOP messages of a call, exchanged over blocking TCP sockets, and nothing else.

use std::io::{ErrorKind, Read, Write};
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

/// Calls the server at `address` as requested on standard input.
pub(super) fn call(address: &str) -> Result {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    // Sends without pacing, as OxORB does within a host.
    let _ = oxorb_sys::socket::send_unpaced(&stream);
    let buffer = Vec::new();
    session::serve(&mut RawCaller { stream, buffer })
}

fn answer(mut stream: TcpStream, lengths: Lengths) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    // Sends without pacing, as OxORB does within a host.
    let _ = oxorb_sys::socket::send_unpaced(&stream);
    let mut buffer = Vec::new();
    let buffer = room(&mut buffer, lengths.longer());
    loop {
        read(&mut stream, &mut buffer[..lengths.request])?;
        write(&mut stream, &buffer[..lengths.reply])?;
    }
}

/// Returns a buffer of `octets` octets at an address for fast copies, like OxORB's receive buffers. Some processors
/// receive four times more slowly at addresses 1 to 31 octets after the beginning of a page, where an allocator's large
/// blocks begin.
pub(crate) fn room(buffer: &mut Vec<u8>, octets: usize) -> &mut [u8] {
    const FRONT: usize = 48;
    buffer.resize(octets + FRONT, 0);
    let is_slow = (1..32).contains(&(buffer.as_ptr().addr() % 4096));
    let front = if is_slow { FRONT } else { 0 };
    &mut buffer[front..front + octets]
}

/// Maximum number of octets transferred by one system call, as in OxORB. Writing or reading a megabyte at once takes
/// 250 or 550 us, depending on the kernel's buffers.
const PIECE: usize = 256 << 10;

pub(crate) fn write(stream: &mut impl Write, octets: &[u8]) -> std::io::Result<()> {
    octets.chunks(PIECE).try_for_each(|piece| stream.write_all(piece))
}

pub(crate) fn read(stream: &mut impl Read, mut room: &mut [u8]) -> std::io::Result<()> {
    while !room.is_empty() {
        let most = room.len().min(PIECE);
        match stream.read(&mut room[..most]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(octets) => room = &mut room[octets..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct RawCaller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller for RawCaller {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let lengths = wire::lengths(operation, size);
        let buffer = room(&mut self.buffer, lengths.longer());
        clock.time(|| {
            write(&mut self.stream, &buffer[..lengths.request])?;
            read(&mut self.stream, &mut buffer[..lengths.reply])?;
            Ok(())
        })
    }
}
