//! Which rates were kept, for reading and for programs.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum as _;
use serde::Serialize;

use super::{Order, RATES};
use crate::load::{KeptOut, Samples, Spread};
use crate::machine::Machine;

/// Everything one run found out.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) placement: String,
    pub(super) kept_out: KeptOut,
    pub(super) seconds: u64,
    pub(super) points: Vec<Point>,
}

/// One order of priorities with one amount of work.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) order: Order,
    /// CPU time of a call, in us.
    pub(super) work: u32,
    pub(super) clients: Vec<Client>,
}

/// What one client came to.
#[derive(Debug, Serialize)]
pub(super) struct Client {
    /// Calls a second it wanted to make.
    pub(super) wanted: u32,
    /// Calls a second it made.
    pub(super) kept: f64,
    /// How long they took.
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{}; {} s a point; {}; calls a second",
            self.placement, self.seconds, self.kept_out
        )?;
        for &order in Order::value_variants() {
            let mut points = self.points.iter().filter(|at| at.order == order).peekable();
            if points.peek().is_none() {
                continue;
            }
            let heading = match order {
                Order::None => "no priorities",
                Order::ByRate => "lanes, the highest rate the most urgent",
                Order::AgainstRate => "lanes, the lowest rate the most urgent",
            };
            writeln!(
                f,
                "\n{heading}\n  work (us)    asked of one CPU     25 Hz     50 Hz     75 Hz"
            )?;
            for point in points {
                let asked = f64::from(point.work) * f64::from(RATES.iter().sum::<u32>()) / 1e6;
                write!(f, "  {:>9}{:>19.0} %", point.work, asked * 100.0)?;
                for client in &point.clients {
                    write!(f, "{:>10.1}", client.kept)?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
