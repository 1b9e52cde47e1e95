//! Clients that call concurrently, and filters that do not answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use oxorb::{
    Any, CompletionStatus, Interface as _, Outcome, Servant, SystemException, Upcall, minor,
};
use oxorb_notify::cos_notification::EventType;
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, ObtainInfoMode, SequenceProxyPushConsumerRef,
};
use oxorb_notify::cos_notify_comm::StructuredPushConsumerRef;
use oxorb_notify::cos_notify_filter::FilterRef;
use oxorb_notify::{Limits, Settings};

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer};
use crate::notify::structured::{event, property};

const ROUNDS: usize = 50;

/// If a proxy is disconnected while it is being connected, neither a route nor a subscription remains.
#[test]
fn connecting_and_disconnecting_at_once_leaves_nothing() {
    let served = Served::new();
    let source = served.structured_source();
    for _ in 0..ROUNDS {
        let proxy = served.structured_proxy();
        let wanted = EventType { domain_name: "d".to_owned(), type_name: "raced".to_owned() };
        proxy.subscription_change(&[wanted], &[]).unwrap();
        let (consumer, _heard) = peer::<StructuredPushConsumerRef>(&served.client);
        let together = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                together.wait();
                let _ = proxy.connect_structured_push_consumer(Some(&consumer));
            });
            together.wait();
            let _ = proxy.disconnect_structured_push_supplier();
        });
    }
    let subscribed = source.obtain_subscription_types(ObtainInfoMode::AllNowUpdatesOff);
    assert_eq!(subscribed.unwrap(), []);
    let before = served.service.counts().offered;
    source.push_structured_event(&event("d", "raced", 1)).unwrap();
    assert_eq!(served.service.counts().offered, before);
}

#[test]
fn a_channel_has_one_default_admin_and_a_service_no_more_channels_than_it_may() {
    const CLIENTS: usize = 4;
    for _ in 0..ROUNDS / 10 {
        let served = Served::with(Settings {
            limits: Limits { channels: 2, ..Limits::default() },
            ..Settings::default()
        });
        let together = Barrier::new(CLIENTS);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    together.wait();
                    served.channel.default_consumer_admin().unwrap();
                    // Ignore the result: only one of these channels is within the limit.
                    let _ = served.service.factory().create_channel(&[], &[]);
                });
            }
        });
        assert_eq!(served.channel.get_all_consumeradmins().unwrap().len(), 1);
        let channels = served.service.factory().get_all_channels().unwrap();
        assert_eq!(channels.len(), 2);
    }
}

/// A remote filter that returns no useful answer, and counts its calls.
struct Dead(Arc<AtomicUsize>);

impl Servant for Dead {
    fn repository_id(&self) -> &str {
        "IDL:omg.org/CosNotifyFilter/Filter:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.0.fetch_add(1, Ordering::SeqCst);
        upcall.fail(SystemException::object_not_exist(
            minor::object_not_exist::NO_OBJECT,
            CompletionStatus::No,
        ))
    }
}

#[test]
fn a_filter_that_is_dead_is_left_alone() {
    const FAILURES: u32 = 3;
    let served = Served::with(Settings {
        failures: FAILURES,
        filter_pause: Duration::from_secs(3600),
        ..Settings::default()
    });
    let source = served.structured_source();
    let calls = Arc::new(AtomicUsize::new(0));
    let dead = Arc::new(Dead(calls.clone()));
    let dead = served.client.root_poa().activate_servant(dead).unwrap();
    let filtered = served.structured_proxy();
    filtered.add_filter(Some(&FilterRef::from_ref(dead))).unwrap();
    let nothing = served.connect(&filtered);
    let heard = served.connect(&served.structured_proxy());
    for number in 0..20 {
        let pushed = event("d", "t", number);
        source.push_structured_event(&pushed).unwrap();
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Structured(pushed)));
    }
    assert!(nothing.try_recv().is_err());
    assert_eq!(calls.load(Ordering::SeqCst), FAILURES as usize);
}

#[test]
fn a_batch_is_accepted_as_a_whole_or_not_at_all() {
    let served = Served::new();
    served
        .channel
        .set_admin(&[
            property("MaxQueueLength", Any::new(4_i32)),
            property("RejectNewEvents", Any::new(true)),
        ])
        .unwrap();
    let pull = served.pull_supplier();
    pull.connect_pull_consumer(None).unwrap();
    let admin = served.channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (source, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let source: SequenceProxyPushConsumerRef = source.unwrap().unchecked_narrow();
    source.connect_sequence_push_supplier(None).unwrap();
    let batch = |from: i32| -> Vec<_> { (from..from + 3).map(|n| event("d", "t", n)).collect() };
    let offered = || served.service.counts().offered;
    source.push_structured_events(&batch(0)).unwrap();
    source.push_structured_events(&batch(3)).unwrap();
    assert_eq!(offered(), 6);
    source.push_structured_events(&batch(6)).unwrap_err();
    assert_eq!(offered(), 6);
}
