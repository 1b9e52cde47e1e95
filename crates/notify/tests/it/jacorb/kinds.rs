//! Suppliers and consumers of OxORB, of every kind.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_event_comm as comm;
use oxorb_notify::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use oxorb_notify::cos_notify_channel_admin as admin;
use oxorb_notify::cos_notify_channel_admin::{ClientType, EventChannelRef};
use oxorb_notify::cos_notify_comm as notify;
use oxorb_notify::cos_notify_filter::{ConstraintExp, FilterRef};

use crate::jacorb::java::PATIENCE;

/// Kinds of suppliers and consumers, by number. JacORB's programs use the same numbers.
pub(crate) const KINDS: [&str; 8] = [
    "push_any",
    "push_structured",
    "push_sequence",
    "pull_any",
    "pull_structured",
    "pull_sequence",
    // The last two kinds use the interfaces of the Event Service.
    "push_event",
    "pull_event",
];

/// Reports whether suppliers of a kind send anys.
pub(crate) fn is_any(kind: usize) -> bool {
    [0, 3, 6, 7].contains(&kind)
}

/// Reports whether consumers of a kind have filters. Those of the Event Service have none.
pub(crate) fn is_filtered(kind: usize) -> bool {
    kind < 6
}

/// Call that a consumer of a kind has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Event(usize, i32),
    Disconnected(usize),
}

pub(crate) fn event(number: i32) -> StructuredEvent {
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader {
                event_type: EventType {
                    domain_name: "peers".to_owned(),
                    type_name: "numbers".to_owned(),
                },
                event_name: String::new(),
            },
            variable_header: Vec::new(),
        },
        filterable_data: vec![Property { name: "number".to_owned(), value: Any::new(number % 10) }],
        remainder_of_body: Any::new(number),
    }
}

/// Returns the number that an event contains. The event may be inside an any.
fn number(any: &Any) -> i32 {
    if let Ok(Some(event)) = any.get::<StructuredEvent>() {
        return number(&event.remainder_of_body);
    }
    if let Ok(Some(inside)) = any.get::<Any>() {
        return number(&inside);
    }
    let number = any.get::<i32>();
    number.unwrap_or_else(|why| panic!("{why}: {any:?}")).unwrap_or_else(|| panic!("{any:?}"))
}

/// Servant of all consumers, and of the suppliers from which the channel pulls.
pub(crate) struct Peer {
    kind: usize,
    tell: Sender<Heard>,
    waiting: Mutex<VecDeque<i32>>,
}

impl Peer {
    pub(crate) fn new(kind: usize, tell: Sender<Heard>) -> Peer {
        Peer { kind, tell, waiting: Mutex::default() }
    }

    fn got(&self, number: i32) {
        let _ = self.tell.send(Heard::Event(self.kind, number));
    }

    fn disconnected(&self) -> oxorb::Result<()> {
        let _ = self.tell.send(Heard::Disconnected(self.kind));
        Ok(())
    }

    fn next(&self) -> Option<i32> {
        self.waiting.lock().unwrap().pop_front()
    }
}

