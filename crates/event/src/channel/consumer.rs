//! Connected consumers, with their filters, timers and queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb::{CompletionStatus, SystemException};
use oxorb_delivery::{Cause, Counts, Timer};
use oxorb_sys::sync::Mutex;

use super::dispatch::ConsumerQueue;
use super::encoded::Outgoing;
use super::notice::Released;
use super::target::{Pushed, Target};
use crate::TimeoutKind;
use crate::filter::{Matched, Program, Progress, Trigger};
use crate::rtec_event_channel_admin::ConsumerQos;
use crate::rtec_event_comm::Event;

/// A connected consumer.
pub(crate) struct Connected {
    pub(super) number: u64,
    pub(super) target: Arc<Target>,
    qos: ConsumerQos,
    program: Program,
    /// Progress of the filter, if the filter depends on earlier events.
    progress: Option<Mutex<Progress>>,
    /// Flag of the consumer's proxy. It can be set before the consumer connects, and survives the connection.
    suspended: Arc<AtomicBool>,
    /// Whether the consumer was disconnected or released. Never reset.
    over: AtomicBool,
    /// Queue of the consumer; `None` if events are delivered in the supplier's thread.
    queue: Option<ConsumerQueue>,
    timers: Vec<(TimeoutKind, Duration, Timer)>,
    pub(super) matched: AtomicU64,
    pub(super) held_back: AtomicU64,
}

/// The parts from which a consumer is created.
pub(super) struct Parts {
    pub(super) number: u64,
    pub(super) target: Arc<Target>,
    pub(super) qos: ConsumerQos,
    pub(super) program: Program,
    pub(super) suspended: Arc<AtomicBool>,
    /// Maximum size in octets of the events that the consumer's conjunctions may collect.
    pub(super) collected: usize,
    pub(super) queue: Option<ConsumerQueue>,
    /// Timers of the filter, in the order of the program.
    pub(super) timers: Vec<Timer>,
}

impl Connected {
    pub(super) fn new(parts: Parts) -> Connected {
        let program = parts.program;
        let units = |units: u64| Duration::from_nanos(units.saturating_mul(100));
        let kinds = program.timers().iter();
        let kinds: Vec<_> = kinds.map(|(kind, period)| (*kind, units(*period))).collect();
        let timers = kinds.into_iter().zip(parts.timers);
        Connected {
            number: parts.number,
            target: parts.target,
            qos: parts.qos,
            progress: program
                .remembers()
                .then(|| Mutex::new(program.progress().limited(parts.collected))),
            suspended: parts.suspended,
            over: AtomicBool::new(false),
            queue: parts.queue,
            timers: timers.map(|((kind, period), timer)| (kind, period, timer)).collect(),
            program,
            matched: AtomicU64::new(0),
            held_back: AtomicU64::new(0),
        }
    }

