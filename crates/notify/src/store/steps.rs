//! The test simulates a kill after each step of the store's writes, and opens each resulting state of the storage with
//! a new service. The consumer must get all events that were accepted and not delivered, and none that was never
//! pushed.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use oxorb::{Any, Interface as _, Orb};
use oxorb_store::{CACHE, Database};
use oxorb_sys::sync::Mutex;

use super::{Store, prepare};
use crate::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use crate::cos_notify_channel_admin::{
    ClientType, EventChannelRef, StructuredProxyPushConsumerRef, StructuredProxyPushSupplierRef,
};
use crate::cos_notify_comm::structured_push_consumer::PushStructuredEventError;
use crate::cos_notify_comm::{
    NotifyPublish, StructuredPushConsumer, StructuredPushConsumerRef, notify_publish,
};
use crate::{NotifyService, Settings};

const PATIENCE: Duration = Duration::from_secs(60);

/// Number of events in the recording. `LAST` is the number of an event that is pushed after all events of a store.
const EVENTS: i32 = 4;
const LAST: i32 = 99;

/// Batch size that the recording sets. The default is 1.
const BATCH: i32 = 7;

/// Step of the storage, or action of a client between two steps.
#[derive(Clone)]
enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
    Sync,
    /// A change was requested from the service.
    Asked(Change),
    /// The service has replied to the request.
    Done(Change),
    /// The consumer received an event.
    Got(i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Channel,
    /// The permanent consumer connects.
    Connect,
    Guest,
    /// The temporary consumer disconnects.
    Leave,
    Batch,
    Push(i32),
}

#[derive(Clone, Default)]
struct Tape(Arc<Mutex<Vec<Step>>>);

impl Tape {
    fn note(&self, step: Step) {
        self.0.lock().push(step);
    }

    fn during<R>(&self, change: Change, work: impl FnOnce() -> R) -> R {
        self.note(Step::Asked(change));
        let result = work();
        self.note(Step::Done(change));
        result
    }
}

