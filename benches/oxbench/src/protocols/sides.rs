//! Sides of a cubit, for OxORB and for raw sockets.

use std::borrow::Cow;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use oxorb::lite::{GIOP_LITE, GIOP_LITE_RT};
use oxorb::protocol::{Placed, ProtocolStack};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::transport::mem::{self, Memory};
use oxorb::{Builder, Interface, Orb, SystemException};

use super::cube::{Cube, Operation};
use super::one_way;
use crate::Result;
use crate::peers::raw;
use crate::session::{self, Caller, Clock};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("cubit");
}

use generated::oxbench::cubes::{Cubit, CubitRef, Many};

/// Serves a `Cubit` at an endpoint until standard input closes, with a thread for each connection as omniORB does.
pub(crate) fn serve(endpoint: &str) -> Result {
    let (orb, cubit) = start(Orb::builder(), endpoint)?;
    session::announce(&cubit.to_ior().to_string())?;
    orb.shutdown(true)?;
    Ok(())
}

/// Calls the `Cubit` at `reference` as requested on standard input.
pub(crate) fn call(reference: &str) -> Result {
    repeat(Orb::builder(), reference)
}

/// Calls as requested on standard input.
fn repeat(builder: Builder, reference: &str) -> Result {
    let orb = builder.client_connections(ClientConnections::Private).build()?;
    let cubit: CubitRef = orb.resolve(reference)?;
    session::serve(&mut CubitCaller { cubit })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Runs both sides in one process, as two ORBs that share only the memory for their messages.
pub(crate) fn serve_and_call(endpoint: &str) -> Result {
    let network = Memory::new();
    let (server, cubit) = start(over(Orb::builder(), &network)?, endpoint)?;
    let client = over(Orb::builder(), &network)?;
    repeat(client, &cubit.to_ior().to_string())?;
    server.shutdown(true)?;
    Ok(())
}

/// Adds every messaging over memory.
fn over(builder: Builder, network: &Memory) -> Result<Builder> {
    let mut builder = builder.protocol(ProtocolStack::memory(network.clone()));
    let light = [
        ("giop-lite+mem", GIOP_LITE, LITE_MEMORY),
        ("giop-lite-rt+mem", GIOP_LITE_RT, LITE_RT_MEMORY),
    ];
    for (name, messaging, tag) in light {
        let profile = Placed::new(tag, name, mem::SCHEME);
        let transport = Arc::new(network.clone());
        builder = builder.protocol(ProtocolStack::new(name, profile, Some(messaging), transport)?);
    }
    Ok(builder)
}

/// Tags of profiles that never leave the process.
const LITE_MEMORY: u32 = 0x4f58_4f22;
const LITE_RT_MEMORY: u32 = 0x4f58_4f2a;

fn start(builder: Builder, endpoint: &str) -> Result<(Orb, CubitRef)> {
    let orb = builder.listen(endpoint).concurrency(Concurrency::ThreadPerConnection).build()?;
    let cubit: CubitRef = orb.root_poa().activate(Cubes)?;
    Ok((orb, cubit))
}

struct Cubes;

impl Cubit for Cubes {
    fn cube_void(&self) -> Result<(), SystemException> {
        Ok(())
    }

    fn cube_octet(&self, value: u8) -> Result<u8, SystemException> {
        Ok(value.wrapping_pow(3))
    }

    fn cube_short(&self, value: i16) -> Result<i16, SystemException> {
        Ok(value.wrapping_pow(3))
    }

    fn cube_long(&self, value: i32) -> Result<i32, SystemException> {
        Ok(value.wrapping_pow(3))
    }

    fn cube_struct(&self, value: &Many) -> Result<Many, SystemException> {
        Ok(Many {
            o: value.o.wrapping_pow(3),
            l: value.l.wrapping_pow(3),
            s: value.s.wrapping_pow(3),
        })
    }

    fn cube_long_sequence<'a>(
        &'a self,
        values: &'a [i32],
    ) -> Result<Cow<'a, [i32]>, SystemException> {
        Ok(Cow::Borrowed(values))
    }

    fn cube_octet_sequence<'a>(
        &'a self,
        values: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, SystemException> {
        Ok(Cow::Borrowed(values))
    }

    fn take_octets(&self, values: &[u8]) -> Result<(), SystemException> {
        one_way::arrived(values.first(), values.last(), values.len())
    }
}

struct CubitCaller {
    cubit: CubitRef,
}

