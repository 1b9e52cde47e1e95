//! Notification channels whose suppliers, consumers or own process are killed, stopped or flooded, with the number of
//! every event checked from end to end: accepted events arrive, in their supplier's order, or are counted.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::{Any, Interface as _, Orb};
use oxorb_event::delivery::Cause;
use oxorb_event::in_order;
use oxorb_notify::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelRef, StructuredProxyPushConsumerRef, StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_comm::structured_push_consumer::PushStructuredEventError;
use oxorb_notify::cos_notify_comm::{
    NotifyPublish, StructuredPushConsumer, StructuredPushConsumerRef, notify_publish,
};
use oxorb_notify::{Limits, NotifyService, Settings, Store};
use oxorb_testkit::net::free_port;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::{until, watchdog};

/// Limit for expected events: no machine, however loaded, takes that long.
const LONG: Duration = Duration::from_secs(60);

/// Variables with the role of a test's process, the reference of its channel, and the file that it writes.
const ROLE: &str = "OXORB_FAULTS_NOTIFY";
const CHANNEL: &str = "OXORB_FAULTS_CHANNEL";
const FILE: &str = "OXORB_FAULTS_FILE";
const PORT: &str = "OXORB_FAULTS_PORT";

/// Key of the channel.
const KEY: &str = "faults";

/// Capacity of the channels' queues.
const QUEUE: usize = 64;

/// Performs its role until killed, in a process started by [`other`].
#[test]
fn other_process() {
    match std::env::var(ROLE).as_deref() {
        Ok("channel") => be_channel(),
        Ok("consumer") => be_consumer(),
        Ok("supplier") => be_supplier(),
        _ => {}
    }
}

/// Serves a persistent channel.
fn be_channel() {
    let port = std::env::var(PORT).unwrap();
    let listen = format!("iiop://127.0.0.1:{port}");
    let orb = Orb::builder().listen(&listen).build().unwrap();
    let store = Store::open(std::env::var(FILE).unwrap()).unwrap();
    let settings = Settings { retry: Duration::from_millis(20), ..Settings::default() };
    let service = NotifyService::start_stored(&orb, store, settings).unwrap();
    let kept = ["ConnectionReliability", "EventReliability"]
        .map(|name| Property { name: name.to_owned(), value: Any::new(1_i16) });
    let channel = service.channel_named(KEY, &kept, &[]).unwrap();
    println!("at {}", url(&channel));
    orb.run();
}

fn be_consumer() {
    let orb = client();
    let journal = fs::File::create(std::env::var(FILE).unwrap()).unwrap();
    let channel = orb.resolve(&std::env::var(CHANNEL).unwrap()).unwrap();
    let _proxy = consume(&orb, &channel, &["steady"], Journal(Mutex::new(journal)));
    println!("at work");
    orb.run();
}

/// Pushes as fast as possible.
fn be_supplier() {
    let orb = client();
    let channel = orb.resolve(&std::env::var(CHANNEL).unwrap()).unwrap();
    let proxy = supply(&channel);
    println!("at work");
    for number in 0.. {
        if proxy.push_structured_event(&event("flood", number)).is_err() {
            return;
        }
    }
}

fn other(role: &str, settings: &[(&str, &str)]) -> Process {
    let mut command = rerun(test_name(other_process));
    command.env(ROLE, role).envs(settings.iter().copied());
    Process::spawn(command)
}

fn url(channel: &EventChannelRef) -> String {
    let ior = channel.reference().ior();
    let profile = ior.iiop_profiles().next().expect("it listens");
    format!("corbaloc::{}/{KEY}", profile.endpoints()[0])
}

/// Consumer that records numbers in a file, which outlives this process.
struct Journal(Mutex<fs::File>);

/// Consumer that records type and number of every event.
#[derive(Default)]
struct Numbers {
    got: Mutex<Vec<(String, u64)>>,
    count: AtomicU64,
    /// Time for each event.
    pause: Duration,
}

impl Numbers {
    fn of(&self, name: &str) -> Vec<u64> {
        let got = self.got.lock().unwrap();
        let ours = got.iter().filter(|(of, _)| of == name);
        ours.map(|&(_, number)| number).collect()
    }

    fn wait(&self, what: &str, events: u64) {
        until(what, || self.count.load(Ordering::SeqCst) >= events);
    }
}

