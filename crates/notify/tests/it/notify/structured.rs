//! Structured events: filters, subscriptions, order, batches, and conversion to other forms.

use std::sync::mpsc::Receiver;

use oxorb::{Any, Interface as _};
use oxorb_notify::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, InterFilterGroupOperator, ProxyPushConsumerRef, ProxyPushSupplierRef,
    SequenceProxyPullSupplierRef, SequenceProxyPushConsumerRef, SequenceProxyPushSupplierRef,
    StructuredProxyPullSupplierRef, StructuredProxyPushConsumerRef, StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_comm::{SequencePushConsumerRef, StructuredPushConsumerRef};
use oxorb_notify::cos_notify_filter::{ConstraintExp, FilterRef, MappingConstraintPair};

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer};

pub(crate) fn event(domain: &str, name: &str, number: i32) -> StructuredEvent {
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader {
                event_type: EventType {
                    domain_name: domain.to_owned(),
                    type_name: name.to_owned(),
                },
                event_name: String::new(),
            },
            variable_header: Vec::new(),
        },
        filterable_data: vec![property("number", Any::new(number))],
        remainder_of_body: Any::new(number),
    }
}

pub(crate) fn property(name: &str, value: Any) -> Property {
    Property { name: name.to_owned(), value }
}

fn with_priority(priority: i16, number: i32) -> StructuredEvent {
    let mut event = event("d", "t", number);
    event.header.variable_header = vec![property("Priority", Any::new(priority))];
    event
}

impl Served {
    pub(crate) fn structured_source(&self) -> StructuredProxyPushConsumerRef {
        let admin = self.channel.default_supplier_admin().unwrap().unwrap();
        let form = ClientType::StructuredEvent;
        let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
        let proxy = proxy.unwrap().narrow::<StructuredProxyPushConsumerRef>();
        let proxy = proxy.unwrap().expect("a structured proxy");
        proxy.connect_structured_push_supplier(None).unwrap();
        proxy
    }

    /// Returns a proxy for a consumer of structured events that is not connected yet.
    pub(crate) fn structured_proxy(&self) -> StructuredProxyPushSupplierRef {
        let admin = self.channel.default_consumer_admin().unwrap().unwrap();
        let form = ClientType::StructuredEvent;
        let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
        proxy.unwrap().narrow().unwrap().expect("a structured proxy")
    }

    pub(crate) fn connect(&self, proxy: &StructuredProxyPushSupplierRef) -> Receiver<Heard> {
        let (consumer, heard) = peer::<StructuredPushConsumerRef>(&self.client);
        proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
        heard
    }

    pub(crate) fn structured_pull(&self) -> StructuredProxyPullSupplierRef {
        let admin = self.channel.default_consumer_admin().unwrap().unwrap();
        let form = ClientType::StructuredEvent;
        let (proxy, _) = admin.obtain_notification_pull_supplier(form).unwrap();
        proxy.unwrap().narrow().unwrap().expect("a structured proxy")
    }

    fn filter(&self, constraint: &str, types: Vec<EventType>) -> FilterRef {
        let factory = self.channel.default_filter_factory().unwrap().unwrap();
        let filter = factory.create_filter("EXTENDED_TCL").unwrap().unwrap();
        let added = filter.add_constraints(&[ConstraintExp {
            event_types: types,
            constraint_expr: constraint.to_owned(),
        }]);
        assert_eq!(added.unwrap()[0].constraint_id, 1);
        filter
    }
}

pub(crate) fn numbers(pull: &StructuredProxyPullSupplierRef) -> Vec<i32> {
    let mut numbers = Vec::new();
    while let (event, true) = pull.try_pull_structured_event().unwrap() {
        numbers.push(event.remainder_of_body.get::<i32>().unwrap().unwrap());
    }
    numbers
}

fn assert_next(heard: &Receiver<Heard>, number: i32) {
    match heard.recv_timeout(PATIENCE) {
        Ok(Heard::Structured(event)) => {
            assert_eq!(event.remainder_of_body.get::<i32>(), Ok(Some(number)));
        }
        other => panic!("{number}: {other:?}"),
    }
}

#[test]
fn filters_of_proxy_and_admin_are_combined() {
    let served = Served::new();
    for (operator, expected) in [
        (InterFilterGroupOperator::AndOp, vec![3]),
        (InterFilterGroupOperator::OrOp, vec![1, 2, 3, 4]),
    ] {
        let (admin, _) = served.channel.new_for_consumers(operator).unwrap();
        let admin = admin.unwrap();
        let form = ClientType::StructuredEvent;
        let (proxy, id) = admin.obtain_notification_pull_supplier(form).unwrap();
        assert_eq!(admin.pull_suppliers().unwrap().as_ref(), [id]);
        let proxy: StructuredProxyPullSupplierRef = proxy.unwrap().unchecked_narrow();
        proxy.connect_structured_pull_consumer(None).unwrap();
        let of_admin = served.filter("$number >= 3", Vec::new());
        let of_proxy = served.filter("$number <= 3", Vec::new());
        admin.add_filter(Some(&of_admin)).unwrap();
        let attached = proxy.add_filter(Some(&of_proxy)).unwrap();
        let source = served.structured_source();
        for number in 1..=4 {
            source.push_structured_event(&event("d", "t", number)).unwrap();
        }
        assert_eq!(numbers(&proxy), expected, "{operator:?}");
        proxy.remove_filter(attached).unwrap();
        assert!(proxy.get_filter(attached).is_err());
        admin.remove_all_filters().unwrap();
        source.push_structured_event(&event("d", "t", 9)).unwrap();
        assert_eq!(numbers(&proxy), [9]);
    }
}

