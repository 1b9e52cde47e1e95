//! Report of the experiments, as text and as JSON, with the verdict on each bound.

use std::fmt;

use serde::Serialize;

use crate::bootstrap::Ratio;
use crate::machine::Machine;
use crate::table::Table;
use crate::verdict::{Verdicts, at_least, at_most};

/// Results of one run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) admission: Option<Admission>,
    pub(super) storms: Vec<Storm>,
    pub(super) late: Vec<Late>,
    pub(super) proof: Option<Proof>,
}

/// Result of (a).
#[derive(Debug, Serialize)]
pub(super) struct Admission {
    pub(super) operations: usize,
    pub(super) guaranteed: usize,
    pub(super) refused: usize,
    /// Number of verdicts that equal those of a full analysis.
    pub(super) equal: usize,
    /// Time of one admission: quantile and nanoseconds.
    pub(super) curve: Vec<(f64, u64)>,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) max_ns: u64,
    /// Time of a full analysis: quantile and nanoseconds.
    pub(super) whole_curve: Vec<(f64, u64)>,
    pub(super) whole_p50_ns: u64,
    pub(super) utilization_ppb: u64,
}

/// Result of (b): round trips of the urgent client.
#[derive(Debug, Default, Serialize)]
pub(super) struct Storm {
    pub(super) name: &'static str,
    /// Name of the setup with the urgent client alone that it is compared with.
    pub(super) baseline: &'static str,
    pub(super) calls: u64,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) p999_ns: u64,
    pub(super) max_ns: u64,
    /// Number of requests of the flooding client that were run.
    pub(super) flooded: u64,
    pub(super) demoted: u64,
    pub(super) overruns: u64,
    /// Quantile and nanoseconds.
    pub(super) curve: Vec<(f64, u64)>,
}

/// Result of (d): urgent calls and their bound.
#[derive(Debug, Serialize)]
pub(super) struct Proof {
    pub(super) calls: u64,
    pub(super) period_ns: u64,
    /// Processor time of a call, as assumed by the analysis.
    pub(super) worst_case_ns: u64,
    /// Processor time of a check of the budget watcher, as assumed by the analysis.
    pub(super) watcher_ns: u64,
    /// Bound of the analysis; `None` if unbounded.
    pub(super) bound_ns: Option<u64>,
    /// Number of calls that exceeded the bound, and of those that stalls of the machine explain.
    pub(super) beyond: u64,
    pub(super) explained: u64,
    /// Number of stalls of the machine.
    pub(super) stalls: u64,
    /// Longest call without a stall of the machine.
    pub(super) undisturbed_max_ns: u64,
    /// Latency of the calls: quantile and nanoseconds.
    pub(super) curve: Vec<(f64, u64)>,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) p999_ns: u64,
    pub(super) max_ns: u64,
    /// Releases of a thread that only computes; how many of them ended after the bound, and the longest one.
    pub(super) without_orb: u64,
    pub(super) without_orb_beyond: u64,
    /// Response times of that thread: quantile and nanoseconds.
    pub(super) without_orb_curve: Vec<(f64, u64)>,
    pub(super) without_orb_max_ns: u64,
}

/// Result of (c): one service under one policy.
#[derive(Debug, Serialize)]
pub(super) struct Late {
    pub(super) service: &'static str,
    pub(super) policy: &'static str,
    pub(super) seconds: f64,
    pub(super) clients: Vec<Client>,
}

/// Verdicts of the admission.
const VERDICTS: [&str; 3] = ["guaranteed", "best effort", "refused"];

/// Outcome of one client.
#[derive(Debug, Default, Serialize)]
pub(super) struct Client {
    pub(super) verdict: &'static str,
    pub(super) served: u64,
    /// Number of requests that were answered with TRANSIENT.
    pub(super) refused: u64,
    /// Number of frames that arrived after the next one was due.
    pub(super) late: u64,
    /// Number of frames for which its share of the remaining time suffices; 0 if it has a guarantee.
    pub(super) paid: f64,
}

