//! State of the channels of a server as an object: `idl/oxorb/events.idl`.

use std::sync::Arc;

use oxorb::{Distribution, SystemException};
use oxorb_event::{ConsumerStatistics, SupplierStatistics};

use super::channels::Channels;

mod generated {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("events");
}
pub(super) use generated::ox_orb as idl;

use idl::{EventChannelState, EventConsumer, EventDrops, EventLatency, EventSupplier, EventTimes};

/// Key of the object at every endpoint of the server.
pub(super) const OBJECT: &str = "OxorbEvents";

/// The servant. Costs a call the lock that connecting takes, once for each channel.
pub(super) struct Statistics(pub(super) Arc<Channels>);

impl idl::EventStatistics for Statistics {
    fn channels(&self) -> Result<Vec<EventChannelState>, SystemException> {
        let all = self.0.all();
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
}

fn consumer(one: &ConsumerStatistics) -> EventConsumer {
    let dropped = one.suspended + one.failed + one.dropped;
    let own = [("suspended", one.suspended), ("failed", one.failed)];
    let queue = one.queue.drops().map(|(cause, events)| (cause.name(), events));
    let drops = own.into_iter().filter(|(_, events)| *events > 0).chain(queue);
    EventConsumer {
        number: one.number,
        reference: one.reference.as_ref().map_or(String::new(), |ior| ior.to_string()),
        is_gateway: one.is_gateway,
        is_suspended: one.is_suspended,
        matched: one.matched,
        delivered: one.delivered,
        // Counters of other threads, read one after the other.
        waiting: one.matched.saturating_sub(one.delivered + dropped),
        drops: drops
            .map(|(cause, events)| EventDrops { cause: cause.to_owned(), events })
            .collect(),
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
