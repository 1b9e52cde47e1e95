//! The quality of service of a supplier's request (RIOP) determines the order in queues, and is propagated to
//! consumers.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::policy::{CommunicationClass, Qos, RequestQos};
use oxorb::{Any, Interface, Outcome, Servant, Upcall};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, SequenceProxyPushSupplierRef, StructuredProxyPushConsumerRef,
};

use crate::notify::Served;
use crate::notify::peers::PATIENCE;
use crate::notify::structured::{event, numbers, property};

/// Duration that exceeds that of any test.
const HOUR: Duration = Duration::from_secs(3_600);

/// A consumer that records the quality of service of each push.
struct Notes {
    interface: &'static str,
    to: Mutex<Sender<Option<Qos>>>,
}

impl Servant for Notes {
    fn repository_id(&self) -> &str {
        self.interface
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        if upcall.operation().starts_with("push") {
            let _ = self.to.lock().unwrap().send(upcall.qos());
        }
        upcall.done()
    }
}

/// Serves a consumer with an interface. The receiver gets the quality of service of each push.
fn consumer<I: Interface>(served: &Served, interface: &'static str) -> (I, Receiver<Option<Qos>>) {
    let (to, noted) = channel();
    let servant = Arc::new(Notes { interface, to: Mutex::new(to) });
    let reference = served.client.root_poa().activate_servant(servant).unwrap();
    (I::from_ref(reference), noted)
}

/// Returns the proxy with an importance for its requests.
fn important(
    proxy: &StructuredProxyPushConsumerRef,
    importance: i32,
    deadline: Duration,
) -> StructuredProxyPushConsumerRef {
    let class = CommunicationClass::Message;
    let qos = Qos { importance, class, deadline: Some(deadline), ..Qos::default() };
    proxy.with(RequestQos(qos))
}

#[test]
fn consumers_of_every_form_receive_the_quality_of_service_of_the_supplier() {
    let served = Served::new();
    let (any, of_any) = consumer(&served, "IDL:omg.org/CosEventComm/PushConsumer:1.0");
    served.push_supplier().connect_push_consumer(Some(&any)).unwrap();
    let id = "IDL:omg.org/CosNotifyComm/StructuredPushConsumer:1.0";
    let (structured, of_structured) = consumer(&served, id);
    let proxy = served.structured_proxy();
    proxy.connect_structured_push_consumer(Some(&structured)).unwrap();
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let (proxy, _) = admin.obtain_notification_push_supplier(ClientType::SequenceEvent).unwrap();
    let proxy: SequenceProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let id = "IDL:omg.org/CosNotifyComm/SequencePushConsumer:1.0";
    let (sequence, of_sequence) = consumer(&served, id);
    proxy.connect_sequence_push_consumer(Some(&sequence)).unwrap();

    let source = served.structured_source();
    let noted = [of_any, of_structured, of_sequence];
    let forms = ["any", "structured", "sequence"];
    important(&source, 7, HOUR).push_structured_event(&event("d", "t", 1)).unwrap();
    for (noted, form) in noted.iter().zip(forms) {
        let qos = noted.recv_timeout(PATIENCE).unwrap().expect("the supplier set one");
        assert_eq!((qos.importance, qos.class), (7, CommunicationClass::Message), "{form}");
        assert!(qos.deadline.unwrap() < HOUR, "{form}: the remaining time");
    }
    source.push_structured_event(&event("d", "t", 2)).unwrap();
    for (noted, form) in noted.iter().zip(forms) {
        assert_eq!(noted.recv_timeout(PATIENCE).unwrap(), None, "{form}: the supplier set none");
    }
}

#[test]
fn importance_orders_events_without_a_priority() {
    let served = Served::new();
    let pull = served.structured_pull();
    pull.connect_structured_pull_consumer(None).unwrap();
    let source = served.structured_source();
    for (number, importance, priority) in
        [(1, 0, None), (2, 7, None), (3, 0, Some(9_i16)), (4, 3, None), (5, 40_000, Some(-1))]
    {
        let mut event = event("d", "t", number);
        let priority = priority.map(|priority| property("Priority", Any::new(priority)));
        event.header.variable_header.extend(priority);
        important(&source, importance, HOUR).push_structured_event(&event).unwrap();
    }
    assert_eq!(numbers(&pull), [3, 2, 4, 1, 5]);
}

#[test]
fn deadlines_of_requests_order_events_and_drop_none() {
    let served = Served::new();
    let pull = served.structured_pull();
    pull.set_qos(&[property("OrderPolicy", Any::new(3_i16))]).unwrap();
    pull.connect_structured_pull_consumer(None).unwrap();
    let source = served.structured_source();
    for (number, deadline) in [(1, HOUR * 2), (2, Duration::from_micros(1)), (3, HOUR)] {
        important(&source, 0, deadline).push_structured_event(&event("d", "t", number)).unwrap();
    }
    source.push_structured_event(&event("d", "t", 4)).unwrap();
    assert_eq!(numbers(&pull), [2, 3, 1, 4]);
}
