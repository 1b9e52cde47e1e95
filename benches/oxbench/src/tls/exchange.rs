//! Bare exchange over TLS: as many octets as in the GIOP messages of a call, through rustls over a blocking socket, and
//! nothing else.

use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConfig, ServerConnection, StreamOwned};

use super::certificates;
use crate::Result;
use crate::experiment::Operation;
use crate::peers::raw;
use crate::session::{self, Caller, Clock};
use crate::wire::{self, Lengths};

/// Maximum number of octets that one system call reads.
const PIECE: usize = 64 << 10;

/// Serves exchanges of these lengths until standard input closes, with the certificate in a folder.
pub(crate) fn serve(lengths: Lengths, folder: &Path) -> Result {
    let config = certificates::server(folder)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, config) = (stream?, Arc::clone(&config));
            std::thread::spawn(move || answer(stream, config, lengths));
        }
        io::Result::Ok(())
    });
    session::announce(&address)
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>, lengths: Lengths) -> Result {
    let tls = ServerConnection::new(config)?;
    let mut stream = StreamOwned::new(tls, Socket::new(stream)?);
    let mut buffer = Vec::new();
    let buffer = raw::room(&mut buffer, lengths.longer());
    loop {
        raw::read(&mut stream, &mut buffer[..lengths.request])?;
        raw::write(&mut stream, &buffer[..lengths.reply])?;
    }
}

/// Calls the server at `address` as requested on standard input, with the authority in a folder.
pub(crate) fn call(address: &str, folder: &Path) -> Result {
    let config = certificates::client(folder, Resumption::disabled())?;
    let tls = ClientConnection::new(config, ServerName::try_from("127.0.0.1")?)?;
    let mut stream = StreamOwned::new(tls, Socket::new(TcpStream::connect(address)?)?);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    let buffer = Vec::new();
    session::serve(&mut TlsCaller { stream, buffer })
}

struct TlsCaller {
    stream: StreamOwned<ClientConnection, Socket>,
    buffer: Vec<u8>,
}

impl Caller for TlsCaller {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let lengths = wire::lengths(operation, size);
        let buffer = raw::room(&mut self.buffer, lengths.longer());
        clock.time(|| {
            raw::write(&mut self.stream, &buffer[..lengths.request])?;
            raw::read(&mut self.stream, &mut buffer[..lengths.reply])?;
            Ok(())
        })
    }
}

/// Socket whose octets are read in large pieces: rustls alone asks for 4 KiB at a time.
struct Socket(BufReader<TcpStream>);

impl Socket {
    /// Configures the socket like OxORB's connections within a host.
    fn new(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nodelay(true)?;
        let _ = oxorb_sys::socket::send_unpaced(&stream);
        Ok(Socket(BufReader::with_capacity(PIECE, stream)))
    }
}

impl Read for Socket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)
    }
}

impl Write for Socket {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(octets)
    }

    /// Passes all records of a message to one system call.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.get_mut().write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}
