//! Bursts that the callers of ports with enforced rates need.
//!
//! A job makes each of its calls between the release of its chain and the latest end of the job. If a call arrives at
//! most `J` after the release, and the chain has the period `T`, at most `floor((t + J) / T) + 1` such calls arrive in
//! an interval of length `t`. A port with the period `P` and the burst `B` accepts `t / P + B` calls in this interval.

use std::collections::{BTreeMap, HashMap};

use oxorb_sched::time::{Nanos, Show, frame};

use super::jobs::{Arrival, End, Jobs};
use super::lookup::Lookup;
use super::timing::Timing;
use crate::finding::{Finding, Source};
use crate::model::plan::Plan;
use crate::model::rtcad::{Beyond, Period, ServerResources, Work};
use crate::rates::BURST;

/// Maximum number of arrival times that are examined for one port.
const MOST_TIMES: usize = 1_000;

/// Excess of the callers' rate over that of the port, relative to the port's rate, that is attributed to the rounding
/// of floating-point numbers.
const ROUNDING: f64 = 1e-11;

/// Calls with the same period that may arrive equally late.
#[derive(Debug, Clone, Copy)]
struct Caller {
    /// Number of calls in each period.
    calls: u64,
    period: Nanos,
    /// Longest time from the release of the chain to the arrival of a call.
    latest: Nanos,
}

/// Compares the burst of each facet and sink with an enforced rate with the burst that its callers need: a warning if
/// the burst is too small or the needed burst is unknown, otherwise a note.
pub(super) fn check(
    plan: &Plan,
    resources: &ServerResources,
    jobs: &Jobs<'_>,
    timing: &Timing,
) -> Vec<Finding> {
    let lookup = Lookup::of(resources);
    let mut arrivals: HashMap<End<'_>, Vec<&Arrival<'_>>> = HashMap::new();
    for arrival in &jobs.arrivals {
        arrivals.entry(arrival.port).or_default().push(arrival);
    }
    let mut findings = Vec::new();
    for (at, instance) in plan.instance.iter().enumerate() {
        let Some(attachment) = lookup.attachment(&instance.name) else {
            continue;
        };
        let works = attachment.work.iter().filter(|work| work.beyond == Some(Beyond::Refuse));
        for work in works {
            let (Some(port), Some(Period(period))) = (work.port.as_deref(), work.most_rate) else {
                continue;
            };
            // A port without callers already has a finding of its own.
            let Some(arrivals) = arrivals.get(&(at, port)) else {
                continue;
            };
            let name = format!("{}.{port}", instance.name);
            let finding = match callers(arrivals, jobs, timing) {
                Ok(callers) => compared(&name, work, period.max(1), &callers),
                Err(late) => {
                    let what = format!(
                        "the burst that {name} needs is unknown, because {late} has no bound"
                    );
                    let cure = format!("make {late} end within its period");
                    Finding::warning(work.place, what).cure(cure)
                }
            };
            findings.push(finding.within(Source::Rtcad));
        }
    }
    findings
}

/// Returns the callers of a port.
///
/// # Errors
/// The name of a job before a call, whose end has no bound.
fn callers<'j>(
    arrivals: &[&Arrival<'_>],
    jobs: &'j Jobs<'_>,
    timing: &Timing,
) -> Result<Vec<Caller>, &'j str> {
    let mut calls: BTreeMap<(Nanos, Nanos), u64> = BTreeMap::new();
    for arrival in arrivals {
        let caller = &jobs.jobs[arrival.from];
        // A call that is a part of its caller arrives before the caller's end; any other one after the end of the
        // preceding job, and the delay of a message.
        let (before, delay) = match arrival.job == arrival.from {
            true => (arrival.from, 0),
            false => {
                let job = &jobs.jobs[arrival.job];
                (job.parent.unwrap_or(arrival.from), job.delay)
            }
        };
        // The analysis has a chain for each job, in the order of the jobs.
        let Some(end) = timing.chains[before].response else {
            return Err(jobs.jobs[before].name.as_str());
        };
        *calls.entry((caller.period.max(1), end.saturating_add(delay))).or_default() += 1;
    }
    let callers = calls.into_iter();
    Ok(callers.map(|((period, latest), calls)| Caller { calls, period, latest }).collect())
}

