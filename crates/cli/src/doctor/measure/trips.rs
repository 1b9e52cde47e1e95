//! Round trips of urgent calls, alone and beside bulk.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oxorb::{
    ClientConnections, Interface as _, Orb, Policies, Priority, PriorityModel, PriorityModelPolicy,
    RtPolicies, SchedulingClass, Threadpool, ThreadpoolLane,
};

use super::load::Load;
use super::report::Trips;
use crate::doctor::hold::Ends;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, because, print};
use oxorb_terminal::statistics::{Latencies, Percentiles};

// The Rust that build.rs made of idl/echo.idl.
mod interface {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("echo");
}
use interface::doctor::{Echo, EchoRef};

/// CORBA priorities of the two lanes.
const BULK: i16 = 100;
const URGENT: i16 = 20_000;

/// Octets of an urgent call, and of one of bulk.
const SMALL: usize = 64;
const LARGE: usize = 64 << 10;

/// Time between urgent calls.
const PERIOD: Duration = Duration::from_millis(1);

/// Time that one call may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Somewhere that answers.
pub(super) enum Place {
    /// An address of this host.
    Here { name: String, address: IpAddr },
    /// Host whose `--answer` printed this.
    There(String),
}

/// Returns the places to measure: loopback, and what is asked for besides.
pub(super) fn places(interface: Option<&str>, to: Option<&str>) -> Result<Vec<Place>, Failed> {
    let mut places =
        vec![Place::Here { name: "loopback".to_owned(), address: IpAddr::from([127, 0, 0, 1]) }];
    if let Some(name) = interface {
        let all = oxorb_sys::interface::addresses()?;
        let mut of_it = all.iter().filter(|it| it.interface == name && it.up);
        let found = of_it.find(|it| it.address.is_ipv4());
        let found = found.ok_or_else(|| {
            let mut names: Vec<&str> = all.iter().map(|it| it.interface.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            because(format!(
                "{name} is no interface with an IPv4 address that is switched on; there are {}",
                names.join(", ")
            ))
        })?;
        places.push(Place::Here { name: name.to_owned(), address: found.address });
    }
    if let Some(reference) = to {
        places.push(Place::There(reference.to_owned()));
    }
    Ok(places)
}

impl Place {
    /// Measures for the time given.
    pub(super) fn measure(&self, time: Duration, idle: bool, ends: &Ends) -> Result<Trips, Failed> {
        let client = with_args(Orb::builder())
            .client_connections(ClientConnections::Private)
            .round_trip_timeout(LIMIT)
            .build()?;
        let (place, server, object) = match self {
            Place::Here { name, address } => {
                let (server, object) = serve(&format!("iiop://{address}:0"))?;
                let place = format!("{name} ({address})");
                (place, Some(server), object.to_ior())
            }
            Place::There(reference) => ("the other host".to_owned(), None, reference.clone()),
        };
        let object: EchoRef = client
            .string_to_object(&object)
            .map_err(because)?
            .narrow()?
            .ok_or_else(|| because("the object there is none that --answer serves"))?;
        let half = if idle { time } else { time / 2 };
        let alone = urgent(&client, &object, half, ends)?;
        let loaded = match idle {
            true => None,
            false => Some(beside_bulk(&client, &object, half, ends)?),
        };
        client.shutdown(true)?;
        let leaves_host = server.is_none();
        if let Some(server) = server {
            server.shutdown(true)?;
        }
        Ok(Trips { place, leaves_host, alone, loaded })
    }
}

fn urgent(
    client: &Orb,
    object: &EchoRef,
    time: Duration,
    ends: &Ends,
) -> Result<Percentiles, Failed> {
    client.set_thread_priority(Priority::new(URGENT)?)?;
    let sent = vec![7; SMALL];
    let mut times = Latencies::new();
    let end = Instant::now() + time;
    let mut next = Instant::now();
    while next < end && !ends.came() {
        let begin = Instant::now();
        object.back(&sent)?;
        times.record(begin.elapsed());
        next = (next + PERIOD).max(Instant::now());
        ends.wait_for(next.saturating_duration_since(Instant::now()));
    }
    Ok(times.percentiles())
}

/// Measures while other threads send much, and keep the processors busy.
fn beside_bulk(
    client: &Orb,
    object: &EchoRef,
    time: Duration,
    ends: &Ends,
) -> Result<Percentiles, Failed> {
    let _load = Load::begin();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                oxorb_sys::schedule::set_current(Default::default())?;
                client.set_thread_priority(Priority::new(BULK)?)?;
                let sent = vec![7; LARGE];
                while !over.load(Ordering::Relaxed) {
                    object.back(&sent)?;
                }
                Ok::<(), Failed>(())
            });
        }
        let measured = urgent(client, object, time, ends);
        over.store(true, Ordering::Relaxed);
        measured
    })
}

struct Servant;

impl Echo for Servant {
    fn back<'a>(&'a self, sent: &'a [u8]) -> oxorb::Result<Cow<'a, [u8]>> {
        Ok(Cow::Borrowed(sent))
    }
}

/// Serves an object with a lane for urgent calls and one for bulk.
fn serve(endpoint: &str) -> Result<(Orb, EchoRef), Failed> {
    let builder = with_args(Orb::builder().listen(endpoint));
    let orb =
        builder.configure(|options| options.realtime.class = SchedulingClass::Fifo).build()?;
    let lanes = [
        ThreadpoolLane::new(Priority::new(BULK)?, 2)
            .scheduling(oxorb::LaneScheduling::Class(SchedulingClass::Other)),
        ThreadpoolLane::new(Priority::new(URGENT)?, 1).dscp(46),
    ];
    let realtime = RtPolicies {
        threadpool: Some(orb.create_threadpool(Threadpool::with_lanes(lanes))?),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ClientPropagated,
            server_priority: BULK,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("doctor", policies)?;
    let object: EchoRef = poa.activate(Servant)?;
    Ok((orb, object))
}

/// Answers round trips of other hosts, until a signal.
pub(in crate::doctor) fn answer(endpoint: &str) -> Done {
    let (orb, object) = serve(endpoint)?;
    orb.shutdown_on_signal()?;
    print(format!("{}\n", object.to_ior()))?;
    orb.run();
    Ok(())
}
