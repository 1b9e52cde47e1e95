//! The channel that a process makes for the events of its components.

use std::any::Any as Anything;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use oxorb_cdr::Any;
use oxorb_core::lock::Mutex;
use oxorb_core::{Orb, RaisedPriority};
use oxorb_delivery::{
    AtStart, Attributes, Dispatcher, LanePlan, ModuleThreads, Monotonic, Outcome, Outlet, Plan,
    Qos, Sink, ThreadPriority, Timers,
};
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_rt::Priority;

use super::carrier::{CarriedSource, Deliver, EventCarrier};

/// Channel with a lane for each consumer: one thread, which has the priority of the consumer and delivers to no other
/// one. An event is thus pushed to all consumers at once, to each at its own priority. `oxorb deploy check` assumes
/// this of `events = "channel"`, and launched plans use this channel.
///
/// The priority of a consumer is `server_priority` of the priority model in its reference. A consumer without a
/// priority model gets an ordinary thread. A consumer that is less urgent than the publishing thread runs when this
/// thread waits or ends. While a thread publishes an event, it has the priority of the most urgent consumer, if that is
/// higher than its own.
///
/// A consumer has a queue of 1,024 events, which drops the oldest event when it is full.
///
/// **Real-time cost.** Publishing an event takes one lock for each consumer, which its lane holds for a short time and
/// whose holder inherits priorities. It makes one system call for each sleeping consumer, and two to raise the
/// publishing thread, if it must be raised. Connecting a consumer starts a thread.
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::time::Duration;
///
/// use oxorb::{Any, Orb};
/// use oxorb_component::{Container, EventCarrier, EventLanes};
///
/// let orb = Orb::builder().build()?;
/// // Both containers use the channel for the sources of their components.
/// let lanes = Arc::new(EventLanes::new(&orb));
/// let cockpit = Container::builder(orb.root_poa(), "cockpit").events_by(lanes.clone()).create()?;
/// let cabin = Container::builder(orb.root_poa(), "cabin").events_by(lanes.clone()).create()?;
///
/// // A container opens a path for each source, connects its consumers and pushes its events.
/// let path = lanes.open("rate.pulse")?;
/// let (sender, received) = mpsc::channel();
/// let deliver = move |event: &Any| drop(sender.send(event.get::<u32>().ok().flatten()));
/// let connection = path.connect(Box::new(deliver), None)?; // starts a thread, without a priority
/// path.push(Any::new(20_u32))?;                            // returns when the event is queued
/// assert_eq!(received.recv_timeout(Duration::from_secs(30))?, Some(20));
///
/// drop(connection); // ends the thread
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EventLanes {
    orb: Orb,
    timers: Timers,
    running: Arc<AtomicUsize>,
}

impl EventLanes {
    /// Maximum number of consumers, and thus of threads, of one channel.
    pub const MOST: usize = 256;

    /// Creates a channel without consumers. `orb` maps the priorities of its threads.
    pub fn new(orb: &Orb) -> EventLanes {
        EventLanes {
            orb: orb.clone(),
            // Lanes without spare threads and events without a start time need no thread of timers.
            timers: Timers::manual(Arc::new(Monotonic), 2 * EventLanes::MOST),
            running: Arc::default(),
        }
    }
}

impl EventCarrier for EventLanes {
    fn open(&self, source: &str) -> Result<Box<dyn CarriedSource>, SystemException> {
        Ok(Box::new(Source {
            name: source.to_owned(),
            orb: self.orb.clone(),
            timers: self.timers.clone(),
            running: Arc::clone(&self.running),
            lanes: Arc::default(),
        }))
    }
}

/// An event source and the lanes of its consumers.
struct Source {
    name: String,
    orb: Orb,
    timers: Timers,
    running: Arc<AtomicUsize>,
    lanes: Arc<Lanes>,
}

/// Lanes of the consumers of a source, the most urgent first. Readers take no lock.
#[derive(Default)]
struct Lanes {
    list: ArcSwap<Vec<Arc<Lane>>>,
    changing: Mutex<()>,
}

/// A lane with its only outlet. The outlet is dropped before the thread of the lane is stopped.
struct Lane {
    priority: Option<Priority>,
    outlet: Outlet<Any>,
    _dispatcher: Dispatcher<Any>,
}

