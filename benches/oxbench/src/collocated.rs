//! `oxbench collocated`: nanoseconds per call to an object of the caller's own ORB. The stub calls the servant
//! directly, from a thread of the application or from the object's lane; or a message is served in the calling thread,
//! or sent to the lane. `oxbench counts` counts the instructions of the first three routes.

use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use clap::{Args, ValueEnum};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::settings::Collocation;
use oxorb::{Orb, SystemException};
use serde::Serialize;

use crate::Result;
use crate::dispatch::dispatching::{Pair, PairRef};
use crate::format::Format;
use crate::machine::Machine;
use crate::table::Table;

/// Options of `oxbench collocated`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of calls of one round
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(i32).range(1..))]
    calls: i32,

    /// Number of rounds of each row; the best one counts
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Route of a collocated call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// Let the stub call the servant
    Direct,
    /// Let the stub call the servant, both on one lane
    WithinLane,
    /// Serve a message in the caller's thread
    Marshalled,
    /// Send a message from a thread of the application to a lane
    ThroughLane,
}

impl Way {
    /// Routes that use no other thread, so that their instructions can be counted.
    pub(crate) const COUNTED: [Way; 3] = [Way::Direct, Way::WithinLane, Way::Marshalled];
}

/// Results of one run.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    calls: i32,
    rounds: u32,
    rows: Vec<Row>,
}

/// Time of calls by one route.
#[derive(Debug, Serialize)]
struct Row {
    way: Way,
    /// Nanoseconds per call, in the best round.
    nanoseconds: f64,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let &Options { calls, rounds, format } = options;
    let rows = Way::value_variants().iter().map(|&way| {
        let bench = Bench::start(way)?;
        // A message to another thread takes about a hundred times as long as a direct call.
        let calls = match way {
            Way::ThroughLane => (calls / 100).max(1),
            _ => calls,
        };
        bench.call(calls)?; // warms up
        let round = || -> Result<f64> {
            let begin = Instant::now();
            bench.call(calls)?;
            Ok(begin.elapsed().as_secs_f64() * 1e9 / f64::from(calls))
        };
        let all = (0..rounds).map(|_| round()).collect::<Result<Vec<_>>>()?;
        bench.orb.shutdown(true)?;
        Ok(Row { way, nanoseconds: all.into_iter().fold(f64::INFINITY, f64::min) })
    });
    let rows = rows.collect::<Result<_>>()?;
    format.print(&Report { machine: Machine::this(), calls, rounds, rows })
}

/// Makes `calls` calls and ends, for counting.
pub(crate) fn play(way: Way, calls: i32) -> Result {
    let bench = Bench::start(way)?;
    bench.call(calls)?;
    bench.orb.shutdown(true)?;
    Ok(())
}

/// Servant that returns its argument.
struct Callee;

impl Pair for Callee {
    fn high(&self, value: i32) -> Result<i32, SystemException> {
        Ok(value)
    }

    fn low(&self) {}
}

/// Servant that makes the requested number of calls to another object.
#[derive(Default)]
struct Caller(OnceLock<PairRef>);

impl Pair for Caller {
    fn high(&self, calls: i32) -> Result<i32, SystemException> {
        let callee = self.0.get().expect("set before it is called");
        repeat(callee, calls)
    }

    fn low(&self) {}
}

fn repeat(callee: &PairRef, calls: i32) -> Result<i32, SystemException> {
    let mut sum = 0_i32;
    for call in 0..calls {
        sum = sum.wrapping_add(callee.high(call)?);
    }
    Ok(sum)
}

struct Bench {
    orb: Orb,
    /// Object to call, or the object that makes the calls in the lane.
    first: PairRef,
    on_lane: bool,
}

impl Bench {
    fn start(way: Way) -> Result<Bench> {
        let collocation = match way {
            Way::Marshalled => Collocation::Marshalled,
            Way::Direct | Way::WithinLane | Way::ThroughLane => Collocation::Direct,
        };
        let orb = Orb::builder()
            .listen("iiop://127.0.0.1:0")
            .configure(move |options| options.collocation = collocation)
            .build()?;
        let on_lane = way == Way::WithinLane;
        let first = match way {
            Way::Direct | Way::Marshalled => orb.root_poa().activate(Callee)?,
            Way::WithinLane | Way::ThroughLane => {
                let priority = Priority::new(10)?;
                let pool = Threadpool::with_lanes([ThreadpoolLane::new(priority, 1)]);
                let realtime = RtPolicies {
                    threadpool: Some(orb.create_threadpool(pool)?),
                    priority_model: Some(PriorityModelPolicy {
                        model: PriorityModel::ServerDeclared,
                        server_priority: priority.get(),
                    }),
                    ..RtPolicies::default()
                };
                let policies = Policies { realtime, ..Policies::default() };
                let poa = orb.root_poa().create_poa("lane", policies)?;
                let callee: PairRef = poa.activate(Callee)?;
                match way {
                    Way::ThroughLane => callee,
                    _ => poa.activate(Caller(OnceLock::from(callee)))?,
                }
            }
        };
        Ok(Bench { orb, first, on_lane })
    }

    fn call(&self, calls: i32) -> Result {
        match self.on_lane {
            true => self.first.high(calls)?,
            false => repeat(&self.first, calls)?,
        };
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "calls within the process, nanoseconds a call, best of {} rounds of {} calls",
            self.rounds, self.calls
        )?;
        Table::of(&self.rows).left([""], |it| [it.way]).fixed([""], 1, |it| [it.nanoseconds]).fmt(f)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Direct => "direct",
            Way::WithinLane => "direct, within a lane",
            Way::Marshalled => "marshalled, in the caller's thread",
            Way::ThroughLane => "through the lane",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_makes_its_calls() {
        for &way in Way::value_variants() {
            play(way, 10).unwrap();
        }
    }
}
