//! Channels of `oxorb event serve`, and their destruction by clients.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use oxorb_event::Served;
use oxorb_sys::sync::{Mutex, MutexGuard};

/// Longest time for notifying peers that the server ends: half of the time that containers get before they are killed.
const ENDING: Duration = Duration::from_secs(5);

/// Reaction to a client that calls `destroy` on a channel.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum WhenDestroyed {
    /// Withdraw the channel's name; a server with nothing else to serve ends with status 1
    #[default]
    End,
    /// Serve a new channel under the same name and reference
    Renew,
}

/// Served channels by name, without those that clients destroyed.
#[derive(Default)]
pub(super) struct Channels(Mutex<Vec<(String, Served)>>);

impl Channels {
    /// Adds a channel; replaces the one of the same name.
    pub(super) fn put(&self, name: &str, served: Served) {
        let mut all = self.lock();
        match all.iter_mut().find(|(of, _)| of == name) {
            Some((_, place)) => *place = served,
            None => all.push((name.to_owned(), served)),
        }
    }

    /// Removes and returns a channel.
    pub(super) fn take(&self, name: &str) -> Option<Served> {
        let mut all = self.lock();
        let at = all.iter().position(|(of, _)| of == name)?;
        Some(all.remove(at).1)
    }

    /// Returns all channels, in the order of the command line.
    pub(super) fn all(&self) -> Vec<(String, Served)> {
        self.lock().clone()
    }

    /// Destroys all channels in parallel. Abandons those that take longer than [`ENDING`].
    pub(super) fn destroy(&self) {
        let end = Instant::now() + ENDING;
        let (done, each) = channel();
        let all = self.all();
        let count = all.len();
        for (_, served) in all {
            let done = done.clone();
            // If the thread cannot be started, peers are not notified, but their connections are closed anyway.
            let _ = std::thread::Builder::new().spawn(move || {
                served.channel().destroy();
                let _ = done.send(());
            });
        }
        drop(done);
        for _ in 0..count {
            let left = end.saturating_duration_since(Instant::now());
            if each.recv_timeout(left).is_err() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Served)>> {
        self.0.lock()
    }
}

/// Events that the serving thread waits for.
pub(super) enum Told {
    /// A client destroyed the channel of this name.
    Destroyed(String),
    /// The ORB has ended.
    Ended,
}
