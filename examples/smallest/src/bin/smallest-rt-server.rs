//! Serves a counter from two lanes, of a thread each, until standard input ends.

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::{Interface as _, Orb};
use oxorb_example_smallest::smallest::CounterRef;
use oxorb_example_smallest::{Adder, wait_for_end};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let pool = orb.create_threadpool(Threadpool::with_lanes([
        ThreadpoolLane::new(Priority::new(10_000)?, 1),
        ThreadpoolLane::new(Priority::new(20_000)?, 1),
    ]))?;
    let policies = Policies {
        realtime: RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: 20_000,
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("counters", policies)?;
    let counter: CounterRef = poa.activate(Adder)?;
    println!("{}", counter.to_ior());
    wait_for_end();
    orb.shutdown(true)?;
    Ok(())
}
