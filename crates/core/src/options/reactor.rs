//! Choice of how threads of lanes wait for requests.

use std::time::Duration;

/// Strategy by which threads of lanes wait for requests (`-ORBReactor`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReactorChoice {
    /// Threads sleep until the kernel wakes one (epoll).
    #[default]
    Epoll,
    /// A single thread of each lane polls, and so is never asleep when a request comes. Polling saves the wake-up and
    /// costs a processor. After `at_most` without a request the thread sleeps until the next one. Under SCHED_FIFO and
    /// SCHED_RR, use it only for lanes of one thread with a processor of its own; see
    /// [`Threadpool::reactor`](crate::Threadpool::reactor).
    BusyPoll {
        /// Longest time of polling without a request.
        at_most: Duration,
    },
}

impl ReactorChoice {
    /// Reads `epoll` or `busy-poll:MICROSECONDS`.
    ///
    /// # Errors
    /// The expected form.
    pub fn parse(text: &str) -> Result<ReactorChoice, String> {
        let wrong = || "expected epoll or busy-poll:MICROSECONDS".to_owned();
        match text.split_once(':') {
            None if text == "epoll" => Ok(ReactorChoice::Epoll),
            Some(("busy-poll", micros)) => match micros.parse() {
                Ok(micros @ 1..) => {
                    Ok(ReactorChoice::BusyPoll { at_most: Duration::from_micros(micros) })
                }
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}
