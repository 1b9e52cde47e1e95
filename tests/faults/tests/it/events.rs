//! Event channels whose suppliers, consumers or own process are killed, stopped or flooded, with the number of every
//! event checked from end to end: events arrive once and in their supplier's order, and missing events are counted.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos, WhenFull};
use oxorb_event::rtec_event_channel_admin::{
    EventChannelRef, ProxyPushConsumerRef, ProxyPushSupplierRef,
};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{
    ChannelOptions, ConsumerStatistics, Control, EventChannel, Filter, INITIAL_NAME, Served,
    asks_for, in_order, publishes,
};
use oxorb_testkit::net::free_port;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::watchdog;

/// Limit for expected events: no machine, however loaded, takes that long.
const LONG: Duration = Duration::from_secs(60);

/// Variables with the role of a test's process, the reference of its channel, and the file for received events.
const ROLE: &str = "OXORB_FAULTS_EVENTS";
const CHANNEL: &str = "OXORB_FAULTS_CHANNEL";
const JOURNAL: &str = "OXORB_FAULTS_JOURNAL";
/// Variable with the milliseconds that a consumer takes for each event.
const PAUSE: &str = "OXORB_FAULTS_PAUSE";
/// Variable that gives a consumer a second address.
const SECOND: &str = "OXORB_FAULTS_SECOND";

/// Type of all events.
const SAMPLE: i32 = 17;

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

fn be_channel() {
    let orb = in_order(Orb::builder()).build().unwrap();
    // A push that takes longer than this time limit is lost. A consumer that only waits for a busy processor takes
    // less.
    let served = channel_with(Control::default(), LONG / 3).serve(&orb, INITIAL_NAME);
    println!("at {}", url(&served.unwrap()));
    orb.run();
}

fn be_consumer() {
    let orb = match std::env::var_os(SECOND) {
        None => client(),
        Some(_) => {
            let builder = in_order(Orb::builder()).listen("iiop://127.0.0.1:0");
            builder.listen("iiop://127.0.0.1:0").build().unwrap()
        }
    };
    let journal = std::env::var(JOURNAL).unwrap();
    let journal = fs::File::create(journal).unwrap();
    let channel = orb.resolve(&std::env::var(CHANNEL).unwrap()).unwrap();
    let pause = std::env::var(PAUSE).map_or(0, |pause| pause.parse().unwrap());
    let journal = Journal { file: Mutex::new(journal), pause: Duration::from_millis(pause) };
    let _proxy = consume(&orb, &channel, Arc::new(journal));
    println!("at work");
    orb.run();
}

/// Pushes as fast as possible.
fn be_supplier() {
    let orb = client();
    let channel = orb.resolve(&std::env::var(CHANNEL).unwrap()).unwrap();
    let proxy = supply(&channel, 2);
    println!("at work");
    for number in 0.. {
        if proxy.push(&[event(2, number)]).is_err() {
            return;
        }
    }
}

fn other(role: &str, settings: &[(&str, &str)]) -> Process {
    let mut command = rerun(test_name(other_process));
    command.env(ROLE, role).envs(settings.iter().copied());
    Process::spawn(command)
}

/// Consumer that records numbers in a file, which outlives this process.
struct Journal {
    file: Mutex<fs::File>,
    pause: Duration,
}

