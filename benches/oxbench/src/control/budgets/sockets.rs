//! The storm of (b) without an ORB: each client and its server are two threads that call each other over TCP.
//!
//! The threads of the flood and the spinning thread are in SCHED_IDLE from their start, as those of an ORB are that
//! demotes them. The delays that remain are those of the kernel and of the machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use oxorb_sys::schedule;

use super::station::{URGENT, burn};
use super::storm::{FLOOD, FLOODERS, IDLE, at_intervals};
use crate::Result;

/// Octets of a request and of a reply, about as many as those of an ORB.
const REQUEST: usize = 96;
const REPLY: usize = 24;

/// Client's end of a connection.
struct Caller(TcpStream);

impl Caller {
    fn call(&mut self) -> std::io::Result<()> {
        self.0.write_all(&[0; REQUEST])?;
        self.0.read_exact(&mut [0; REPLY])
    }
}

/// Returns both ends of a connection over the loopback device.
fn pair() -> std::io::Result<(Caller, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    Ok((Caller(client), server))
}

/// Answers requests, each after this processor time in nanoseconds, until the client closes the connection.
fn serve(mut server: TcpStream, work: u64) {
    let mut request = [0; REQUEST];
    while server.read_exact(&mut request).is_ok() {
        burn(work);
        if server.write_all(&[0; REPLY]).is_err() {
            return;
        }
    }
}

/// Returns the urgent client's round trips in nanoseconds, and the number of the flood's requests that were answered.
pub(super) fn measure(storm: bool, calls: usize, pause: Duration) -> Result<(Vec<u64>, u64)> {
    let (over, flooded) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut urgent, server) = pair()?;
    let floods = (0..if storm { FLOODERS } else { 0 }).map(|_| pair());
    let floods = floods.collect::<std::io::Result<Vec<_>>>()?;
    let times = thread::scope(|scope| {
        let (over, flooded) = (&over, &flooded);
        scope.spawn(move || serve(server, URGENT));
        for (mut client, server) in floods {
            scope.spawn(move || {
                let _ = schedule::set_current(IDLE);
                serve(server, u64::from(FLOOD) * 1_000);
            });
            scope.spawn(move || {
                let _ = schedule::set_current(IDLE);
                while !over.load(Ordering::Relaxed) && client.call().is_ok() {
                    flooded.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        if storm {
            scope.spawn(move || {
                let _ = schedule::set_current(IDLE);
                while !over.load(Ordering::Relaxed) {
                    burn(100_000);
                }
            });
            thread::sleep(Duration::from_millis(100));
        }
        let times = at_intervals(calls, pause, || Ok(urgent.call()?));
        over.store(true, Ordering::Relaxed);
        // The server of the urgent client ends with the connection.
        drop(urgent);
        times
    })?;
    Ok((times, flooded.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_answered_with_and_without_a_storm() {
        for storm in [false, true] {
            let (times, _) = measure(storm, 3, Duration::ZERO).unwrap();
            assert_eq!(times.len(), 3);
            // Each call takes at least the processor time of its work.
            assert!(times.iter().all(|time| *time >= URGENT), "{times:?}");
        }
    }
}
