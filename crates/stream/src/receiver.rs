//! Receiver of frames.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::sync::{Mutex, MutexGuard};

use crate::clock;
use crate::meter::{Arrival, Reception};
use crate::reports::Reporter;
use crate::streams::{Sink, SourceRef, Stamp};
use crate::table::Table;

/// Options of a [`Receiver`].
#[derive(Clone, Debug)]
pub struct ReceiverOptions {
    /// Maximum number of streams received at a time; 16 by default. Each takes about 400 octets, allocated at the
    /// start.
    pub streams: usize,
    /// Silence after which a stream is replaced by a new one if needed; 10 s by default.
    pub silence: Duration,
    /// Whether reports are sent to senders that request them. The sender chooses the object that receives its reports:
    /// switch this off where senders must not make this process connect to hosts of their choice.
    pub reports: bool,
    /// Longest time to send a report; 1 s by default.
    pub patience: Duration,
}

impl Default for ReceiverOptions {
    fn default() -> ReceiverOptions {
        ReceiverOptions {
            streams: 16,
            silence: Duration::from_secs(10),
            reports: true,
            patience: Duration::from_secs(1),
        }
    }
}

/// Received frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'f> {
    /// Number of the stream.
    pub stream: u32,
    /// Number of the frame in the stream.
    pub sequence: u32,
    /// Time at which the frame was taken, in nanoseconds of the sender's clock.
    pub time: u64,
    /// Whether a later frame arrived before this one.
    pub late: bool,
    /// Contents of the frame, in the buffer of its request.
    pub data: &'f [u8],
}

/// Counts of a [`Receiver`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Reception of each current stream, by its number.
    pub streams: Vec<(u32, Reception)>,
    /// Number of frames rejected because the limit on streams was reached
    /// ([`ReceiverOptions::streams`]).
    pub refused: u64,
    /// Number of reports sent.
    pub reports: u64,
    /// Number of reports that could not be sent.
    pub unsent_reports: u64,
}

/// Receiver that passes each frame on in the thread of its request, and reports to senders in a separate thread.
///
/// Passing a frame on takes a lock, held for about 50 instructions, and no allocation.
pub struct Receiver {
    heard: Arc<Heard>,
    reporter: Reporter,
}

/// State that servants share with the reporting thread.
pub(crate) struct Heard {
    table: Mutex<Table>,
    reports: bool,
    show: Box<Show>,
}

type Show = dyn Fn(Frame<'_>) + Send + Sync;

/// Servant of a [`Receiver`]. Activate it and publish its reference to senders.
#[derive(Clone)]
pub struct FrameSink {
    heard: Arc<Heard>,
    tell: Arc<crate::reports::Bell>,
}

impl Receiver {
    /// Starts a receiver that passes each new frame to `show`, from several threads at a time if
    /// the ORB has several. Duplicate frames are not passed on.
    ///
    /// # Errors
    /// The thread for reports could not be started.
    pub fn start(
        options: ReceiverOptions,
        show: impl Fn(Frame<'_>) + Send + Sync + 'static,
    ) -> io::Result<Receiver> {
        let heard = Arc::new(Heard {
            table: Mutex::new(Table::new(options.streams, options.silence)),
            reports: options.reports,
            show: Box::new(show),
        });
        let reporter = Reporter::start(heard.clone(), options.patience)?;
        Ok(Receiver { heard, reporter })
    }

    /// Returns the servant.
    pub fn sink(&self) -> FrameSink {
        FrameSink { heard: self.heard.clone(), tell: self.reporter.bell() }
    }

    /// Returns the statistics so far. Allocates.
    pub fn statistics(&self) -> ReceiverStatistics {
        let (reports, unsent_reports) = self.reporter.counts();
        let table = self.heard.table();
        ReceiverStatistics {
            streams: table.receptions(),
            refused: table.refused,
            reports,
            unsent_reports,
        }
    }
}

impl Heard {
    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}

impl Sink for FrameSink {
    fn frame(&self, at: &Stamp, data: &[u8]) {
        let now = clock::now();
        let arrival = self.heard.table().frame(at, now);
        if let Some(arrival @ (Arrival::InOrder | Arrival::Late)) = arrival {
            (self.heard.show)(Frame {
                stream: at.stream,
                sequence: at.sequence,
                time: at.time,
                late: arrival == Arrival::Late,
                data,
            });
        }
    }

    fn describe(&self, stream: u32, reports: Option<&SourceRef>, interval: u64) {
        let reports = reports.filter(|_| self.heard.reports).cloned();
        let now = clock::now();
        self.heard.table().describe(stream, reports, interval, now);
        self.tell.ring();
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl fmt::Debug for FrameSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameSink").finish_non_exhaustive()
    }
}