/// Place of a lane among the [`EventLanes::MOST`] lanes of a channel. The place is free again when the thread of the
/// lane has ended.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(running: &Arc<AtomicUsize>) -> Result<Place, SystemException> {
        let more = |many| (many < EventLanes::MOST).then_some(many + 1);
        match running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Place(Arc::clone(running))),
            Err(_) => {
                let minor = minor::imp_limit::EVENT_PROXIES;
                Err(SystemException::imp_limit(minor, CompletionStatus::No))
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Source {
    /// Raises the publishing thread to the priority of the most urgent consumer. If this consumer ran first, other
    /// work could otherwise delay the publishing thread before it has passed the event to less urgent consumers.
    fn raised(&self, lanes: &[Arc<Lane>]) -> Result<Option<RaisedPriority>, SystemException> {
        let Some(most) = lanes.first().and_then(|lane| lane.priority) else {
            return Ok(None);
        };
        let own = self.orb.thread_priority().or_else(|| self.orb.effective_priority().ok());
        match own {
            Some(own) if own >= most => Ok(None),
            _ => self.orb.raise_thread(most).map(Some),
        }
    }

    fn lane(
        &self,
        deliver: Deliver,
        priority: Option<Priority>,
    ) -> Result<Arc<Lane>, SystemException> {
        let place = Place::take(&self.running)?;
        let mut lane = LanePlan { spares: 0, ..LanePlan::new(self.name.clone()) };
        let raised = match priority {
            Some(priority) => {
                // The new thread inherits the native priority of this thread. A priority without a native one is
                // refused here.
                let raised = self.orb.raise_thread(priority)?;
                let orb = self.orb.clone();
                lane.at_start = Some(AtStart::new(move || {
                    // Ignore the error: the priority was accepted above.
                    let _ = orb.set_thread_priority(priority);
                }));
                Some(raised)
            }
            None => {
                lane.scheduling = ModuleThreads::At(ThreadPriority::default());
                None
            }
        };
        let plan = Plan {
            name: self.name.clone(),
            outlets: 1,
            timers: Some(self.timers.clone()),
            ..Plan::lanes([lane])
        };
        let dispatcher = Dispatcher::start(plan).map_err(|_| NOT_STARTED)?;
        drop(raised);
        let outlet =
            dispatcher.connect(Arc::new(Consumer { deliver, _place: place }), Qos::default());
        let outlet = outlet.map_err(|_| NOT_STARTED)?;
        Ok(Arc::new(Lane { priority, outlet, _dispatcher: dispatcher }))
    }
}

impl CarriedSource for Source {
    fn push(&self, event: Any) -> Result<(), SystemException> {
        let lanes = self.lanes.list.load();
        let _raised = self.raised(&lanes)?;
        for lane in lanes.iter() {
            // A full queue drops its oldest event, so it accepts this one.
            lane.outlet.offer(&event, &Attributes::default());
        }
        Ok(())
    }

    fn connect(
        &self,
        deliver: Deliver,
        priority: Option<Priority>,
    ) -> Result<Box<dyn Anything + Send + Sync>, SystemException> {
        let lane = self.lane(deliver, priority)?;
        let lanes = Arc::clone(&self.lanes);
        let changing = lanes.changing.lock();
        let mut list = Vec::clone(&lanes.list.load());
        list.push(Arc::clone(&lane));
        list.sort_by_key(|lane| Reverse(lane.priority));
        lanes.list.store(Arc::new(list));
        drop(changing);
        Ok(Box::new(Joined { lanes, lane }))
    }
}

/// Connection of a consumer, which ends when this value is dropped.
struct Joined {
    lanes: Arc<Lanes>,
    lane: Arc<Lane>,
}

impl Drop for Joined {
    fn drop(&mut self) {
        let _changing = self.lanes.changing.lock();
        let mut list = Vec::clone(&self.lanes.list.load());
        list.retain(|lane| !Arc::ptr_eq(lane, &self.lane));
        self.lanes.list.store(Arc::new(list));
    }
}

/// A consumer of a port, as a sink of its lane.
struct Consumer {
    deliver: Deliver,
    _place: Place,
}

impl Sink<Any> for Consumer {
    fn deliver(&self, events: &[Any]) -> Outcome {
        events.iter().for_each(|event| (self.deliver)(event));
        Outcome::Delivered
    }
}

/// Exception that a consumer receives if no thread can be started for it.
const NOT_STARTED: SystemException =
    SystemException::no_resources(minor::no_resources::THREADS, CompletionStatus::No);
