//! Serves alarms and an archive, each from its own lane (a thread with a priority and a port), until Ctrl-C or SIGTERM.

use std::time::{Duration, Instant};

use oxorb::poa::{Poa, Policies, RtPolicies};
use oxorb::rt::{
    Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolId, ThreadpoolLane,
};
use oxorb::{Interface as _, Orb};

oxorb::include_idl!("plant");

/// CORBA priorities, from 0 to 32,767.
const ARCHIVE: i16 = 10_000;
const ALARMS: i16 = 20_000;

struct Console;

impl plant::Alarm for Console {
    fn acknowledge(&self, number: i64) -> oxorb::Result<i64> {
        Ok(number)
    }
}

struct Disk;

impl plant::Archive for Disk {
    fn store(&self, picture: &[u8]) -> oxorb::Result<()> {
        // Compressing takes some time.
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2) {
            std::hint::black_box(picture.iter().map(|octet| u64::from(*octet)).sum::<u64>());
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With the privilege for real-time priorities, add -ORBSchedPolicy SCHED_FIFO.
    let orb = Orb::builder().args(std::env::args()).build()?;
    let pool = orb.create_threadpool(Threadpool::with_lanes([
        ThreadpoolLane::new(Priority::new(ARCHIVE)?, 1),
        ThreadpoolLane::new(Priority::new(ALARMS)?, 1),
    ]))?;
    let alarm: plant::AlarmRef = served_at(&orb, pool, ALARMS)?.activate(Console)?;
    let archive: plant::ArchiveRef = served_at(&orb, pool, ARCHIVE)?.activate(Disk)?;
    orb.shutdown_on_signal()?;
    println!("{}\n{}", alarm.to_ior(), archive.to_ior());
    orb.run();
    Ok(())
}

/// Returns a POA whose objects are served by the lane of this priority, regardless of the client's priority.
fn served_at(
    orb: &Orb,
    pool: ThreadpoolId,
    server_priority: i16,
) -> Result<Poa, Box<dyn std::error::Error>> {
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    Ok(orb.root_poa().create_poa(&format!("priority-{server_priority}"), policies)?)
}
