//! Channels in a federation: in one process over the loopback interface, and on separate hosts behind two routers.

mod priorities;
mod routers;
mod sharing;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{
    ChannelOptions, ConsumerConnection, EventChannel, Filter, SupplierConnection, asks_for,
    publishes,
};
use oxorb_event_zenoh::{Federation, FederationOptions, Node, WhenCongested, ZenohGateway};
use oxorb_testkit::net::free_port;

/// Time limit for events that must happen. No machine takes this long, however loaded it is.
const LONG: Duration = Duration::from_secs(60);

/// Events that a consumer received.
#[derive(Default)]
struct Record(Mutex<Vec<Event>>);

impl Record {
    fn at(channel: &EventChannel, filter: &Filter) -> (Arc<Record>, ConsumerConnection) {
        let record = Arc::<Record>::default();
        let connection = channel.connect_consumer(record.clone(), &asks_for(filter));
        (record, connection.unwrap())
    }

    fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the type, ttl and payload of each event.
    fn told(&self) -> Vec<(i32, i32, Vec<u8>)> {
        let told = |event: Event| (event.header.r#type, event.header.ttl, event.data.payload);
        self.all().into_iter().map(told).collect()
    }

    fn count(&self, payload: &[u8]) -> usize {
        self.all().iter().filter(|one| one.data.payload == payload).count()
    }
}

impl PushConsumer for Record {
    fn push(&self, events: &[Event]) {
        self.0.lock().unwrap().extend_from_slice(events);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// A channel in a federation.
struct Host {
    channel: EventChannel,
    federation: Federation,
    gateway: ZenohGateway,
    supplier: SupplierConnection,
}

impl Host {
    /// Connects to the host that listens at the port, or listens there itself if `listens` is set.
    fn join(port: u16, listens: bool, options: FederationOptions) -> Host {
        let endpoint = format!("tcp/127.0.0.1:{port}");
        let node = match listens {
            true => Node { listen: vec![endpoint], ..Node::default() },
            false => Node {
                listen: vec!["tcp/127.0.0.1:0".to_owned()],
                connect: vec![endpoint],
                ..Node::default()
            },
        };
        let federation = Federation::join(&node).unwrap();
        let channel = EventChannel::new(ChannelOptions::default());
        let gateway = ZenohGateway::start(&channel, &federation, options).unwrap();
        let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
        Host { channel, federation, gateway, supplier }
    }

    fn push(&self, events: &[Event]) {
        self.supplier.push(events).unwrap();
    }

    /// Pushes probes until a remote consumer receives one, and then waits until it has received all of them.
    fn until_heard(&self, event_type: i32, at: &Record) {
        let came = |payload: &[u8]| {
            let of = |one: &&Event| one.header.r#type == event_type && one.data.payload == payload;
            at.all().iter().filter(of).count()
        };
        let before = came(b"settled");
        until("a probe crosses", || {
            self.push(&[event(event_type, 1, 9, b"probe")]);
            came(b"probe") > 0
        });
        self.push(&[event(event_type, 1, 9, b"settled")]);
        until("all probes have crossed", || came(b"settled") > before);
    }
}

/// Options with which zenoh drops no event, however late its threads run.
fn patient() -> FederationOptions {
    FederationOptions { when_congested: WhenCongested::Wait, ..FederationOptions::default() }
}

fn event(event_type: i32, source: i32, ttl: i32, payload: &[u8]) -> Event {
    let mut event = Event::default();
    event.header.r#type = event_type;
    event.header.source = source;
    event.header.ttl = ttl;
    event.data.payload = payload.to_vec();
    event
}

#[track_caller]
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
