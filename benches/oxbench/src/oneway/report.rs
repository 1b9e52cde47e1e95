//! Results of a run, as text and as JSON.

use std::fmt;

use serde::Serialize;

use super::{Load, Mode};
use crate::bootstrap::Ratio;
use crate::load::KeptOut;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::{Table, or_dash, spread};
use crate::verdict::{Verdicts, at_least};

/// Results of one run.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) kept_out: KeptOut,
    pub(super) rounds: u32,
    /// Duration of each round.
    pub(super) milliseconds: u64,
    pub(super) rows: Vec<Row>,
}

/// Results of one contender under one load.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) load: Load,
    pub(super) mode: Mode,
    /// Oneways per second of each round, in ascending order.
    pub(super) rates: Vec<u64>,
    /// Median of the rates divided by that of omniORB.
    pub(super) to_omniorb: Option<Ratio>,
}

/// Minimum permitted ratio of the rate of plain oneways to that of omniORB.
const PLAIN: f64 = 1.5;

/// Minimum permitted rate of buffered small oneways of one caller, in millions per second.
const BUFFERED: f64 = 3.0;

impl Row {
    pub(super) fn new(mode: Mode, load: Load, mut rates: Vec<u64>) -> Row {
        rates.sort_unstable();
        Row { load, mode, rates, to_omniorb: None }
    }

    /// Compares with omniORB. `omniorb`: its rates, in ascending order.
    pub(super) fn compare(&mut self, omniorb: &[u64]) {
        if self.mode != Mode::OmniOrb {
            self.to_omniorb = Some(Ratio::of(&self.rates, omniorb, 0.5));
        }
    }

    /// Returns the median of the rounds' oneways per second.
    pub(super) fn rate(&self) -> u64 {
        let middle = self.rates.len().saturating_sub(1) / 2;
        self.rates.get(middle).copied().unwrap_or_default()
    }
}

impl Report {
    /// Returns the loads, in the order of measurement.
    pub(super) fn loads(&self) -> Vec<Load> {
        let mut loads: Vec<Load> = self.rows.iter().map(|row| row.load).collect();
        loads.dedup();
        loads
    }

    pub(super) fn verdicts(&self) -> Verdicts {
        let plain = self.loads().into_iter().map(|load| {
            let row = self.row(Mode::Plain, load);
            let ratio = row.and_then(|row| row.to_omniorb);
            at_least(format!("{load}: plain by those of omniORB"), ratio, PLAIN)
        });
        let small = |load: &Load| load.size == 8 && load.callers == 1;
        let buffered = self.loads().into_iter().filter(small).map(|load| {
            let row = self.row(Mode::Buffered, load);
            let millions = row.map(|row| Ratio::exactly(row.rate() as f64 / 1e6));
            at_least(format!("{load}: buffered, millions a second"), millions, BUFFERED)
        });
        Verdicts::new(plain.chain(buffered))
    }

    fn row(&self, mode: Mode, load: Load) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.mode == mode && row.load == load)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { size, callers, .. } = self;
        let plural = if *callers == 1 { "" } else { "s" };
        write!(f, "{size} octets, {callers} caller{plural}")?;
        match self.before {
            0 => Ok(()),
            octets => write!(f, ", after a oneway of {octets} octets"),
        }
    }
}

impl Report {
    fn of(&self, load: Load) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.load == load)
    }

    /// Draws oneways per second: a panel for each load, a bar for each contender.
    pub(super) fn drawing(&self) -> Drawing {
        let panel = |load| {
            let bars = self.of(load).map(|row| (row.mode, [("", row.rate() as f64 / 1e6)]));
            Panel::bars(load, Axis::linear("million a second"), bars)
        };
        Drawing {
            title: format!("{}; {}", self.machine, self.placement),
            across: 2,
            panels: self.loads().into_iter().map(panel).collect(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "{}; {}", self.placement, self.kept_out)?;
        writeln!(
            f,
            "{} rounds of {} ms a row: thousand oneways a second, the median, and the lowest and the highest",
            self.rounds, self.milliseconds
        )?;
        for load in self.loads() {
            writeln!(f, "\n{load}")?;
            let table = Table::of(self.of(load))
                .left([""], |row| [row.mode])
                .right([""], |row| [row.rate() / 1000])
                .right([""], |row| [spread(&row.rates, 1000)])
                .left([""], |row| [or_dash(row.to_omniorb)]);
            write!(f, "{table}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { size: 8, callers: 1, before: 0 };

    fn report(plain: u64, buffered: u64) -> Report {
        let mut plain = Row::new(Mode::Plain, LOAD, vec![plain; 3]);
        plain.compare(&[1_000_000; 3]);
        let buffered = Row::new(Mode::Buffered, LOAD, vec![buffered; 3]);
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            kept_out: KeptOut { throttling: true, awake: vec![] },
            rounds: 3,
            milliseconds: 100,
            rows: vec![plain, buffered],
        }
    }

    #[test]
    fn each_bound_is_met_or_not() {
        let good = report(1_500_000, 3_000_000).verdicts().to_string();
        assert_eq!(good.matches("met ").count(), 2, "{good}");
        let bad = report(1_400_000, 2_900_000).verdicts().to_string();
        assert_eq!(bad.matches("NOT MET").count(), 2, "{bad}");
    }
}
