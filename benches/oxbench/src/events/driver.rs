//! OxORB's sides of `oxbench events`, and the protocol of all contenders' drivers on standard input and output:
//!
//! ```text
//! < ready
//! > run 10 1000 1024 5000 16        consumers, consumers whose filters do not match, octets, events, events in flight
//! < 25412 25390 60123 91234 812345  ns from push to the last consumer: p50, p99, p99.9, max; and for the whole run
//! ```
//!
//! A driver process contains the supplier and the consumers; the channel is in another process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface as _, Orb, SystemException};
use oxorb_event::rtec_event_channel_admin::{EventChannelRef, ProxyPushSupplierRef};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{ChannelOptions, EventChannel, Filter, asks_for, publishes};
use oxorb_sys::sync::{Condvar, Mutex};
use oxorb_testkit::net::free_port;

use crate::{Result, session};

/// Type and source of the events that are measured.
const KEY: (i32, i32) = (17, 1);
/// First type wanted by consumers whose filters do not match.
const OTHER: i32 = 1_000;
/// Time after which an event counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves a channel at an endpoint until standard input closes.
pub(crate) fn serve(endpoint: &str) -> Result {
    // References to the channel are persistent, so the port must be known before the ORB is built.
    let endpoint = match endpoint.strip_suffix(":0") {
        Some(host) => format!("{host}:{}", free_port()),
        None => endpoint.to_owned(),
    };
    let orb =
        Orb::builder().listen(&endpoint).concurrency(Concurrency::ThreadPerConnection).build()?;
    let served = EventChannel::new(ChannelOptions::default()).serve(&orb, "bench")?;
    session::announce(&served.reference().to_ior())?;
    orb.shutdown(true)?;
    Ok(())
}

/// Pushes to a channel as requested on standard input; the consumers listen at an endpoint.
pub(crate) fn drive(reference: &str, endpoint: &str) -> Result {
    let orb = Orb::builder()
        .listen(endpoint)
        .concurrency(Concurrency::ThreadPerConnection)
        .client_connections(ClientConnections::Private)
        .build()?;
    let channel: EventChannelRef = orb.resolve(reference)?;
    let suppliers = channel.for_suppliers()?.ok_or(NIL)?;
    let supplier = suppliers.obtain_push_consumer()?.ok_or(NIL)?;
    supplier.connect_push_supplier(None, &publishes([KEY]))?;
    listen(|task| {
        let run = Arc::new(Run::new(task));
        let connect = |filter: Filter| -> Result<ProxyPushSupplierRef> {
            let consumer: PushConsumerRef = orb.root_poa().activate(Consumer(run.clone()))?;
            let consumers = channel.for_consumers()?.ok_or(NIL)?;
            let proxy = consumers.obtain_push_supplier()?.ok_or(NIL)?;
            proxy.connect_push_consumer(Some(&consumer), &asks_for(&filter))?;
            Ok(proxy)
        };
        let idle = (0..task.idle as i32).map(|at| Filter::event_type(OTHER + at));
        let wanted = (0..task.consumers).map(|_| Filter::event(KEY.0, KEY.1));
        let proxies: Vec<_> = wanted.chain(idle).map(connect).collect::<Result<_>>()?;
        let took = run.push_all(task, |event| Ok(supplier.push(std::slice::from_ref(event))?))?;
        for proxy in proxies {
            proxy.disconnect_push_supplier()?;
        }
        Ok(run.answer(took))
    })?;
    orb.shutdown(true)?;
    Ok(())
}

/// Pushes to a channel of this process as requested on standard input.
pub(crate) fn drive_local() -> Result {
    let channel = EventChannel::new(ChannelOptions::default());
    let supplier = channel.connect_supplier(None, &publishes([KEY]))?;
    listen(|task| {
        let run = Arc::new(Run::new(task));
        let wanted = asks_for(&Filter::event(KEY.0, KEY.1));
        let consumers = (0..task.consumers).map(|_| {
            let consumer: Arc<dyn PushConsumer> = Arc::new(Consumer(run.clone()));
            channel.connect_consumer(consumer, &wanted)
        });
        let consumers: Vec<_> = consumers.collect::<std::result::Result<_, _>>()?;
        let took = run.push_all(task, |event| Ok(supplier.push(std::slice::from_ref(event))?))?;
        drop(consumers);
        Ok(run.answer(took))
    })
}

/// Sends octets from a connection back, `octets` at a time.
pub(crate) fn relay(octets: usize) -> Result {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let mut buffer = vec![0; octets];
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.set_nodelay(true);
            while stream.read_exact(&mut buffer).is_ok() && stream.write_all(&buffer).is_ok() {}
        }
    });
    session::announce(&address.to_string())
}

/// Sends octets to a relay and waits for their return, as requested on standard input: two hops without any ORB.
pub(crate) fn drive_relay(address: &str) -> Result {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    listen(|task| {
        let run = Run::new(task);
        let mut buffer = vec![0; task.size as usize];
        let took = run.push_all(task, |event| {
            stream.write_all(&event.data.payload)?;
            stream.read_exact(&mut buffer)?;
            run.take(&buffer);
            Ok(())
        })?;
        Ok(run.answer(took))
    })
}

