//! Results of one run, as text and as JSON.

use std::fmt;

use serde::Serialize;

use super::deployment::Deployment;
use super::effort::{self, Step};
use super::overhead::{self, Row};
use super::rates::Rates;
use crate::lanes::kept;
use crate::machine::Machine;
use crate::plot::Drawing;
use crate::verdict::Verdicts;

/// Results; `None` or empty for parts that were not run.
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

    /// Draws the rates achieved.
    pub(super) fn drawing(&self) -> Drawing {
        let title = format!("{}; {}", self.machine, self.placement);
        let points = self.rates.iter().flat_map(|rates| {
            rates.points.iter().map(|point| {
                let work = f64::from(point.repetitions) * rates.repetition / 1e3;
                (point.order, work, std::array::from_fn(|at| point.pairs[at].kept))
            })
        });
        kept(title, &points.collect::<Vec<_>>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.machine, self.placement)?;
        if !self.overhead.is_empty() {
            let what =
                "calls from receptacle to facet beside calls of a plain object, microseconds";
            writeln!(f, "\n{what}")?;
            overhead::show(&self.overhead, f)?;
        }
        if let Some(rates) = &self.rates {
            write!(f, "\n{rates}")?;
        }
        if !self.effort.is_empty() {
            write!(f, "\nwhat is written for real time\n{}", effort::table(&self.effort))?;
        }
        if let Some(deployment) = &self.deployment {
            write!(f, "\n{deployment}")?;
        }
        Ok(())
    }
}
