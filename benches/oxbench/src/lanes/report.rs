//! Rates that were kept, as text and as JSON.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum as _;
use serde::Serialize;

use super::{Order, RATES};
use crate::load::{KeptOut, Samples, Spread};
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Results of one run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) kept_out: KeptOut,
    pub(super) seconds: u64,
    pub(super) points: Vec<Point>,
}

/// Result of one order of priorities with one amount of work.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) order: Order,
    /// CPU time of a call, in us.
    pub(super) work: u32,
    pub(super) clients: Vec<Client>,
}

/// Result of one client.
#[derive(Debug, Serialize)]
pub(super) struct Client {
    /// Intended calls per second.
    pub(super) wanted: u32,
    /// Actual calls per second.
    pub(super) kept: f64,
    /// Times of the calls.
    pub(super) calls: Spread,
}

impl Point {
    /// Samples in the order of `RATES`.
    pub(super) fn new(order: Order, work: u32, samples: Vec<Samples>, time: Duration) -> Point {
        let clients = RATES.into_iter().zip(samples);
        let clients = clients.map(|(wanted, samples)| Client {
            wanted,
            kept: samples.len() as f64 / time.as_secs_f64(),
            calls: Spread::of(samples),
        });
        Point { order, work, clients: clients.collect() }
    }
}

/// Draws the kept rates over the work of a call, in milliseconds: a panel for each order, a line for each of `RATES`.
pub(crate) fn kept(title: String, points: &[(Order, f64, [f64; 3])]) -> Drawing {
    let of = |order| points.iter().filter(move |(it, ..)| *it == order);
    let panel = |order| {
        let lines = RATES.into_iter().enumerate().map(|(at, rate)| {
            (format!("{rate} Hz"), of(order).map(move |(_, work, kept)| (*work, kept[at])))
        });
        let work = Axis::linear("work of a call, milliseconds");
        let rate = Axis::linear("calls a second").between(0.0, 85.0);
        Panel::lines(order.heading(), work, rate, lines)
    };
    let orders = Order::value_variants().iter().copied();
    let panels = orders.filter(|&order| of(order).next().is_some()).map(panel).collect();
    Drawing { title, across: 2, panels }
}

impl Report {
    pub(super) fn drawing(&self) -> Drawing {
        let points = self.points.iter().map(|Point { order, work, clients }| {
            let kept = std::array::from_fn(|at| clients[at].kept);
            (*order, f64::from(*work) / 1e3, kept)
        });
        let title = format!("{}; {}", self.machine, self.placement);
        kept(title, &points.collect::<Vec<_>>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{}; {} s a point; {}; calls a second",
            self.placement, self.seconds, self.kept_out
        )?;
        let asked = f64::from(RATES.iter().sum::<u32>()) / 1e6;
        for &order in Order::value_variants() {
            let points = self.points.iter().filter(|at| at.order == order);
            let table = Table::of(points)
                .right(["work (us)"], |it| [it.work])
                .percent(["asked of one CPU"], 0, |it| [f64::from(it.work) * asked])
                .fixed(RATES.map(|rate| format!("{rate} Hz")), 1, |it| {
                    it.clients.iter().map(|client| client.kept)
                });
            if !table.is_empty() {
                write!(f, "\n{}\n{table}", order.heading())?;
            }
        }
        Ok(())
    }
}
