//! Client processes of the demo: the urgent client, and all others.

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use oxorb::Orb;
use oxorb::incident::Incident;
use oxorb::rt::Priority;

use super::interface::NavigatorRef;
use super::{URGENT, with_lane};
use oxorb_terminal::orb::with_private_connections;
use oxorb_terminal::output::{Done, print_line};
use oxorb_terminal::statistics::{Latencies, Percentiles};

/// Role of a client process.
#[derive(Subcommand)]
pub enum Client {
    /// Client that gets the position at a fixed rate
    Urgent(Urgent),
    /// Many clients that request route planning without a pause, until standard input is closed
    Busy(Busy),
}

#[derive(Args)]
pub struct Urgent {
    /// Call at a priority, over a private connection
    #[arg(long)]
    lane: bool,
    /// Give the priority to the system's scheduler
    #[arg(long, requires = "lane")]
    real_time: bool,
    /// Time to run
    #[arg(long)]
    seconds: u32,
    /// Reference of the server
    reference: String,
}

#[derive(Args)]
pub struct Busy {
    /// Number of clients, each with a thread
    #[arg(long)]
    clients: u32,
    /// Processor time that the server uses for planning in each call, in microseconds
    #[arg(long)]
    work: u32,
    /// Reference of the server
    reference: String,
}

/// Report of the urgent client: a line of JSON from time to time, and one at the end.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct UrgentTold {
    pub seconds: f64,
    pub latency: Percentiles,
    /// Number of calls by duration: at most each of [`BOUNDS`], and longer than all of them.
    pub shares: Vec<u64>,
    /// Number of calls that were due while the previous one still ran, and so were not made.
    pub missed: u64,
    /// Whether the system's scheduler has the priority.
    pub real_time: bool,
    pub done: bool,
    pub error: Option<String>,
}

/// Combined report of all other clients.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct BusyTold {
    pub seconds: f64,
    pub calls: u64,
    pub done: bool,
    pub error: Option<String>,
}

impl BusyTold {
    /// Returns the calls per second of all clients.
    pub(crate) fn rate(&self) -> f64 {
        match self.seconds {
            seconds if seconds > 0.0 => self.calls as f64 / seconds,
            _ => 0.0,
        }
    }
}

/// Period of the urgent client: 50 calls per second.
pub(crate) const PERIOD: Duration = Duration::from_millis(20);

/// Upper bounds of call durations, in nanoseconds.
pub(crate) const BOUNDS: [u64; 9] =
    [50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000];

/// Time between reports of a client.
const INTERVAL: Duration = Duration::from_millis(200);

/// Number of calls that are not counted: connecting, warm-up.
const WARM_UP: u32 = 10;

/// Runs a client process.
pub(crate) fn run(client: Client) -> Done {
    match client {
        Client::Urgent(args) => {
            let mut told = UrgentTold::default();
            let outcome = call_at_a_rate(&args, &mut told);
            told.done = true;
            told.error = outcome.err();
            print_line(&told)
        }
        Client::Busy(args) => {
            let mut told = BusyTold::default();
            let outcome = call_without_pause(&args, &mut told);
            told.done = true;
            told.error = outcome.err();
            print_line(&told)
        }
    }
}

/// Result whose error is a sentence for the person at the terminal.
type Outcome<T = ()> = Result<T, String>;

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn call_at_a_rate(args: &Urgent, told: &mut UrgentTold) -> Outcome {
    let builder = match args.lane {
        true => with_lane(Orb::builder(), args.real_time),
        false => Orb::builder(),
    };
    let orb = with_private_connections(builder).build().map_err(text)?;
    let navigator: NavigatorRef = orb.resolve(&args.reference).map_err(text)?;
    if args.lane {
        let urgent = Priority::new(URGENT).map_err(text)?;
        orb.set_thread_priority(urgent).map_err(text)?;
        let refused = orb.connection_statistics().count(Incident::NoRealTimePriority);
        told.real_time = args.real_time && refused == 0;
    }
    for _ in 0..WARM_UP {
        navigator.current_position().map_err(text)?;
    }
    let mut latencies = Latencies::new();
    let start = Instant::now();
    let end = start + Duration::from_secs(args.seconds.into());
    let (mut due, mut tell) = (start, start + INTERVAL);
    loop {
        let before = Instant::now();
        navigator.current_position().map_err(text)?;
        let after = Instant::now();
        latencies.record(after - before);
        due += PERIOD;
        while due < after {
            told.missed += 1;
            due += PERIOD;
        }
        if after >= tell || due >= end {
            told.seconds = (after - start).as_secs_f64();
            told.latency = latencies.percentiles();
            told.shares = latencies.shares(&BOUNDS);
            if due >= end {
                return Ok(());
            }
            print_line(told).map_err(|_| "the receiver no longer exists".to_owned())?;
            tell = after + INTERVAL;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn call_without_pause(args: &Busy, told: &mut BusyTold) -> Outcome {
    let orb = with_private_connections(Orb::builder()).build().map_err(text)?;
    let navigator: NavigatorRef = orb.resolve(&args.reference).map_err(text)?;
    let (calls, ending) = (AtomicU64::new(0), AtomicBool::new(false));
    let client = || -> Outcome {
        while !ending.load(Ordering::Relaxed) {
            navigator.plan(args.work).map_err(text)?;
            calls.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..args.clients).map(|_| scope.spawn(client)).collect();
        let listener = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
        let start = Instant::now();
        while !listener.is_finished() && !clients.iter().any(|client| client.is_finished()) {
            std::thread::sleep(INTERVAL);
            told.calls = calls.load(Ordering::Relaxed);
            told.seconds = start.elapsed().as_secs_f64();
            if print_line(told).is_err() {
                break;
            }
        }
        ending.store(true, Ordering::Relaxed);
        // All threads are joined before the first error is reported.
        let ended: Vec<Outcome> = clients
            .into_iter()
            .map(|client| client.join().expect("clients do not panic"))
            .collect();
        ended.into_iter().collect()
    })
}
