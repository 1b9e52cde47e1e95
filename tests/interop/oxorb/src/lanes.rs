//! `--lanes`: every object is in a POA with a threadpool with lanes, so that its reference carries TAG_POLICIES and
//! TAO_TAG_ENDPOINTS and each lane has its own port, and the program's own thread has a priority. Peers without
//! RT-CORBA ignore all of it, call the first lane, and preserve the components when they return the reference.

use std::error::Error;

use oxorb::Orb;
use oxorb::poa::{Poa, Policies, RtPolicies};
use oxorb::rt::{
    Priority, PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy, Threadpool,
    ThreadpoolLane,
};

const LOW: i16 = 10_000;
const HIGH: i16 = 20_000;

/// Number of threads of a lane: permanent ones, and those added by nested callbacks.
const STATIC: usize = 4;
const DYNAMIC: usize = 12;

/// Makes both POAs, and sets the calling thread's priority to that of the second lane.
pub(crate) fn create(orb: &Orb) -> Result<(), Box<dyn Error>> {
    let lane = |priority| {
        let priority = Priority::new(priority)?;
        Ok::<_, Box<dyn Error>>(ThreadpoolLane::new(priority, STATIC).dynamic_threads(DYNAMIC))
    };
    let pool = orb.create_threadpool(Threadpool::with_lanes([lane(LOW)?, lane(HIGH)?]))?;
    // Each thread of a client has a lane, regardless of the thread's priority.
    let bands = PriorityBands::new(&[
        PriorityBand { low: 0, high: LOW },
        PriorityBand { low: LOW + 1, high: i16::MAX },
    ])?;
    for (model, server_priority, priority_bands) in [
        (PriorityModel::ClientPropagated, LOW, Some(bands)),
        (PriorityModel::ServerDeclared, HIGH, None),
    ] {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy { model, server_priority }),
            priority_bands,
            ..RtPolicies::default()
        };
        let policies = Policies { realtime, ..Policies::default() };
        orb.root_poa().create_poa(name(model), policies)?;
    }
    orb.set_thread_priority(Priority::new(HIGH)?)?;
    Ok(())
}

/// Returns the POA of initial objects: CLIENT_PROPAGATED with `--lanes`, otherwise the root POA.
pub fn propagated(orb: &Orb) -> Poa {
    poa(orb, PriorityModel::ClientPropagated)
}

/// Returns the POA of objects created by calls: SERVER_DECLARED with `--lanes`, otherwise the root POA.
pub fn declared(orb: &Orb) -> Poa {
    poa(orb, PriorityModel::ServerDeclared)
}

fn poa(orb: &Orb, model: PriorityModel) -> Poa {
    let root = orb.root_poa();
    root.find_poa(name(model)).unwrap_or_else(|| root.clone())
}

fn name(model: PriorityModel) -> &'static str {
    match model {
        PriorityModel::ClientPropagated => "propagated",
        PriorityModel::ServerDeclared => "declared",
    }
}
