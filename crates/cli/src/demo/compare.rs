//! Both acts side by side.

use std::fmt;

use super::act::Seen;
use super::display::{bar, labels};
use crate::output::{FAINT, GOOD, STRONG};
use crate::statistics::Time;

/// What was seen in both acts, as the last thing shown and as JSON.
#[derive(serde::Serialize)]
pub(super) struct Comparison {
    without_priorities: Seen,
    with_priorities: Seen,
    /// How many times shorter the urgent client waits with priorities.
    ratio: Ratio,
}

#[derive(serde::Serialize)]
struct Ratio {
    p50: f64,
    p99: f64,
    max: f64,
    /// What the others still get done, of what they did without priorities.
    others: f64,
}

impl Comparison {
    pub(super) fn of(without: Seen, with: Seen) -> Self {
        let (before, after) = (&without.urgent.latency, &with.urgent.latency);
        let shorter = |before: u64, after: u64| before as f64 / after.max(1) as f64;
        let ratio = Ratio {
            p50: shorter(before.p50_ns, after.p50_ns),
            p99: shorter(before.p99_ns, after.p99_ns),
            max: shorter(before.max_ns, after.max_ns),
            others: with.others.rate() / without.others.rate().max(f64::MIN_POSITIVE),
        };
        Comparison {
            without_priorities: without,
            with_priorities: with,
            ratio,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (without, with) = (&self.without_priorities, &self.with_priorities);
        let (before, after) = (&without.urgent.latency, &with.urgent.latency);
        writeln!(
            f,
            "\n{STRONG}{:26}{:>20}{:>18}{:>15}{STRONG:#}",
            "", "without priorities", "with priorities", "with: better"
        )?;
        let times = [
            (
                "urgent call, p50",
                before.p50_ns,
                after.p50_ns,
                self.ratio.p50,
            ),
            (
                "             p99",
                before.p99_ns,
                after.p99_ns,
                self.ratio.p99,
            ),
            (
                "             max",
                before.max_ns,
                after.max_ns,
                self.ratio.max,
            ),
        ];
        for (name, before, after, ratio) in times {
            let (before, after) = (Time(before).to_string(), Time(after).to_string());
            writeln!(f, "{name:26}{before:>20}{after:>18}{ratio:>13.1} x")?;
        }
        let (missed, kept) = (without.urgent.missed, with.urgent.missed);
        writeln!(f, "{:26}{missed:>20}{kept:>18}", "urgent calls not made")?;
        writeln!(
            f,
            "{:26}{:>20.0}{:>18.0}{:>13.2} x",
            format!("calls/s of {} others", without.clients),
            without.others.rate(),
            with.others.rate(),
            self.ratio.others
        )?;

        writeln!(f, "\nThe urgent client's calls by how long they took")?;
        let (before, after) = (&without.urgent.shares, &with.urgent.shares);
        for ((label, &left), &right) in labels().zip(before).zip(after) {
            let (left, right) = (bar(before, left, 28), bar(after, right, 28));
            writeln!(f, "{label} |{left:30} |{GOOD}{right}{GOOD:#}")?;
        }
        writeln!(f, "{:15}  {FAINT}{:30}  with{FAINT:#}", "", "without")?;

        let verdict = match with.urgent.real_time {
            true => {
                "In act 2 the urgent client's thread and its lane ran at SCHED_FIFO, priority 60."
            }
            false => {
                "In act 2 the urgent client had its lane and connection, but the same priority as all others:\n\
                 this user may not have SCHED_FIFO. Its times are lower still, and bounded, with the privilege\n\
                 (root, CAP_SYS_NICE or `ulimit -r 60`)."
            }
        };
        writeln!(f, "\n{verdict}")?;
        writeln!(
            f,
            "\nNext: `oxorb demo sched` overloads a server under four scheduling strategies; docs/realtime.md has lanes\n\
             in a program of yours."
        )
    }
}
