//! The microcontroller's client calls an ordinary server; its line is a TCP connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_example_microcontroller::{Failure, Line};
use oxorb_object::{IiopProfile, Ior};
use oxorb_testkit::watchdog;
use weather::station::ReportError;
use weather::{Station, StationRef, UnknownSensor};

oxorb::include_idl!("station");

struct Tcp(TcpStream);

impl Line for Tcp {
    type Error = io::Error;

    fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.0.write_all(octets)
    }

    /// Returns a few octets at a time, like a serial line.
    fn receive(&mut self, buffer: &mut Vec<u8>, most: usize) -> io::Result<()> {
        let mut some = [0; 7];
        let most = most.min(some.len());
        let read = self.0.read(&mut some[..most])?;
        buffer.extend_from_slice(&some[..read]);
        match read {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

struct Cellar;

impl Station for Cellar {
    fn report(&self, sensor: &str, celsius: f32) -> Result<u32, ReportError> {
        match sensor {
            "north" if celsius == 7.5 => Ok(60),
            "north" => Ok(1),
            _ => Err(UnknownSensor {}.into()),
        }
    }
}

fn server() -> (Orb, IiopProfile) {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let station: StationRef = server.root_poa().activate(Cellar).unwrap();
    let ior: Ior = station.to_ior().parse().unwrap();
    let profile = ior.iiop_profiles().next().unwrap();
    (server, profile)
}

fn connect(profile: &IiopProfile) -> oxorb_example_microcontroller::Station<Tcp> {
    let stream = TcpStream::connect((profile.host.as_str(), profile.port)).unwrap();
    oxorb_example_microcontroller::Station::new(Tcp(stream), profile)
}

#[test]
fn measurements_are_reported() {
    let _guard = watchdog(Duration::from_secs(60));
    let (server, profile) = server();
    let mut station = connect(&profile);
    assert_eq!(station.report("north", 7.5).unwrap(), 60);
    assert_eq!(station.report("north", -3.0).unwrap(), 1);
    server.shutdown(true).unwrap();
}

#[test]
fn exceptions_arrive() {
    let _guard = watchdog(Duration::from_secs(60));
    let (server, mut profile) = server();
    let unknown = connect(&profile).report("south", 0.0);
    assert!(matches!(unknown, Err(Failure::UnknownSensor)), "{unknown:?}");
    profile.object_key[0] ^= 0xff;
    let nobody = connect(&profile).report("north", 0.0);
    let Err(Failure::System(raised)) = nobody else {
        panic!("{nobody:?}");
    };
    assert_eq!(raised.kind, oxorb::SystemExceptionKind::ObjectNotExist);
    server.shutdown(true).unwrap();
}