trait Takes: Send + Sync + 'static {
    fn take(&self, event: &StructuredEvent);
}

impl Takes for Journal {
    fn take(&self, event: &StructuredEvent) {
        let number = number(event).to_le_bytes();
        self.0.lock().unwrap().write_all(&number).unwrap();
    }
}

impl Takes for Arc<Numbers> {
    fn take(&self, event: &StructuredEvent) {
        thread::sleep(self.pause);
        let name = event.header.fixed_header.event_type.type_name.clone();
        self.got.lock().unwrap().push((name, number(event)));
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

struct Consumer<T>(T);

impl<T: Takes> StructuredPushConsumer for Consumer<T> {
    fn push_structured_event(
        &self,
        notification: &StructuredEvent,
    ) -> Result<(), PushStructuredEventError> {
        self.0.take(notification);
        Ok(())
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl<T: Takes> NotifyPublish for Consumer<T> {
    fn offer_change(
        &self,
        _: &[EventType],
        _: &[EventType],
    ) -> Result<(), notify_publish::OfferChangeError> {
        Ok(())
    }
}

fn event_type(name: &str) -> EventType {
    EventType { domain_name: "faults".to_owned(), type_name: name.to_owned() }
}

fn event(name: &str, number: u64) -> StructuredEvent {
    // Large enough to fill sockets soon.
    let mut payload = vec![0; 4096];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader {
                event_type: event_type(name),
                event_name: String::new(),
            },
            variable_header: Vec::new(),
        },
        filterable_data: Vec::new(),
        remainder_of_body: Any::new(payload),
    }
}

fn number(event: &StructuredEvent) -> u64 {
    let payload = event.remainder_of_body.get::<Vec<u8>>().unwrap().unwrap();
    u64::from_le_bytes(payload[..8].try_into().unwrap())
}

/// Creates a client that serves the requests of a connection in order, including those without a waiting caller.
fn client() -> Orb {
    in_order(Orb::builder()).listen("iiop://127.0.0.1:0").build().unwrap()
}

fn consume(
    orb: &Orb,
    channel: &EventChannelRef,
    types: &[&str],
    takes: impl Takes,
) -> StructuredProxyPushSupplierRef {
    let consumer: StructuredPushConsumerRef = orb.root_poa().activate(Consumer(takes)).unwrap();
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: StructuredProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let types: Vec<_> = types.iter().map(|name| event_type(name)).collect();
    proxy.subscription_change(&types, &[]).unwrap();
    proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
    proxy
}

fn supply(channel: &EventChannelRef) -> StructuredProxyPushConsumerRef {
    let admin = channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let proxy: StructuredProxyPushConsumerRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_structured_push_supplier(None).unwrap();
    proxy
}

fn temporary(name: &str) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("oxorb-faults-{}-{name}", oxorb_testkit::unique()));
    let _ = fs::remove_file(&path);
    path
}

/// Reads the numbers recorded by a process; omits an incomplete last one.
fn noted(path: &Path) -> Vec<u64> {
    let octets = fs::read(path).unwrap_or_default();
    let numbers = octets.chunks_exact(8);
    numbers.map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect()
}

#[track_caller]
fn assert_in_order(numbers: &[u64]) {
    let back: Vec<_> = (numbers.windows(2)).filter(|pair| pair[0] >= pair[1]).collect();
    assert!(back.is_empty(), "of {}: {back:?}", numbers.len());
}

/// Returns each number at its first occurrence.
fn first_of_each(numbers: &[u64]) -> Vec<u64> {
    let mut seen = std::collections::HashSet::new();
    let first = numbers.iter().filter(|number| seen.insert(**number));
    first.copied().collect()
}

/// Channel in this process, with its surroundings.
struct World {
    orb: Orb,
    service: NotifyService,
    channel: EventChannelRef,
    url: String,
}

impl World {
    fn new(failures: u32) -> World {
        let orb = client();
        let settings = Settings {
            limits: Limits { queue_events: QUEUE, ..Limits::default() },
            // This limit is too short only for consumers that have stopped: no live consumer takes that long.
            call_timeout: match failures {
                0 => Duration::from_millis(500),
                _ => LONG / 3,
            },
            retry: Duration::from_millis(50),
            failures,
            ..Settings::default()
        };
        let service = NotifyService::start_with(&orb, settings).unwrap();
        let channel = service.channel_named(KEY, &[], &[]).unwrap();
        World { url: url(&channel), orb, service, channel }
    }

