//! Everything one run found out, for reading and for programs.

use std::fmt;

use serde::Serialize;

use super::deployment::Deployment;
use super::effort::Step;
use super::overhead::Row;
use super::rates::Rates;
use crate::lanes::plot::{Kept, draw_kept};
use crate::machine::Machine;
use crate::verdict::Verdicts;

/// Results; `None` or empty where it was not asked for.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) overhead: Vec<Row>,
    pub(super) rates: Option<Rates>,
    pub(super) effort: Vec<Step>,
    pub(super) deployment: Option<Deployment>,
}

impl Report {
    pub(super) fn verdicts(&self) -> Verdicts {
        let calls = self.overhead.iter().flat_map(Row::verdicts);
        let rates = self.rates.iter().flat_map(Rates::verdicts);
        Verdicts::new(calls.chain(rates))
    }

    /// Draws the rates that were kept.
    pub(super) fn draw(&self, file: &std::path::Path) -> crate::Result {
        let rates = self.rates.as_ref().ok_or("only rates are drawn, and none was measured")?;
        let kept = |point: &super::rates::Point| Kept {
            order: point.order,
            work: f64::from(point.repetitions) * rates.repetition / 1000.0,
            rates: std::array::from_fn(|at| point.pairs[at].kept),
        };
        let points: Vec<Kept> = rates.points.iter().map(kept).collect();
        let title = format!("{}; {}", self.machine, self.placement);
        draw_kept(&points, &title, file)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "{}", self.placement)?;
        if !self.overhead.is_empty() {
            writeln!(
                f,
                "\ncalls from receptacle to facet beside calls of a plain object, microseconds\n  {:7}{:>5}  {:10}{:>12}{:>12}{:>12}{:>12}{:>10}{:>10}{:>8}",
                "", "octets", "", "p50", "p99", "p99.9", "max", "mean", "std dev", "allocs"
            )?;
        }
        self.overhead.iter().try_for_each(|row| row.fmt(f))?;
        if let Some(rates) = &self.rates {
            write!(f, "\n{rates}")?;
        }
        if !self.effort.is_empty() {
            writeln!(
                f,
                "\nwhat is written for real time     {:>17}   {:>17}\n{:36}{:>6}{:>11}   {:>6}{:>11}",
                "code", "documents", "", "files", "lines", "files", "lines"
            )?;
        }
        self.effort.iter().try_for_each(|step| step.fmt(f))?;
        if let Some(deployment) = &self.deployment {
            write!(f, "\n{deployment}")?;
        }
        Ok(())
    }
}