impl Report {
    fn storm(&self, name: &str) -> Option<&Storm> {
        self.storms.iter().find(|storm| storm.name == name)
    }

    /// Returns the urgent client's p99 divided by its p99 without load.
    fn by_alone(&self, name: &str) -> Option<Ratio> {
        let storm = self.storm(name)?;
        let alone = self.storm(storm.baseline)?.p99_ns.max(1);
        Some(Ratio::exactly(storm.p99_ns as f64 / alone as f64))
    }

    /// Returns the number of admissions whose verdict is not that of a full analysis; `None` if there were none.
    pub(super) fn wrong_verdicts(&self) -> Option<usize> {
        let Admission { operations, equal, .. } = self.admission.as_ref()?;
        Some(operations - equal)
    }

    /// Returns the number of calls that exceeded a proved bound and that no stall of the machine explains; `None` if no
    /// bound was proved.
    pub(super) fn unexplained(&self) -> Option<u64> {
        let proof = self.proof.as_ref().filter(|proof| proof.bound_ns.is_some())?;
        Some(proof.beyond.saturating_sub(proof.explained))
    }

    fn late(&self, service: &str, policy: &str) -> Option<&Late> {
        let mut late = self.late.iter();
        late.find(|one| one.service == service && one.policy == policy)
    }
}

impl Late {
    pub(super) fn with(&self, verdict: &str) -> impl Iterator<Item = &Client> {
        let clients = self.clients.iter();
        clients.filter(move |client| client.verdict == verdict)
    }

    /// Returns the share of frames in time among the frames of all admitted clients.
    fn in_time(&self) -> f64 {
        in_time(self.clients.iter())
    }

    /// Returns the share of timely frames of the clients with this answer of the admission.
    pub(super) fn in_time_of(&self, verdict: &str) -> f64 {
        in_time(self.with(verdict))
    }

    /// Returns the timely frames of clients that share the remaining time, divided by those that their shares cover.
    fn by_share(&self) -> Option<Ratio> {
        let late = || self.with("best effort");
        let good: u64 = late().map(Client::good).sum();
        let paid: f64 = late().map(|it| it.paid).sum();
        (paid > 0.0).then(|| Ratio::exactly(good as f64 / paid))
    }

    /// Returns the requests of the client served least divided by those of the client served most.
    fn evenness(&self) -> f64 {
        let served = || self.clients.iter().map(|client| client.served);
        served().min().unwrap_or(0) as f64 / served().max().unwrap_or(0).max(1) as f64
    }
}

impl Proof {
    /// Returns the bound as a multiple of the longest call without a stall of the machine.
    fn by_longest(&self) -> Option<f64> {
        Some(self.bound_ns? as f64 / self.undisturbed_max_ns.max(1) as f64)
    }
}

impl Client {
    fn good(&self) -> u64 {
        self.served.saturating_sub(self.late)
    }
}

fn in_time<'c>(clients: impl Iterator<Item = &'c Client>) -> f64 {
    let count =
        |(all, good): (u64, u64), it: &Client| (all + it.served + it.refused, good + it.good());
    let (all, good) = clients.fold((0, 0), count);
    good as f64 / all.max(1) as f64
}