    /// Starts a consumer in a separate process, and waits until it has received an event.
    fn consumer(&self, journal: &Path, first: &Pusher<'_>) -> Process {
        let path = journal.to_str().unwrap();
        let mut process = other("consumer", &[(CHANNEL, &self.url), (FILE, path)]);
        process.wait_for_line("at work", LONG);
        first.push(1);
        until("the first event", || !noted(journal).is_empty());
        process
    }

    fn proxies(&self) -> usize {
        let admin = self.channel.default_consumer_admin().unwrap().unwrap();
        admin.push_suppliers().unwrap().len()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.orb.shutdown(true);
    }
}

/// Supplier in this process at the pace of one consumer, at most half a queue ahead of it, so that it misses nothing.
struct Pusher<'w> {
    proxy: StructuredProxyPushConsumerRef,
    sent: AtomicU64,
    paced_by: &'w Numbers,
}

impl<'w> Pusher<'w> {
    fn new(world: &World, paced_by: &'w Numbers) -> Pusher<'w> {
        Pusher { proxy: supply(&world.channel), sent: AtomicU64::new(0), paced_by }
    }

    fn push(&self, events: u64) {
        for _ in 0..events {
            let number = self.sent.fetch_add(1, Ordering::SeqCst);
            let pushed = event("steady", number);
            self.proxy.push_structured_event(&pushed).unwrap();
            let ahead = (QUEUE / 2) as u64;
            let least = (number + 1).saturating_sub(ahead);
            self.paced_by.wait("the lively consumer", least);
        }
    }

    /// Waits for all events, and checks that none is missing.
    fn check(&self) {
        let sent = self.sent.load(Ordering::SeqCst);
        self.paced_by.wait("all events", sent);
        assert_eq!(self.paced_by.of("steady"), (0..sent).collect::<Vec<_>>());
    }
}

fn signal(process: &Process, signal: &str) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// Kills the service repeatedly while events pass through it: each accepted event arrives, in order, and some are
/// repeated.
#[test]
fn a_channel_that_is_killed_under_load_loses_nothing_that_it_accepted() {
    const KILLS: u64 = 4;
    const EACH: u64 = 60;
    let _guard = watchdog(3 * LONG);
    let store = temporary("store.redb");
    let start = |port: &str| {
        let settings = [(FILE, store.to_str().unwrap()), (PORT, port)];
        let mut process = other("channel", &settings);
        let line = process.wait_for_line("at corbaloc", LONG);
        let (_, url) = line.rsplit_once(' ').unwrap();
        (process, url.to_owned())
    };
    let port = &free_port().to_string();
    let (mut process, url) = start(port);
    let orb = client();
    let channel: EventChannelRef = orb.resolve(&url).unwrap();
    let numbers = Arc::new(Numbers::default());
    let proxy = consume(&orb, &channel, &["steady"], numbers.clone());
    let supplier = supply(&channel);
    let (accepted, over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                let pushed = event("steady", number);
                while supplier.push_structured_event(&pushed).is_err() {
                    thread::sleep(Duration::from_millis(5));
                }
                accepted.store(number + 1, Ordering::SeqCst);
                if over.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        for kill in 1..=KILLS {
            until("events", || accepted.load(Ordering::SeqCst) >= kill * EACH);
            process.kill();
            let (again, same) = start(port);
            assert_eq!(same, url, "the same reference");
            process = again;
        }
        let least = (KILLS + 1) * EACH;
        until("events at last", || accepted.load(Ordering::SeqCst) >= least);
        over.store(true, Ordering::SeqCst);
    });
    let sent = accepted.load(Ordering::SeqCst);
    let all: Vec<u64> = (0..sent).collect();
    until("all events", || first_of_each(&numbers.of("steady")).len() as u64 == sent);
    let got = numbers.of("steady");
    assert_eq!(first_of_each(&got), all);
    println!("{sent} events, {} again", got.len() as u64 - sent);
    // The store is empty.
    proxy.suspend_connection().unwrap();
    process.kill();
    let (_process, _) = start(port);
    let before = numbers.count.load(Ordering::SeqCst);
    // A call may use the connection to the killed process until the end of this connection is read.
    until("a new connection", || proxy.my_type().is_ok());
    proxy.resume_connection().unwrap();
    supplier.push_structured_event(&event("steady", sent)).unwrap();
    numbers.wait("one more", before + 1);
    let _ = orb.shutdown(true);
    fs::remove_file(store).unwrap();
}

