//! Sender of frames.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use oxorb::policy::RelativeRoundtripTimeout;
use oxorb::rt::Priority;
use oxorb::{Interface as _, Orb, SystemException};
use oxorb_sys::sync::Mutex;

use crate::clock;
use crate::meter::Reception;
use crate::pace::{Pace, Paced};
use crate::queue::{Queue, Queued, Sent, TooLarge, Turn};
use crate::streams::{Report, SinkRef, Source, SourceRef, Stamp};
use crate::table::nanoseconds;

/// Options of a [`Sender`].
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Maximum size of a frame in octets; 60,000 by default. (A datagram holds 8,192 octets unless its endpoint sets
    /// `max=`, at most 65,507.)
    pub largest: usize,
    /// Maximum number of waiting frames; 8 by default. Memory for them is allocated at the start.
    pub queue: usize,
    /// Whether a full queue drops its oldest frame (the default) or the new one.
    pub drop_oldest: bool,
    /// Pace of frames; by default `None`, which sends each frame as soon as possible.
    pub pace: Option<Pace>,
    /// Interval of reports from receivers, 1 s by default; `None` for no reports. Requires an ORB that listens at an
    /// endpoint that the receiver can reach.
    pub reports: Option<Duration>,
    /// Longest time to send a frame, including connecting, after which the frame is dropped. 1 s by default.
    pub patience: Duration,
    /// CORBA priority of the sending thread, and so of its requests under `ClientPropagated`.
    pub priority: Option<Priority>,
}

impl Default for SenderOptions {
    fn default() -> SenderOptions {
        SenderOptions {
            largest: 60_000,
            queue: 8,
            drop_oldest: true,
            pace: None,
            reports: Some(Duration::from_secs(1)),
            patience: Duration::from_secs(1),
            priority: None,
        }
    }
}

/// Reason why a sender could not be started.
#[derive(thiserror::Error)]
pub enum StartError {
    /// The object that receives reports could not be activated in the root POA.
    #[error("the object that receives a stream's reports was not activated: {0}")]
    Reports(Box<dyn std::error::Error + Send + Sync>),
    /// The thread could not be started.
    #[error("the thread of a stream cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Counts of a [`Sender`]. Frames passed to [`Sender::send`] add up to `sent + failed + dropped +
/// waiting`, plus one while it is being sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Number of frames sent.
    pub sent: u64,
    /// Number of octets of frame data sent.
    pub octets: u64,
    /// Number of frames that could not be sent.
    pub failed: u64,
    /// Number of frames dropped because the queue was full or the sender had stopped.
    pub dropped: u64,
    /// Number of waiting frames.
    pub waiting: usize,
    /// Last failure to send a frame, or to announce the destination of reports.
    pub failure: Option<SystemException>,
}

/// Last report of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Reception at the receiver.
    pub reception: Reception,
    /// Fraction of the frames between the last two reports that did not arrive, times 256.
    pub fraction_lost: u8,
    /// Round-trip time: from sending a frame to the report on it, minus the time held at the
    /// receiver. `None` if the frame is too old to be remembered.
    pub round_trip: Option<Duration>,
}

/// Sender of one stream, with its own thread.
///
/// Sequence numbers have 32 bits and a random start, and the stream's number is random, as in RFC
/// 3550.
pub struct Sender {
    shared: Arc<Shared>,
    ended: Mutex<mpsc::Receiver<()>>,
    reports: Option<(Orb, SourceRef)>,
}

/// Number of frames whose sending times are remembered.
const REMEMBERED: usize = 1024;

struct Shared {
    stream: u32,
    queue: Queue,
    sent: AtomicU64,
    octets: AtomicU64,
    failed: AtomicU64,
    failure: Mutex<Option<SystemException>>,
    feedback: Mutex<Option<Feedback>>,
    /// Number of the frame sent last.
    newest: AtomicU32,
    /// Sending times of frames, by sequence number.
    left: Box<[AtomicU64]>,
}

impl Sender {
    /// Starts a stream to an object. Allocates memory for the whole queue.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(orb: &Orb, to: &SinkRef, options: SenderOptions) -> Result<Sender, StartError> {
        // The process seeds the hasher randomly, so the stream and the first number are random.
        let drawn = RandomState::new().hash_one(clock::now());
        let (stream, first) = ((drawn >> 32) as u32, drawn as u32);
        let shared = Arc::new(Shared {
            stream,
            queue: Queue::new(options.queue.max(1), options.largest, options.drop_oldest, first),
            sent: AtomicU64::new(0),
            octets: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failure: Mutex::new(None),
            feedback: Mutex::new(None),
            newest: AtomicU32::new(first),
            left: (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect(),
        });
        let source = match options.reports {
            None => None,
            Some(_) => {
                let hears = Hears(shared.clone());
                let source = orb.root_poa().activate(hears);
                Some(source.map_err(|error| StartError::Reports(error.into()))?)
            }
        };
        let (end, ended) = mpsc::channel();
        let work = Work {
            shared: shared.clone(),
            to: to.with(RelativeRoundtripTimeout(options.patience)),
            source: source.clone(),
            pace: options.pace,
            every: options.reports,
        };
        let (orb_of_thread, priority) = (orb.clone(), options.priority);
        let thread = thread::Builder::new().name("stream".into()).spawn(move || {
            // Ignore errors: the ORB reports a missing privilege as an incident, and a priority that maps to no native
            // one leaves the thread's priority unchanged.
            if let Some(priority) = priority {
                let _ = orb_of_thread.set_thread_priority(priority);
            }
            work.run();
            drop(end);
        });
        thread.map_err(StartError::Thread)?;
        Ok(Sender {
            shared,
            ended: Mutex::new(ended),
            reports: source.map(|source| (orb.clone(), source)),
        })
    }

