//! `oxbench channel` (E8): one high-priority pair of supplier and consumer shares an event channel with 1 to 1,000
//! low-priority pairs. The channel has the queues of a computed schedule. Dispatching by laxity (MUF) is compared with
//! static priorities (RMS).
//!
//! Paper 3, section 5.1: the latency of an event of the high pair, from the push to the consumer, includes the time of
//! the scheduler and the dispatching module. In the paced and saturated versions, suppliers, channel and consumers are
//! in one process. In the version of processes, each of the three has its own process, so that the latency also
//! includes the ORB. All threads run on one CPU, with the priorities of the schedule.

mod load;
pub(crate) mod processes;
mod report;
mod scheduled;

use std::time::Duration;

use clap::Args;
use oxorb::sched::Strategy;

use self::load::{Load, Rhythm, Seen};
use self::report::{Point, Report, Version};
use self::scheduled::Scheduled;
use crate::Result;
use crate::load::Quiet;
use crate::machine::Machine;
use crate::output::CheckedOutput;

/// Options of `oxbench channel`.
#[derive(Args)]
pub(crate) struct Options {
    /// Measure 100 events at each point, with at most 100 low-priority pairs, to test that everything works
    #[arg(long)]
    quick: bool,

    /// Numbers of low-priority pairs
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1_000])]
    lows: Vec<usize>,

    /// Minimum number of events of the high-priority pair at each point, over all rounds
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    events: u32,

    /// Number of rounds of each point; in each round, both strategies take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    /// Nanoseconds between two events of the high-priority supplier. The default, about 997 Hz, is no divisor of a
    /// second, so that its distance from the pushes of a low-priority supplier differs from one push to the next
    #[arg(long, default_value_t = HIGH_PERIOD, value_parser = clap::value_parser!(u64).range(100_000..=1_000_000_000))]
    high_period_ns: u64,

    /// Events per second of each low-priority supplier in the paced version. The schedules of all versions are computed
    /// for this rate
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    low_hz: u32,

    /// Events per second of all low-priority suppliers together in the version of processes
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    low_total_hz: u32,

    /// CPU for all threads
    #[arg(long, default_value_t = 0)]
    cpu: usize,

    /// Run only these versions of the experiment; default: paced, saturated and processes
    #[arg(long, value_delimiter = ',')]
    only: Vec<Version>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Period of the high supplier in nanoseconds. A second has 997.105 periods. The place in the high period at which a
/// supplier with a rate of 1 Hz pushes therefore moves by about a tenth of a period with each push.
const HIGH_PERIOD: u64 = 1_002_903;

/// Strategies in the order of the first round.
const STRATEGIES: [Strategy; 2] = [Strategy::RMS, Strategy::MUF];

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, report::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (mut lows, events, rounds) = match options.quick {
        true => (vec![1, 10, 100], 100, 1),
        false => (options.lows.clone(), options.events, options.rounds),
    };
    // Bounds compare the smallest number with the largest.
    lows.sort_unstable();
    lows.dedup();
    let round_events = events.div_ceil(rounds);
    let versions = match &options.only[..] {
        [] => &Version::USUAL[..],
        asked => asked,
    };
    let points = versions.len() * lows.len() * STRATEGIES.len();
    let duration = options.high_period() * round_events * rounds;
    eprintln!("{points} points of {:.1} s", duration.as_secs_f64());
    let (mut points, mut kept_out, mut real_time) = (Vec::new(), Vec::new(), true);
    for &version in versions {
        // Real-time threads that use a whole CPU would starve the thread that keeps it awake.
        let awake = if version.is_saturated() { Vec::new() } else { vec![options.cpu] };
        let quiet = Quiet::begin(&awake);
        kept_out.push((version, quiet.kept_out()));
        for &lows in &lows {
            eprintln!("{version}, {lows} low, schedules ...");
            let load = options.load(version, lows, round_events);
            let periods = [load.rhythm.high_period, period(options.low_hz)];
            let scheduled = |strategy| Scheduled::new(strategy, lows, periods);
            let [rms, muf] = STRATEGIES.map(scheduled);
            let mut both = [(rms?, Seen::default()), (muf?, Seen::default())];
            for round in 0..rounds {
                // Each round begins with the other strategy, so that drift of the machine affects both equally and
                // neither always follows the other.
                both.rotate_left((round % 2) as usize);
                for (scheduled, seen) in &mut both {
                    let strategy = scheduled.strategy();
                    let round = round + 1;
                    eprintln!("{version}, {lows} low, round {round} of {rounds}, {strategy} ...");
                    real_time &= match version.has_processes() {
                        true => processes::measure(&load, scheduled, seen)?,
                        false => load.measure(scheduled, seen)?,
                    };
                }
            }
            both.sort_by_key(|(scheduled, _)| scheduled.strategy() != STRATEGIES[0].name);
            for (scheduled, seen) in both {
                points.push(Point::new(version, scheduled.strategy(), lows, seen));
                scheduled.end()?;
            }
        }
    }
    Ok(Report {
        machine: Machine::this(),
        cpu: options.cpu,
        kept_out,
        real_time,
        round_events,
        rounds,
        high_period_ns: options.high_period_ns,
        low_hz: options.low_hz,
        low_total_hz: options.low_total_hz,
        points,
    })
}

impl Options {
    /// Returns the load of a round with a number of events of the high pair.
    fn load(&self, version: Version, lows: usize, events: u32) -> Load {
        let low_period = match version {
            Version::Paced => Some(period(self.low_hz)),
            Version::Processes => Some(period(self.low_total_hz) * lows as u32),
            Version::Saturated | Version::ProcessesSaturated => None,
        };
        let rhythm = Rhythm { events, high_period: self.high_period(), low_period };
        Load { lows, rhythm, cpu: self.cpu }
    }

    fn high_period(&self) -> Duration {
        Duration::from_nanos(self.high_period_ns)
    }
}

/// Returns the time between two events at a rate.
fn period(hertz: u32) -> Duration {
    Duration::from_secs(1) / hertz
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports whether low pushes with a period fall into every tenth of the high period within a time.
    fn meets_all_distances(low_period: Duration, within: Duration) -> bool {
        let (low_period, within) = (low_period.as_nanos() as u64, within.as_nanos() as u64);
        let mut tenths = [false; 10];
        for push in (0..within).step_by(low_period as usize) {
            tenths[(push % HIGH_PERIOD * 10 / HIGH_PERIOD) as usize] = true;
        }
        tenths == [true; 10]
    }

    #[test]
    fn low_pushes_meet_the_high_period_at_all_distances() {
        let minute = Duration::from_secs(60);
        assert!(meets_all_distances(period(1), minute));
        // All low suppliers together push at these rates.
        let round = Duration::from_secs(3);
        for together in [10, 100, 1_000, 2_000] {
            assert!(meets_all_distances(period(together), round), "{together} Hz");
        }
    }
}