impl PushConsumer for Journal {
    fn push(&self, events: &[Event]) {
        thread::sleep(self.pause);
        let mut file = self.file.lock().unwrap();
        for event in events {
            file.write_all(&number(event).to_le_bytes()).unwrap();
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn journal(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("oxorb-events-{}-{name}", std::process::id()))
}

/// Reads the numbers recorded by a process; omits an incomplete last one.
fn noted(path: &Path) -> Vec<u64> {
    let octets = fs::read(path).unwrap_or_default();
    let numbers = octets.chunks_exact(8);
    numbers.map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect()
}

/// Consumer that records source and number of every event.
#[derive(Default)]
struct Numbers {
    got: Mutex<Vec<(i32, u64)>>,
    count: AtomicU64,
    /// Time for each event.
    pause: Duration,
}

impl Numbers {
    fn of(&self, source: i32) -> Vec<u64> {
        let got = self.got.lock().unwrap();
        let ours = got.iter().filter(|(from, _)| *from == source);
        ours.map(|&(_, number)| number).collect()
    }

    fn wait(&self, what: &str, events: u64) {
        until(what, || self.count.load(Ordering::SeqCst) >= events);
    }
}

impl PushConsumer for Numbers {
    fn push(&self, events: &[Event]) {
        thread::sleep(self.pause);
        let numbers = events.iter().map(|one| (one.header.source, number(one)));
        self.got.lock().unwrap().extend(numbers);
        self.count.fetch_add(events.len() as u64, Ordering::SeqCst);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn event(source: i32, number: u64) -> Event {
    // Large enough to fill sockets soon.
    sized(source, number, 4096)
}

fn sized(source: i32, number: u64, octets: usize) -> Event {
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (SAMPLE, source);
    event.data.payload = vec![0; octets];
    event.data.payload[..8].copy_from_slice(&number.to_le_bytes());
    event
}

fn number(event: &Event) -> u64 {
    u64::from_le_bytes(event.data.payload[..8].try_into().unwrap())
}

fn client() -> Orb {
    in_order(Orb::builder()).listen("iiop://127.0.0.1:0").build().unwrap()
}

fn channel(control: Control) -> EventChannel {
    channel_with(control, Duration::from_millis(200))
}

fn channel_with(control: Control, call_timeout: Duration) -> EventChannel {
    let options = ChannelOptions { control, call_timeout, ..ChannelOptions::default() };
    let queue = Qos { events: QUEUE, when_full: WhenFull::DropOldest, ..Qos::default() };
    EventChannel::queued(options, Plan::pool(2), queue).unwrap()
}

/// Never disconnects a member, even a dead one.
const NO_CONTROL: Control =
    Control { period: None, timeout: Duration::from_secs(1), failures: u32::MAX };

fn url(served: &Served) -> String {
    let ior = served.reference().reference().ior();
    let profile = ior.iiop_profiles().next().expect("it listens");
    format!("corbaloc::{}/{INITIAL_NAME}", profile.endpoints()[0])
}

fn consume(
    orb: &Orb,
    channel: &EventChannelRef,
    consumer: Arc<dyn PushConsumer>,
) -> ProxyPushSupplierRef {
    let consumer: PushConsumerRef = orb.root_poa().activate(consumer).unwrap();
    let admin = channel.for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    let wanted = asks_for(&Filter::event_type(SAMPLE));
    proxy.connect_push_consumer(Some(&consumer), &wanted).unwrap();
    proxy
}

fn supply(channel: &EventChannelRef, source: i32) -> ProxyPushConsumerRef {
    let admin = channel.for_suppliers().unwrap().unwrap();
    let proxy = admin.obtain_push_consumer().unwrap().unwrap();
    let published = publishes([(SAMPLE, source)]);
    proxy.connect_push_supplier(None, &published).unwrap();
    proxy
}

/// Channel in this process, with its surroundings.
struct World {
    orb: Orb,
    channel: EventChannel,
    url: String,
}

impl World {
    fn new(control: Control) -> World {
        let orb = client();
        let channel = channel(control);
        let served = channel.serve(&orb, INITIAL_NAME).unwrap();
        World { url: url(&served), orb, channel }
    }

    /// Starts a consumer in a separate process, which is connected before all later ones.
    fn consumer(&self, journal: &Path) -> Process {
        self.consumer_with(journal, &[])
    }

    /// Starts a consumer with additional settings.
    fn consumer_with(&self, journal: &Path, own: &[(&str, &str)]) -> Process {
        let journal = journal.to_str().unwrap();
        let settings = [&[(CHANNEL, &*self.url), (JOURNAL, journal)], own].concat();
        let mut process = other("consumer", &settings);
        process.wait_for_line("at work", LONG);
        process
    }

    fn consumers(&self) -> Vec<ConsumerStatistics> {
        self.channel.statistics().consumers
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.channel.destroy();
        let _ = self.orb.shutdown(true);
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[track_caller]
fn assert_in_order(numbers: &[u64]) {
    let back: Vec<_> = (numbers.windows(2)).filter(|pair| pair[0] >= pair[1]).collect();
    assert!(back.is_empty(), "of {}: {back:?}", numbers.len());
}

#[track_caller]
fn assert_accounted_for(one: &ConsumerStatistics) {
    let all = one.delivered + one.suspended + one.failed + one.dropped;
    assert!(one.queue.is_balanced(), "{one:?}");
    assert_eq!(one.matched, all + one.queue.waiting, "{one:?}");
}

fn signal(process: &Process, signal: &str) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// Pushes numbers from one supplier in this process, at the pace of one consumer.
fn push_all(world: &World, source: i32, numbers: std::ops::Range<u64>, paced_by: &Numbers) {
    let qos = publishes([(SAMPLE, source)]);
    let supplier = world.channel.connect_supplier(None, &qos).unwrap();
    let before = paced_by.count.load(Ordering::SeqCst);
    for (sent, number) in numbers.enumerate() {
        supplier.push(&[event(source, number)]).unwrap();
        // The supplier is at most half a queue ahead, so that this consumer misses nothing.
        let ahead = (QUEUE / 2) as u64;
        paced_by.wait("the lively consumer", (before + sent as u64 + 1).saturating_sub(ahead));
    }
}

#[test]
fn a_consumer_that_is_killed_is_let_go_and_others_miss_nothing() {
    let _guard = watchdog(2 * LONG);
    let control = Control { period: Some(Duration::from_millis(50)), ..Control::default() };
    let world = World::new(control);
    let path = journal("killed");
    let mut victim = world.consumer(&path);
    let numbers = Arc::new(Numbers::default());
    let wanted = asks_for(&Filter::event_type(SAMPLE));
    let _lively = world.channel.connect_consumer(numbers.clone(), &wanted).unwrap();
    assert_eq!(world.consumers().len(), 2);
    push_all(&world, 1, 0..300, &numbers);
    until("the first events", || !noted(&path).is_empty());
    victim.kill();
    push_all(&world, 1, 300..2_000, &numbers);
    numbers.wait("all events", 2_000);
    assert_eq!(numbers.of(1), (0..2_000).collect::<Vec<_>>());
    until("the end of the victim", || world.consumers().len() == 1);
    assert_accounted_for(&world.consumers()[0]);
    assert_eq!(world.consumers()[0].dropped, 0);
    assert_in_order(&noted(&path));
    fs::remove_file(path).unwrap();
}

/// A stopped consumer affects only its own queue, and when it reads again it gets new events.
#[test]
fn a_consumer_that_stops_reading_delays_nobody_and_misses_what_is_counted() {
    let _guard = watchdog(3 * LONG);
    let world = World::new(NO_CONTROL);
    let path = journal("stopped");
    let victim = world.consumer(&path);
    let numbers = Arc::new(Numbers::default());
    let wanted = asks_for(&Filter::event_type(SAMPLE));
    let _lively = world.channel.connect_consumer(numbers.clone(), &wanted).unwrap();
    signal(&victim, "-STOP");
    // The number of events exceeds the capacity of the sockets and the queue together.
    push_all(&world, 1, 0..5_000, &numbers);
    numbers.wait("all events", 5_000);
    assert_eq!(numbers.of(1), (0..5_000).collect::<Vec<_>>());
    let stopped = || world.consumers().remove(0);
    assert!(stopped().queue.waiting <= QUEUE as u64 + 1, "{:?}", stopped());
    assert!(stopped().dropped > 0, "{:?}", stopped());
    assert!(stopped().queue.is_balanced());
    signal(&victim, "-CONT");
    let mut next = 5_000;
    until("events after it reads again", || {
        push_all(&world, 1, next..next + 1, &numbers);
        next += 1;
        noted(&path).iter().any(|&number| number >= 5_000)
    });
    until("an empty queue", || stopped().queue.waiting == 0);
    assert_accounted_for(&stopped());
    let got = noted(&path);
    assert_in_order(&got);
    // Events passed to the system may be lost with its connection; no other events arrive.
    let done = stopped();
    assert!(got.len() as u64 <= done.delivered + done.failed, "{done:?}");
    fs::remove_file(path).unwrap();
}

/// The channel abandons a connection after a partial write of an event. Earlier writes wait in the consumer's sockets,
/// and must not be overtaken by writes to the next connection.
#[test]
fn what_is_written_after_a_connection_was_given_up_overtakes_nothing() {
    overtakes_nothing("given-up", &[(PAUSE, "5")]);
}

/// Repeats the test for a consumer with another address, which accepts a connection at once.
#[test]
fn what_is_written_after_a_connection_was_given_up_goes_to_no_other_address() {
    overtakes_nothing("second", &[(PAUSE, "5"), (SECOND, "1")]);
}

fn overtakes_nothing(name: &str, settings: &[(&str, &str)]) {
    const OCTETS: usize = 200 << 10;
    let _guard = watchdog(3 * LONG);
    let world = World::new(NO_CONTROL);
    let path = journal(name);
    let victim = world.consumer_with(&path, settings);
    let supplier = world.channel.connect_supplier(None, &publishes([(SAMPLE, 1)]));
    let supplier = supplier.unwrap();
    let mut number = 0;
    let mut push = || {
        supplier.push(&[sized(1, number, OCTETS)]).unwrap();
        number += 1;
        number
    };
    let state = || world.consumers().remove(0);
    signal(&victim, "-STOP");
    until("a write that was cut off", || {
        push();
        state().failed > 0
    });
    // The events are sent over the next connection as soon as it exists.
    let before = (0..20).map(|_| push()).max().unwrap();
    let delivered = state().delivered;
    signal(&victim, "-CONT");
    until("events after that", || {
        push();
        noted(&path).iter().any(|&number| number > before)
    });
    until("an empty queue", || state().queue.waiting == 0);
    assert_accounted_for(&state());
    // The consumer has read the first connection to its end without loss.
    until("all that was delivered", || noted(&path).len() as u64 == state().delivered);
    assert!(state().delivered > delivered);
    assert_in_order(&noted(&path));
    fs::remove_file(path).unwrap();
}

/// A supplier that pushes as fast as possible, and is killed: others keep their rate, and miss nothing.
#[test]
fn a_supplier_that_floods_and_is_killed_harms_no_other() {
    let _guard = watchdog(2 * LONG);
    let world = World::new(Control::default());
    // Events of both suppliers, slowly; and of one supplier.
    let slow = Arc::new(Numbers { pause: Duration::from_millis(2), ..Numbers::default() });
    let steady = Arc::new(Numbers::default());
    let all = asks_for(&Filter::event_type(SAMPLE));
    let _slow = world.channel.connect_consumer(slow.clone(), &all).unwrap();
    let one = asks_for(&Filter::source(1));
    let _steady = world.channel.connect_consumer(steady.clone(), &one).unwrap();
    let mut flood = other("supplier", &[(CHANNEL, &world.url)]);
    flood.wait_for_line("at work", LONG);
    until("the flood", || world.consumers()[0].dropped > 100);
    push_all(&world, 1, 0..200, &steady);
    steady.wait("all events beside a flood", 200);
    assert_eq!(steady.of(1), (0..200).collect::<Vec<_>>());
    flood.kill();
    push_all(&world, 1, 200..300, &steady);
    steady.wait("all events after it", 300);
    assert_eq!(steady.of(1), (0..300).collect::<Vec<_>>());
    // The flood pushed far more than a hundred times as much as the other supplier.
    let idle = || {
        let consumers = world.consumers();
        consumers.iter().all(|one| one.queue.waiting == 0)
    };
    until("an empty queue", idle);
    let consumers = world.consumers();
    consumers.iter().for_each(assert_accounted_for);
    assert_eq!((consumers[1].matched, consumers[1].delivered), (300, 300));
    let (flooded, kept) = (slow.of(2), slow.of(1));
    assert_in_order(&flooded);
    assert_in_order(&kept);
    let got = (flooded.len() + kept.len()) as u64;
    assert_eq!(got, consumers[0].delivered);
    assert_eq!(consumers[0].matched, got + consumers[0].dropped);
}

/// The channel is killed: both sides were told the truth, and its reference works again after a restart.
#[test]
fn a_channel_that_is_killed_is_missed_by_who_pushes_and_serves_again() {
    let _guard = watchdog(3 * LONG);
    let listen = format!("iiop://127.0.0.1:{}", free_port());
    let start = || {
        let mut process = other("channel", &[("OXORB_LISTENENDPOINTS", &listen)]);
        let line = process.wait_for_line("at corbaloc", LONG);
        let (_, url) = line.rsplit_once(' ').unwrap();
        (process, url.to_owned())
    };
    let (mut process, url) = start();
    let orb = client();
    let channel: EventChannelRef = orb.resolve(&url).unwrap();
    let before = Arc::new(Numbers::default());
    let _proxy = consume(&orb, &channel, before.clone());
    let supplier = supply(&channel, 1);
    let mut told = None;
    for number in 0..1_000_000 {
        if number == 500 {
            before.wait("the first events", (QUEUE / 2) as u64);
            process.kill();
        }
        if let Err(error) = supplier.push(&[event(1, number)]) {
            told = Some((number, error));
            break;
        }
    }
    let (number, _) = told.expect("a push to a dead channel fails in the end");
    assert!(number >= 500);
    let got = before.of(1);
    assert_in_order(&got);
    assert!(got.iter().all(|&number| number < 500));

    let (_process, again) = start();
    assert_eq!(again, url, "the same reference");
    let after = Arc::new(Numbers::default());
    let _proxy = consume(&orb, &channel, after.clone());
    let supplier = supply(&channel, 1);
    for number in 0..1_000 {
        supplier.push(&[event(1, number)]).unwrap();
        after.wait("each event", number + 1);
    }
    assert_eq!(after.of(1), (0..1_000).collect::<Vec<_>>());
    let _ = orb.shutdown(true);
}
