//! Reports to senders, which a separate thread sends so that an unreachable sender does not delay
//! frames.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxorb::Interface as _;
use oxorb::policy::RelativeRoundtripTimeout;
use oxorb_sys::sync::{Condvar, Mutex};

use crate::clock;
use crate::receiver::Heard;

/// Longest sleep of the thread while no report is due.
const IDLE: Duration = Duration::from_secs(3600);

/// Wake-up signal of the reporting thread.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rung: bool,
    stopped: bool,
}

impl Bell {
    /// Wakes the thread because a sender has announced a destination for its reports.
    pub(crate) fn ring(&self) {
        self.change(|state| state.rung = true);
    }

    fn stop(&self) {
        self.change(|state| state.stopped = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.rung.notify_one();
    }

    /// Waits for the signal, for at most `time`; returns false when the thread must end.
    fn wait(&self, time: Duration) -> bool {
        let state = self.state.lock();
        let quiet = |state: &mut State| !state.rung && !state.stopped;
        let (mut state, _) = self.rung.wait_timeout_while(state, time, quiet);
        state.rung = false;
        !state.stopped
    }
}

/// Reporting thread; it ends when this is dropped, after the current report was sent.
#[derive(Debug)]
pub(crate) struct Reporter {
    bell: Arc<Bell>,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    unsent: AtomicU64,
}

impl Reporter {
    pub(crate) fn start(heard: Arc<Heard>, patience: Duration) -> io::Result<Reporter> {
        let (bell, counts) = (Arc::<Bell>::default(), Arc::<Counts>::default());
        let (rings, counted) = (bell.clone(), counts.clone());
        let thread = thread::Builder::new()
            .name("stream-reports".into())
            .spawn(move || report(&heard, &rings, &counted, patience))?;
        Ok(Reporter { bell, counts, thread: Some(thread) })
    }

    pub(crate) fn bell(&self) -> Arc<Bell> {
        self.bell.clone()
    }

    /// Returns the numbers of reports sent and not sent.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let Counts { sent, unsent } = &*self.counts;
        (sent.load(Relaxed), unsent.load(Relaxed))
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn report(heard: &Heard, bell: &Bell, counts: &Counts, patience: Duration) {
    let mut due = Vec::new();
    loop {
        let now = clock::now();
        let next = heard.table().due(now, &mut due);
        for (to, report) in due.drain(..) {
            let sent = to.with(RelativeRoundtripTimeout(patience)).arrived(&report);
            let count = if sent.is_ok() { &counts.sent } else { &counts.unsent };
            count.fetch_add(1, Relaxed);
            if !bell.wait(Duration::ZERO) {
                return;
            }
        }
        let wait =
            next.map_or(IDLE, |next| Duration::from_nanos(next.saturating_sub(clock::now())));
        if !bell.wait(wait) {
            return;
        }
    }
}