#[test]
fn a_filter_of_the_supplier_side_and_types_of_a_constraint() {
    let served = Served::new();
    let pull = served.structured_pull();
    pull.connect_structured_pull_consumer(None).unwrap();
    let source = served.structured_source();
    let types = vec![EventType { domain_name: "Tele*".to_owned(), type_name: "*".to_owned() }];
    let filter = served.filter("$number > 1", types);
    source.add_filter(Some(&filter)).unwrap();
    source.push_structured_event(&event("Telecom", "t", 1)).unwrap();
    source.push_structured_event(&event("Telecom", "t", 2)).unwrap();
    source.push_structured_event(&event("Finance", "t", 3)).unwrap();
    assert_eq!(numbers(&pull), [2]);
    filter.remove_all_constraints().unwrap();
    source.push_structured_event(&event("Telecom", "t", 4)).unwrap();
    assert!(numbers(&pull).is_empty(), "a filter without constraints lets nothing pass");
}

#[test]
fn a_subscription_decides_what_comes() {
    let served = Served::new();
    let pull = served.structured_pull();
    let all = [EventType { domain_name: "*".to_owned(), type_name: "%ALL".to_owned() }];
    let mine = [EventType { domain_name: "d".to_owned(), type_name: "mine".to_owned() }];
    pull.connect_structured_pull_consumer(None).unwrap();
    pull.subscription_change(&mine, &all).unwrap();
    let source = served.structured_source();
    source.push_structured_event(&event("d", "mine", 1)).unwrap();
    source.push_structured_event(&event("d", "other", 2)).unwrap();
    assert_eq!(numbers(&pull), [1]);
    pull.subscription_change(&[], &mine).unwrap();
    source.push_structured_event(&event("d", "mine", 3)).unwrap();
    assert!(numbers(&pull).is_empty());
}

#[test]
fn policies_order_and_discard() {
    let served = Served::new();
    // Columns: order policy, discard policy, and the events that a queue of three keeps of those with the priorities 1,
    // 5, 3, 5, 2.
    for (order, discard, expected) in [
        (1_i16, 1_i16, [3, 4, 5]),
        (1, 4, [1, 2, 3]),
        (2, 2, [2, 4, 3]),
        (2, 1, [4, 3, 5]),
        (1, 2, [2, 3, 4]),
    ] {
        let pull = served.structured_pull();
        pull.set_qos(&[
            property("OrderPolicy", Any::new(order)),
            property("DiscardPolicy", Any::new(discard)),
            property("MaxEventsPerConsumer", Any::new(3_i32)),
        ])
        .unwrap();
        pull.connect_structured_pull_consumer(None).unwrap();
        let source = served.structured_source();
        for (at, priority) in [1, 5, 3, 5, 2].into_iter().enumerate() {
            let event = with_priority(priority, at as i32 + 1);
            source.push_structured_event(&event).unwrap();
        }
        assert_eq!(numbers(&pull), expected, "order {order}, discard {discard}");
        pull.disconnect_structured_pull_supplier().unwrap();
    }
    let counts = served.service.counts();
    assert!(counts.is_balanced(), "{counts:?}");
    assert_eq!(counts.dropped_in_all(), 10);
}

#[test]
fn mapping_filters_give_priorities() {
    let served = Served::new();
    let factory = served.channel.default_filter_factory().unwrap().unwrap();
    let mapping = factory.create_mapping_filter("EXTENDED_TCL", &Any::new(0_i16));
    let mapping = mapping.unwrap().unwrap();
    let urgent = MappingConstraintPair {
        constraint_expression: ConstraintExp {
            event_types: Vec::new(),
            constraint_expr: "$number == 3".to_owned(),
        },
        result_to_set: Any::new(100_i16),
    };
    mapping.add_mapping_constraints(std::slice::from_ref(&urgent)).unwrap();
    let wrong = MappingConstraintPair { result_to_set: Any::new(100_i32), ..urgent };
    assert!(mapping.add_mapping_constraints(&[wrong]).is_err());
    let (matched, value) = mapping.match_structured(&event("d", "t", 3)).unwrap();
    assert_eq!((matched, value.get::<i16>()), (true, Ok(Some(100))));
    let pull = served.structured_pull();
    pull.set_priority_filter(Some(&mapping)).unwrap();
    pull.connect_structured_pull_consumer(None).unwrap();
    let source = served.structured_source();
    for number in 1..=3 {
        source.push_structured_event(&event("d", "t", number)).unwrap();
    }
    assert_eq!(numbers(&pull), [3, 1, 2]);
}