    /// Starts the timers. Their periods begin now, when the consumer connects.
    pub(super) fn start(&self) {
        for (kind, period, timer) in &self.timers {
            match kind {
                TimeoutKind::OneShot => timer.after(*period),
                TimeoutKind::Interval | TimeoutKind::Deadline => timer.every(*period),
            }
        }
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn qos(&self) -> &ConsumerQos {
        &self.qos
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.suspended.load(Relaxed)
    }

    /// Returns the consumer's queue if the schedule determines its dispatch.
    pub(super) fn scheduled_queue(&self) -> Option<&ConsumerQueue> {
        self.queue.as_ref().filter(|queue| queue.follows())
    }

    /// Returns the number of events that conjunctions dropped because of their size limit.
    pub(super) fn uncollected(&self) -> u64 {
        let progress = self.progress.as_ref();
        progress.map_or(0, |progress| progress.lock().dropped())
    }

    /// Returns the counters of the consumer's queue; zeros if there is no queue.
    pub(super) fn queue_counts(&self) -> Counts {
        let queue = self.queue.as_ref();
        queue.map(ConsumerQueue::counts).unwrap_or_default()
    }

    /// Ends deliveries and drops the events in the queue. Returns `false` if deliveries had already ended.
    pub(super) fn end(&self) -> bool {
        if let Some(queue) = &self.queue {
            queue.detach();
        }
        for (_, _, timer) in &self.timers {
            timer.stop();
        }
        !self.over.swap(true, Relaxed)
    }

    /// Pushes the event of a timer of this consumer.
    pub(super) fn fire(&self, timer: usize) -> Result<(), Released> {
        let Some((kind, _, _)) = self.timers.get(timer) else {
            return Ok(());
        };
        let mut event = Event::default();
        event.header.r#type = kind.event_type();
        event.header.creation_time = crate::time::now();
        let trigger = Trigger { event: &event, timer: Some(timer) };
        let arrived = self.target.latency.is_some().then(Instant::now);
        self.offer(trigger, &Outgoing::new(std::slice::from_ref(&event), arrived))
    }

    /// Applies the filter to an event, and pushes the events that the filter accepts.
    ///
    /// # Errors
    /// An error if the consumer must be released.
    pub(super) fn offer(
        &self,
        trigger: Trigger<'_>,
        outgoing: &Outgoing<'_>,
    ) -> Result<(), Released> {
        if self.over.load(Relaxed) {
            return Ok(());
        }
        let matched = match &self.progress {
            None if self.program.accepts(trigger) => Matched::Event,
            None => Matched::No,
            Some(progress) => {
                // A panic under this lock leaves the progress usable: at worst, some events are not collected.
                let mut progress = progress.lock();
                self.program.advance(trigger, &mut progress)
            }
        };
        match matched {
            Matched::No => Ok(()),
            Matched::Event => self.push(outgoing),
            Matched::Set(events) => self.push(&Outgoing::new(&events, outgoing.arrived())),
        }
    }

    /// Reports whether a push to this consumer can be repeated. The consumer must receive events as messages. It must
    /// not have a conjunction, because a conjunction no longer has the collected events when it turns out that they
    /// were not sent.
    pub(super) fn may_be_repeated(&self) -> bool {
        self.progress.is_none() && self.target.is_far()
    }

    /// Corrects the counters for events that were counted as delivered but were not sent. Pushes these events again,
    /// unless the consumer may have received them.
    ///
    /// # Errors
    /// An error if the consumer must be released.
    pub(super) fn unsent(
        &self,
        outgoing: &Outgoing<'_>,
        why: SystemException,
    ) -> Result<(), Released> {
        self.target.take_back(outgoing.events());
        match why.completed {
            CompletionStatus::No => self.deliver(outgoing),
            _ => {
                self.target.count_failed(outgoing.events());
                self.target.failed(why)
            }
        }
    }

    fn push(&self, outgoing: &Outgoing<'_>) -> Result<(), Released> {
        let events = outgoing.events();
        self.matched.fetch_add(events.len() as u64, Relaxed);
        self.put_off_deadlines();
        if self.is_suspended() {
            self.held_back.fetch_add(events.len() as u64, Relaxed);
            return Ok(());
        }
        match &self.queue {
            None => self.deliver(outgoing),
            Some(queue) => {
                queue.offer(outgoing.set(self.target.is_far()));
                Ok(())
            }
        }
    }

    /// Delivers events in this thread.
    fn deliver(&self, outgoing: &Outgoing<'_>) -> Result<(), Released> {
        let events = outgoing.events();
        let (received, octets) = (outgoing.received(), outgoing.octets());
        let pushed = self.target.push(events, received, octets, outgoing.arrived())?;
        if pushed == Pushed::NotYet {
            self.target.count_failed(events);
        }
        Ok(())
    }

    /// Restarts the timers of deadlines, because every push restarts their periods.
    fn put_off_deadlines(&self) {
        for (kind, period, timer) in &self.timers {
            if *kind == TimeoutKind::Deadline {
                timer.every(*period);
            }
        }
    }

    /// Returns the number of sets that the queue dropped. Sets that could not be delivered are not included.
    pub(super) fn dropped(&self) -> u64 {
        let counts = self.queue_counts();
        counts.dropped_in_all() - counts.dropped(Cause::Failed)
    }
}
