//! Comparison of all acts.

use std::fmt::{self, Display};

use super::act::Seen;
use super::display::{bar, labels};
use oxorb_terminal::output::{FAINT, GOOD, STRONG};
use oxorb_terminal::statistics::Time;

/// Comparison of all acts, shown last and as JSON.
#[derive(serde::Serialize)]
pub(super) struct Comparison {
    without_priorities: Seen,
    lane: Seen,
    lane_real_time: Seen,
    /// Factor by which the urgent client waits less than without priorities.
    ratio: Ratios,
}

#[derive(serde::Serialize)]
struct Ratios {
    lane: Ratio,
    lane_real_time: Ratio,
}

#[derive(serde::Serialize)]
struct Ratio {
    p50: f64,
    p99: f64,
    max: f64,
    /// Share of the work without priorities that the other clients still get done.
    others: f64,
}

impl Ratio {
    fn of(plain: &Seen, other: &Seen) -> Ratio {
        let (before, after) = (&plain.urgent.latency, &other.urgent.latency);
        let shorter = |before: u64, after: u64| before as f64 / after.max(1) as f64;
        Ratio {
            p50: shorter(before.p50_ns, after.p50_ns),
            p99: shorter(before.p99_ns, after.p99_ns),
            max: shorter(before.max_ns, after.max_ns),
            others: other.others.rate() / plain.others.rate().max(f64::MIN_POSITIVE),
        }
    }
}

impl Comparison {
    pub(super) fn of(plain: Seen, lane: Seen, real_time: Seen) -> Self {
        let ratio = Ratios {
            lane: Ratio::of(&plain, &lane),
            lane_real_time: Ratio::of(&plain, &real_time),
        };
        Comparison { without_priorities: plain, lane, lane_real_time: real_time, ratio }
    }

    fn acts(&self) -> [&Seen; 3] {
        [&self.without_priorities, &self.lane, &self.lane_real_time]
    }

    /// Returns one value of each act, with the ratio to the first if there is one.
    fn columns(
        &self,
        value: impl Fn(&Seen) -> String,
        ratio: impl Fn(&Ratio) -> String,
    ) -> Columns {
        let [plain, lane, real_time] = self.acts().map(value);
        Columns([
            plain,
            format!("{lane} {}", ratio(&self.ratio.lane)).trim_end().to_owned(),
            format!("{real_time} {}", ratio(&self.ratio.lane_real_time)).trim_end().to_owned(),
        ])
    }
}

/// Columns of a table's line after its name.
struct Columns([String; 3]);

impl Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [plain, lane, real_time] = &self.0;
        write!(f, "{plain:>13}{lane:>22}{real_time:>22}")
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = Columns(["plain", "lane", "lane, SCHED_FIFO"].map(str::to_owned));
        writeln!(f, "\n{STRONG}{:20}{heading}{STRONG:#}", "")?;
        type Times = (&'static str, fn(&Seen) -> u64, fn(&Ratio) -> f64);
        let times: [Times; 3] = [
            ("urgent call, p50", |seen| seen.urgent.latency.p50_ns, |ratio| ratio.p50),
            ("             p99", |seen| seen.urgent.latency.p99_ns, |ratio| ratio.p99),
            ("             max", |seen| seen.urgent.latency.max_ns, |ratio| ratio.max),
        ];
        for (name, time, ratio) in times {
            let line = self.columns(
                |seen| Time(time(seen)).to_string(),
                |better| format!("({:.1} x)", ratio(better)),
            );
            writeln!(f, "{name:20}{line}")?;
        }
        let missed = self.columns(|seen| seen.urgent.missed.to_string(), |_| String::new());
        writeln!(f, "{:20}{missed}", "calls not made")?;
        let others = self.columns(
            |seen| format!("{:.0}", seen.others.rate()),
            |ratio| format!("({:.2} x)", ratio.others),
        );
        let clients = self.without_priorities.clients;
        writeln!(f, "{:20}{others}", format!("calls/s, {clients} others"))?;

        writeln!(f, "\nCalls of the urgent client by duration")?;
        let shares = self.acts().map(|seen| &seen.urgent.shares);
        for (at, label) in labels().enumerate() {
            let bars = shares.map(|all| bar(all, all.get(at).copied().unwrap_or(0), 18));
            let [plain, lane, real_time] = bars;
            writeln!(f, "{label} |{plain:19} |{lane:19} |{GOOD}{real_time}{GOOD:#}")?;
        }
        let (plain, lane, real_time) = ("plain", "lane", "lane, SCHED_FIFO");
        writeln!(f, "{:15}  {FAINT}{plain:19}  {lane:19}  {real_time}{FAINT:#}", "")?;

        let verdict = match self.lane_real_time.urgent.real_time {
            true => {
                "With a lane, the urgent client does not wait in the queue of the other clients, but its threads still \
                 share the CPU\nwith their threads. With SCHED_FIFO, priority 60, the threads of the client and of the \
                 lane run first."
            }
            false => {
                "With a lane, the urgent client does not wait in the queue of the other clients. In act 3 it had the \
                 same priority as\nthe others, because this user may not use SCHED_FIFO. With the privilege (root, \
                 CAP_SYS_NICE or `ulimit -r 60`), its\ntimes are even shorter, and bounded."
            }
        };
        writeln!(f, "\n{verdict}")?;
        writeln!(
            f,
            "\nNext: `oxorb demo sched` overloads a server under four scheduling strategies, `oxorb demo events` an \
             event\n\
             channel, `oxorb demo avionics` components; docs/realtime.md shows lanes in your own program."
        )
    }
}
