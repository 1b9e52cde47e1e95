//! An event channel whose suppliers and consumers come and go for minutes, orderly and not: memory, descriptors and
//! threads of its process end as they began, and a permanent pair misses no event.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos, WhenFull};
use oxorb_event::rtec_event_channel_admin::{ConsumerQos, EventChannelRef, ProxyPushSupplierRef};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{
    ChannelOptions, Control, EventChannel, Filter, INITIAL_NAME, asks_for, in_order, publishes,
};
use oxorb_testkit::process::{Process, alone, rerun, test_name};
use oxorb_testkit::resources::{Resources, length_of_a_soak};
use oxorb_testkit::watchdog;

use crate::common::KEPT;

/// Limit for expected events: no machine, however loaded, takes that long.
const LONG: Duration = Duration::from_secs(60);

/// Variable set in the channel's process.
const ROLE: &str = "OXORB_FAULTS_SOAK";

/// Type of all events; source 1 is permanent, all others come and go.
const SAMPLE: i32 = 17;

const QUEUE: usize = 64;

/// Permitted growth of memory after the first quarter, in KiB: memory retained by the allocator, and events that
/// threads keep as copy buffers, some 400 KiB for each thread that pushed.
const SLACK: u64 = 16 << 10;

/// Runs the channel in a separate process, until killed.
#[test]
fn other_process() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let options = ChannelOptions {
        control: Control { period: Some(Duration::from_millis(200)), ..Control::default() },
        call_timeout: Duration::from_secs(5),
        ..ChannelOptions::default()
    };
    let queue = Qos { events: QUEUE, when_full: WhenFull::DropOldest, ..Qos::default() };
    let channel = EventChannel::queued(options, Plan::pool(4), queue).unwrap();
    let orb = in_order(Orb::builder()).listen("iiop://127.0.0.1:0").build().unwrap();
    let served = channel.serve(&orb, INITIAL_NAME).unwrap();
    println!("at {}", served.reference().to_ior());
    orb.run();
}

/// Consumer that counts events, and records numbers of the steady supplier that are out of sequence.
#[derive(Default)]
struct Counter {
    next: AtomicU64,
    events: AtomicU64,
    wrong: Mutex<Vec<u64>>,
}