/// Storage in memory, which records its steps.
struct Recorder {
    image: Mutex<Vec<u8>>,
    tape: Tape,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl redb::StorageBackend for Recorder {
    fn len(&self) -> Result<u64, std::io::Error> {
        Ok(self.image.lock().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        let image = self.image.lock();
        let at = offset as usize;
        let found = image.get(at..at + out.len());
        out.copy_from_slice(found.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        let step = Step::Length(len);
        apply(&mut self.image.lock(), &step);
        self.tape.note(step);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        self.tape.note(Step::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        let step = Step::Write(offset, data.to_vec());
        apply(&mut self.image.lock(), &step);
        self.tape.note(step);
        Ok(())
    }
}

fn apply(image: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Length(len) => image.resize(*len as usize, 0),
        Step::Write(offset, data) => {
            let at = *offset as usize;
            image[at..at + data.len()].copy_from_slice(data);
        }
        _ => {}
    }
}

/// A consumer that reports the events that it receives.
struct Consumer(Mutex<Sender<i32>>, Tape);

impl StructuredPushConsumer for Consumer {
    fn push_structured_event(
        &self,
        event: &StructuredEvent,
    ) -> Result<(), PushStructuredEventError> {
        let number = event.remainder_of_body.get::<i32>().unwrap().unwrap();
        self.1.note(Step::Got(number));
        let _ = self.0.lock().send(number);
        Ok(())
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl NotifyPublish for Consumer {
    fn offer_change(
        &self,
        _: &[EventType],
        _: &[EventType],
    ) -> Result<(), notify_publish::OfferChangeError> {
        Ok(())
    }
}

fn event(number: i32) -> StructuredEvent {
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader {
                event_type: EventType {
                    domain_name: "steps".to_owned(),
                    type_name: "step".to_owned(),
                },
                event_name: String::new(),
            },
            variable_header: Vec::new(),
        },
        filterable_data: Vec::new(),
        remainder_of_body: Any::new(number),
    }
}

fn property(name: &str, value: Any) -> Property {
    Property { name: name.to_owned(), value }
}

/// A service whose store is an image of the recorded storage.
struct Service {
    orb: Orb,
    service: NotifyService,
}

impl Service {
    fn on(image: Vec<u8>, tape: &Tape) -> Service {
        let recorder = Recorder { image: Mutex::new(image), tape: tape.clone() };
        let database = Database::with_backend(recorder, CACHE).unwrap();
        let (number, _) = database.write(prepare).unwrap();
        let store = Store { path: PathBuf::from("steps"), database, number };
        let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let settings = Settings { call_timeout: PATIENCE, ..Settings::default() };
        let service = NotifyService::start_stored(&orb, store, settings).unwrap();
        Service { orb, service }
    }

    fn channel(&self) -> EventChannelRef {
        let kept = ["ConnectionReliability", "EventReliability"]
            .map(|name| property(name, Any::new(1_i16)));
        self.service.channel_named("steps", &kept, &[]).unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.orb.shutdown(true);
    }
}

fn supply(channel: &EventChannelRef) -> StructuredProxyPushConsumerRef {
    let admin = channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let proxy: StructuredProxyPushConsumerRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_structured_push_supplier(None).unwrap();
    proxy
}

fn consume(
    channel: &EventChannelRef,
    consumer: &StructuredPushConsumerRef,
) -> StructuredProxyPushSupplierRef {
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: StructuredProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_structured_push_consumer(Some(consumer)).unwrap();
    proxy
}

/// The client of all services, with its consumer and the events that the consumer received.
struct Client {
    orb: Orb,
    consumer: StructuredPushConsumerRef,
    got: Receiver<i32>,
    tape: Tape,
}

impl Client {
    fn new() -> Client {
        let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let (tell, got) = channel();
        let tape = Tape::default();
        let servant = Consumer(Mutex::new(tell), tape.clone());
        let consumer = orb.root_poa().activate(servant).unwrap();
        Client { orb, consumer, got, tape }
    }

    fn wait_for(&self, number: i32) -> Vec<i32> {
        let mut numbers = Vec::new();
        while numbers.last() != Some(&number) {
            numbers.push(self.got.recv_timeout(PATIENCE).expect("an event"));
        }
        numbers
    }

    /// Makes every kind of change once, and returns the recorded steps.
    fn record(&self) -> Vec<Step> {
        let tape = &self.tape;
        let service = Service::on(Vec::new(), tape);
        let channel = tape.during(Change::Channel, || service.channel());
        let proxy = tape.during(Change::Connect, || consume(&channel, &self.consumer));
        let (tell, _) = std::sync::mpsc::channel();
        let guest = Consumer(Mutex::new(tell), Tape::default());
        let guest: StructuredPushConsumerRef = self.orb.root_poa().activate(guest).unwrap();
        let guest = tape.during(Change::Guest, || consume(&channel, &guest));
        let supplier = supply(&channel);
        for number in 0..EVENTS {
            tape.during(Change::Push(number), || {
                supplier.push_structured_event(&event(number)).unwrap();
            });
            match number {
                0 => tape.during(Change::Batch, || {
                    let batch = property("MaximumBatchSize", Any::new(BATCH));
                    proxy.set_qos(&[batch]).unwrap();
                }),
                1 => tape.during(Change::Leave, || {
                    guest.disconnect_structured_push_supplier().unwrap();
                }),
                // Suspend the consumer, so that some images contain undelivered events.
                2 => proxy.suspend_connection().unwrap(),
                _ => {}
            }
        }
        proxy.resume_connection().unwrap();
        self.wait_for(EVENTS - 1);
        drop(service);
        std::mem::take(&mut tape.0.lock())
    }
}

/// State that the clients know at one point of the recording.
#[derive(Clone, Default)]
struct Known {
    asked: BTreeSet<Change>,
    done: BTreeSet<Change>,
    got: BTreeSet<i32>,
}

impl Known {
    fn see(&mut self, step: &Step) {
        match step {
            Step::Asked(change) => drop(self.asked.insert(*change)),
            Step::Done(change) => drop(self.done.insert(*change)),
            Step::Got(number) => drop(self.got.insert(*number)),
            _ => {}
        }
    }

    /// Starts a service on an image and compares its state with what the clients know.
    fn check(&self, client: &Client, image: Vec<u8>, at: usize) {
        // Discard events that the previous service delivered twice.
        while client.got.try_recv().is_ok() {}
        let service = Service::on(image, &Tape::default());
        let channels = service.service.factory().get_all_channels().unwrap();
        let (least, most) = self.either(Change::Channel);
        let found = channels.len();
        assert!((least..=most).contains(&found), "step {at}: {channels:?}");
        if !self.done.contains(&Change::Connect) {
            return;
        }
        let channel = service.channel();
        let admin = channel.default_consumer_admin().unwrap().unwrap();
        let proxies = admin.push_suppliers().unwrap();
        let ((came, may_come), (left, may_leave)) =
            (self.either(Change::Guest), self.either(Change::Leave));
        // A temporary consumer that is just connecting may have a proxy that is not connected yet.
        let guests = came.saturating_sub(may_leave)..=may_come - left;
        let found = proxies.len() - 1;
        assert!(guests.contains(&found), "step {at}: {found} of {guests:?}");
        let proxy = admin.get_proxy_supplier(proxies[0]).unwrap().unwrap();
        let qos = proxy.get_qos().unwrap();
        let batch = qos.iter().find(|one| one.name == "MaximumBatchSize");
        let batch = batch.unwrap().value.get::<i32>().unwrap().unwrap();
        let (set, may_be_set) = self.either(Change::Batch);
        assert!(batch == 1 && set == 0 || batch == BATCH && may_be_set == 1, "step {at}: {batch}");
        let proxy: StructuredProxyPushSupplierRef = proxy.unchecked_narrow();
        // Ignore the error: the connection is suspended only in some of the images.
        let _ = proxy.resume_connection();
        let supplier = supply(&channel);
        supplier.push_structured_event(&event(LAST)).unwrap();
        let mut numbers = client.wait_for(LAST);
        numbers.pop();
        assert!(numbers.is_sorted(), "step {at}: {numbers:?}");
        for number in 0..EVENTS {
            let push = Change::Push(number);
            let comes = numbers.contains(&number);
            let is_owed = self.done.contains(&push) && !self.got.contains(&number);
            assert!(comes || !is_owed, "step {at}: {number} was accepted, and is lost");
            let may_come = self.asked.contains(&push);
            assert!(may_come || !comes, "step {at}: {number} was never pushed");
        }
    }

    /// Returns how often a change has happened at least, and how often at most.
    fn either(&self, change: Change) -> (usize, usize) {
        (self.done.contains(&change).into(), self.asked.contains(&change).into())
    }
}

#[test]
fn a_kill_after_any_step_of_a_write_loses_nothing_and_invents_nothing() {
    let client = Client::new();
    let steps = client.record();
    // `killed` is the storage after a kill of the process. `torn` is the storage after a power failure that preserved
    // only one of the writes since the last `fsync`.
    let (mut killed, mut synced) = (Vec::new(), Vec::new());
    let mut known = Known::default();
    let mut images = 0;
    for (at, step) in steps.iter().enumerate() {
        known.see(step);
        apply(&mut killed, step);
        match step {
            Step::Length(_) => apply(&mut synced, step),
            Step::Sync => synced.clone_from(&killed),
            Step::Write(..) => {
                let mut torn = synced.clone();
                apply(&mut torn, step);
                if !known.asked.is_empty() {
                    known.check(&client, torn, at);
                }
            }
            _ => continue,
        }
        // Before the first change the file is still being created under another name, and no service opens it.
        if known.asked.is_empty() {
            continue;
        }
        known.check(&client, killed.clone(), at);
        images += 1;
    }
    println!("{images} steps");
    assert!(images > 20, "{images}");
    client.orb.shutdown(true).unwrap();
}
