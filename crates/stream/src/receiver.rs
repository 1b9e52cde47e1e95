//! The end that takes frames.

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
    /// Streams that it hears at a time: 16 unless said. Each costs some 400 octets, allocated at the start.
    pub streams: usize,
    /// A stream that was silent for so long gives its place to another that needs one: 10 s unless said.
    pub silence: Duration,
    /// Senders that ask for reports get them. The reference that they go to is the sender's to choose: switch this off where
    /// senders are not to make this process connect anywhere.
    pub reports: bool,
    /// Longest time that a report may take to leave: 1 s unless said.
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

/// A frame that came.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'f> {
    /// Number of the stream.
    pub stream: u32,
    /// Number of the frame in the stream.
    pub sequence: u32,
    /// Time at which the frame was taken, in nanoseconds of the sender's clock.
    pub time: u64,
    /// A later one came before it.
    pub late: bool,
    /// Content of the frame, where it came.
    pub data: &'f [u8],
}

/// Counts of a [`Receiver`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Reception of each stream that is heard now, by its number.
    pub streams: Vec<(u32, Reception)>,
    /// Frames of streams that had no place ([`ReceiverOptions::streams`]).
    pub refused: u64,
    /// Reports that left.
    pub reports: u64,
    /// Reports that could not be sent.
    pub unsent_reports: u64,
}

/// Takes frames, hands them on in the thread in which they came, and reports to their senders in a thread of its own.
///
/// Handing a frame on costs a lock that is held for some 50 instructions, and no allocation.
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

/// The servant of a [`Receiver`]: activate it where senders find it.
#[derive(Clone)]
pub struct FrameSink {
    heard: Arc<Heard>,
    tell: Arc<crate::reports::Bell>,
}

impl Receiver {
    /// Starts one that hands each new frame to `show`, from several threads at a time where the ORB has several. Frames that
    /// came before are not handed on.
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

    /// Returns what was counted so far. Allocates.
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
