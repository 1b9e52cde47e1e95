//! Path of events from the channel to zenoh.
//!
//! ```text
//! channel --push--> queue of the priority --thread of the gateway: number, encode--> zenoh
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxorb_event::Key;
use oxorb_event::delivery::{
    Attributes, Counts, Dispatcher, LanePlan, Outcome, Outlet, Plan, Qos, Sink,
};
use oxorb_event::event_type::ANY;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::Query;
use zenoh::{Session, Wait};

use crate::statistics::{Counters, count};
use crate::wire::{self, Sender};
use crate::{FederationError, FederationOptions, WhenCongested, priorities};

/// Least urgent priority whose events are not collected into batches.
const EXPRESS: Priority = Priority::InteractiveLow;

/// Consumer of the channel, which queues the channel's events.
pub(crate) struct Sending {
    /// Outlets, one for each priority, ordered from the most to the least urgent.
    outlets: Vec<Outlet<Arc<Event>>>,
    dispatcher: Dispatcher<Arc<Event>>,
    publishing: Arc<Publishing>,
}

/// Sink of the queues: passes events to zenoh.
pub(crate) struct Publishing {
    session: Session,
    sender: Sender,
    options: FederationOptions,
    topics: Mutex<Topics>,
    pub(crate) counters: Arc<Counters>,
}

#[derive(Default)]
struct Topics {
    all: HashMap<Key, Topic>,
    /// Number of topics whose last event is kept.
    latest: usize,
}

struct Topic {
    publisher: Arc<Publisher<'static>>,
    /// Number of the last event of the topic.
    number: u64,
    keeps: bool,
    latest: Option<ZBytes>,
}

/// Creates the queues of one direction. One thread empties them in the order of urgency; up to `spares` more threads
/// are started while it is stuck.
pub(crate) fn queues<E: Clone + Send + Sync + 'static>(
    name: &str,
    spares: usize,
    sink: Arc<dyn Sink<E>>,
    qos: &Qos,
) -> Result<(Dispatcher<E>, Vec<Outlet<E>>), FederationError> {
    let lane = LanePlan { spares, ..LanePlan::new(name) };
    let plan =
        Plan { name: name.to_owned(), outlets: priorities::ALL.len(), ..Plan::lanes([lane]) };
    let dispatcher = Dispatcher::start(plan).map_err(FederationError::Threads)?;
    let outlet = |place: usize| {
        let qos = Qos {
            lane: 0,
            // With more than one thread, events of a topic could overtake each other.
            concurrency: 1,
            order_in_lane: place as u32,
            ..qos.clone()
        };
        dispatcher.connect(Arc::clone(&sink), qos)
    };
    let outlets = (0..priorities::ALL.len()).map(outlet);
    let outlets = outlets.collect::<Result<_, _>>();
    Ok((dispatcher, outlets.map_err(FederationError::Queue)?))
}

impl Sending {
    pub(crate) fn start(
        session: &Session,
        sender: Sender,
        options: &FederationOptions,
        counters: &Arc<Counters>,
    ) -> Result<Sending, FederationError> {
        let publishing = Arc::new(Publishing {
            session: session.clone(),
            sender,
            options: options.clone(),
            topics: Mutex::default(),
            counters: Arc::clone(counters),
        });
        // While zenoh has no space for one priority, a spare thread serves the other priorities.
        let sink = Arc::clone(&publishing);
        let (dispatcher, outlets) = queues("event-to-zenoh", 1, sink, &options.sending)?;
        Ok(Sending { outlets, dispatcher, publishing })
    }

    pub(crate) fn publishing(&self) -> &Arc<Publishing> {
        &self.publishing
    }

    pub(crate) fn counts(&self) -> Counts {
        self.dispatcher.counts()
    }

    /// Sends waiting events for at most one second, and refuses further ones.
    pub(crate) fn stop(&self) {
        self.dispatcher.shut_down(std::time::Duration::from_secs(1));
    }
}

