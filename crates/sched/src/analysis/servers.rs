//! Servers: a share of a processor for requests that come as they like, and what it makes of their response times.
//!
//! A server is a task with a capacity in each period. Other tasks see no more of it than a task of their own kind
//! ([`Server::task`]); requests that wait in it, first come first served, see its capacity come by piece by piece:
//!
//! | server | capacity | seen by others as | the k-th capacity is done, from the first request on, within |
//! |---|---|---|---|
//! | polling | lost when nothing waits at the beginning of a period | a periodic task | k T + R |
//! | deferrable | kept until the end of the period | a periodic task with jitter T - Q | (T - Q) + (k - 1) T + R |
//! | sporadic | comes back T after it could be used | a periodic task | (T - Q) + (k - 1) T + R |
//! | constant bandwidth | its deadline moves on by T for each Q that is used | a task in a queue by deadline | k T |
//!
//! with the capacity Q, the period T, and the response R of the server itself, which has to be proved.
//!
//! # Sporadic servers
//! The capacity of a [sporadic server](Kind::Sporadic) is kept in chunks. A chunk that is used was active from the moment at
//! which it was there and requests waited, without a pause; so much of it as is used comes back T after that moment. Each
//! nanosecond of capacity is then a sporadic task that takes 1 and comes at most once in T, is pending from its activation
//! until it is used, and all Q of them are together no more to others than a periodic task of (Q, T).
//!
//! Of requests, let the first come at 0, with nothing waiting before. The nanosecond of capacity that was used last was used
//! from -1 on at the latest, the one before it from -2 on, and so on: of the Q of them, the j-th is there again by T - Q + j - 1,
//! and for the k-th time (k - 1) T later, because it is active as soon as it is there. A processor that does nothing else uses
//! them one by one from T - Q on. Capacity never comes later than with a task that is released at T - Q, T after that, and so
//! on, and each job of such a task has ended after R, no later than T.
//!
//! That needs full preemption: elsewhere something less urgent may begin between two chunks. Chunks have no greatest number;
//! where chunks are put together to have fewer, they come back later than here. `SCHED_SPORADIC` of POSIX counts what comes back
//! from one activation of the thread, also for capacity that came later, and may give it back too early (Stanovich, Baker, Wang
//! and González Harbour, RTAS 2010); what is analysed is their correction.
//!
//! # Sources
//! Strosnider,
//! Lehoczky and Sha, "The Deferrable Server Algorithm" (IEEE Transactions on Computers 44(1), 1995); Sprunt, Sha and Lehoczky,
//! "Aperiodic Task Scheduling for Hard-Real-Time Systems" (Real-Time Systems 1(1), 1989); Stanovich, Baker, Wang and González
//! Harbour, "Defects of the POSIX Sporadic Server and How to Correct Them" (RTAS 2010); Bernat and Burns, "New
//! Results on Fixed Priority Aperiodic Servers" (RTSS 1999); Abeni and Buttazzo, "Integrating Multimedia Applications in Hard
//! Real-Time Systems" (RTSS 1998); Davis and Burns, "Hierarchical Fixed Priority Pre-emptive Scheduling" (RTSS 2005).

use std::fmt;
use std::str::FromStr;

use crate::task::{Task, overloads};
use crate::time::Nanos;

/// Kind of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Looks for requests at the beginning of each period.
    Polling,
    /// Keeps its capacity until the end of the period.
    Deferrable,
    /// Sporadic server: has capacity again, chunk by chunk, a period after it could be used.
    Sporadic,
    /// Constant bandwidth server, for queues by deadline.
    ConstantBandwidth,
}

impl Kind {
    /// All that are known.
    pub const ALL: [Kind; 4] =
        [Kind::Polling, Kind::Deferrable, Kind::Sporadic, Kind::ConstantBandwidth];

    /// Returns its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Polling => "polling",
            Kind::Deferrable => "deferrable",
            Kind::Sporadic => "sporadic",
            Kind::ConstantBandwidth => "constant-bandwidth",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("no server is of kind {text:?}; there are {names}")
        })
    }
}

/// Server of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// Rule by which its capacity comes and goes.
    pub kind: Kind,
    /// Processor time in each period; more than 0.
    pub capacity: Nanos,
    /// Time after which there is capacity again; at least the capacity.
    pub period: Nanos,
}

/// Requests of which arrivals are tried before giving up.
const MOST_ARRIVALS: usize = 100_000;

