//! Results of `oxbench events`, and verdicts on the bounds.

use std::fmt;

use clap::ValueEnum as _;
use serde::Serialize;

use super::{Contender, Load, ONE, WINDOW};
use crate::Result;
use crate::bootstrap::Ratio;
use crate::load::KeptOut;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;
use crate::verdict::{Verdicts, at_least, at_most, below};

/// Results of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) placement: String,
    pub(crate) kept_out: KeptOut,
    pub(crate) rounds: u32,
    pub(crate) events: u64,
    /// Contenders whose programs are unavailable, and how to install them.
    pub(crate) left_out: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// Rounds of a contender under a load.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) contender: Contender,
    pub(crate) load: Load,
    pub(crate) rounds: Vec<Seen>,
}

/// Times of a round in nanoseconds, from a push to the last consumer.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Seen {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
    /// Events per second that reached all consumers.
    pub(crate) rate: u64,
}

impl Seen {
    pub(super) fn parse(answer: &str, events: u64) -> Result<Seen> {
        let numbers = answer.split(' ').map(str::parse);
        let numbers: Vec<u64> = numbers.collect::<std::result::Result<_, _>>()?;
        let &[p50, p99, p999, max, took] = numbers.as_slice() else {
            return Err(format!("a driver answered {answer:?}").into());
        };
        Ok(Seen { p50, p99, p999, max, rate: events * 1_000_000_000 / took.max(1) })
    }
}

impl Row {
    pub(super) fn new(contender: Contender, load: Load, rounds: Vec<Seen>) -> Row {
        Row { contender, load, rounds }
    }

    fn each(&self, of: impl Fn(&Seen) -> u64) -> Vec<u64> {
        self.rounds.iter().map(of).collect()
    }

    /// Returns the median of all rounds.
    pub(super) fn median(&self, of: impl Fn(&Seen) -> u64) -> u64 {
        let mut each = self.each(of);
        each.sort_unstable();
        each[each.len() / 2]
    }
}

impl Report {
    pub(super) fn loads(&self) -> Vec<Load> {
        let mut loads: Vec<Load> = Vec::new();
        for row in &self.rows {
            if !loads.contains(&row.load) {
                loads.push(row.load);
            }
        }
        loads
    }

    pub(super) fn row(&self, contender: Contender, load: Load) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.contender == contender && row.load == load)
    }

    /// Compares OxORB under a load with another row.
    fn ratio(
        &self,
        load: Load,
        (other, of): (Contender, Load),
        what: impl Fn(&Seen) -> u64,
    ) -> Option<Ratio> {
        let ours = self.row(Contender::OxOrb, load)?.each(&what);
        let theirs = self.row(other, of)?.each(&what);
        Some(Ratio::of(&ours, &theirs, 0.5))
    }

    pub(super) fn verdicts(&self) -> Verdicts {
        let (raw, omni, local) = (Contender::Raw, Contender::OmniEvents, Contender::Local);
        let p50 = |seen: &Seen| seen.p50;
        let small = Load { ..ONE };
        // Raw is a round trip: two of the one-way hops that the bound assumes.
        let mut verdicts: Vec<_> = [8, 1_024, 65_536]
            .map(|size| {
                let load = Load { size, ..ONE };
                let bound = format!(
                    "two hops of {size} octets by p50, in times of two raw hops (2.3 of one are 1.15 of two)"
                );
                at_most(bound, self.ratio(load, (raw, load), p50), 1.15)
            })
            .into();
        verdicts.extend([8, 1_024, 65_536].map(|size| {
            let load = Load { size, ..ONE };
            let apart = (Contender::RawApart, load);
            let bound = format!(
                "two hops of {size} octets by p50, in times of two raw hops whose receiver is a thread of its own"
            );
            at_most(bound, self.ratio(load, apart, p50), 1.15)
        }));
        let shared = self.loads().into_iter().filter(|load| load.idle == 0 && load.window == 1);
        for load in shared {
            let seen = self.ratio(load, (omni, load), p50);
            verdicts.push(below(format!("{load}: p50 to omniEvents'"), seen, 1.0));
        }
        let fan = Load { consumers: 100, window: WINDOW, ..ONE };
        let rate = self.ratio(fan, (omni, fan), |seen| seen.rate);
        verdicts.push(at_least("events a second to 100 consumers, to omniEvents'", rate, 3.0));
        for idle in [1, 10, 1_000] {
            let seen = self.ratio(Load { idle, ..ONE }, (Contender::OxOrb, small), p50);
            let bound = format!("p50 beside {idle} filters that do not match, to none");
            verdicts.push(at_most(bound, seen, 1.05));
        }
        for consumers in [1, 10, 100, 1_000] {
            let load = Load { consumers, ..ONE };
            let each = self.row(local, load).map(|row| row.each(|seen| seen.p50));
            let bound = vec![1_000 * u64::from(consumers); each.as_ref().map_or(1, Vec::len)];
            let seen = each.map(|each| Ratio::of(&each, &bound, 0.5));
            verdicts.push(below(
                format!("p50 to {consumers} in the supplier's process, to 1 us for each"),
                seen,
                1.0,
            ));
        }
        Verdicts::new(verdicts)
    }
}

