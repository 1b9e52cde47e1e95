//! Results of the measurement, for people and programs.

use std::fmt;

use oxorb_terminal::output::{BAD, STRONG};
use oxorb_terminal::statistics::{Latencies, Percentiles, Time};

/// Results of `--measure`.
#[derive(Debug, serde::Serialize)]
pub(in crate::doctor) struct Measured {
    pub(super) seconds: u64,
    /// Ordinary threads that kept the processors busy during the measurement.
    pub(super) load: usize,
    pub(super) wakeups: Vec<Wakeups>,
    pub(super) switching: Percentiles,
    pub(super) dispatch: Percentiles,
    /// Overheads for `oxorb sched analyse --overheads`.
    pub(super) overheads: Overheads,
    pub(super) trips: Vec<Trips>,
}

/// Costs of dispatching for the analysis: 99.9th percentiles.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(super) struct Overheads {
    dispatch_ns: u64,
    switch_ns: u64,
}

impl Overheads {
    pub(super) fn of(switching: &Percentiles, dispatch: &Percentiles) -> Overheads {
        Overheads { dispatch_ns: dispatch.p999_ns, switch_ns: switching.p999_ns }
    }
}

/// Bounds of the histogram in nanoseconds, three for each power of two.
fn bounds() -> Vec<u64> {
    let bound = |third: i32| (1_000.0 * 2_f64.powf(f64::from(third) / 3.0)).round() as u64;
    (0..=60).map(bound).collect()
}

/// Lateness of the wake-ups of threads of one priority.
#[derive(Debug, serde::Serialize)]
pub(super) struct Wakeups {
    /// Native priority; 0: SCHED_OTHER.
    pub(super) priority: i32,
    /// Whether the system granted the thread that priority.
    pub(super) granted: bool,
    #[serde(flatten)]
    pub(super) late: Percentiles,
    /// Histogram of lateness in nanoseconds: upper bound and count of each bucket.
    pub(super) histogram: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(super) struct Bucket {
    pub(super) up_to_ns: u64,
    pub(super) count: u64,
}

impl Wakeups {
    pub(super) fn new(priority: i32, granted: bool, late: &Latencies) -> Wakeups {
        let bounds = bounds();
        let shares = late.shares(&bounds);
        let most = late.percentiles().max_ns;
        let bounds = bounds.into_iter().chain([most.max(1)]);
        let buckets = bounds.zip(shares).filter(|(_, count)| *count > 0);
        Wakeups {
            priority,
            granted,
            late: late.percentiles(),
            histogram: buckets.map(|(up_to_ns, count)| Bucket { up_to_ns, count }).collect(),
        }
    }

    pub(super) fn name(&self) -> String {
        match self.priority {
            0 => "SCHED_OTHER".to_owned(),
            priority => format!("SCHED_FIFO {priority}"),
        }
    }
}

/// Round trips to one address.
#[derive(Debug, serde::Serialize)]
pub(super) struct Trips {
    pub(super) place: String,
    /// Whether the packets leave this host.
    pub(super) leaves_host: bool,
    /// Urgent calls without other load.
    pub(super) alone: Percentiles,
    /// Urgent calls with bulk traffic and busy processors; absent with `--idle`.
    pub(super) loaded: Option<Percentiles>,
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, times: &Percentiles) -> fmt::Result {
    let Percentiles { calls, p50_ns, p99_ns, p999_ns, max_ns } = *times;
    let [p50, p99, p999, max] = [p50_ns, p99_ns, p999_ns, max_ns].map(Time);
    writeln!(f, "  {name:32}  {p50}  {p99}  {p999}  {max}  {calls:9}")
}

fn head(f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
    let columns = "      p50        p99      p99.9        max      count";
    writeln!(f, "{STRONG}{what:32}{STRONG:#}  {columns}")
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(f, "wake-ups are late by")?;
        for wakeups in &self.wakeups {
            row(f, &wakeups.name(), &wakeups.late)?;
        }
        let refused = self.wakeups.iter().filter(|it| !it.granted);
        let refused: Vec<String> = refused.map(|it| it.priority.to_string()).collect();
        if !refused.is_empty() {
            let refused = refused.join(", ");
            writeln!(
                f,
                "  {BAD}the system refuses priorities {refused}{BAD:#}: these threads ran as ordinary threads \
                 (CAP_SYS_NICE or ulimit -r)"
            )?;
        }
        writeln!(f)?;
        head(f, "switching and queues")?;
        row(f, "context switch", &self.switching)?;
        row(f, "request taken off its queue", &self.dispatch)?;
        writeln!(f)?;
        head(f, "round trips")?;
        for trips in &self.trips {
            row(f, &format!("{}, alone", trips.place), &trips.alone)?;
            if let Some(loaded) = &trips.loaded {
                row(f, &format!("{}, loaded", trips.place), loaded)?;
            }
        }
        if self.trips.iter().any(|trips| !trips.leaves_host) {
            writeln!(
                f,
                "  packets to addresses of this host do not leave it: use --to with the address of a doctor --answer \
                 on another host"
            )?;
        }
        let Overheads { dispatch_ns, switch_ns } = self.overheads;
        writeln!(
            f,
            "\n{} s, beside {} busy threads. For the analysis: --dispatch {dispatch_ns}ns --switch {switch_ns}ns",
            self.seconds, self.load
        )
    }
}
