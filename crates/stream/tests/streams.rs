//! Complete streams, over datagrams and over TCP: arrival, reports, and no delay of others by a stalled
//! receiver.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_stream::streams::SinkRef;
use oxorb_stream::{Frame, Pace, Receiver, ReceiverOptions, Sender, SenderOptions, Sent};
use oxorb_testkit::watchdog;

const LONG: Duration = Duration::from_secs(120);

fn listening(endpoint: &str) -> Orb {
    Orb::builder().listen(endpoint).build().unwrap()
}

/// Receiver in an ORB of its own, and the reference that another ORB has of it.
fn receiver(
    endpoint: &str,
    sender: &Orb,
    options: ReceiverOptions,
    show: impl Fn(Frame<'_>) + Send + Sync + 'static,
) -> (Orb, Receiver, SinkRef) {
    let orb = listening(endpoint);
    let receiver = Receiver::start(options, show).unwrap();
    let local: SinkRef = orb.root_poa().activate(receiver.sink()).unwrap();
    let sink = sender.resolve(&local.to_ior()).unwrap();
    (orb, receiver, sink)
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG / 2, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn end(orbs: [&Orb; 2]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn frames_arrive_in_order_with_their_times_and_are_reported() {
    let _guard = watchdog(LONG);
    for endpoint in ["diop://127.0.0.1:0", "iiop://127.0.0.1:0"] {
        let orb = listening(endpoint);
        let (show, shown) = mpsc::channel();
        let (far, receiver, sink) =
            receiver(endpoint, &orb, ReceiverOptions::default(), move |it| {
                let _ = show.send((it.sequence, it.time, it.late, it.data.to_vec()));
            });
        let options =
            SenderOptions { reports: Some(Duration::from_millis(50)), ..SenderOptions::default() };
        let sender = Sender::start(&orb, &sink, options).unwrap();
        let mut before = None;
        for number in 0..20_u64 {
            let sent = sender.send(Duration::from_millis(40 * number), &[number as u8; 5000]);
            assert_eq!(sent, Ok(Sent::Queued));
            let (sequence, time, late, data) = shown.recv().unwrap();
            assert_eq!((time, late), (40_000_000 * number, false));
            assert_eq!(data, [number as u8; 5000]);
            if let Some(before) = before.replace(sequence) {
                assert_eq!(sequence, u32::wrapping_add(before, 1));
            }
        }
        until("a report on all of them", || {
            sender.feedback().is_some_and(|it| it.reception.received == 20)
        });
        let told = sender.feedback().unwrap();
        assert_eq!(told.reception.lost, 0, "{endpoint}");
        assert_eq!(Some(told.reception.highest), before);
        assert!(told.round_trip.is_some_and(|it| it < LONG));
        let counted = receiver.statistics();
        assert_eq!(counted.streams, [(sender.stream(), told.reception)]);
        assert_eq!((counted.refused, counted.unsent_reports), (0, 0));
        let statistics = sender.statistics();
        assert_eq!((statistics.sent, statistics.octets), (20, 100_000));
        assert_eq!(sender.stop(Duration::from_secs(1)), 0);
        end([&orb, &far]);
    }
}

/// Receiver that handles no frame while its gate is closed.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let open = self.open.lock().unwrap();
        let _open = self.opened.wait_while(open, |open| !*open).unwrap();
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

#[test]
fn a_receiver_that_stalls_never_holds_up_the_application() {
    let _guard = watchdog(LONG);
    for (endpoint, lossless) in [("diop://127.0.0.1:0", true), ("iiop://127.0.0.1:0", false)] {
        let orb = listening(endpoint);
        let gate = Arc::new(Gate::default());
        let passes = gate.clone();
        let (far, _receiver, sink) =
            receiver(endpoint, &orb, ReceiverOptions::default(), move |_| passes.pass());
        let options = SenderOptions {
            largest: 8000,
            patience: Duration::from_millis(300),
            ..SenderOptions::default()
        };
        let sender = Sender::start(&orb, &sink, options).unwrap();
        let mut dropped = 0;
        // These frames exceed the kernel's buffers between sender and receiver.
        for number in 0..1500 {
            let sent = sender.send(Duration::from_millis(number), &[7; 8000]).unwrap();
            dropped += u64::from(sent != Sent::Queued);
            if lossless {
                until("it leaves", || sender.statistics().waiting < 4);
            }
        }
        // The counts are read one after another, while frames leave.
        until("the counts agree", || {
            let now = sender.statistics();
            let all = now.sent + now.failed + now.dropped + now.waiting as u64;
            all.abs_diff(1500) <= 1
        });
        let statistics = sender.statistics();
        assert_eq!(statistics.dropped, dropped);
        if lossless {
            // The network drops frames that the receiver does not read, which the sender does not notice.
            assert_eq!((dropped, statistics.failed), (0, 0), "{statistics:?}");
        } else {
            // Over TCP frames wait for earlier ones, until the full queue drops some.
            assert!(dropped > 0, "{statistics:?}");
        }
        drop(sender);
        gate.open();
        end([&orb, &far]);
    }
}

#[test]
fn frames_leave_at_the_pace() {
    let _guard = watchdog(LONG);
    let orb = listening("diop://127.0.0.1:0");
    let came = Arc::new(Mutex::new(Vec::new()));
    let notes = came.clone();
    let (far, _receiver, sink) =
        receiver("diop://127.0.0.1:0", &orb, ReceiverOptions::default(), move |_| {
            notes.lock().unwrap().push(Instant::now())
        });
    let options = SenderOptions {
        queue: 40,
        // Each frame of 1,000 octets takes 1 ms.
        pace: Some(Pace::new(1_000_000.try_into().unwrap(), 0)),
        ..SenderOptions::default()
    };
    let sender = Sender::start(&orb, &sink, options).unwrap();
    let begun = Instant::now();
    for number in 0..40 {
        let _ = sender.send(Duration::from_millis(number), &[7; 1000]).unwrap();
    }
    until("all have come", || came.lock().unwrap().len() == 40);
    let took = came.lock().unwrap()[39] - begun;
    assert!(took >= Duration::from_millis(30), "{took:?}");
    drop(sender);
    end([&orb, &far]);
}

#[test]
fn a_sender_that_stops_sends_what_waits_or_says_what_it_dropped() {
    let _guard = watchdog(LONG);
    let orb = listening("diop://127.0.0.1:0");
    let (far, _receiver, sink) =
        receiver("diop://127.0.0.1:0", &orb, ReceiverOptions::default(), |_| {});
    for (octets, left) in [(1_000_000_000, 0..1), (100, 6..8)] {
        let options = SenderOptions {
            pace: Some(Pace::new(u64::try_into(octets).unwrap(), 0)),
            ..SenderOptions::default()
        };
        let sender = Sender::start(&orb, &sink, options).unwrap();
        for number in 0..8 {
            let _ = sender.send(Duration::from_millis(number), &[7; 1000]).unwrap();
        }
        // At the slow pace, the next one leaves after ten seconds.
        until("the first leaves", || sender.statistics().sent >= 1);
        let begun = Instant::now();
        let limit = Duration::from_millis(if octets == 100 { 100 } else { 30_000 });
        let dropped = sender.stop(limit);
        assert!(left.contains(&dropped), "{dropped} at {octets}");
        assert!(begun.elapsed() < LONG / 4);
    }
    end([&orb, &far]);
}

#[test]
fn a_sender_without_a_receiver_goes_on_and_says_why() {
    let _guard = watchdog(LONG);
    let orb = listening("iiop://127.0.0.1:0");
    let (far, receiver, sink) =
        receiver("iiop://127.0.0.1:0", &orb, ReceiverOptions::default(), |_| {});
    end([&far, &far]);
    drop(receiver);
    let sender = Sender::start(&orb, &sink, SenderOptions::default()).unwrap();
    let _ = sender.send(Duration::ZERO, b"nobody sees this").unwrap();
    until("it fails", || sender.statistics().failed == 1);
    assert!(sender.statistics().failure.is_some());
    assert_eq!(sender.feedback(), None);
    drop(sender);
    orb.shutdown(true).unwrap();
}

#[test]
fn who_wants_no_reports_sends_none() {
    let _guard = watchdog(LONG);
    let orb = listening("diop://127.0.0.1:0");
    let heard = Arc::new(AtomicBool::new(false));
    let hears = heard.clone();
    let options = ReceiverOptions { reports: false, ..ReceiverOptions::default() };
    let (far, receiver, sink) = receiver("diop://127.0.0.1:0", &orb, options, move |_| {
        hears.store(true, SeqCst);
    });
    let options =
        SenderOptions { reports: Some(Duration::from_millis(50)), ..SenderOptions::default() };
    let sender = Sender::start(&orb, &sink, options).unwrap();
    let _ = sender.send(Duration::ZERO, b"frame").unwrap();
    until("it comes", || heard.load(SeqCst));
    thread::sleep(Duration::from_millis(200));
    assert_eq!((receiver.statistics().reports, sender.feedback()), (0, None));
    drop(sender);
    end([&orb, &far]);
}

#[test]
fn a_group_sees_frames_larger_than_a_datagram() {
    let _guard = watchdog(LONG);
    let port = oxorb_testkit::net::free_port();
    let url = format!("corbaloc:miop:1.0@1.0-pictures-1/239.195.17.{}:{port}", port % 250 + 1);
    let place = url.rsplit_once('/').unwrap().1;
    let members = [(); 2].map(|()| {
        let orb = listening(&format!("iiop://127.0.0.1:0;miop://{place}/interface=lo"));
        let (show, shown) = mpsc::channel();
        let receiver = Receiver::start(ReceiverOptions::default(), move |it| {
            let _ = show.send(it.data.to_vec());
        })
        .unwrap();
        let poa = orb.root_poa();
        let own: SinkRef = poa.activate(receiver.sink()).unwrap();
        let group = orb.string_to_object(&url).unwrap();
        poa.associate_reference_with_id(&group, poa.reference_to_id(&own).unwrap()).unwrap();
        (orb, receiver, shown)
    });
    let near = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .setting("Multicast", "interface=lo")
        .build()
        .unwrap();
    let group: SinkRef = near.string_to_object(&url).unwrap().unchecked_narrow();
    let options = SenderOptions {
        largest: 120_000,
        reports: Some(Duration::from_millis(50)),
        // Pace the pictures, because the loopback interface buffers only one or two of them.
        pace: Some(Pace::new(10_000_000.try_into().unwrap(), 0)),
        ..SenderOptions::default()
    };
    let sender = Sender::start(&near, &group, options).unwrap();
    // If one packet is lost, its picture is lost, so count the complete pictures that each member receives.
    let mut whole = [0; 2];
    let mut number = 0_u8;
    until("pictures at both", || {
        let _ = sender.send(Duration::from_millis(number.into()), &[number; 120_000]).unwrap();
        number = number.wrapping_add(1);
        thread::sleep(Duration::from_millis(20));
        for ((_, _, shown), whole) in members.iter().zip(&mut whole) {
            for picture in shown.try_iter() {
                assert!(picture.len() == 120_000 && picture.iter().all(|it| *it == picture[0]));
                *whole += 1;
            }
        }
        whole.iter().all(|whole| *whole >= 3)
    });
    until("a member's report", || sender.feedback().is_some_and(|it| it.reception.received > 0));
    drop(sender);
    near.shutdown(true).unwrap();
    for (orb, receiver, _) in members {
        drop(receiver);
        orb.shutdown(true).unwrap();
    }
}