#[test]
fn a_consumer_that_is_killed_is_let_go_and_others_miss_nothing() {
    let _guard = watchdog(2 * LONG);
    let world = World::new(3);
    let numbers = Arc::new(Numbers::default());
    let _lively = consume(&world.orb, &world.channel, &["steady"], numbers.clone());
    let pusher = Pusher::new(&world, &numbers);
    let path = temporary("killed");
    let mut victim = world.consumer(&path, &pusher);
    pusher.push(200);
    assert_eq!(world.proxies(), 2);
    victim.kill();
    until("the end of the victim", || {
        pusher.push(50);
        world.proxies() == 1
    });
    pusher.check();
    assert_in_order(&noted(&path));
    let counts = world.service.counts();
    assert!(counts.is_balanced(), "{counts:?}");
    fs::remove_file(path).unwrap();
}

/// A stopped consumer affects only its own queue, and when it reads again it gets new events.
#[test]
fn a_consumer_that_stops_reading_delays_nobody_and_misses_what_is_counted() {
    let _guard = watchdog(3 * LONG);
    let world = World::new(0);
    let numbers = Arc::new(Numbers::default());
    let _lively = consume(&world.orb, &world.channel, &["steady"], numbers.clone());
    let pusher = Pusher::new(&world, &numbers);
    let path = temporary("stopped");
    let victim = world.consumer(&path, &pusher);
    signal(&victim, "-STOP");
    pusher.push(1_000);
    pusher.check();
    let counts = world.service.counts();
    assert!(counts.is_balanced(), "{counts:?}");
    assert!(counts.waiting <= QUEUE as u64 + 2, "{counts:?}");
    assert!(counts.dropped_in_all() > 0, "{counts:?}");
    signal(&victim, "-CONT");
    until("events after it reads again", || {
        pusher.push(1);
        noted(&path).iter().any(|&number| number > 1_000)
    });
    pusher.check();
    until("an empty queue", || world.service.counts().waiting == 0);
    let (got, done) = (noted(&path), world.service.counts());
    assert_in_order(&got);
    assert!(done.is_balanced(), "{done:?}");
    // A timed-out call may have been made nevertheless; all other events were delivered or counted.
    let sent = pusher.sent.load(Ordering::SeqCst);
    let failed = done.dropped(Cause::Failed);
    assert!(sent + got.len() as u64 <= done.delivered + failed, "{done:?}");
    fs::remove_file(path).unwrap();
}

/// A supplier that pushes as fast as possible, and is killed: others keep their rate, and miss nothing.
#[test]
fn a_supplier_that_floods_and_is_killed_harms_no_other() {
    let _guard = watchdog(2 * LONG);
    let world = World::new(3);
    let slow = Arc::new(Numbers { pause: Duration::from_millis(2), ..Numbers::default() });
    let steady = Arc::new(Numbers::default());
    let both = ["steady", "flood"];
    let _slow = consume(&world.orb, &world.channel, &both, slow.clone());
    let _steady = consume(&world.orb, &world.channel, &["steady"], steady.clone());
    let pusher = Pusher::new(&world, &steady);
    let mut flood = other("supplier", &[(CHANNEL, &world.url)]);
    flood.wait_for_line("at work", LONG);
    until("the flood", || world.service.counts().dropped_in_all() > 100);
    pusher.push(200);
    pusher.check();
    flood.kill();
    pusher.push(100);
    pusher.check();
    until("an empty queue", || world.service.counts().waiting == 0);
    let counts = world.service.counts();
    assert!(counts.is_balanced(), "{counts:?}");
    let (flooded, kept) = (slow.of("flood"), slow.of("steady"));
    assert_in_order(&flooded);
    assert_in_order(&kept);
    assert_eq!(counts.delivered, (300 + flooded.len() + kept.len()) as u64);
    assert_eq!(counts.dropped_in_all(), counts.offered - counts.delivered);
}
