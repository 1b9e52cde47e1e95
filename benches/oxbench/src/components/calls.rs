//! E11: processes whose calls are timed. Objects are called by two routes: by a reference that the caller holds, as in
//! a program without components, and from a receptacle to a facet. The two servants have the same type; their POAs have
//! the same policies and names of equal length; and both references use the same connection.

use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use oxorb::Orb;
use oxorb::components::Container;
use oxorb::poa::{IdUniqueness, Policies};

use super::executors::{Caller, Worker};
use super::generated::load::{CallerRef, LabourRef, WorkerRef, caller};
use crate::Result;
use crate::session::{self, Clock};

/// Number of calls per sample within a process, where reading the clock takes about as long as a call.
pub(super) const BATCH: u32 = 32;

const ENDPOINT: &str = "iiop://127.0.0.1:0";

/// Runs the process of the called objects: prints both references, that of the plain object first.
pub(crate) fn serve() -> Result {
    let orb = Orb::builder().listen(ENDPOINT).build()?;
    let called = Called::in_process(&orb)?;
    let references = [&called.plain, &called.facet].map(oxorb::Interface::to_ior);
    session::announce(&references.join(" "))?;
    orb.shutdown(true)?;
    Ok(())
}

/// Runs the calling process: calls the objects of these references, or its own objects if there are none.
pub(crate) fn call(references: &[String]) -> Result {
    let orb = Orb::builder().listen(ENDPOINT).build()?;
    let called = match references {
        [] => Called::in_process(&orb)?,
        [plain, facet] => {
            Called { plain: orb.resolve(plain)?, facet: orb.resolve(facet)?, _container: None }
        }
        _ => return Err("wanted two references, or none".into()),
    };
    let mut calling = Calling::start(&orb, called, references.is_empty())?;
    session::serve(&mut calling)?;
    orb.shutdown(true)?;
    Ok(())
}

/// The two called objects.
struct Called {
    plain: LabourRef,
    facet: LabourRef,
    _container: Option<Container>,
}

impl Called {
    fn in_process(orb: &Orb) -> Result<Called> {
        let policies = Policies { id_uniqueness: IdUniqueness::Multiple, ..Policies::default() };
        let poa = orb.root_poa().create_poa("plain", policies)?;
        let plain = poa.activate(Worker::default())?;
        let container = Container::builder(orb.root_poa(), "parts").create()?;
        let worker: WorkerRef = container.install("worker", Worker::default())?;
        worker.configuration_complete()?;
        let facet = worker.provide_offer()?.ok_or("the worker has no facet")?;
        Ok(Called { plain, facet, _container: Some(container) })
    }
}

/// Route to the called object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Reference held by the caller.
    Plain,
    /// Receptacle of a component.
    Component,
}

impl Way {
    pub(super) const ALL: [Way; 2] = [Way::Plain, Way::Component];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::Component => "component",
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Way::ALL.into_iter().find(|way| way.name() == text);
        found.ok_or_else(|| format!("no way is called {text:?}"))
    }
}

/// Caller of both objects.
struct Calling {
    called: Called,
    context: caller::Context,
    batch: u32,
    _container: Container,
}

impl Calling {
    fn start(orb: &Orb, called: Called, is_local: bool) -> Result<Calling> {
        let container = Container::builder(orb.root_poa(), "callers").create()?;
        let context = Arc::new(OnceLock::new());
        let component: CallerRef = container.install("caller", Caller(Arc::clone(&context)))?;
        component.connect_worker(Some(&called.facet))?;
        component.configuration_complete()?;
        let context = context.get().ok_or("the caller is not active")?.clone();
        Ok(Calling {
            called,
            context,
            batch: if is_local { BATCH } else { 1 },
            _container: container,
        })
    }
}

impl session::Caller for Calling {
    type Operation = Way;

    /// Calls with an argument of `size` octets: 8 octets are a `long long`, others a sequence.
    fn run(&mut self, way: Way, size: u32, clock: &mut Clock) -> Result {
        let Calling { called, context, batch, .. } = self;
        let plain = &called.plain;
        let octets = vec![7; size as usize];
        let mut value = 0_i64;
        let ping = |worker: &LabourRef, value: &mut i64| -> Result {
            *value = worker.ping(*value)?.wrapping_add(1);
            Ok(())
        };
        let carry = |worker: &LabourRef| -> Result {
            match worker.carry(&octets)?.len() == octets.len() {
                true => Ok(()),
                false => Err("another number of octets came back".into()),
            }
        };
        match (way, size) {
            (Way::Plain, 8) => clock.time(|| repeat(*batch, || ping(plain, &mut value))),
            (Way::Plain, _) => clock.time(|| repeat(*batch, || carry(plain))),
            (Way::Component, 8) => clock.time(|| {
                repeat(*batch, || {
                    let worker = context.worker()?;
                    ping(&worker, &mut value)
                })
            }),
            (Way::Component, _) => clock.time(|| {
                repeat(*batch, || {
                    let worker = context.worker()?;
                    carry(&worker)
                })
            }),
        }
    }
}

fn repeat(calls: u32, mut call: impl FnMut() -> Result) -> Result {
    for _ in 0..calls {
        call()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Caller as _;

    #[test]
    fn both_ways_make_their_calls() {
        let orb = Orb::builder().listen(ENDPOINT).build().unwrap();
        let called = Called::in_process(&orb).unwrap();
        let mut calling = Calling::start(&orb, called, true).unwrap();
        for way in Way::ALL {
            assert_eq!(way.name().parse(), Ok(way));
            for size in [8, 4096] {
                calling.run(way, size, &mut Clock::new(3)).unwrap();
            }
        }
        assert!("neither".parse::<Way>().is_err());
        orb.shutdown(true).unwrap();
    }
}