pub(super) fn verdicts(report: &Report) -> Verdicts {
    let equal = |it: &Admission| Ratio::exactly(it.equal as f64 / it.operations.max(1) as f64);
    let video = report.late("video", "refuse").map(|late| Ratio::exactly(late.in_time()));
    let shared = report.late("video", "share");
    let quotes = report.late("quotes", "share").map(|late| Ratio::exactly(late.evenness()));
    Verdicts::new([
        at_least(
            "(a) verdicts that are those of a whole analysis",
            report.admission.as_ref().map(equal),
            1.0,
        ),
        at_most(
            "(b) urgent p99 with budgets, by that of alone",
            report.by_alone("with budgets"),
            1.5,
        ),
        at_most(
            "(b) urgent p99 with the flood paused, by that of alone",
            report.by_alone("flood paused"),
            1.5,
        ),
        at_least("(c) frames of admitted films in time, late comers refused", video, 0.95),
        at_least("(c) least by most quotations of a client, shared equally", quotes, 0.7),
        at_least(
            "(c) frames of admitted films in time, late comers share",
            shared.map(|late| Ratio::exactly(late.in_time_of("guaranteed"))),
            0.95,
        ),
        at_least(
            "(c) frames of late comers in time, by those that their shares pay for",
            shared.and_then(Late::by_share),
            0.9,
        ),
        at_most(
            "(d) urgent calls beyond the bound that was proved, without a stall of the machine",
            report.unexplained().map(|calls| Ratio::exactly(calls as f64)),
            0.0,
        ),
        at_most(
            "(d) the bound by the longest call without a stall of the machine",
            report.proof.as_ref().and_then(Proof::by_longest).map(Ratio::exactly),
            3.0,
        ),
    ])
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        if let Some(admission) = &self.admission {
            write!(f, "\n{admission}")?;
        }
        let storms = Table::of(&self.storms)
            .left(["(b) urgent client"], |it| [it.name])
            .micros(["p50 us", "p99 us", "p99.9 us", "max us"], 1, |it| {
                [it.p50_ns, it.p99_ns, it.p999_ns, it.max_ns]
            })
            .fixed(["by alone"], 2, |it| [self.by_alone(it.name).map(|ratio| ratio.seen)])
            .right(["flooded", "demoted", "overruns"], |it| [it.flooded, it.demoted, it.overruns]);
        let late = Table::of(&self.late)
            .left(["(c) service", "late comers"], |it| [it.service, it.policy])
            .right(VERDICTS, |it| VERDICTS.map(|verdict| it.with(verdict).count()))
            .percent(["in time"], 1, |it| [it.in_time()])
            .fixed(["evenness"], 2, |it| [it.evenness()])
            .percent(["guaranteed in time", "best effort in time"], 1, |it| {
                ["guaranteed", "best effort"].map(|verdict| it.in_time_of(verdict))
            });
        if !storms.is_empty() {
            write!(f, "\n{storms}")?;
        }
        if !late.is_empty() {
            write!(f, "\n{late}")?;
        }
        if let Some(proof) = &self.proof {
            write!(f, "\n{proof}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "(a) {} operations admitted one by one: {} guaranteed ({:.1} % of the processor), {} refused; {} of {} \
             verdicts as by a whole analysis\n    each {:.0} us (p50), {:.0} us (p99), {:.0} us (max); a whole \
             analysis {:.0} us (p50)",
            self.operations,
            self.guaranteed,
            self.utilization_ppb as f64 / 1e7,
            self.refused,
            self.equal,
            self.operations,
            us(self.p50_ns),
            us(self.p99_ns),
            us(self.max_ns),
            us(self.whole_p50_ns),
        )
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "(d) {} urgent calls, one each {:.0} us: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1} us",
            self.calls,
            us(self.period_ns),
            us(self.p50_ns),
            us(self.p99_ns),
            us(self.p999_ns),
            us(self.max_ns),
        )?;
        writeln!(
            f,
            "    {} stalls of the machine; longest call without one: {:.1} us",
            self.stalls,
            us(self.undisturbed_max_ns),
        )?;
        match (self.bound_ns, self.by_longest()) {
            (Some(bound), Some(ratio)) => writeln!(
                f,
                "    bound {:.1} us, {ratio:.2} times that call; {} calls beyond it, {} of them explained by stalls",
                us(bound),
                self.beyond,
                self.explained,
            )?,
            _ => writeln!(f, "    no bound is proved: the worst cases do not fit into the period")?,
        }
        writeln!(
            f,
            "    worst case of a call {:.1} us, of a look of the watching thread {:.1} us\n    without an ORB: {} of \
             {} releases beyond the bound, max {:.1} us",
            us(self.worst_case_ns),
            us(self.watcher_ns),
            self.without_orb_beyond,
            self.without_orb,
            us(self.without_orb_max_ns),
        )
    }
}

pub(super) fn us(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