impl PushConsumer for Counter {
    fn push(&self, events: &[Event]) {
        for event in events {
            self.events.fetch_add(1, Ordering::SeqCst);
            if event.header.source == 1 {
                let number = u64::from_le_bytes(*event.data.payload.first_chunk().unwrap());
                if self.next.swap(number + 1, Ordering::SeqCst) != number {
                    self.wrong.lock().unwrap().push(number);
                }
            }
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn client() -> Orb {
    in_order(Orb::builder()).listen("iiop://127.0.0.1:0").build().unwrap()
}

fn consume(
    orb: &Orb,
    channel: &EventChannelRef,
    consumer: Arc<Counter>,
    wanted: &ConsumerQos,
) -> ProxyPushSupplierRef {
    let consumer: Arc<dyn PushConsumer> = consumer;
    let consumer: PushConsumerRef = orb.root_poa().activate(consumer).unwrap();
    let admin = channel.for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    let connected = proxy.connect_push_consumer(Some(&consumer), wanted);
    connected.unwrap();
    proxy
}

fn event(source: i32, number: u64) -> Event {
    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (SAMPLE, source);
    event.data.payload = vec![0; 512];
    event.data.payload[..8].copy_from_slice(&number.to_le_bytes());
    event
}

/// Members of the channel that come and go.
struct Guests {
    reference: String,
    stop: AtomicBool,
    visits: AtomicU64,
    events: AtomicU64,
}

impl Guests {
    /// Comes and goes until stopped, in each of six ways.
    fn come_and_go(&self, seed: u64) {
        for visit in seed.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let orb = client();
            let channel: EventChannelRef = orb.resolve(&self.reference).unwrap();
            match visit % 6 {
                0 => self.listen(&orb, &channel, "source!=1", true),
                1 => self.listen(&orb, &channel, "source!=1", false),
                2 => {
                    self.listen(&orb, &channel, "each(source==2, source==3) || interval(5ms)", true)
                }
                3 => self.listen(&orb, &channel, "type==18 || deadline(3ms)", false),
                4 => self.supply(&channel, visit, true),
                _ => self.supply(&channel, visit, false),
            }
            orb.shutdown(true).unwrap();
            self.visits.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn listen(&self, orb: &Orb, channel: &EventChannelRef, filter: &str, polite: bool) {
        let counter = Arc::<Counter>::default();
        let filter: Filter = filter.parse().unwrap();
        let proxy = consume(orb, channel, counter.clone(), &asks_for(&filter));
        thread::sleep(Duration::from_millis(30));
        proxy.suspend_connection().unwrap();
        proxy.resume_connection().unwrap();
        if polite {
            proxy.disconnect_push_supplier().unwrap();
        }
        let events = counter.events.load(Ordering::SeqCst);
        self.events.fetch_add(events, Ordering::SeqCst);
    }

    fn supply(&self, channel: &EventChannelRef, visit: u64, polite: bool) {
        let source = 2 + (visit % 5) as i32;
        let admin = channel.for_suppliers().unwrap().unwrap();
        let proxy = admin.obtain_push_consumer().unwrap().unwrap();
        let publications = publishes([(SAMPLE, source)]);
        proxy.connect_push_supplier(None, &publications).unwrap();
        for number in 0..50 {
            proxy.push(&[event(source, number)]).unwrap();
        }
        // The channel cannot ping a supplier that gave no reference, so this supplier must disconnect.
        let gone = proxy.disconnect_push_consumer();
        gone.unwrap();
        if !polite {
            // The state of the connection does not matter.
            let _ = proxy.push(&[event(source, 50)]);
        }
    }
}

/// Permanent pair: numbers in order, none missing.
struct Steady {
    orb: Orb,
    counter: Arc<Counter>,
    proxy: ProxyPushSupplierRef,
    supplier: oxorb_event::rtec_event_channel_admin::ProxyPushConsumerRef,
    pushed: u64,
}

impl Steady {
    fn join(reference: &str) -> Steady {
        let orb = client();
        let channel: EventChannelRef = orb.resolve(reference).unwrap();
        let counter = Arc::<Counter>::default();
        let proxy = consume(&orb, &channel, counter.clone(), &asks_for(&Filter::source(1)));
        let admin = channel.for_suppliers().unwrap().unwrap();
        let supplier = admin.obtain_push_consumer().unwrap().unwrap();
        let publications = publishes([(SAMPLE, 1)]);
        supplier.connect_push_supplier(None, &publications).unwrap();
        Steady { orb, counter, proxy, supplier, pushed: 0 }
    }

    /// Pushes for a time, at most a quarter of a queue ahead of the consumer.
    fn push_for(&mut self, length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end {
            self.supplier.push(&[event(1, self.pushed)]).unwrap();
            self.pushed += 1;
            let ahead = (QUEUE / 4) as u64;
            self.wait(self.pushed.saturating_sub(ahead));
            thread::sleep(Duration::from_millis(1));
        }
        self.wait(self.pushed);
    }

    fn wait(&self, events: u64) {
        let end = Instant::now() + LONG;
        while self.counter.events.load(Ordering::SeqCst) < events {
            assert!(Instant::now() < end, "{events} of the steady pair");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Lets guests come and go for a time, while the permanent pair continues.
fn soak(guests: &Arc<Guests>, steady: &mut Steady, length: Duration) {
    guests.stop.store(false, Ordering::SeqCst);
    let visitors: Vec<_> = (0..4)
        .map(|at| {
            let guests = Arc::clone(guests);
            thread::spawn(move || guests.come_and_go(at * 7))
        })
        .collect();
    steady.push_for(length);
    guests.stop.store(true, Ordering::SeqCst);
    for visitor in visitors {
        visitor.join().unwrap();
    }
}

#[test]
#[ignore = "45 s, or OXORB_SOAK_SECONDS"]
fn a_channel_whose_members_come_and_go_ends_as_it_began() {
    // Memory, threads and descriptors of this process count, too.
    if !alone(a_channel_whose_members_come_and_go_ends_as_it_began) {
        return;
    }
    let length = length_of_a_soak(45);
    let _guard = watchdog(length + 5 * LONG);
    let mut command = rerun(test_name(other_process));
    command.env(ROLE, "channel");
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("at IOR:", LONG);
    let reference = line.rsplit_once(' ').unwrap().1.to_owned();
    let mut steady = Steady::join(&reference);
    let guests = Arc::new(Guests {
        reference,
        stop: AtomicBool::new(false),
        visits: AtomicU64::new(0),
        events: AtomicU64::new(0),
    });
    steady.push_for(Duration::from_millis(500));
    let processes = [process.id(), std::process::id()];
    let beginning = processes.map(Resources::of);
    let mut rest = |length| {
        soak(&guests, &mut steady, length);
        [0, 1].map(|at| Resources::at_rest(processes[at], beginning[at], KEPT, LONG))
    };
    let (first, last) = (rest(length / 4), rest(length * 3 / 4));
    let (visits, events) = (&guests.visits, &guests.events);
    let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    println!(
        "{visits} visits, {events} events to guests, {} of the steady pair; channel and members at the beginning {beginning:?}, \
         after a quarter {first:?}, at the end {last:?}",
        steady.pushed,
        visits = count(visits),
        events = count(events),
    );
    assert!(count(visits) > 20 && count(events) > 0);
    let wrong = steady.counter.wrong.lock().unwrap().clone();
    assert!(wrong.is_empty(), "missed before {wrong:?}");
    assert_eq!(count(&steady.counter.events), steady.pushed);
    for (first, last) in first.into_iter().zip(last) {
        assert!(last.memory <= first.memory + SLACK, "{first:?} -> {last:?}");
    }
    steady.supplier.disconnect_push_consumer().unwrap();
    steady.proxy.disconnect_push_supplier().unwrap();
    steady.orb.shutdown(true).unwrap();
}
