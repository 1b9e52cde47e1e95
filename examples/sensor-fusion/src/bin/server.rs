//! Proves the deadlines of the fusion object, and serves it at the priorities of the proof. After
//! Ctrl-C or SIGTERM it compares the longest responses with the proved bounds.

use oxorb::incident::Incident;
use oxorb::prelude::*;
use oxorb::rt::SchedulingClass;
use oxorb::sched::time::Show;
use oxorb::sched::{DispatchTable, ModuleSettings, RunTimeScheduler, analysis};
use oxorb_example_sensor_fusion::nav::FusionRef;
use oxorb_example_sensor_fusion::{Estimator, most_urgent, schedule};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schedule = schedule()?;
    let proof = analysis::analyse(&schedule.tasks);
    for verdict in &proof.verdicts {
        println!("{}", verdict.explain(&schedule.tasks));
    }
    if !proof.is_feasible() {
        return Err("a deadline is not proved".into());
    }

    let mut scheduler = RunTimeScheduler::new(DispatchTable::from(&schedule));
    // Each priority has a thread. Responses are measured from the receipt of the request.
    scheduler.modules = Some(ModuleSettings::default());
    scheduler.measure = true;
    let orb = Orb::builder()
        .args(std::env::args())
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .scheduler(scheduler)
        .build()?;
    let fusion: FusionRef = most_urgent(&orb)?.activate(Estimator::default())?;
    orb.shutdown_on_signal()?;
    println!("{}", fusion.to_ior());
    orb.run();

    let measured = orb.measurements().unwrap_or_default();
    for verdict in &proof.verdicts {
        let name = &schedule.tasks.tasks[verdict.task].name;
        let seen = measured.iter().find(|one| one.operation == *name);
        if let (Some(bound), Some(seen)) = (verdict.response, seen) {
            let (calls, longest) = (seen.response.count, seen.response.max_ns);
            let held = if longest <= bound { "held" } else { "did not hold" };
            let (longest, bound) = (Show(longest), Show(bound));
            println!("{name}: {calls} calls, longest response {longest}, bound {bound}: {held}");
        }
    }
    // The system refused SCHED_FIFO.
    if orb.connection_statistics().count(Incident::NoRealTimePriority) > 0 {
        println!("The threads were not real-time: nothing guaranteed the bounds.");
    }
    Ok(())
}
