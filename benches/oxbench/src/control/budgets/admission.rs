//! (a) Admission of operations one by one.

use std::time::Instant;

use oxorb_sched::admission::{Answer, Controller, LateComers, MemberRequest};
use oxorb_sched::analysis::analyse;
use oxorb_sched::time::{MICROSECOND, MILLISECOND};
use oxorb_sched::{Task, TaskSet};

use super::report::Admission;
use crate::Result;

/// Requests admission of more operations than fit, with pseudo-random times.
pub(super) fn measure(operations: usize) -> Result<Admission> {
    let mut controller = Controller::new(LateComers::Refuse);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let (mut times, mut whole_times) = (Vec::new(), Vec::new());
    let mut equal = 0;
    let mut there: Vec<MemberRequest> = Vec::new();
    for number in 0..operations {
        let period = (1 + next(200)) * 5 * MILLISECOND;
        let share = 1 + next(2_000_000 / operations as u64);
        let wanted = MemberRequest {
            name: format!("operation {number}"),
            worst_case: (period / 1_000_000 * share).max(MICROSECOND),
            period,
            // Unique deadlines, so that a full analysis has the same order.
            deadline: period - number as u64,
            priority: 0,
            shares: false,
        };
        let began = Instant::now();
        let answer = controller.admit(wanted.clone())?;
        times.push(began.elapsed().as_nanos() as u64);
        let admitted = matches!(answer, Answer::Guaranteed { .. });
        there.push(wanted);
        let began = Instant::now();
        let feasible = whole(&there);
        whole_times.push(began.elapsed().as_nanos() as u64);
        equal += usize::from(feasible == admitted);
        if !admitted {
            there.pop();
        }
    }
    Ok(Admission {
        operations,
        guaranteed: there.len(),
        refused: operations - there.len(),
        equal,
        curve: curve(&mut times, 3),
        p50_ns: part(&mut times, 0.5),
        p99_ns: part(&mut times, 0.99),
        max_ns: part(&mut times, 1.0),
        whole_curve: curve(&mut whole_times, 3),
        whole_p50_ns: part(&mut whole_times, 0.5),
        utilization_ppb: controller.utilization().0,
    })
}

/// Reports whether all operations meet their deadlines, according to a full analysis that ignores earlier results.
fn whole(all: &[MemberRequest]) -> bool {
    let mut all: Vec<&MemberRequest> = all.iter().collect();
    all.sort_by_key(|wanted| wanted.deadline);
    let task = |wanted: &MemberRequest| {
        let mut task = Task::periodic(wanted.name.clone(), wanted.worst_case, wanted.period);
        task.deadline = wanted.deadline;
        task
    };
    analyse(&TaskSet::fixed_priority(all.into_iter().map(task))).is_feasible()
}

/// Returns a quantile of the times; 0 if there are none.
pub(super) fn part(times: &mut [u64], part: f64) -> u64 {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * part) as usize).copied().unwrap_or(0)
}

/// Returns quantiles up to the one with this number of nines, evenly spaced on an axis of percentiles, and the time at
/// each; empty if there are no times.
pub(super) fn curve(times: &mut [u64], nines: u32) -> Vec<(f64, u64)> {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    let quantiles = (0..=nines * 100).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 100.0));
    let time = |quantile: f64| times.get((last as f64 * quantile) as usize).copied();
    quantiles.filter_map(|quantile| Some((quantile, time(quantile)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_leads_from_the_shortest_time_to_the_last_nine() {
        let mut times: Vec<u64> = (0..=10_000).rev().collect();
        let points = curve(&mut times, 3);
        assert_eq!((points.len(), points[0]), (301, (0.0, 0)));
        let (quantile, time) = points[100];
        assert!((quantile - 0.9).abs() < 1e-9 && time.abs_diff(9_000) <= 1, "{quantile}: {time}");
        let (quantile, time) = points[300];
        assert!((quantile - 0.999).abs() < 1e-9 && time.abs_diff(9_990) <= 1, "{quantile}: {time}");
        assert!(points.is_sorted());
        assert!(curve(&mut [], 3).is_empty());
    }
}