impl Report {
    /// Draws the time to the last consumer, over the number of consumers and over the octets of the payload.
    pub(super) fn drawing(&self) -> Drawing {
        let panel = |caption, name, along: fn(&Load) -> u32, of: fn(u32) -> Load| {
            let lines = Contender::value_variants().iter().map(|&contender| {
                let rows = self.rows.iter().filter(move |row| row.contender == contender);
                let rows = rows.filter(|row| row.load == of(along(&row.load)));
                let micros = |row: &Row| row.median(|seen| seen.p50).max(1) as f64 / 1e3;
                (contender, rows.map(move |row| (f64::from(along(&row.load)), micros(row))))
            });
            Panel::lines(caption, Axis::log(name), Axis::log("p50, microseconds"), lines)
        };
        let by_consumers = |consumers| Load { consumers, ..ONE };
        let by_size = |size| Load { size, ..ONE };
        let panels = vec![
            panel("8 octets, last consumer", "consumers", |load| load.consumers, by_consumers),
            panel("1 consumer", "octets", |load| load.size, by_size),
        ];
        Drawing { title: format!("{}; {}", self.machine, self.placement), across: 2, panels }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "{}; {}", self.placement, self.kept_out)?;
        writeln!(
            f,
            "{} rounds of up to {} events a row; medians of the rounds: us from a push to the last consumer",
            self.rounds, self.events
        )?;
        for one in &self.left_out {
            writeln!(f, "{one}")?;
        }
        for load in self.loads() {
            let times: [fn(&Seen) -> u64; 4] =
                [|seen| seen.p50, |seen| seen.p99, |seen| seen.p999, |seen| seen.max];
            let table = Table::of(self.rows.iter().filter(|row| row.load == load))
                .left([""], |row| [row.contender])
                .micros(["p50", "p99", "p99.9", "max"], 1, |row| times.map(|of| row.median(of)))
                .right(["events/s"], |row| [row.median(|seen| seen.rate)]);
            write!(f, "\n{load}\n{table}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rows: &[(Contender, Load, u64, u64)]) -> Report {
        let row = |&(contender, load, p50, rate): &(Contender, Load, u64, u64)| {
            let seen = Seen { p50, p99: p50, p999: p50, max: p50, rate };
            Row::new(contender, load, vec![seen; 3])
        };
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            kept_out: KeptOut { throttling: true, awake: vec![] },
            rounds: 3,
            events: 10,
            left_out: vec![],
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn each_bound_is_met_or_not() {
        let fan = Load { consumers: 100, window: WINDOW, ..ONE };
        let filters = Load { idle: 1_000, ..ONE };
        let rows = |p50, filtered, rate, local| {
            report(&[
                (Contender::Raw, ONE, 10_000, 1),
                (Contender::RawApart, ONE, 12_000, 1),
                (Contender::OmniEvents, ONE, 50_000, 1),
                (Contender::OxOrb, ONE, p50, 1),
                (Contender::Local, ONE, local, 1),
                (Contender::OxOrb, filters, filtered, 1),
                (Contender::OmniEvents, fan, 1, 1_000),
                (Contender::OxOrb, fan, 1, rate),
            ])
            .verdicts()
            .to_string()
        };
        let good = rows(11_000, 11_000, 3_000, 900);
        assert_eq!(good.matches("met ").count(), 6, "{good}");
        let bad = rows(51_000, 60_000, 2_900, 1_100);
        assert_eq!(bad.matches("NOT MET").count(), 6, "{bad}");
    }
}
