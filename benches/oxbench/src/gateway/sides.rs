//! Processes of the measurements: the gateway, and the client with many connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use clap::ValueEnum;
use oxorb::bridge::Interfaces;
use oxorb::dynamic::{Signature, TypeCode};
use oxorb::gateway::{Gateway, GatewaySettings, SigningKey};
use oxorb::ior::{IiopProfile, Ior};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface as _, Orb};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Result;
use crate::format::display_by_name;
use crate::session;

/// Repository id of the measured interface.
const PROBE: &str = "IDL:oxbench/Probe:1.0";

/// Number of descriptors that a process needs beside its connections.
const OTHER_DESCRIPTORS: u64 = 64;

/// Knowledge of a gateway about the measured interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Types {
    /// The types of its operations are known.
    Known,
    /// They are unknown, so that octets are searched for references.
    Unknown,
}

display_by_name!(Types);

/// Forwards calls to a `Probe` until standard input closes. Has a thread for each connection of a client, as the other
/// servers have, or a pool of threads if there are `connections` connections.
pub(crate) fn serve(types: Types, target: &str, connections: Option<u32>) -> Result {
    // The reference is used in this run only, so its port may change.
    let side = || Orb::builder().listen("iiop://127.0.0.1:0").setting("LogLevel", "error");
    let outside = match connections {
        None => side().concurrency(Concurrency::ThreadPerConnection),
        Some(connections) => {
            raise_descriptors(connections)?;
            let most = u64::from(connections) + OTHER_DESCRIPTORS;
            side()
                .setting("MaxConnections", &most.to_string())
                .setting("MaxConnectionsPerClient", "0")
                .concurrency(Concurrency::WorkerPool { threads: 256, queue: 10_000 })
        }
    };
    let inside = side().client_connections(ClientConnections::Private);
    let settings = GatewaySettings {
        interfaces: types.interfaces(),
        ..GatewaySettings::new(SigningKey::random()?)
    };
    let gateway = Gateway::new(outside, inside, settings)?;
    gateway.open("Probe", target)?;
    gateway.listen()?;
    session::announce(&gateway.reference("Probe")?.to_ior())?;
    gateway.shutdown()?;
    Ok(())
}

impl Types {
    fn interfaces(self) -> Interfaces {
        let mut interfaces = Interfaces::default();
        if self == Types::Known {
            let returned = |name: &str, parameter: &str, ty: TypeCode| {
                Signature::new(name).with_in(parameter, ty.clone()).returning(ty)
            };
            let octets = TypeCode::sequence(TypeCode::OCTET);
            let operations = [
                returned("ping", "value", TypeCode::LONGLONG),
                returned("echo_octets", "data", octets),
            ];
            interfaces.add(PROBE, operations);
        }
        interfaces
    }
}

/// Raises the limit of descriptors of this process.
fn raise_descriptors(connections: u32) -> Result {
    let wanted = u64::from(connections) + OTHER_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < wanted) {
        let problem = "the hard limit of descriptors (ulimit -Hn) is too low";
        return Err(format!("{problem}: {wanted} are needed").into());
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })?;
    Ok(())
}

/// Opens connections and calls over them, as requested on standard input:
///
/// ```text
/// < ready
/// > open 5000                  number of connections, of which those that are missing are opened, each with a call
/// < 250417310                  nanoseconds of all
/// > count
/// < 5000                       number of connections over which a call was answered
/// > call 10000                 number of calls, over all connections in turns
/// < 250417310                  nanoseconds of all
/// > samples
/// < 254120 253900 ...          nanoseconds of each
/// ```
pub(crate) fn connect(reference: &str) -> Result {
    let ior: Ior = reference.parse()?;
    let profile = ior.iiop_profiles().next().ok_or("the reference has no IIOP profile")?;
    let request = request(&profile.object_key);
    let mut connections: Vec<TcpStream> = Vec::new();
    let mut samples: Vec<u64> = Vec::new();
    session::answer("ready", |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let began = Instant::now();
        match words[..] {
            ["open", number] => {
                let number: u32 = number.parse()?;
                raise_descriptors(number)?;
                for _ in connections.len()..number as usize {
                    match open(&profile, &request) {
                        Ok(stream) => connections.push(stream),
                        Err(error) => eprintln!("a connection: {error}"),
                    }
                }
            }
            ["count"] => return Ok(connections.len().to_string()),
            ["call", calls] => {
                let calls: usize = calls.parse()?;
                samples.clear();
                let count = connections.len().max(1);
                for at in 0..calls {
                    let stream = connections.get_mut(at % count).ok_or("nothing was opened")?;
                    let began = Instant::now();
                    call(stream, &request)?;
                    samples.push(began.elapsed().as_nanos() as u64);
                }
            }
            ["samples"] => {
                let all: Vec<String> = samples.iter().map(u64::to_string).collect();
                return Ok(all.join(" "));
            }
            _ => {
                let known = "open CONNECTIONS, count, call CALLS and samples";
                return Err(session::no_command(line, known).into());
            }
        }
        Ok(began.elapsed().as_nanos().to_string())
    })
}

/// Opens a connection, and makes a call over it.
fn open(profile: &IiopProfile, request: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect((profile.host.as_str(), profile.port))?;
    stream.set_nodelay(true)?;
    call(&mut stream, request)?;
    Ok(stream)
}

/// Size in octets of a GIOP header.
const HEADER: usize = 12;

/// Returns a `ping` as a message of GIOP 1.2.
fn request(key: &[u8]) -> Vec<u8> {
    let mut message = b"GIOP\x01\x02\x01\x00\0\0\0\0".to_vec();
    let align = |message: &mut Vec<u8>, to: usize| {
        message.resize(message.len().next_multiple_of(to), 0);
    };
    message.extend(1_u32.to_le_bytes());
    // With a reply; by object key.
    message.extend([3, 0, 0, 0]);
    message.extend([0; 4]);
    message.extend((key.len() as u32).to_le_bytes());
    message.extend(key);
    align(&mut message, 4);
    message.extend(5_u32.to_le_bytes());
    message.extend(b"ping\0");
    align(&mut message, 4);
    // No service contexts.
    message.extend([0; 4]);
    align(&mut message, 8);
    message.extend(7_i64.to_le_bytes());
    let size = (message.len() - HEADER) as u32;
    message[8..HEADER].copy_from_slice(&size.to_le_bytes());
    message
}

/// Makes a call over a connection.
fn call(stream: &mut TcpStream, request: &[u8]) -> Result {
    stream.write_all(request)?;
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    let size = [header[8], header[9], header[10], header[11]];
    let size = match header[6] & 1 {
        0 => u32::from_be_bytes(size),
        _ => u32::from_le_bytes(size),
    };
    let mut body = vec![0; size as usize];
    stream.read_exact(&mut body)?;
    // The reply status has no bit set if there is no exception.
    let is_result = header[7] == 1 && body.get(4..8) == Some(&[0; 4][..]);
    match is_result {
        true => Ok(()),
        false => Err(format!("a call was answered by {header:?} {body:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_aligned_and_has_its_size() {
        for length in 0..20 {
            let message = request(&vec![b'k'; length]);
            let size = u32::from_le_bytes(message[8..HEADER].try_into().unwrap());
            assert_eq!(size as usize, message.len() - HEADER);
            assert_eq!(message.len() % 8, 0);
            assert_eq!(message[message.len() - 8..], 7_i64.to_le_bytes());
        }
    }
}
