//! `oxbench queues` (E9): cost of putting a request into a dispatching queue and taking it out.
//!
//! The queues are STATIC, DEADLINE and LAXITY, as a sorted list and as a heap, with 1 to 100,000 requests. There are
//! two methods. As in paper 3 (5.2), an empty queue is filled in random order and emptied. In the steady state, one
//! request is put in and one taken out while others wait. The random order is the same for all queues.

use std::fmt;
use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use oxorb_sched::Dispatching;
use oxorb_sched::queue::{DispatchQueue, Heap, List, Missed, Store, Timing};
use serde::Serialize;

use crate::Result;
use crate::machine::Machine;
use crate::output::Output;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Options of `oxbench queues`.
#[derive(Args)]
pub(crate) struct Options {
    /// Maximum number of requests in a queue
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    most: u32,

    /// Number of rounds of each point; the best one counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

const SIZES: [u32; 11] = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
const KINDS: [(Dispatching, &str); 3] = [
    (Dispatching::Static, "static"),
    (Dispatching::Deadline, "deadline"),
    (Dispatching::Laxity, "laxity"),
];

/// Longest list to fill in random order; longer lists take minutes and add no insight: only their steady state is
/// measured.
const LONG_LIST: u32 = 10_000;

/// Number of requests put in and taken out in the steady state before the sequence repeats.
const TURNS: usize = 500;

/// Results of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    pub(crate) series: Vec<Series>,
    /// Number of requests from which on the heap is always faster than the list in the steady state, for each kind.
    pub(crate) crossover: Vec<(&'static str, Option<u32>)>,
}

/// Results of one kind of queue.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) kind: &'static str,
    pub(crate) store: &'static str,
    pub(crate) points: Vec<Point>,
}

/// Results of one size: nanoseconds per request, in the best round.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Point {
    pub(crate) requests: u32,
    /// Time to put one in while an empty queue is filled; not for long lists.
    pub(crate) enqueue: Option<f64>,
    /// Time to take one out while the queue is emptied; not for long lists.
    pub(crate) dequeue: Option<f64>,
    /// Time to put one in and take one out while others wait.
    pub(crate) steady: f64,
}

/// Measured quantity: its short name, its sentence, and its field in a point.
type Way = (&'static str, &'static str, fn(&Point) -> Option<f64>);
const WAYS: [Way; 3] = [
    ("enqueue", "enqueue, filling an empty queue in random order", |point| point.enqueue),
    ("dequeue", "dequeue, emptying it", |point| point.dequeue),
    ("one in, one out", "one in and one out while so many wait", |point| Some(point.steady)),
];

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let mut series = Vec::new();
    for (dispatching, kind) in KINDS {
        series.push(measure::<List<u64>>(options, dispatching, kind, "list"));
        series.push(measure::<Heap<u64>>(options, dispatching, kind, "heap"));
    }
    let crossover = series
        .chunks(2)
        .map(|pair| (pair[0].kind, crossover(&pair[0].points, &pair[1].points)))
        .collect();
    let report = Report { machine: Machine::this(), rounds: options.rounds, series, crossover };
    options.output.show(&report, Report::drawing)
}

fn measure<S: Store<Item = u64>>(
    options: &Options,
    dispatching: Dispatching,
    kind: &'static str,
    store: &'static str,
) -> Series {
    let sizes = SIZES.into_iter().filter(|&size| size <= options.most);
    let points = sizes.map(|requests| {
        eprintln!("{kind} {store}, {requests} requests ...");
        let filled = store == "heap" || requests <= LONG_LIST;
        let all: Vec<Point> =
            (0..options.rounds).map(|_| round::<S>(dispatching, requests, filled)).collect();
        let best = |of: fn(&Point) -> Option<f64>| all.iter().filter_map(of).reduce(f64::min);
        Point {
            requests,
            enqueue: best(|point| point.enqueue),
            dequeue: best(|point| point.dequeue),
            steady: best(|point| Some(point.steady)).unwrap_or(f64::INFINITY),
        }
    });
    Series { kind, store, points: points.collect() }
}

/// Runs one round: fills and empties the queue as often as timing requires, then measures the steady state.
fn round<S: Store<Item = u64>>(dispatching: Dispatching, requests: u32, filled: bool) -> Point {
    let many = requests as usize;
    let mut timings = timings(many + TURNS);
    let (first, then) = timings.split_at_mut(many);
    let mut queue: DispatchQueue<S> =
        DispatchQueue::with_capacity(dispatching, Missed::Run, many + 1);
    let (enqueue, dequeue) = match filled {
        true => fill_and_empty(&mut queue, first),
        false => (None, None),
    };
    // Fills the queue in its order, in which a list needs no search.
    first.sort_by_key(|timing| match dispatching {
        Dispatching::Static => u64::from(timing.order),
        Dispatching::Deadline => timing.deadline,
        Dispatching::Laxity => timing.deadline - timing.execution,
    });
    fill(&mut queue, first);
    let turns = (2_000_000 / many).clamp(TURNS, 50_000);
    let begin = Instant::now();
    for turn in 0..turns {
        let kept = queue.enqueue(turn as u64, then[turn % TURNS]);
        assert!(kept.is_ok(), "the queue has room");
        black_box(queue.dequeue(0));
    }
    Point { requests, enqueue, dequeue, steady: begin.elapsed().as_nanos() as f64 / turns as f64 }
}

