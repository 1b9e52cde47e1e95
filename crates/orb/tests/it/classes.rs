//! Communication classes of requests: oneways that may be dropped in the queue, pacing, and the order and priority of a
//! period.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::poa::RtPolicies;
use oxorb::policy::{CommunicationClass, Qos, RequestQos};
use oxorb::rt::{
    PriorityBand, PriorityBands, PriorityModel, QueueOrder, RequestBuffering, SchedulingClass,
    Serving, Threadpool,
};
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, ObjectRef, Orb, SystemException, minor};
use oxorb_testkit::{require_realtime, watchdog};

use crate::common;
use crate::common::openmetrics::Page;
use crate::common::worker::{
    WAIT, WHERE, Worker, activate, call, in_the_background, lane, lane_poa, model, poa, priority,
    whereabouts,
};
use crate::common::*;

static TOLD: Op = Op::oneway("where");

/// Time limit for events in other threads.
const SOON: Duration = Duration::from_secs(20);

/// Maximum total size in octets of the requests in the queue.
const MAX_OCTETS: usize = 10_000;

fn server() -> Orb {
    common::transport::listening().build().unwrap()
}

/// A pool with one blocked thread and a queue, and an object that the pool serves.
struct Waiting {
    server: Orb,
    client: Orb,
    worker: Arc<Worker>,
    object: ObjectRef,
    stuck: thread::JoinHandle<Result<(), SystemException>>,
}

impl Waiting {
    /// Starts the pool, whose thread is blocked until [`open`](Self::open).
    fn begin(lanes: bool, buffering: RequestBuffering) -> Waiting {
        let (server, client) = (server(), client(ClientConnections::Cached));
        let plan = match lanes {
            true => Threadpool::with_lanes([lane(10, 1)]),
            false => Threadpool::new(1).serving(Serving::Queue),
        };
        let plan = plan.buffering(RequestBuffering { max_octets: MAX_OCTETS, ..buffering });
        let pool = server.create_threadpool(plan).unwrap();
        let worker = Arc::new(Worker::default());
        let object = match lanes {
            true => activate(&lane_poa(&server, pool, 10), &client, &worker),
            false => {
                let realtime = RtPolicies { threadpool: Some(pool), ..RtPolicies::default() };
                activate(&poa(&server, "pool", realtime), &client, &worker)
            }
        };
        let stuck = in_the_background(&object, &WAIT);
        worker.until_waiting(1);
        Waiting { server, client, worker, object, stuck }
    }

    /// Sends a oneway, identified by its `importance`.
    fn tell(&self, class: CommunicationClass, importance: i32) {
        let said = RequestQos(Qos { class, importance, ..Qos::default() });
        let object = self.object.with(said);
        object.reference().send(&TOLD, |_| Ok(())).unwrap();
    }

    fn count(&self, incident: Incident) -> u64 {
        self.server.connection_statistics().count(incident)
    }