/// Returns the finding about the burst of a port, of which `period` is the period.
fn compared(name: &str, work: &Work, period: Nanos, callers: &[Caller]) -> Finding {
    let declared = u64::from(work.burst.unwrap_or(BURST));
    match needed(period, callers) {
        None => {
            let what = format!(
                "{name} is called a little more often than its mostRate permits, so no burst is large enough in the long run"
            );
            let longest = Show((period as f64 / share(period, callers)) as Nanos);
            Finding::warning(work.place, what).cure(format!("specify mostRate = \"{longest}\""))
        }
        Some(least) if least > declared => {
            let what = format!(
                "{name} has a burst of {declared}, but its callers need {least}, so calls may be refused although all \
                 callers keep their rates"
            );
            Finding::warning(work.place, what).cure(format!("specify burst = {least}"))
        }
        Some(least) => {
            let what = format!(
                "{name} has a burst of {declared}, which is enough, because its callers need {least}"
            );
            Finding::note(work.place, what)
        }
    }
}

/// Returns the smallest burst with which a port accepts all calls; `None` if the callers together make more than one
/// call per period of the port.
///
/// The number of calls rises only when a caller's next call may arrive, so that only these times are examined: up to
/// the end of the callers' common frame, or until longer intervals cannot need more. After [`MOST_TIMES`] of them, the
/// result is a bound that may be larger than the smallest burst.
fn needed(period: Nanos, callers: &[Caller]) -> Option<u64> {
    if share(period, callers) > 1.0 + ROUNDING {
        return None;
    }
    let frame = frame(callers.iter().map(|caller| caller.period)).unwrap_or(Nanos::MAX);
    let at_once = callers.iter().map(|caller| {
        let periods = (caller.latest / caller.period).saturating_add(1);
        caller.calls.saturating_mul(periods)
    });
    let mut arrived = at_once.fold(0, u64::saturating_add);
    let mut most = arrived;
    let mut next: Vec<Nanos> =
        callers.iter().map(|caller| caller.period - caller.latest % caller.period).collect();
    for _ in 0..MOST_TIMES {
        let time = next.iter().copied().min().unwrap_or(Nanos::MAX);
        if time >= frame || bound(period, callers, time) <= most {
            return Some(most);
        }
        for (caller, next) in callers.iter().zip(&mut next) {
            if *next == time {
                arrived = arrived.saturating_add(caller.calls);
                *next = next.saturating_add(caller.period);
            }
        }
        most = most.max(arrived.saturating_sub(time / period));
    }
    Some(bound(period, callers, 0).max(most))
}

/// Returns the number of calls that arrive in one period of the port, on average.
fn share(period: Nanos, callers: &[Caller]) -> f64 {
    let period = period as f64;
    callers.iter().map(|caller| caller.calls as f64 * period / caller.period as f64).sum()
}

