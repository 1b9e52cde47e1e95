//! OxORB's side: the same servants and clients under each architecture.

use std::time::Duration;

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Builder, Interface as _, Orb, SystemException};

use super::{Architecture, Caller, protocol, run, toil};
use crate::{Result, session};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("load");
}

use generated::oxbench::{Cubing, CubingRef};

/// Number of threads of the worker pool.
const WORKERS: usize = 4;

/// Maximum number of requests that are served or wait at a time, if limited: enough for one of each client.
const MOST_CLIENTS: usize = 100;

/// Number of threads of a lane: one that serves, and one that accepts further requests meanwhile.
const LANE_THREADS: usize = 2;

/// Serves an object for each priority until standard input closes.
pub(super) fn serve(architecture: Architecture, at: Option<&str>, priorities: &[i16]) -> Result {
    let builder = Orb::builder().listen(at.unwrap_or("iiop://127.0.0.1:0"));
    let orb = match architecture {
        it if it.has_lanes() => real_time(builder),
        Architecture::Workers => {
            builder.concurrency(Concurrency::LeaderFollowers { threads: WORKERS })
        }
        Architecture::Reactive => builder.concurrency(Concurrency::Reactive),
        Architecture::Pool => {
            builder.concurrency(Concurrency::WorkerPool { threads: WORKERS, queue: MOST_CLIENTS })
        }
        Architecture::Spawned => {
            builder.concurrency(Concurrency::ThreadPerRequest { threads: MOST_CLIENTS })
        }
        _ => builder.concurrency(Concurrency::ThreadPerConnection),
    }
    .build()?;
    let objects: Vec<CubingRef> = match architecture {
        it if it.has_lanes() => in_lanes(&orb, priorities)?,
        _ => priorities.iter().map(|_| orb.root_poa().activate(Cuber)).collect::<Result<_, _>>()?,
    };
    let references: Vec<String> = objects.iter().map(|it| it.to_ior().to_string()).collect();
    let references = references.join(" ");
    match architecture {
        Architecture::LanesCollocated => {
            println!("{references}");
            repeat(architecture, &orb, &objects)?;
        }
        _ => session::announce(&references)?,
    }
    orb.shutdown(true)?;
    Ok(())
}

/// Maps CORBA priorities to equal SCHED_FIFO ones. From one period to the next, a thread of a lane stays with its
/// connection, and a client uses its own without a check.
pub(crate) fn real_time(builder: Builder) -> Builder {
    builder
        .setting("SchedPolicy", "SCHED_FIFO")
        .setting("PriorityMapping", "direct")
        .setting("WorkerStay", "10000")
        .setting("TrustIdle", "10000")
}

/// Creates a lane for each priority, and an object that it serves.
fn in_lanes(orb: &Orb, priorities: &[i16]) -> Result<Vec<CubingRef>> {
    let lanes = priorities
        .iter()
        .map(|&priority| Ok(ThreadpoolLane::new(Priority::new(priority)?, LANE_THREADS)))
        .collect::<Result<Vec<_>>>()?;
    let pool = orb.create_threadpool(Threadpool::with_lanes(lanes))?;
    let object = |&priority| {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: priority,
            }),
            ..RtPolicies::default()
        };
        let policies = Policies { realtime, ..Policies::default() };
        let poa = orb.root_poa().create_poa(&format!("lane {priority}"), policies)?;
        Ok(poa.activate(Cuber)?)
    };
    priorities.iter().map(object).collect()
}

/// Calls the objects at these references as requested on standard input.
pub(super) fn call(architecture: Architecture, references: &[String]) -> Result {
    let builder = Orb::builder();
    let orb = match architecture {
        it if it.has_lanes() => real_time(builder).client_connections(ClientConnections::Private),
        Architecture::Shared => builder.client_connections(ClientConnections::Multiplexed),
        Architecture::Led => builder.client_connections(ClientConnections::LeaderFollowers),
        _ => builder.client_connections(ClientConnections::Cached),
    }
    .build()?;
    let objects: Vec<CubingRef> =
        references.iter().map(|reference| orb.resolve(reference)).collect::<Result<_, _>>()?;
    repeat(architecture, &orb, &objects)?;
    orb.shutdown(true)?;
    Ok(())
}

/// Calls the objects as requested on standard input.
fn repeat(architecture: Architecture, orb: &Orb, objects: &[CubingRef]) -> Result {
    protocol::serve(|tasks, duration| {
        run(tasks, duration, |task| {
            let target = objects[task.object].clone();
            if architecture.has_lanes() {
                orb.set_thread_priority(Priority::new(task.priority)?)?;
                target.validate_connection()?;
            }
            let asynchronous = architecture == Architecture::LanesAsynchronous && task.object == 0;
            Ok(Client { target, asynchronous })
        })
    })
}

struct Cuber;

impl Cubing for Cuber {
    fn cube(&self, value: u8) -> Result<u8, SystemException> {
        Ok(value.wrapping_pow(3))
    }

    fn toil(&self, value: u8, microseconds: u32) -> Result<u8, SystemException> {
        toil(Duration::from_micros(microseconds.into()));
        self.cube(value)
    }
}

struct Client {
    target: CubingRef,
    asynchronous: bool,
}

impl Caller for Client {
    fn cube(&mut self, value: u8, work: Duration) -> Result<u8> {
        let target = &self.target;
        Ok(match (work.as_micros() as u32, self.asynchronous) {
            (0, false) => target.cube(value)?,
            (work, false) => target.toil(value, work)?,
            (0, true) => target.cube_async(value).wait()?,
            (work, true) => target.toil_async(value, work).wait()?,
        })
    }
}