impl PushConsumer for Sending {
    fn push(&self, events: &[Event]) {
        for event in events {
            if event.header.ttl <= 0 {
                count(&self.publishing.counters.ended);
                continue;
            }
            let priority = self.publishing.options.priorities.of(&event.header);
            let octets = event.data.payload.len() + size_of::<Event>();
            let about = Attributes {
                octets: u32::try_from(octets).unwrap_or(u32::MAX),
                source: u64::from(event.header.r#type.cast_unsigned()) << 32
                    | u64::from(event.header.source.cast_unsigned()),
                ..Attributes::default()
            };
            // Ignore the result: the queue counts dropped events.
            let _ =
                self.outlets[priorities::place(priority)].offer(&Arc::new(event.clone()), &about);
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Sink<Arc<Event>> for Publishing {
    fn deliver(&self, events: &[Arc<Event>]) -> Outcome {
        for event in events {
            match self.publish(event) {
                Ok(()) => count(&self.counters.sent),
                Err(()) => count(&self.counters.failed),
            }
        }
        Outcome::Delivered
    }
}

impl Publishing {
    fn publish(&self, event: &Event) -> Result<(), ()> {
        let priority = self.options.priorities.of(&event.header);
        let key = (event.header.r#type, event.header.source);
        // Number and encode the event under the lock, so that an event gets a number only if it can be encoded. Only
        // sending threads and queries for last events contend for this lock.
        let mut topics = self.lock();
        let Some(topic) = self.topic(&mut topics, key, priority)? else {
            drop(topics);
            let sample = wire::write(&self.sender, 0, priority, event).map_err(drop)?;
            count(&self.counters.unnumbered);
            let put = self.session.put(self.name(key), sample);
            let put = put.congestion_control(self.congestion()).priority(priority);
            return put.express(priority as u8 <= EXPRESS as u8).wait().map_err(drop);
        };
        let number = topic.number + 1;
        let sample = wire::write(&self.sender, number, priority, event).map_err(drop)?;
        let sample = ZBytes::from(sample);
        topic.number = number;
        if topic.keeps {
            topic.latest = Some(sample.clone());
        }
        let publisher = Arc::clone(&topic.publisher);
        drop(topics);
        publisher.put(sample).wait().map_err(drop)
    }

    /// Returns the topic of a key; `None` if events with this key are not numbered.
    fn topic<'t>(
        &self,
        topics: &'t mut Topics,
        key: Key,
        priority: Priority,
    ) -> Result<Option<&'t mut Topic>, ()> {
        let Topics { all, latest } = topics;
        let known = all.contains_key(&key);
        if !known && (key.0 == ANY || key.1 == ANY || all.len() >= self.options.topics) {
            return Ok(None);
        }
        if !known {
            let declared = self.session.declare_publisher(self.name(key));
            let declared = declared.congestion_control(self.congestion()).priority(priority);
            let declared = declared.express(priority as u8 <= EXPRESS as u8).wait();
            let publisher = Arc::new(declared.map_err(drop)?);
            // Count the topic only now, because a topic whose declaration failed is not in `all`.
            let keeps = *latest < self.options.latest;
            *latest += usize::from(keeps);
            all.insert(key, Topic { publisher, number: 0, keeps, latest: None });
        }
        Ok(all.get_mut(&key))
    }

    /// Answers a query for the last events of topics.
    pub(crate) fn answer(&self, query: &Query) {
        count(&self.counters.asked);
        let topics = self.lock();
        let asked = topics.all.values().filter(|topic| topic.latest.is_some());
        let asked = asked.filter(|topic| topic.publisher.key_expr().intersects(query.key_expr()));
        let kept: Vec<_> =
            asked.map(|topic| (topic.publisher.key_expr().clone(), topic.latest.clone())).collect();
        drop(topics);
        for (name, latest) in kept {
            // Ignore the error: the gateway that sent the query may no longer exist.
            let _ = query.reply(name, latest.unwrap_or_default()).wait();
        }
    }

    fn name(&self, key: Key) -> String {
        format!("{}/{}", self.options.prefix, wire::topic(key))
    }

    fn congestion(&self) -> CongestionControl {
        match self.options.when_congested {
            WhenCongested::Drop => CongestionControl::Drop,
            WhenCongested::Wait => CongestionControl::Block,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Topics> {
        // A poisoned lock can be used, because a panic under it leaves no partial change.
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Federation, Node};

    #[test]
    fn a_failed_declaration_takes_no_place_among_the_topics_whose_last_event_is_kept() {
        let node =
            Node { listen: vec!["tcp/127.0.0.1:0".to_owned()], scouting: false, ..Node::default() };
        let federation = Federation::join(&node).unwrap();
        // zenoh refuses the names of topics with this prefix, because a part of each name is empty.
        let prefix = "wrong//prefix".to_owned();
        let mut publishing = Publishing {
            session: federation.session().clone(),
            sender: [1; 16],
            options: FederationOptions { prefix, latest: 1, ..FederationOptions::default() },
            topics: Mutex::default(),
            counters: Arc::default(),
        };
        let mut event = Event::default();
        (event.header.r#type, event.header.source, event.header.ttl) = (17, 1, 9);
        assert_eq!(publishing.publish(&event), Err(()));
        publishing.options.prefix = "tests/sending".to_owned();
        assert_eq!(publishing.publish(&event), Ok(()));
        assert!(publishing.lock().all[&(17, 1)].latest.is_some());
    }
}