/// Returns a burst that suffices for all intervals of at least the length `from`, if the callers together make at most
/// one call per period of the port.
///
/// The burst is `sum(calls (1 + (from + latest) / period)) - from / period`, rounded up. The sum does not rise with
/// `from`.
fn bound(period: Nanos, callers: &[Caller], from: Nanos) -> u64 {
    // Fractions are multiples of 2^-32, and rounded to the safe side. The numbers of calls have a sum of at most 10,000
    // (`Timing::MOST_STEPS`), so the sums have at most 2^112.
    const SCALE: u128 = 1 << 32;
    let arriving = callers.iter().map(|caller| {
        let period = u128::from(caller.period);
        let time = u128::from(from) + u128::from(caller.latest) + period;
        (u128::from(caller.calls) * time * SCALE).div_ceil(period)
    });
    let accepted = u128::from(from) * SCALE / u128::from(period);
    let burst = arriving.sum::<u128>().saturating_sub(accepted).div_ceil(SCALE);
    u64::try_from(burst).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Periods of callers, with the frame 72.
    const PERIODS: [Nanos; 6] = [6, 8, 9, 12, 18, 24];

    fn caller(calls: u64, period: Nanos, latest: Nanos) -> Caller {
        Caller { calls, period, latest }
    }

    fn any_callers() -> impl Strategy<Value = Vec<Caller>> {
        let one = (1..3u64, 0..PERIODS.len(), 0..40u64);
        let one = one.prop_map(|(calls, at, latest)| caller(calls, PERIODS[at], latest));
        prop::collection::vec(one, 1..4)
    }

    /// Returns the longest period of a port that the callers do not exceed.
    fn longest_period(callers: &[Caller]) -> Nanos {
        72 / callers.iter().map(|caller| caller.calls * 72 / caller.period).sum::<u64>()
    }

    /// Reports whether a port accepts all calls, by the rule of the container.
    fn accepts(period: Nanos, burst: u64, mut arrivals: Vec<Nanos>) -> bool {
        arrivals.sort_unstable();
        let mut full_at = 0;
        arrivals.into_iter().all(|now| {
            full_at = now.max(full_at) + period;
            full_at - now <= period * burst
        })
    }

    /// Returns the arrivals for which all callers are late until one time, and then never.
    fn worst_arrivals(callers: &[Caller]) -> Vec<Nanos> {
        const LATE_UNTIL: Nanos = 100;
        let mut arrivals = Vec::new();
        for caller in callers {
            let first = LATE_UNTIL - caller.latest;
            for release in (first..LATE_UNTIL + 200).step_by(caller.period as usize) {
                let arrival = release.max(LATE_UNTIL);
                arrivals.extend(std::iter::repeat_n(arrival, caller.calls as usize));
            }
        }
        arrivals
    }

    /// Returns arrivals of callers that start at any time and whose calls are late by any permitted time.
    fn random_arrivals(callers: &[Caller], mut seed: u64) -> Vec<Nanos> {
        let mut below = |end: Nanos| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % end
        };
        let mut arrivals = Vec::new();
        for caller in callers {
            let first = below(caller.period);
            for release in (first..500).step_by(caller.period as usize) {
                for _ in 0..caller.calls {
                    let late = match below(3) {
                        0 => 0,
                        1 => caller.latest,
                        _ => below(caller.latest + 1),
                    };
                    arrivals.push(release + late);
                }
            }
        }
        arrivals
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn the_needed_burst_is_the_smallest_that_accepts_all_arrivals(
            callers in any_callers(),
            shorter in 0..4u64,
            seeds in prop::collection::vec(any::<u64>(), 8),
        ) {
            let period = longest_period(&callers).saturating_sub(shorter).max(1);
            let burst = needed(period, &callers).unwrap();
            let worst = worst_arrivals(&callers);
            prop_assert!(accepts(period, burst, worst.clone()), "{} is too small", burst);
            prop_assert!(!accepts(period, burst - 1, worst), "{} is too large", burst);
            prop_assert!(burst <= bound(period, &callers, 0));
            for seed in seeds {
                let arrivals = random_arrivals(&callers, seed);
                prop_assert!(accepts(period, burst, arrivals), "{} is too small", burst);
            }
        }
    }

    #[test]
    fn the_needed_burst_may_be_smaller_than_the_bound() {
        // The calls of one caller are late by half a period, and those of the other never are.
        let callers = [caller(1, 40, 0), caller(1, 40, 20)];
        assert_eq!((needed(20, &callers), bound(20, &callers, 0)), (Some(2), 3));
    }

    #[test]
    fn the_bound_is_used_if_the_frame_is_too_long() {
        // Only the 5,000th arrival time needs the third call.
        let long = 10_000 * 10_001;
        let callers = [caller(1, 10_001, 0), caller(1, long, long / 2)];
        assert_eq!(needed(10_000, &callers), Some(3));
        // Numbers at the limits of documents do not overflow.
        let longest = caller(10_000, 1 << 60, u64::MAX);
        assert_eq!(needed(1 << 40, &[longest]), Some(170_000));
        assert_eq!(needed(1, &[caller(1, 1, u64::MAX)]), Some(u64::MAX));
    }

    #[test]
    fn no_burst_is_enough_for_callers_that_are_faster_than_the_port() {
        // The periods of 30 Hz, 60 Hz and 90 Hz in whole nanoseconds.
        let callers = [caller(1, 33_333_333, 5), caller(1, 16_666_666, 5)];
        assert_eq!(needed(11_111_111, &callers), None);
        assert_eq!(needed(11_111_110, &callers), Some(3));
        assert_eq!(needed(50, &[caller(1, 50, 0)]), Some(1));
        assert_eq!(needed(51, &[caller(1, 50, 0)]), None);
    }
}