impl Server {
    /// Returns a task as other tasks see the server.
    pub fn task(&self, name: impl Into<String>) -> Task {
        Task { delay: self.delay(), ..Task::periodic(name, self.capacity, self.period) }
    }

    /// Returns by how much two capacities may be used closer to each other than a period. It delays others; the response of
    /// the server itself is analysed [without it](Task::delay).
    pub fn delay(&self) -> Nanos {
        match self.kind {
            Kind::Deferrable => self.period.saturating_sub(self.capacity),
            Kind::Polling | Kind::Sporadic | Kind::ConstantBandwidth => 0,
        }
    }

    /// Returns the longest time from the arrival of a request to its end, for all requests that wait in the server in the order
    /// in which they came. Counts from the nominal arrival where requests have jitter.
    ///
    /// `response` is the proved response of the server itself, from the beginning of its period to the end of its capacity;
    /// under constant bandwidth, any within the period. `None` where there is no bound: the requests need more than the server
    /// has, or it would take too long to find out.
    ///
    /// ```
    /// use oxorb_sched::Task;
    /// use oxorb_sched::analysis::servers::{Kind, Server};
    ///
    /// let requests = [Task::periodic("log", 3, 40)];
    /// let longest = |kind| Server { kind, capacity: 2, period: 10 }.longest(4, &requests);
    /// // Just missed, then 2 in the first period, and 1 of 2 in the second.
    /// assert_eq!(longest(Kind::Polling), Some(10 + 10 + 4 - 1));
    /// assert_eq!(longest(Kind::Deferrable), Some(8 + 10 + 4 - 1));
    /// assert_eq!(longest(Kind::Sporadic), Some(8 + 10 + 4 - 1));
    /// assert_eq!(longest(Kind::ConstantBandwidth), Some(20));
    /// ```
    pub fn longest(&self, response: Nanos, requests: &[Task]) -> Option<Nanos> {
        if response > self.period || self.capacity == 0 || self.capacity > self.period {
            return None;
        }
        // In units of the capacity: what a processor of its own would be to them.
        let scaled = requests.iter().map(|task| Task {
            wcet: u64::try_from(
                (u128::from(task.wcet) * u128::from(self.period)).div_ceil(self.capacity.into()),
            )
            .unwrap_or(Nanos::MAX),
            ..task.clone()
        });
        let scaled: Vec<Task> = scaled.collect();
        if requests.is_empty() || overloads(&scaled) {
            return requests.is_empty().then_some(0);
        }
        let work = |time: Nanos| -> u128 {
            let of = requests
                .iter()
                .map(|task| u128::from(task.released_by(time)) * u128::from(task.wcet));
            of.sum()
        };
        let late = requests.iter().map(|task| task.jitter).max().unwrap_or(0);
        let mut longest = 0;
        let mut arrival = 0;
        for _ in 0..MOST_ARRIVALS {
            let done = self.done(response, work(arrival))?;
            longest = longest.max(done.saturating_sub(u128::from(arrival)));
            let next = requests.iter().map(|task| next_arrival(task, arrival)).min()?;
            // Whatever came before is done by then: the next request begins anew.
            if done <= u128::from(next) {
                return u64::try_from(longest).ok()?.checked_add(late);
            }
            arrival = next;
        }
        None
    }

    /// Returns when so much work is done, from the moment on at which the first of it came.
    fn done(&self, response: Nanos, work: u128) -> Option<u128> {
        let (capacity, period) = (u128::from(self.capacity), u128::from(self.period));
        let pieces = work.div_ceil(capacity).max(1);
        // Of the last piece the server leaves so much.
        let left = pieces.checked_mul(capacity)?.saturating_sub(work);
        let last = u128::from(response).saturating_sub(left);
        match self.kind {
            Kind::Polling => pieces.checked_mul(period)?.checked_add(last),
            Kind::Deferrable | Kind::Sporadic => {
                (pieces - 1).checked_mul(period)?.checked_add(period - capacity + last)
            }
            Kind::ConstantBandwidth => pieces.checked_mul(period),
        }
    }
}

/// The next moment after `time` at which one more request may have come.
fn next_arrival(task: &Task, time: Nanos) -> Nanos {
    let come = task.released_by(time);
    let next = task.earliest(come).saturating_sub(u128::from(task.late()));
    u64::try_from(next).unwrap_or(Nanos::MAX).max(time + 1)
}