impl comm::PushConsumer for Peer {
    fn push(&self, data: &Any) -> Result<(), comm::push_consumer::PushError> {
        self.got(number(data));
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl comm::PullConsumer for Peer {
    fn disconnect_pull_consumer(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl comm::PullSupplier for Peer {
    fn pull(&self) -> Result<Any, comm::pull_supplier::PullError> {
        Ok(Any::new(self.next().unwrap_or(0)))
    }

    fn try_pull(&self) -> Result<(Any, bool), comm::pull_supplier::TryPullError> {
        let next = self.next();
        Ok((Any::new(next.unwrap_or(0)), next.is_some()))
    }

    fn disconnect_pull_supplier(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl notify::NotifyPublish for Peer {
    fn offer_change(
        &self,
        _: &[EventType],
        _: &[EventType],
    ) -> Result<(), notify::notify_publish::OfferChangeError> {
        Ok(())
    }
}

impl notify::NotifySubscribe for Peer {
    fn subscription_change(
        &self,
        _: &[EventType],
        _: &[EventType],
    ) -> Result<(), notify::notify_subscribe::SubscriptionChangeError> {
        Ok(())
    }
}

impl notify::StructuredPushConsumer for Peer {
    fn push_structured_event(
        &self,
        event: &StructuredEvent,
    ) -> Result<(), notify::structured_push_consumer::PushStructuredEventError> {
        self.got(number(&event.remainder_of_body));
        Ok(())
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl notify::SequencePushConsumer for Peer {
    fn push_structured_events(
        &self,
        events: &[StructuredEvent],
    ) -> Result<(), notify::sequence_push_consumer::PushStructuredEventsError> {
        let numbers = events.iter().map(|event| number(&event.remainder_of_body));
        numbers.for_each(|number| self.got(number));
        Ok(())
    }

    fn disconnect_sequence_push_consumer(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl notify::StructuredPullConsumer for Peer {
    fn disconnect_structured_pull_consumer(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl notify::SequencePullConsumer for Peer {
    fn disconnect_sequence_pull_consumer(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl notify::StructuredPullSupplier for Peer {
    fn pull_structured_event(
        &self,
    ) -> Result<StructuredEvent, notify::structured_pull_supplier::PullStructuredEventError> {
        Ok(event(self.next().unwrap_or(0)))
    }

    fn try_pull_structured_event(
        &self,
    ) -> Result<
        (StructuredEvent, bool),
        notify::structured_pull_supplier::TryPullStructuredEventError,
    > {
        let next = self.next();
        Ok((event(next.unwrap_or(0)), next.is_some()))
    }

    fn disconnect_structured_pull_supplier(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

impl notify::SequencePullSupplier for Peer {
    fn pull_structured_events(
        &self,
        _: i32,
    ) -> Result<Vec<StructuredEvent>, notify::sequence_pull_supplier::PullStructuredEventsError>
    {
        Ok(self.next().map(event).into_iter().collect())
    }

    fn try_pull_structured_events(
        &self,
        most: i32,
    ) -> Result<
        (Vec<StructuredEvent>, bool),
        notify::sequence_pull_supplier::TryPullStructuredEventsError,
    > {
        let mut waiting = self.waiting.lock().unwrap();
        let most = waiting.len().min(most.max(1) as usize);
        let events: Vec<_> = waiting.drain(..most).map(event).collect();
        let has_event = !events.is_empty();
        Ok((events, has_event))
    }

    fn disconnect_sequence_pull_supplier(&self) -> oxorb::Result<()> {
        self.disconnected()
    }
}

/// Creates a filter with the channel's filter factory.
pub(crate) fn filter(channel: &EventChannelRef, constraint: &str) -> FilterRef {
    let filters = channel.default_filter_factory().unwrap().unwrap();
    let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let constraint =
        ConstraintExp { event_types: Vec::new(), constraint_expr: constraint.to_owned() };
    filter.add_constraints(&[constraint]).unwrap();
    filter
}

/// Connects a consumer of each kind. All consumers have these filters. Consumers that pull run in threads until their
/// channel ends.
pub(crate) fn consume(
    orb: &Orb,
    channel_of: &EventChannelRef,
    constraints: &[&str],
) -> Receiver<Heard> {
    let (tell, heard) = channel();
    let peer = |kind| Peer::new(kind, tell.clone());
    let consumers = channel_of.default_consumer_admin().unwrap().unwrap();
    let obtain = |kind: usize| {
        let form = [ClientType::AnyEvent, ClientType::StructuredEvent, ClientType::SequenceEvent]
            [kind % 3];
        let (proxy, _) = match kind / 3 {
            0 => consumers.obtain_notification_push_supplier(form).unwrap(),
            _ => consumers.obtain_notification_pull_supplier(form).unwrap(),
        };
        let proxy = proxy.unwrap();
        for constraint in constraints {
            let filter = filter(channel_of, constraint);
            proxy.add_filter(Some(&filter)).unwrap();
        }
        proxy
    };
    macro_rules! connect {
        ($kind:literal, $proxy:ty, $connect:ident, $reference:ty) => {{
            let proxy: $proxy = obtain($kind).unchecked_narrow();
            let consumer: $reference = orb.root_poa().activate(peer($kind)).unwrap();
            proxy.$connect(Some(&consumer)).unwrap();
            proxy
        }};
    }
    connect!(0, admin::ProxyPushSupplierRef, connect_any_push_consumer, comm::PushConsumerRef);
    connect!(
        1,
        admin::StructuredProxyPushSupplierRef,
        connect_structured_push_consumer,
        notify::StructuredPushConsumerRef
    );
    connect!(
        2,
        admin::SequenceProxyPushSupplierRef,
        connect_sequence_push_consumer,
        notify::SequencePushConsumerRef
    );
    let any =
        connect!(3, admin::ProxyPullSupplierRef, connect_any_pull_consumer, comm::PullConsumerRef);
    let structured = connect!(
        4,
        admin::StructuredProxyPullSupplierRef,
        connect_structured_pull_consumer,
        notify::StructuredPullConsumerRef
    );
    let sequence = connect!(
        5,
        admin::SequenceProxyPullSupplierRef,
        connect_sequence_pull_consumer,
        notify::SequencePullConsumerRef
    );
    let plain = channel_of.for_consumers().unwrap().unwrap();
    let pushed = plain.obtain_push_supplier().unwrap().unwrap();
    let consumer: comm::PushConsumerRef = orb.root_poa().activate(peer(6)).unwrap();
    pushed.connect_push_consumer(Some(&consumer)).unwrap();
    let plain = plain.obtain_pull_supplier().unwrap().unwrap();
    let consumer: comm::PullConsumerRef = orb.root_poa().activate(peer(7)).unwrap();
    plain.connect_pull_consumer(Some(&consumer)).unwrap();
    thread::spawn(move || {
        let tell = |kind, number| {
            let _ = tell.send(Heard::Event(kind, number));
        };
        loop {
            let Ok((event, has)) = any.try_pull() else {
                return;
            };
            has.then(|| tell(3, number(&event)));
            let Ok((event, has)) = plain.try_pull() else {
                return;
            };
            has.then(|| tell(7, number(&event)));
            let Ok((event, has)) = structured.try_pull_structured_event() else {
                return;
            };
            has.then(|| tell(4, number(&event.remainder_of_body)));
            let Ok((events, has)) = sequence.try_pull_structured_events(10) else {
                return;
            };
            // The operation returns a value even if there is no event, so check `has`.
            let numbers = events.iter().filter(|_| has);
            let numbers = numbers.map(|event| number(&event.remainder_of_body));
            numbers.for_each(|number| tell(5, number));
            thread::sleep(Duration::from_millis(5));
        }
    });
    heard
}

/// Sends events from a supplier of each kind. Suppliers from which the channel pulls remain connected.
pub(crate) fn supply(orb: &Orb, channel_of: &EventChannelRef, base: i32, events: i32) {
    let suppliers = channel_of.default_supplier_admin().unwrap().unwrap();
    let push = |form| {
        let (proxy, _) = suppliers.obtain_notification_push_consumer(form).unwrap();
        proxy.unwrap()
    };
    let pull = |form| {
        let (proxy, _) = suppliers.obtain_notification_pull_consumer(form).unwrap();
        proxy.unwrap()
    };
    let any: admin::ProxyPushConsumerRef = push(ClientType::AnyEvent).unchecked_narrow();
    any.connect_any_push_supplier(None).unwrap();
    let structured: admin::StructuredProxyPushConsumerRef =
        push(ClientType::StructuredEvent).unchecked_narrow();
    structured.connect_structured_push_supplier(None).unwrap();
    let sequence: admin::SequenceProxyPushConsumerRef =
        push(ClientType::SequenceEvent).unchecked_narrow();
    sequence.connect_sequence_push_supplier(None).unwrap();
    let plain = channel_of.for_suppliers().unwrap().unwrap();
    let pushed = plain.obtain_push_consumer().unwrap().unwrap();
    pushed.connect_push_supplier(None).unwrap();
    for number in base..base + events {
        any.push(&Any::new(number)).unwrap();
        pushed.push(&Any::new(number + 60)).unwrap();
        structured.push_structured_event(&event(number + 10)).unwrap();
    }
    let batch: Vec<_> = (base + 20..base + 20 + events).map(event).collect();
    sequence.push_structured_events(&batch).unwrap();

    let (tell, _heard) = channel();
    let source = |kind: usize| Peer {
        kind,
        tell: tell.clone(),
        waiting: Mutex::new((0..events).map(|number| base + 10 * kind as i32 + number).collect()),
    };
    let pulled_any: admin::ProxyPullConsumerRef = pull(ClientType::AnyEvent).unchecked_narrow();
    let supplier: comm::PullSupplierRef = orb.root_poa().activate(source(3)).unwrap();
    pulled_any.connect_any_pull_supplier(Some(&supplier)).unwrap();
    let pulled_structured: admin::StructuredProxyPullConsumerRef =
        pull(ClientType::StructuredEvent).unchecked_narrow();
    let supplier: notify::StructuredPullSupplierRef = orb.root_poa().activate(source(4)).unwrap();
    pulled_structured.connect_structured_pull_supplier(Some(&supplier)).unwrap();
    let pulled_sequence: admin::SequenceProxyPullConsumerRef =
        pull(ClientType::SequenceEvent).unchecked_narrow();
    let supplier: notify::SequencePullSupplierRef = orb.root_poa().activate(source(5)).unwrap();
    pulled_sequence.connect_sequence_pull_supplier(Some(&supplier)).unwrap();
    let pulled = plain.obtain_pull_consumer().unwrap().unwrap();
    let supplier: comm::PullSupplierRef = orb.root_poa().activate(source(7)).unwrap();
    pulled.connect_pull_supplier(Some(&supplier)).unwrap();
    // Do not disconnect the pulled suppliers, because the channel may not have pulled all events. They end with the
    // channel.
    any.disconnect_push_consumer().unwrap();
    pushed.disconnect_push_consumer().unwrap();
    structured.disconnect_structured_push_consumer().unwrap();
    sequence.disconnect_sequence_push_consumer().unwrap();
}

/// Receives events until each kind of consumer has the expected number. Returns them in order.
pub(crate) fn gather(
    heard: &Receiver<Heard>,
    wanted: impl Fn(usize) -> usize,
) -> [Vec<i32>; KINDS.len()] {
    let mut got: [Vec<i32>; KINDS.len()] = Default::default();
    let end = Instant::now() + PATIENCE;
    while (got.iter().enumerate()).any(|(kind, numbers)| numbers.len() < wanted(kind)) {
        match heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Heard::Event(kind, number)) => got[kind].push(number),
            other => panic!("{other:?} after {got:?}"),
        }
    }
    got
}
