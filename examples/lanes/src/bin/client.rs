//! Times alarms, first alone and then together with three threads that fill the archive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::Orb;

oxorb::include_idl!("plant");

const CALLS: i64 = 500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, alarm, archive] = orb.args() else {
        return Err("usage: client ALARM ARCHIVE, the references that the server prints".into());
    };
    let alarm: plant::AlarmRef = orb.resolve(alarm)?;
    let archive: plant::ArchiveRef = orb.resolve(archive)?;

    println!("alone:              {}", time(&alarm)?);
    let over = AtomicBool::new(false);
    let beside = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let picture = vec![7; 10_000];
                while !over.load(Ordering::Relaxed) {
                    // A refused picture is lost.
                    let _ = archive.store(&picture);
                }
            });
        }
        let times = time(&alarm);
        over.store(true, Ordering::Relaxed);
        times
    });
    println!("beside the archive: {}", beside?);
    Ok(())
}

/// Returns the times of alarms that are sent every 2 ms.
fn time(alarm: &plant::AlarmRef) -> oxorb::Result<String> {
    let mut times = Vec::new();
    for number in 0..CALLS {
        let began = Instant::now();
        alarm.acknowledge(number)?;
        times.push(began.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    times.sort_unstable();
    let [p50, p99, max] = [50, 99, 100].map(|part| times[(times.len() - 1) * part / 100]);
    Ok(format!("p50 {p50:?}, p99 {p99:?}, max {max:?}"))
}
