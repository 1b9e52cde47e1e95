//! OxORB, both sides from generated code, as an application would write them.

use std::borrow::Cow;
use std::hint::black_box;

use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Orb, SystemException};

use crate::Result;
use crate::experiment::Operation;
use crate::session::{self, Caller, Clock};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("probe");
}

use generated::oxbench::{Probe, ProbeRef, Sample};

/// Serves a `Probe` until standard input closes, with a thread for each connection as omniORB does.
pub(super) fn serve(endpoint: &str) -> Result {
    let orb =
        Orb::builder().listen(endpoint).concurrency(Concurrency::ThreadPerConnection).build()?;
    let probe: ProbeRef = orb.root_poa().activate(Echo)?;
    session::announce(&oxorb::Interface::to_ior(&probe).to_string())?;
    orb.shutdown(true)?;
    Ok(())
}

/// Calls the `Probe` at `reference` as requested on standard input.
pub(super) fn call(reference: &str) -> Result {
    let orb = Orb::builder().client_connections(ClientConnections::Private).build()?;
    let probe: ProbeRef = orb.resolve(reference)?;
    session::serve(&mut OxCaller { probe })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Serves a `Probe` that answers each call by a call of the `Probe` at `reference`, until standard input closes.
#[cfg(feature = "gateway")]
pub(super) fn relay(reference: &str) -> Result {
    let orb = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .concurrency(Concurrency::ThreadPerConnection)
        .client_connections(ClientConnections::Private)
        .build()?;
    let target: ProbeRef = orb.resolve(reference)?;
    let probe: ProbeRef = orb.root_poa().activate(Relay(target))?;
    session::announce(&oxorb::Interface::to_ior(&probe).to_string())?;
    orb.shutdown(true)?;
    Ok(())
}

/// Servant that makes a second call.
#[cfg(feature = "gateway")]
struct Relay(ProbeRef);

#[cfg(feature = "gateway")]
impl Probe for Relay {
    fn ping(&self, value: i64) -> Result<i64, SystemException> {
        self.0.ping(value)
    }

    fn echo_octets<'a>(&'a self, data: &'a [u8]) -> Result<Cow<'a, [u8]>, SystemException> {
        Ok(self.0.echo_octets(data)?.into_vec().into())
    }

    fn echo_samples(&self, data: &[Sample]) -> Result<Vec<Sample>, SystemException> {
        self.0.echo_samples(data)
    }
}

struct Echo;

impl Probe for Echo {
    fn ping(&self, value: i64) -> Result<i64, SystemException> {
        Ok(value)
    }

    fn echo_octets<'a>(&'a self, data: &'a [u8]) -> Result<Cow<'a, [u8]>, SystemException> {
        Ok(Cow::Borrowed(data))
    }

    fn echo_samples(&self, data: &[Sample]) -> Result<Vec<Sample>, SystemException> {
        Ok(data.to_vec())
    }
}

struct OxCaller {
    probe: ProbeRef,
}

impl Caller for OxCaller {
    type Operation = Operation;

    fn run(&mut self, operation: Operation, size: u32, clock: &mut Clock) -> Result {
        let probe = &self.probe;
        match operation {
            Operation::Ping => {
                let mut value = 0;
                clock.time(|| {
                    value += 1;
                    same(probe.ping(value)?, value)
                })
            }
            Operation::Octets => {
                let data: Vec<u8> = (0..size).map(|i| i as u8).collect();
                clock.time(|| {
                    let echoed = black_box(probe.echo_octets(&data)?);
                    same(echoed.len(), data.len())
                })
            }
            Operation::Samples => {
                let sample = |i| Sample { tag: i as u8, number: i as i32, level: i as i16 };
                let data: Vec<Sample> = (0..size).map(sample).collect();
                clock.time(|| {
                    let echoed = black_box(probe.echo_samples(&data)?);
                    same(echoed.len(), data.len())
                })
            }
        }
    }
}

/// Checks the result, so that no wrong answer is timed.
fn same<T: PartialEq + std::fmt::Debug>(echoed: T, sent: T) -> Result {
    if echoed == sent {
        return Ok(());
    }
    Err(format!("sent {sent:?}, {echoed:?} came back").into())
}