    fn until(&self, incident: Incident, count: u64) {
        let end = Instant::now() + SOON;
        while self.count(incident) < count {
            assert!(Instant::now() < end, "{incident:?}: {}", self.count(incident));
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until so many requests have a position in the queue.
    fn until_queued(&self, count: u32) {
        until("the requests are queued", || {
            let page = Page::parse(&self.server.metrics());
            page.sum("oxorb_lane_queue_requests", &[]) == f64::from(count)
        });
    }

    /// Waits until all requests read so far are in the queue. The one thread that reads requests is then free to refuse
    /// a request that is larger than the queue.
    fn until_reader_is_free(&self) {
        let refused = self.object.reference().invoke::<(), SystemException>(
            &WHERE,
            |e| {
                e.length(2 * MAX_OCTETS, None)?;
                e.copy_octets(&[0; 2 * MAX_OCTETS]);
                Ok(())
            },
            |_| Ok(()),
        );
        assert_eq!(refused.unwrap_err().minor, minor::transient::REQUESTS_BUFFERED);
    }

    /// Unblocks the thread, and returns the importance of the requests served, in order, once there
    /// are `served`.
    fn open(self, served: usize) -> Vec<Option<i32>> {
        self.worker.open();
        assert_eq!(self.stuck.join().unwrap(), Ok(()));
        let end = Instant::now() + SOON;
        while self.worker.served.lock().unwrap().len() < served && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
        let served = self.worker.served.lock().unwrap();
        served.clone()
    }
}

#[test]
fn oneways_of_a_class_are_dropped_when_they_have_waited_for_too_long() {
    only_over!(CONTEXTS, "classes travel in a service context");
    let _guard = watchdog(LONG);
    for lanes in [false, true] {
        let waiting = Waiting::begin(
            lanes,
            RequestBuffering {
                drops: "isochronous age=30ms; burst age=600s".parse().unwrap(),
                ..RequestBuffering::default()
            },
        );
        for importance in 0..5 {
            waiting.tell(CommunicationClass::Isochronous, importance);
        }
        waiting.tell(CommunicationClass::Burst, 7);
        waiting.tell(CommunicationClass::Message, 8);
        // A two-way request is not dropped.
        let said = RequestQos(Qos {
            class: CommunicationClass::Isochronous,
            importance: 9,
            ..Qos::default()
        });
        let answered = in_the_background(&waiting.object.with(said), &WHERE);
        waiting.until_queued(8);
        // Now the isochronous oneways wait for longer than they may.
        thread::sleep(Duration::from_millis(120));
        waiting.worker.open();
        assert_eq!(answered.join().unwrap(), Ok(()));
        waiting.until(Incident::OnewayDropped, 5);
        let mut served = waiting.open(3);
        served.sort_unstable();
        assert_eq!(served, [7, 8, 9].map(Some), "lanes: {lanes}");
    }
}

#[test]
fn oneways_of_a_class_give_way_when_the_queue_is_full() {
    only_over!(CONTEXTS, "classes travel in a service context");
    let _guard = watchdog(LONG);
    for lanes in [false, true] {
        for (order, left) in
            [(QueueOrder::Arrival, [2, 1, 3, 9]), (QueueOrder::Urgency, [9, 3, 2, 1])]
        {
            let waiting = Waiting::begin(
                lanes,
                RequestBuffering {
                    max_requests: 4,
                    order,
                    drops: "isochronous full".parse().unwrap(),
                    ..RequestBuffering::default()
                },
            );
            // The oldest oneway is also the least urgent one.
            for importance in [0, 2, 1, 3] {
                waiting.tell(CommunicationClass::Isochronous, importance);
            }
            // The next request finds the queue full.
            waiting.until_queued(4);
            let said = RequestQos(Qos { importance: 9, ..Qos::default() });
            let answered = in_the_background(&waiting.object.with(said), &WHERE);
            waiting.until(Incident::OnewayDropped, 1);
            assert_eq!(waiting.count(Incident::BufferFull), 0);
            // The new request is queued only after the oneway was dropped.
            waiting.until_reader_is_free();
            waiting.worker.open();
            assert_eq!(answered.join().unwrap(), Ok(()));
            let served = waiting.open(4);
            assert_eq!(served, left.map(Some), "lanes: {lanes}, {order:?}");
        }
    }
}

/// If there are no drop rules, excess requests are refused and no queued request is dropped.
#[test]
fn without_rules_nothing_gives_way() {
    only_over!(CONTEXTS, "classes travel in a service context");
    let _guard = watchdog(LONG);
    let waiting = Waiting::begin(
        false,
        RequestBuffering {
            max_requests: 2,
            drops: "burst full".parse().unwrap(),
            ..RequestBuffering::default()
        },
    );
    for importance in 0..3 {
        waiting.tell(CommunicationClass::Isochronous, importance);
    }
    waiting.until(Incident::BufferFull, 1);
    assert!(call(&waiting.object, &WHERE).is_err());
    assert_eq!(waiting.count(Incident::OnewayDropped), 0);
    assert_eq!(waiting.open(2), [0, 1].map(Some));
}

#[test]
fn the_shorter_period_goes_first_where_the_queue_goes_by_rate() {
    only_over!(CONTEXTS, "periods travel in a service context");
    let _guard = watchdog(LONG);
    let waiting = Waiting::begin(
        false,
        RequestBuffering { order: QueueOrder::Rate, ..RequestBuffering::default() },
    );
    for (importance, period) in [(1, 40), (2, 10), (3, 0), (4, 20)] {
        let said = RequestQos(Qos {
            importance,
            period: (period != 0).then(|| Duration::from_millis(period)),
            ..Qos::default()
        });
        let object = waiting.object.with(said);
        object.reference().send(&TOLD, |_| Ok(())).unwrap();
    }
    waiting.until_queued(4);
    waiting.until_reader_is_free();
    assert_eq!(waiting.open(4), [2, 4, 1, 3].map(Some));
}

/// Returns the native priority at which a request of this period runs.
fn native(object: &ObjectRef, period: Option<Duration>) -> i16 {
    let said = RequestQos(Qos { period, ..Qos::default() });
    whereabouts(&object.with(said)).native
}

#[test]
fn a_period_is_a_priority_within_the_band_where_the_policy_asks() {
    only_over!(CONTEXTS, "periods travel in a service context");
    let _guard = watchdog(LONG);
    if !require_realtime() {
        return;
    }
    let server = common::transport::listening()
        .setting("PriorityMapping", "direct")
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .build()
        .unwrap();
    let client = client(ClientConnections::Private);
    let pool = Threadpool::with_lanes([lane(10, 1), lane(31, 1)]);
    let pool = server.create_threadpool(pool).unwrap();
    let (ms, hours) = (Duration::from_millis(1), Duration::from_secs(7200));
    let of_lane = |name: &str, at: i16, rate_monotonic, priority_bands| {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: model(PriorityModel::ServerDeclared, at),
            priority_bands,
            rate_monotonic,
            ..RtPolicies::default()
        };
        activate(&poa(&server, name, realtime), &client, &Arc::new(Worker::default()))
    };
    let low = of_lane("low", 10, true, None);
    // Without bands, a period raises the priority up to just below that of the next lane.
    assert_eq!(native(&low, Some(ms)), 30);
    assert_eq!(native(&low, Some(ms * 32)), 25);
    assert_eq!(native(&low, Some(hours)), 10);
    assert_eq!(native(&low, None), 10);
    assert_eq!(whereabouts(&low).native, 10, "restored");
    assert_eq!(native(&of_lane("plain", 10, false, None), Some(ms)), 10);
    let bands = [PriorityBand { low: 0, high: 20 }, PriorityBand { low: 31, high: 41 }];
    let bands = PriorityBands::new(&bands).unwrap();
    let banded = of_lane("banded", 31, true, Some(bands));
    assert_eq!(native(&banded, Some(ms)), 41);
    assert_eq!(native(&banded, Some(hours)), 31);

    // Without lanes, a request runs at the caller's priority, or at one in its band if it has a period.
    let realtime = RtPolicies {
        priority_model: model(PriorityModel::ClientPropagated, 0),
        priority_bands: Some(bands),
        rate_monotonic: true,
        ..RtPolicies::default()
    };
    let poa = poa(&server, "propagated", realtime);
    let propagated = activate(&poa, &client, &Arc::new(Worker::default()));
    client.set_thread_priority(priority(35)).unwrap();
    assert_eq!(native(&propagated, None), 35);
    assert_eq!(native(&propagated, Some(ms)), 41);
    assert_eq!(whereabouts(&propagated).priority, 35);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn priorities_by_period_need_a_model() {
    let server = server();
    let realtime = RtPolicies { rate_monotonic: true, ..RtPolicies::default() };
    let policies = oxorb::poa::Policies { realtime, ..oxorb::poa::Policies::default() };
    let refused = server.root_poa().create_poa("refused", policies);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("priorities by period"), "{refused}");
    server.shutdown(true).unwrap();
}

/// Size of an argument in octets, send rate in octets per second, and number of octets that may be sent at once (as in
/// `bandwidth.rs`).
const OCTETS: usize = 4 << 20;
const RATE: u32 = 8 << 20;
const BURST: usize = 1 << 20;

#[test]
fn requests_leave_no_faster_than_their_class_may() {
    only_over!(TCP, "only the kernel's TCP paces");
    let _guard = watchdog(LONG);
    let server = server();
    let client = common::transport::builder()
        .setting("ClassPacing", &format!("burst={RATE}"))
        .build()
        .unwrap();
    let pacing = client.options().class_pacing;
    assert_eq!(pacing.of(CommunicationClass::Burst), NonZeroU32::new(RATE));
    let worker = Arc::new(Worker::default());
    let object = activate(server.root_poa(), &client, &worker);
    let send = |class| {
        let said = RequestQos(Qos { class, ..Qos::default() });
        let object = object.with(said);
        // Connect first, so that only the transfer is measured.
        call(&object, &WHERE).unwrap();
        let argument = vec![7; OCTETS];
        let begun = Instant::now();
        let sent = object.reference().invoke::<(), SystemException>(
            &WHERE,
            |e| {
                e.length(OCTETS, None)?;
                e.copy_octets(&argument);
                Ok(())
            },
            |_| Ok(()),
        );
        sent.unwrap();
        begun.elapsed().as_secs_f64()
    };
    let least = (OCTETS - BURST) as f64 / f64::from(RATE);
    assert!(send(CommunicationClass::Burst) >= least);
    // The other classes are not paced, so that one of several attempts is faster, even on a loaded machine.
    let others = [
        CommunicationClass::Isochronous,
        CommunicationClass::Message,
        CommunicationClass::MessageStream,
    ];
    for class in others {
        until(&format!("{class:?} is not paced"), || send(class) < least);
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
