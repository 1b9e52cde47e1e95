//! Measures the time to schedule and to analyse a thousand operations.
//!
//!     cargo run --release -p oxorb-sched --example thousand

use std::time::{Duration, Instant};

use oxorb_sched::level::Criticality;
use oxorb_sched::repository::{CallKind, Characteristics, Handle};
use oxorb_sched::{
    DispatchModel, Error, OsPriorities, Repository, Schedule, Strategy, analysis, time,
};

const OPERATIONS: u64 = 1_000;

fn main() -> Result<(), Error> {
    let repository = operations()?;
    let priorities = OsPriorities::range(1, 2_000)?;
    println!("{OPERATIONS} operations, the best of five:");
    for strategy in [Strategy::RMS, Strategy::DM, Strategy::EDF, Strategy::MLF, Strategy::MUF] {
        for model in DispatchModel::ALL {
            let mut best = (Duration::MAX, Duration::MAX);
            let mut told = String::new();
            for _ in 0..5 {
                let begin = Instant::now();
                let schedule = Schedule::compute(&repository, &strategy, &model, &priorities)?;
                let computed = begin.elapsed();
                let report = analysis::analyse(&schedule.tasks);
                let analysed = begin.elapsed() - computed;
                best = best.min((computed, analysed));
                let met = report.verdicts.iter();
                let met = met.filter(|verdict| verdict.outcome == analysis::DeadlineOutcome::Meets);
                told = format!("{} of {} proved", met.count(), schedule.tasks.tasks.len());
            }
            println!(
                "{strategy:4} by {model:14}  computed in {:6.1} ms, analysed in {:6.1} ms: {told}",
                best.0.as_secs_f64() * 1e3,
                best.1.as_secs_f64() * 1e3
            );
        }
    }
    Ok(())
}

/// Returns operations with rates from 200 Hz to 5 Hz and a total load of 0.7 of the processor;
/// every tenth operation receives events of the previous one.
fn operations() -> Result<Repository, Error> {
    let mut repository = Repository::new();
    for at in 0..OPERATIONS {
        let handle = repository.create(&format!("operation_{at}"))?;
        let period = (1 + at % 40) * 5 * time::MILLISECOND;
        let fed = at % 10 == 9;
        let said = Characteristics {
            worst_case: period * 7 / (10 * OPERATIONS),
            period: if fed { 0 } else { period },
            criticality: Criticality::ALL[at as usize % 5],
            threads: u32::from(!fed),
            ..Characteristics::default()
        };
        repository.set(handle, said)?;
        if fed {
            repository.add_dependency(handle, Handle(handle.0 - 1), 1, CallKind::OneWay)?;
        }
    }
    Ok(repository)
}
