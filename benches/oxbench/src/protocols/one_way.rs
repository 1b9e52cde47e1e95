//! Sequences that are sent one way and read where the client's ORB wrote them; and the memcpy with which they are
//! compared.

use std::hint::black_box;

use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::values::Octets;
use oxorb::{CompletionStatus, Interface, Orb, SystemException, SystemExceptionKind};

use super::cube::Operation;
use crate::Result;
use crate::session::{self, Caller, Clock};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("in_place");
}

use generated::oxbench::in_place::{Sink, SinkRef};

/// Serves a `Sink` at an endpoint until standard input closes, with a thread for each connection.
pub(crate) fn serve(endpoint: &str, untouched: bool) -> Result {
    let orb =
        Orb::builder().listen(endpoint).concurrency(Concurrency::ThreadPerConnection).build()?;
    let sink: SinkRef = orb.root_poa().activate(Reader { untouched })?;
    session::announce(&sink.to_ior().to_string())?;
    orb.shutdown(true)?;
    Ok(())
}

/// Calls the `Sink` at `reference` as requested on standard input.
pub(crate) fn call(reference: &str, placed: bool, untouched: bool) -> Result {
    let orb = Orb::builder().client_connections(ClientConnections::Private).build()?;
    let sink: SinkRef = orb.resolve(reference)?;
    session::serve(&mut SinkCaller { sink, placed, untouched })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Copies as requested on standard input.
pub(crate) fn copy() -> Result {
    session::serve(&mut Memcpy)
}

struct Reader {
    /// Whether the octets are not read.
    untouched: bool,
}

impl Sink for Reader {
    fn take_octets(&self, values: Octets<'_>) -> Result<(), SystemException> {
        if self.untouched {
            return Ok(());
        }
        let octet = |at: usize| {
            let mut octet = [0];
            values.copy_to(at, &mut octet);
            octet[0]
        };
        let last = values.len().checked_sub(1);
        arrived(last.map(|_| octet(0)).as_ref(), last.map(octet).as_ref(), values.len())
    }
}

struct SinkCaller {
    sink: SinkRef,
    /// Whether the octets are placed in memory of the connection; only the first and the last octet are then written.
    placed: bool,
    /// Whether not even the first and the last octet are written.
    untouched: bool,
}

impl Caller for SinkCaller {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        only_sent(operation)?;
        if self.placed {
            return clock.time(|| {
                let mut room = self.sink.room(size as usize)?;
                if let [first, .., last] = &mut *room
                    && !self.untouched
                {
                    (*first, *last) = (0, size.wrapping_sub(1) as u8);
                }
                Ok(self.sink.take_octets(room.into())?)
            });
        }
        let data = octets(size);
        clock.time(|| Ok(self.sink.take_octets(data.as_slice().into())?))
    }
}

struct Memcpy;

impl Caller for Memcpy {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        only_sent(operation)?;
        let from = octets(size);
        let mut to = vec![0; from.len()];
        clock.time(|| {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
            Ok(())
        })
    }
}

fn only_sent(operation: Operation) -> Result {
    match operation {
        Operation::Sent => Ok(()),
        other => Err(format!("{other} is not one way").into()),
    }
}

/// Returns the octets of a call.
pub(super) fn octets(size: u32) -> Vec<u8> {
    (0..size).map(|at| at as u8).collect()
}

/// Checks the first and the last octet of a message of this length, so that no wrong answer is timed.
///
/// # Errors
/// BAD_PARAM if not.
pub(super) fn arrived(
    first: Option<&u8>,
    last: Option<&u8>,
    octets: usize,
) -> Result<(), SystemException> {
    let expected = octets.wrapping_sub(1) as u8;
    match first == Some(&0) && last == Some(&expected) {
        true => Ok(()),
        false => Err(SystemException::new(SystemExceptionKind::BadParam, 0, CompletionStatus::No)),
    }
}