    /// Returns the number of the stream.
    pub fn stream(&self) -> u32 {
        self.shared.stream
    }

    /// Sends a frame taken at `time`, by any steady clock of the caller. Copies it, and never waits
    /// for the network: takes a lock while copying, allocates nothing, and wakes the sending thread
    /// (one system call).
    ///
    /// # Errors
    /// [`TooLarge`] if the frame exceeds [`SenderOptions::largest`].
    pub fn send(&self, time: Duration, data: &[u8]) -> Result<Sent, TooLarge> {
        self.shared.queue.put(nanoseconds(time), data)
    }

    /// Returns the statistics so far.
    pub fn statistics(&self) -> SenderStatistics {
        let shared = &self.shared;
        let (waiting, dropped) = shared.queue.counts();
        SenderStatistics {
            sent: shared.sent.load(Relaxed),
            octets: shared.octets.load(Relaxed),
            failed: shared.failed.load(Relaxed),
            dropped,
            waiting,
            failure: *shared.failure.lock(),
        }
    }

    /// Returns the receiver's last report; `None` before the first one.
    pub fn feedback(&self) -> Option<Feedback> {
        *self.shared.feedback.lock()
    }

    /// Sends waiting frames for at most `within`, and ends; returns the number of frames that were dropped unsent. Does
    /// not wait for a frame being sent, which may take [`SenderOptions::patience`] longer.
    pub fn stop(self, within: Duration) -> usize {
        self.end(within)
    }

    fn end(&self, within: Duration) -> usize {
        self.shared.queue.stop();
        let _ = self.ended.lock().recv_timeout(within);
        let dropped = self.shared.queue.drop_waiting();
        if let Some((orb, source)) = &self.reports {
            let _ = orb.root_poa().deactivate(source);
        }
        dropped
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Work of the sending thread.
struct Work {
    shared: Arc<Shared>,
    to: SinkRef,
    source: Option<SourceRef>,
    pace: Option<Pace>,
    every: Option<Duration>,
}

impl Work {
    fn run(&self) {
        let mut paced = Paced::default();
        let mut described = None;
        loop {
            let next = self.describe_if_due(&mut described);
            match self.shared.queue.take(next) {
                Turn::Frame(frame) => {
                    let wait = paced.wait(self.pace, clock::now());
                    if wait > 0 {
                        self.shared.queue.pause(Duration::from_nanos(wait));
                    }
                    paced.leaves(self.pace, clock::now(), frame.data.len());
                    self.send(frame);
                }
                Turn::Nothing => {}
                Turn::Stopped => return,
            }
        }
    }

    /// Announces the destination of reports to the receiver, first at the beginning and then once per report interval,
    /// as an announcement may be lost or the receiver replaced. Returns the time until the next announcement.
    fn describe_if_due(&self, described: &mut Option<u64>) -> Duration {
        let Some(every) = self.every else {
            return Duration::from_secs(3600);
        };
        let (now, interval) = (clock::now(), nanoseconds(every));
        let due = described.map_or(now, |at: u64| at.saturating_add(interval));
        if now < due {
            return Duration::from_nanos(due - now);
        }
        *described = Some(now);
        let stream = self.shared.stream;
        if let Err(failure) = self.to.describe(stream, self.source.as_ref(), interval) {
            *self.shared.failure.lock() = Some(failure);
        }
        every
    }

    fn send(&self, frame: Queued) {
        let shared = &self.shared;
        let at = Stamp { stream: shared.stream, sequence: frame.sequence, time: frame.time };
        let place = &shared.left[at.sequence as usize % REMEMBERED];
        place.store(clock::now(), Relaxed);
        shared.newest.store(at.sequence, Relaxed);
        match self.to.frame(&at, &frame.data) {
            Ok(()) => {
                shared.sent.fetch_add(1, Relaxed);
                let octets = frame.data.len() as u64;
                shared.octets.fetch_add(octets, Relaxed);
            }
            Err(failure) => {
                shared.failed.fetch_add(1, Relaxed);
                *shared.failure.lock() = Some(failure);
            }
        }
        shared.queue.give_back(frame.data);
    }
}

/// Servant that receives reports.
struct Hears(Arc<Shared>);

impl Source for Hears {
    fn arrived(&self, report: &Report) {
        let shared = &self.0;
        // Ignore a report on an earlier stream whose source had the same address.
        if report.stream != shared.stream {
            return;
        }
        let age = shared.newest.load(Relaxed).wrapping_sub(report.highest);
        let left = shared.left[report.highest as usize % REMEMBERED].load(Relaxed);
        let known = (age as usize) < REMEMBERED && left != 0;
        let round_trip = known.then(|| {
            let since = clock::now().saturating_sub(left);
            Duration::from_nanos(since.saturating_sub(report.held))
        });
        *shared.feedback.lock() = Some(Feedback {
            reception: Reception {
                highest: report.highest,
                received: report.received,
                lost: report.lost,
                twice: report.twice,
                late: report.late,
                jitter: report.jitter,
            },
            fraction_lost: report.fraction_lost,
            round_trip,
        });
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Sender");
        f.field("stream", &self.stream()).field("statistics", &self.statistics());
        f.finish_non_exhaustive()
    }
}
