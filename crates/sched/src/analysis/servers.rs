//! Servers: a reserved share of a processor for aperiodic requests, and the response times that it
//! allows.
//!
//! A server is a task with a capacity in each period. Other tasks see it as a task of that kind
//! ([`Server::task`]); its requests are served first come, first served, and receive the capacity
//! in pieces:
//!
//! | server | capacity | seen by others as | the k-th capacity is done, from the first request on, within |
//! |---|---|---|---|
//! | polling | lost if no request waits at the beginning of a period | a periodic task | k T + R |
//! | deferrable | kept until the end of the period | a periodic task with jitter T - Q | (T - Q) + (k - 1) T + R |
//! | sporadic | comes back T after it could be used | a periodic task | (T - Q) + (k - 1) T + R |
//! | constant bandwidth | its deadline moves on by T for each Q that is used | a task in a queue by deadline | k T |
//!
//! with the capacity Q, the period T, and the response R of the server itself, which must be
//! proved.
//!
//! # Sporadic servers
//! The capacity of a [sporadic server](Kind::Sporadic) is kept in chunks. A chunk becomes active
//! when it is available and requests wait; the used part of it is replenished T after its
//! activation. Each nanosecond of capacity is then a sporadic task with an execution time of 1 and
//! a period of at least T, pending from its activation until it is used, and all Q of them together
//! interfere no more than a periodic task of (Q, T).
//!
//! Let the first request come at 0, with nothing waiting before. The nanosecond of capacity used
//! last was used from -1 on at the latest, the one before it from -2 on, and so on: of the Q of
//! them, the j-th is available again by T - Q + j - 1, and for the k-th time (k - 1) T later,
//! because it becomes active as soon as it is available. A dedicated processor uses them one by one
//! from T - Q on. Capacity never comes later than with a task that is released at T - Q, T after
//! that, and so on, and each job of such a task ends within R, no later than T.
//!
//! This requires full preemption: otherwise a less urgent job may begin between two chunks. The
//! number of chunks is unbounded; an implementation that merges chunks to bound it replenishes them
//! later than analysed here. `SCHED_SPORADIC` of POSIX replenishes everything from one activation
//! of the thread, including capacity that became available later, and may do so too early
//! (Stanovich, Baker, Wang and González Harbour, RTAS 2010); the analysis is of their correction.
//!
//! # Sources
//! Strosnider, Lehoczky and Sha, "The Deferrable Server Algorithm" (IEEE Transactions on Computers
//! 44(1), 1995); Sprunt, Sha and Lehoczky, "Aperiodic Task Scheduling for Hard-Real-Time Systems"
//! (Real-Time Systems 1(1), 1989); Stanovich, Baker, Wang and González Harbour, "Defects of the
//! POSIX Sporadic Server and How to Correct Them" (RTAS 2010); Bernat and Burns, "New Results on
//! Fixed Priority Aperiodic Servers" (RTSS 1999); Abeni and Buttazzo, "Integrating Multimedia
//! Applications in Hard Real-Time Systems" (RTSS 1998); Davis and Burns, "Hierarchical Fixed
//! Priority Pre-emptive Scheduling" (RTSS 2005).

use std::fmt;
use std::str::FromStr;

use crate::task::{Task, overloads};
use crate::time::Nanos;

/// Kind of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Polling server: checks for requests at the beginning of each period.
    Polling,
    /// Deferrable server: keeps its capacity until the end of the period.
    Deferrable,
    /// Sporadic server: replenishes its capacity, chunk by chunk, a period after it could be used.
    Sporadic,
    /// Constant bandwidth server, for queues ordered by deadline.
    ConstantBandwidth,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] =
        [Kind::Polling, Kind::Deferrable, Kind::Sporadic, Kind::ConstantBandwidth];

    /// Returns the name used in files.
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
            format!("there is no kind of server {text:?}; expected one of {names}")
        })
    }
}

/// Server of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// Rule by which the server's capacity is lost and replenished.
    pub kind: Kind,
    /// Processor time in each period; more than 0.
    pub capacity: Nanos,
    /// Replenishment period; at least the capacity.
    pub period: Nanos,
}

/// Maximum number of requests whose arrivals are tried.
const MOST_ARRIVALS: usize = 100_000;

impl Server {
    /// Returns the task that represents the server to other tasks.
    pub fn task(&self, name: impl Into<String>) -> Task {
        Task { delay: self.delay(), ..Task::periodic(name, self.capacity, self.period) }
    }

    /// Returns the time by which two capacities may be used closer to each other than a period. It
    /// delays other tasks; the response of the server itself is analysed [without it](Task::delay).
    pub fn delay(&self) -> Nanos {
        match self.kind {
            Kind::Deferrable => self.period.saturating_sub(self.capacity),
            Kind::Polling | Kind::Sporadic | Kind::ConstantBandwidth => 0,
        }
    }

    /// Returns the longest time from the arrival of a request to its end, over all requests, which
    /// the server serves in order of arrival. Counts from the nominal arrival if requests have
    /// jitter.
    ///
    /// `response` is the proved response of the server itself, from the beginning of its period to
    /// the end of its capacity; under constant bandwidth, any value within the period. Returns
    /// `None` if there is no bound: the requests need more than the server's capacity, or the
    /// search is too long.
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
        // Scale the execution times to the capacity, as if the requests had a slower processor of their own.
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
            // All earlier requests are done when the next one arrives, so it starts a new busy period.
            if done <= u128::from(next) {
                return u64::try_from(longest).ok()?.checked_add(late);
            }
            arrival = next;
        }
        None
    }

    /// Returns when `work` is done, counted from the arrival of the first request.
    fn done(&self, response: Nanos, work: u128) -> Option<u128> {
        let (capacity, period) = (u128::from(self.capacity), u128::from(self.period));
        let pieces = work.div_ceil(capacity).max(1);
        // Part of the last piece of capacity that remains unused.
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

/// Returns the next moment after `time` at which one more request may arrive.
fn next_arrival(task: &Task, time: Nanos) -> Nanos {
    let come = task.released_by(time);
    let next = task.earliest(come).saturating_sub(u128::from(task.late()));
    u64::try_from(next).unwrap_or(Nanos::MAX).max(time + 1)
}