fn fill<S: Store<Item = u64>>(queue: &mut DispatchQueue<S>, timings: &[Timing]) {
    for (request, timing) in timings.iter().enumerate() {
        let kept = queue.enqueue(request as u64, *timing);
        assert!(kept.is_ok(), "the queue has room");
    }
}

/// Returns the nanoseconds per request put in, and per request taken out.
fn fill_and_empty<S: Store<Item = u64>>(
    queue: &mut DispatchQueue<S>,
    timings: &[Timing],
) -> (Option<f64>, Option<f64>) {
    let laps = (10_000 / timings.len()).max(1);
    let (mut enqueue, mut dequeue) = (0, 0);
    for _ in 0..laps {
        let begin = Instant::now();
        fill(queue, timings);
        let filled = Instant::now();
        while let Some(taken) = queue.dequeue(0) {
            black_box(taken);
        }
        enqueue += (filled - begin).as_nanos();
        dequeue += filled.elapsed().as_nanos();
    }
    let each = |nanos: u128| Some(nanos as f64 / (laps * timings.len()) as f64);
    (each(enqueue), each(dequeue))
}

/// Returns random timings, equal in every run and for every queue.
fn timings(many: usize) -> Vec<Timing> {
    // xorshift64*.
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    };
    let timing = |_| Timing {
        deadline: 1_000_000_000 + next() % 1_000_000_000,
        execution: next() % 10_000_000,
        order: next() as u32,
    };
    (0..many).map(timing).collect()
}

/// Returns the size from which on the heap is always faster than the list.
fn crossover(list: &[Point], heap: &[Point]) -> Option<u32> {
    let pairs = || list.iter().zip(heap);
    let last_lost = pairs().rposition(|(list, heap)| heap.steady >= list.steady);
    let from = last_lost.map_or(0, |last| last + 1);
    heap.get(from).map(|point| point.requests)
}

impl Report {
    /// Draws nanoseconds over the number of requests: a panel for each method.
    fn drawing(&self) -> Drawing {
        let panel = |(caption, _, of): Way| {
            let lines = self.series.iter().map(|Series { kind, store, points }| {
                let points = points.iter();
                let line = points.filter_map(move |it| Some((f64::from(it.requests), of(it)?)));
                (format!("{kind} {store}"), line)
            });
            Panel::lines(caption, Axis::log("requests"), Axis::log("nanoseconds"), lines)
        };
        let panels = WAYS.into_iter().map(panel).collect();
        Drawing { title: self.machine.to_string(), across: 2, panels }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "nanoseconds a request, best of {} rounds", self.rounds)?;
        for (_, way, of) in WAYS {
            let sizes = self.series.iter().take(1).flat_map(|series| &series.points);
            let table = Table::of(&self.series)
                .left(["requests", ""], |it| [it.kind, it.store])
                .fixed(sizes.map(|it| it.requests), 1, |it| it.points.iter().map(of));
            write!(f, "\n{way}\n{table}")?;
        }
        writeln!(f)?;
        for (kind, from) in &self.crossover {
            match from {
                Some(from) => writeln!(f, "{kind}: the heap is faster from {from} requests on")?,
                None => writeln!(f, "{kind}: the list is faster up to the most requests")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossover_is_where_the_heap_stays_ahead() {
        let points = |steady: [f64; 4]| -> Vec<Point> {
            let points = steady.into_iter().zip(SIZES);
            points
                .map(|(steady, requests)| Point { requests, enqueue: None, dequeue: None, steady })
                .collect()
        };
        let heap = points([5.0, 6.0, 7.0, 8.0]);
        assert_eq!(crossover(&points([1.0, 7.0, 6.0, 9.0]), &heap), Some(30));
        assert_eq!(crossover(&points([9.0; 4]), &heap), Some(1));
        assert_eq!(crossover(&points([1.0; 4]), &heap), None);
    }

    #[test]
    fn every_queue_is_measured() {
        for (dispatching, _) in KINDS {
            for point in [
                round::<List<u64>>(dispatching, 30, true),
                round::<Heap<u64>>(dispatching, 30, true),
            ] {
                assert!(
                    point.enqueue > Some(0.0) && point.dequeue > Some(0.0) && point.steady > 0.0
                );
            }
        }
    }
}
