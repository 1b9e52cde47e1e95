//! Statistics of the channels of a server as an object: `idl/oxorb/events.idl`.

use std::sync::Arc;

use oxorb::SystemException;
use oxorb::rt::Distribution;
use oxorb_event::{ConsumerStatistics, SupplierStatistics};
use oxorb_notify::NotifyService;

use super::channels::Channels;

mod generated {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("events");
}
pub(super) use generated::ox_orb as idl;

use idl::{
    EventChannelState, EventConsumer, EventDrops, EventLatency, EventSupplier, EventTimes,
    NotificationState,
};

/// Object key of the statistics at every endpoint of the server.
pub(super) const OBJECT: &str = "OxorbEvents";

/// Servant of the statistics. A call takes the lock of connection changes once for each channel.
pub(super) struct Statistics {
    pub(super) channels: Arc<Channels>,
    /// Name of the Notification Service's channel, and the service.
    pub(super) notify: Option<(String, NotifyService)>,
}

impl idl::EventStatistics for Statistics {
    fn channels(&self) -> Result<Vec<EventChannelState>, SystemException> {
        let all = self.channels.all();
        let states = all.iter().map(|(name, served)| {
            let statistics = served.channel().statistics();
            EventChannelState {
                name: name.clone(),
                consumers: statistics.consumers.iter().map(consumer).collect(),
                suppliers: statistics.suppliers.iter().map(supplier).collect(),
                observers: statistics.observers as u32,
            }
        });
        Ok(states.collect())
    }

    fn notifications(&self) -> Result<Vec<NotificationState>, SystemException> {
        let state = |(name, service): &(String, NotifyService)| {
            let counts = service.counts();
            NotificationState {
                name: name.clone(),
                offered: counts.offered,
                delivered: counts.delivered,
                waiting: counts.waiting,
                drops: counts.drops().map(|(cause, events)| drops(cause.name(), events)).collect(),
                held_octets: service.held_octets() as u64,
            }
        };
        Ok(self.notify.iter().map(state).collect())
    }
}

fn drops(cause: &str, events: u64) -> EventDrops {
    EventDrops { cause: cause.to_owned(), events }
}

fn consumer(one: &ConsumerStatistics) -> EventConsumer {
    let dropped = one.suspended + one.failed + one.dropped;
    let own = [("suspended", one.suspended), ("failed", one.failed)];
    let queue = one.queue.drops().map(|(cause, events)| (cause.name(), events));
    let dropped_by = own.into_iter().filter(|(_, events)| *events > 0).chain(queue);
    EventConsumer {
        number: one.number,
        reference: one.reference.as_ref().map_or(String::new(), |ior| ior.to_string()),
        is_gateway: one.is_gateway,
        is_suspended: one.is_suspended,
        matched: one.matched,
        delivered: one.delivered,
        // Other threads may change the counters between the reads, so the difference could be negative.
        waiting: one.matched.saturating_sub(one.delivered + dropped),
        drops: dropped_by.map(|(cause, events)| drops(cause, events)).collect(),
        latency: one.latency.as_ref().map(latency).unwrap_or_default(),
    }
}

fn latency(measured: &Distribution) -> EventLatency {
    let times = measured.counts();
    EventLatency {
        max_ns: measured.max_ns,
        times: times.map(|(most_ns, events)| EventTimes { most_ns, events }).collect(),
    }
}

fn supplier(one: &SupplierStatistics) -> EventSupplier {
    EventSupplier {
        number: one.number,
        reference: one.reference.as_ref().map_or(String::new(), |ior| ior.to_string()),
        is_gateway: one.is_gateway,
        events: one.events,
        refused: one.refused,
        beyond_rate: one.beyond_rate,
    }
}
