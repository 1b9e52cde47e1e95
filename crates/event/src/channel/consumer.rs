//! Connected consumers, with their filters, timers and queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb::policy::{CommunicationClass, Qos as RequestQos};
use oxorb::{CompletionStatus, SystemException};
use oxorb_delivery::{
    Attributes, Cause, Clock, Counts, Dispatcher, Outlet, OutletConnectError as DeliveryError, Qos,
    Sink, Timer,
};
use oxorb_sys::sync::Mutex;

use super::dispatch::ConsumerDispatch;
use super::encoded::{Outgoing, Set, held_octets};
use super::notice::Released;
use super::target::{Pushed, Target};
use crate::TimeoutKind;
use crate::filter::{Key, Matched, Program, Progress, Trigger};
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

/// Queue of a connected consumer.
pub(super) struct ConsumerQueue {
    outlet: Outlet<Arc<Set>>,
    clock: Arc<dyn Clock>,
    /// Deadline relative to the arrival of an event, in nanoseconds, or [`NO_DEADLINE`].
    deadline: AtomicU64,
    priorities: Vec<(Key, i16)>,
    /// Whether the channel chose the dispatch, and not the consumer.
    follows: bool,
}

/// Value of `deadline` if there is no deadline.
const NO_DEADLINE: u64 = u64::MAX;

impl ConsumerQueue {
    /// Connects a consumer with a dispatch. If `follows` is set, the dispatch changes with the schedule.
    pub(super) fn connect(
        dispatcher: &Dispatcher<Arc<Set>>,
        sink: Arc<dyn Sink<Arc<Set>>>,
        dispatch: ConsumerDispatch,
        follows: bool,
    ) -> Result<ConsumerQueue, DeliveryError> {
        Ok(ConsumerQueue {
            outlet: dispatcher.connect(sink, one_by_one(dispatch.queue))?,
            clock: Arc::clone(&dispatcher.plan().clock),
            deadline: AtomicU64::new(nanoseconds(dispatch.deadline)),
            priorities: dispatch.priorities,
            follows,
        })
    }

    /// Reports whether the schedule determines the dispatch.
    pub(super) fn follows(&self) -> bool {
        self.follows
    }

    /// Replaces queue settings, lane and deadline, but not the priorities. Waiting events keep their order.
    pub(super) fn take_on(&self, dispatch: ConsumerDispatch) {
        self.deadline.store(nanoseconds(dispatch.deadline), Relaxed);
        self.outlet.set_qos(one_by_one(dispatch.queue));
    }

    pub(super) fn counts(&self) -> Counts {
        self.outlet.counts()
    }

    pub(super) fn detach(&self) {
        self.outlet.detach();
    }

    /// Offers a set to the queue. The queue counts the result.
    pub(super) fn offer(&self, set: &Arc<Set>) {
        let attributes = self.attributes(&set.events, set.qos.qos());
        let _ = self.outlet.offer(set, &attributes);
    }

    /// Returns the attributes that order a set. Those that the consumer has set take precedence over those of the
    /// supplier's request.
    fn attributes(&self, events: &[Event], said: Option<RequestQos>) -> Attributes {
        let octets = events.iter().map(|one| held_octets(one) + OVERHEAD);
        let octets: usize = octets.sum();
        let header = events.first().map(|event| event.header).unwrap_or_default();
        let (event_type, source) = (header.r#type, header.source);
        Attributes {
            priority: match self.priority(event_type, source) {
                Some(priority) => priority,
                None => said.map_or(0, |said| worth(&said)),
            },
            deadline: match (self.deadline.load(Relaxed), said.and_then(|said| said.deadline)) {
                (NO_DEADLINE, None) => None,
                (NO_DEADLINE, said) => Some(self.clock.now().saturating_add(nanoseconds(said))),
                (after, said) => {
                    let after = after.min(nanoseconds(said));
                    Some(self.clock.now().saturating_add(after))
                }
            },
            source: u64::from(event_type.cast_unsigned()) << 32 | u64::from(source.cast_unsigned()),
            octets: u32::try_from(octets).unwrap_or(u32::MAX),
            ..Attributes::default()
        }
    }

    /// Returns the priority that the consumer has assigned to events of a type and source.
    fn priority(&self, event_type: i32, source: i32) -> Option<i16> {
        let meets = |asked: i32, has: i32| asked == 0 || asked == has;
        let entry = self.priorities.iter().find(|((of_type, of_source), _)| {
            meets(*of_type, event_type) && meets(*of_source, source)
        });
        entry.map(|(_, priority)| *priority)
    }
}

/// Returns the priority that follows from the quality of service of the supplier's request: four times the importance,
/// modified by the class. At equal importance, samples precede bulk data, which a full queue drops first.
fn worth(said: &RequestQos) -> i16 {
    let class = match said.class {
        CommunicationClass::Isochronous => 1,
        CommunicationClass::Message | CommunicationClass::MessageStream => 0,
        CommunicationClass::Burst => -1,
    };
    let worth = said.importance.saturating_mul(4).saturating_add(class);
    worth.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// Returns settings for a queue that delivers one set at a time.
fn one_by_one(queue: Qos) -> Qos {
    Qos { batch: 1, ..queue }
}

fn nanoseconds(deadline: Option<Duration>) -> u64 {
    deadline.map_or(NO_DEADLINE, |after| u64::try_from(after.as_nanos()).unwrap_or(NO_DEADLINE))
}

/// Size in octets of an event in a queue, not including its payload.
const OVERHEAD: usize = std::mem::size_of::<Event>();