impl Caller for CubitCaller {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let cubit = &self.cubit;
        match operation {
            Operation::Void => clock.time(|| Ok(cubit.cube_void()?)),
            Operation::Octet => clock.time(|| right(cubit.cube_octet(3)? == 27)),
            Operation::Short => clock.time(|| right(cubit.cube_short(-5)? == -125)),
            Operation::Long => clock.time(|| right(cubit.cube_long(-7)? == -343)),
            Operation::Struct => {
                let many = Many { o: 3, l: -7, s: -5 };
                clock.time(|| {
                    let cubed = cubit.cube_struct(&many)?;
                    right((cubed.o, cubed.l, cubed.s) == (27, -343, -125))
                })
            }
            Operation::Longs => {
                let data: Vec<i32> = (0..size as i32 / 4).collect();
                clock.time(|| {
                    let back = black_box(cubit.cube_long_sequence(&data)?);
                    right(back.len() == data.len())
                })
            }
            Operation::Octets => {
                let data: Vec<u8> = (0..size).map(|i| i as u8).collect();
                clock.time(|| {
                    let back = black_box(cubit.cube_octet_sequence(&data)?);
                    right(back.len() == data.len())
                })
            }
            Operation::Sent => {
                let data = one_way::octets(size);
                clock.time(|| Ok(cubit.take_octets(&data)?))
            }
        }
    }
}

/// Checks the result: a fast wrong answer is worthless.
fn right(is: bool) -> Result {
    match is {
        true => Ok(()),
        false => Err("another value came back than the cube".into()),
    }
}

/// Answers raw exchanges at `host:port`, or at a path, until standard input closes.
pub(crate) fn serve_raw(at: &str) -> Result {
    let address = if at.starts_with('/') {
        let listener = UnixListener::bind(at)?;
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || answer(stream?));
            }
            std::io::Result::Ok(())
        });
        at.to_owned()
    } else {
        let listener = TcpListener::bind(at)?;
        let address = listener.local_addr()?.to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || answer(tuned(stream?)?));
            }
            std::io::Result::Ok(())
        });
        address
    };
    session::announce(&address)
}

/// Exchanges as many octets as the GIOP messages of each call, as requested on standard input.
pub(crate) fn call_raw(address: &str) -> Result {
    if Path::new(address).is_absolute() {
        let stream = UnixStream::connect(address)?;
        return session::serve(&mut RawCaller::new(stream));
    }
    let stream = tuned(TcpStream::connect(address)?)?;
    session::serve(&mut RawCaller::new(stream))
}

/// Configures a socket like OxORB's connections within a host.
fn tuned(stream: TcpStream) -> std::io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let _ = oxorb_sys::socket::send_unpaced(&stream);
    Ok(stream)
}

/// Size of a plan in octets: the lengths of the messages of the next calls, and the number of calls.
const PLAN: usize = 24;

/// Answers the requests announced by each plan.
fn answer(mut stream: impl Read + Write) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    let mut plan = [0; PLAN];
    loop {
        stream.read_exact(&mut plan)?;
        let [request, reply, calls] = numbers(&plan);
        let buffer = raw::room(&mut buffer, request.max(reply));
        for _ in 0..calls {
            raw::read(&mut stream, &mut buffer[..request])?;
            raw::write(&mut stream, &buffer[..reply])?;
        }
    }
}

fn numbers(plan: &[u8; PLAN]) -> [usize; 3] {
    let mut numbers = plan.as_chunks().0.iter().map(|it| u64::from_le_bytes(*it));
    std::array::from_fn(|_| numbers.next().expect("three of eight octets") as usize)
}

struct RawCaller<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S> RawCaller<S> {
    fn new(stream: S) -> Self {
        let buffer = Vec::new();
        RawCaller { stream, buffer }
    }
}

impl<S: Read + Write> Caller for RawCaller<S> {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let lengths = Cube { operation, size }.lengths();
        let buffer = raw::room(&mut self.buffer, lengths.longer());
        let plan = [lengths.request, lengths.reply, clock.calls()];
        let plan: Vec<u8> = plan.iter().flat_map(|it| (*it as u64).to_le_bytes()).collect();
        self.stream.write_all(&plan)?;
        clock.time(|| {
            raw::write(&mut self.stream, &buffer[..lengths.request])?;
            raw::read(&mut self.stream, &mut buffer[..lengths.reply])?;
            Ok(())
        })
    }
}