/// Drives a relay with a separate receiving thread. This thread accounts for most of the time if a
/// consumer does not run within its supplier's call.
pub(crate) fn drive_relay_apart(address: &str) -> Result {
    listen(|task| {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (mut reading, mut buffer) = (stream.try_clone()?, vec![0; task.size as usize]);
        let run = Arc::new(Run::new(task));
        let seen = Arc::clone(&run);
        let receiving = std::thread::spawn(move || {
            while reading.read_exact(&mut buffer).is_ok() {
                seen.take(&buffer);
            }
        });
        let took = run.push_all(task, |event| Ok(stream.write_all(&event.data.payload)?))?;
        stream.shutdown(std::net::Shutdown::Both)?;
        let _ = receiving.join();
        Ok(run.answer(took))
    })
}

/// Error for a nil reference to an object that every channel has.
pub(crate) const NIL: &str = "the channel answered with a nil reference";

/// Request to a driver.
#[derive(Clone, Copy)]
struct Task {
    consumers: u32,
    idle: u32,
    size: u32,
    events: u64,
    /// Maximum number of events in transit.
    window: u64,
}

/// Performs each task from standard input.
fn listen(mut work: impl FnMut(Task) -> Result<String>) -> Result {
    session::answer("ready", |line| {
        let words: Vec<u64> =
            line.split(' ').skip(1).map(str::parse).collect::<std::result::Result<_, _>>()?;
        let &[consumers, idle, size, events, window] = words.as_slice() else {
            return Err(format!("no command is {line}").into());
        };
        work(Task {
            consumers: u32::try_from(consumers)?,
            idle: u32::try_from(idle)?,
            size: u32::try_from(size)?,
            events,
            window,
        })
    })
}

/// Counter of the consumers that have an event; records the time of the last one.
struct Run {
    consumers: u32,
    began: Instant,
    pushed: Vec<AtomicU64>,
    arrived: Vec<AtomicU32>,
    latencies: Vec<AtomicU64>,
    complete: Mutex<u64>,
    changed: Condvar,
}

impl Run {
    fn new(task: Task) -> Run {
        let events = task.events as usize;
        Run {
            consumers: task.consumers,
            began: Instant::now(),
            pushed: (0..events).map(|_| AtomicU64::new(0)).collect(),
            arrived: (0..events).map(|_| AtomicU32::new(0)).collect(),
            latencies: (0..events).map(|_| AtomicU64::new(0)).collect(),
            complete: Mutex::new(0),
            changed: Condvar::new(),
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Receives an event at a consumer.
    fn take(&self, payload: &[u8]) {
        let number = payload.first_chunk().map(|number| u64::from_ne_bytes(*number) as usize);
        let Some(number) = number.filter(|number| *number < self.arrived.len()) else {
            return;
        };
        if self.arrived[number].fetch_add(1, Ordering::AcqRel) + 1 < self.consumers {
            return;
        }
        let pushed = self.pushed[number].load(Ordering::Acquire);
        self.latencies[number].store(self.now() - pushed, Ordering::Relaxed);
        *self.complete.lock() += 1;
        self.changed.notify_one();
    }

    fn wait(&self, wanted: u64) -> Result {
        let complete = self.complete.lock();
        let (complete, _) =
            self.changed.wait_timeout_while(complete, PATIENCE, |complete| *complete < wanted);
        match *complete >= wanted {
            true => Ok(()),
            false => Err(format!(
                "{} events of {wanted} reached all consumers, others are lost",
                *complete
            )
            .into()),
        }
    }

    /// Pushes all events; returns the time until all consumers have received all of them.
    fn push_all(&self, task: Task, mut push: impl FnMut(&Event) -> Result) -> Result<Duration> {
        let mut event = Event::default();
        (event.header.r#type, event.header.source) = KEY;
        event.header.ttl = 1;
        event.data.payload = (0..task.size).map(|at| at as u8).collect();
        let start = Instant::now();
        for number in 0..task.events {
            if number >= task.window {
                self.wait(number - task.window + 1)?;
            }
            event.data.payload[..8].copy_from_slice(&number.to_ne_bytes());
            self.pushed[number as usize].store(self.now(), Ordering::Release);
            push(&event)?;
        }
        self.wait(task.events)?;
        Ok(start.elapsed())
    }

    fn answer(&self, took: Duration) -> String {
        let latencies = self.latencies.iter().map(|one| one.load(Ordering::Relaxed));
        let mut latencies: Vec<u64> = latencies.collect();
        latencies.sort_unstable();
        let part = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize];
        let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(part);
        format!("{p50} {p99} {p999} {max} {}", took.as_nanos())
    }
}

struct Consumer(Arc<Run>);

impl PushConsumer for Consumer {
    fn push(&self, data: &[Event]) {
        for event in data {
            self.0.take(&event.data.payload);
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}