#[test]
fn a_suspended_consumer_gets_everything_when_it_resumes() {
    let served = Served::new();
    let proxy = served.structured_proxy();
    assert!(proxy.suspend_connection().is_err(), "not connected");
    let heard = served.connect(&proxy);
    proxy.suspend_connection().unwrap();
    assert!(proxy.suspend_connection().is_err(), "suspended already");
    let source = served.structured_source();
    for number in 0..10 {
        source.push_structured_event(&event("d", "t", number)).unwrap();
    }
    assert!(heard.try_recv().is_err());
    proxy.resume_connection().unwrap();
    assert!(proxy.resume_connection().is_err(), "active already");
    for number in 0..10 {
        assert_next(&heard, number);
    }
}

#[test]
fn batches_are_as_large_as_the_consumer_wants() {
    let served = Served::new();
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: SequenceProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    proxy
        .set_qos(&[
            property("MaximumBatchSize", Any::new(4_i32)),
            property("PacingInterval", Any::new(600_000_000_u64)),
        ])
        .unwrap();
    let (consumer, heard) = peer::<SequencePushConsumerRef>(&served.client);
    proxy.connect_sequence_push_consumer(Some(&consumer)).unwrap();
    let (pull, _) = admin.obtain_notification_pull_supplier(form).unwrap();
    let pull: SequenceProxyPullSupplierRef = pull.unwrap().unchecked_narrow();
    pull.connect_sequence_pull_consumer(None).unwrap();
    let suppliers = served.channel.default_supplier_admin().unwrap().unwrap();
    let (source, _) = suppliers.obtain_notification_push_consumer(form).unwrap();
    let source: SequenceProxyPushConsumerRef = source.unwrap().unchecked_narrow();
    source.connect_sequence_push_supplier(None).unwrap();
    let batch: Vec<_> = (0..8).map(|number| event("d", "t", number)).collect();
    source.push_structured_events(&batch).unwrap();
    for expected in batch.chunks(4) {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Batch(expected.to_vec())));
    }
    assert_eq!(pull.pull_structured_events(3).unwrap(), batch[..3]);
    assert_eq!(pull.try_pull_structured_events(100).unwrap(), (batch[3..].to_vec(), true));
    assert_eq!(pull.try_pull_structured_events(100).unwrap(), (Vec::new(), false));
}

#[test]
fn forms_are_converted() {
    let served = Served::new();
    let structured = served.structured_pull();
    structured.connect_structured_pull_consumer(None).unwrap();
    let anys = served.pull_supplier();
    anys.connect_pull_consumer(None).unwrap();
    let from_any = served.source();
    from_any.push(&Any::new(5_i32)).unwrap();
    let (event_of_any, _) = structured.try_pull_structured_event().unwrap();
    assert_eq!(event_of_any.header.fixed_header.event_type.type_name, "%ANY");
    assert_eq!(event_of_any.remainder_of_body.get::<i32>(), Ok(Some(5)));
    assert_eq!(anys.try_pull().unwrap().0.get::<i32>(), Ok(Some(5)));

    let sent = event("d", "t", 6);
    served.structured_source().push_structured_event(&sent).unwrap();
    assert_eq!(structured.try_pull_structured_event().unwrap(), (sent.clone(), true));
    let (any, _) = anys.try_pull().unwrap();
    assert_eq!(any.get::<StructuredEvent>(), Ok(Some(sent.clone())));
    // If an any contains a structured event, this event is delivered.
    from_any.push(&Any::new(sent.clone())).unwrap();
    assert_eq!(structured.try_pull_structured_event().unwrap(), (sent, true));
}

#[test]
fn proxies_of_anys_have_filters() {
    let served = Served::new();
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let (proxy, _) = admin.obtain_notification_push_supplier(ClientType::AnyEvent).unwrap();
    let proxy: ProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let filter = served.filter("$ > 3", Vec::new());
    proxy.add_filter(Some(&filter)).unwrap();
    let (consumer, heard) = peer(&served.client);
    proxy.connect_any_push_consumer(Some(&consumer)).unwrap();
    let suppliers = served.channel.default_supplier_admin().unwrap().unwrap();
    let (source, _) = suppliers.obtain_notification_push_consumer(ClientType::AnyEvent).unwrap();
    let source: ProxyPushConsumerRef = source.unwrap().unchecked_narrow();
    source.connect_any_push_supplier(None).unwrap();
    for number in [1_i32, 5, 2, 7] {
        source.push(&Any::new(number)).unwrap();
    }
    for number in [5_i32, 7] {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Any(Any::new(number))));
    }
}
