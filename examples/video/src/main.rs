//! A video stream over datagrams, compared with the same stream over TCP.
//!
//! ```text
//! video [SECONDS]                  both streams in this process, four seconds each; a screen stalls in the middle, for a quarter of them
//! video watch                      takes streams, and prints references for them
//! video send REFERENCE [SECONDS]   sends a stream for ten seconds, and says how it arrived
//! ```

mod camera;

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::rt::Histogram;
use oxorb::{Interface as _, Orb};
use oxorb_stream::streams::SinkRef;
use oxorb_stream::{Pace, Receiver, ReceiverOptions, Sender, SenderOptions};

/// Complete pictures are larger than the datagrams that TAO accepts.
const DATAGRAMS: &str = "diop://127.0.0.1:0/max=65507";
const TCP: &str = "iiop://127.0.0.1:0";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => compare(Duration::from_secs(4)),
        ["watch"] => watch(),
        ["send", reference] => send(reference, Duration::from_secs(10)),
        ["send", reference, seconds] => send(reference, Duration::from_secs(seconds.parse()?)),
        [seconds] => compare(Duration::from_secs(seconds.parse()?)),
        _ => Err("usage: video [SECONDS | watch | send REFERENCE [SECONDS]]".into()),
    }
}

fn options() -> SenderOptions {
    let megabytes = 2_000_000.try_into().expect("more than 0");
    SenderOptions {
        // A complete picture is sent at once. The smaller pictures after it bring the rate back to its average.
        pace: Some(Pace::new(megabytes, 60_000)),
        reports: Some(Duration::from_millis(500)),
        ..SenderOptions::default()
    }
}

/// Sends the same stream over datagrams and over TCP, to a screen that stalls.
fn compare(time: Duration) -> Result<(), Box<dyn Error>> {
    println!(
        "over  pictures  on screen  lost  unsent  age p50 ms  age p90 ms  max ms  longest send ms"
    );
    for (name, endpoint) in [("UDP", DATAGRAMS), ("TCP", TCP)] {
        let (near, far) =
            (Orb::builder().listen(endpoint).build()?, Orb::builder().listen(endpoint).build()?);
        let begin = Instant::now();
        let ages = Arc::new(Histogram::new());
        let screen = ages.clone();
        let stall = time / 2;
        let stalled = Mutex::new(false);
        let receiver = Receiver::start(ReceiverOptions::default(), move |frame| {
            let age = begin.elapsed().saturating_sub(Duration::from_nanos(frame.time));
            screen.record(age.as_nanos() as u64);
            let mut stalled = stalled.lock().unwrap_or_else(PoisonError::into_inner);
            if begin.elapsed() > stall && !*stalled {
                *stalled = true;
                thread::sleep(time / 4);
            }
        })?;
        let local: SinkRef = far.root_poa().activate(receiver.sink())?;
        let sink: SinkRef = near.resolve(&local.to_ior())?;
        let sender = Sender::start(&near, &sink, options())?;
        let shown = camera::show(&sender, begin, time)?;
        // The last pictures are in transit, or lost.
        await_for(Duration::from_millis(1200), || ages.read().count == shown.pictures);
        let ages = ages.read();
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        println!(
            "{name:4}{:10}{:11}{:6}{:8}{:12.2}{:12.2}{:8.1}{:17.3}",
            shown.pictures,
            ages.count,
            shown.pictures - ages.count,
            shown.statistics.dropped + shown.statistics.failed,
            ms(ages.quantile(0.5)),
            ms(ages.quantile(0.9)),
            ms(ages.max_ns),
            shown.longest_send.as_secs_f64() * 1e3,
        );
        sender.stop(Duration::from_secs(1));
        drop(receiver);
        near.shutdown(true)?;
        far.shutdown(true)?;
    }
    Ok(())
}

/// Receives streams until a signal ends the process.
fn watch() -> Result<(), Box<dyn Error>> {
    let orb = Orb::builder().listen("diop://:0/max=65507").listen("iiop://:0").build()?;
    let receiver = Arc::new(Receiver::start(ReceiverOptions::default(), |_| {})?);
    let sink: SinkRef = orb.root_poa().activate(receiver.sink())?;
    println!("{}", sink.to_ior());
    let counts = receiver.clone();
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(2));
            for (stream, reception) in counts.statistics().streams {
                println!("stream {stream:08x}: {reception}");
            }
        }
    });
    orb.shutdown_on_signal()?;
    orb.run();
    Ok(())
}

fn send(reference: &str, time: Duration) -> Result<(), Box<dyn Error>> {
    // Reports are sent back to a separate port.
    let orb = Orb::builder().listen("diop://:0").listen("iiop://:0").build()?;
    let sink: SinkRef = orb.resolve(reference)?;
    let sender = Sender::start(&orb, &sink, options())?;
    let shown = camera::show(&sender, Instant::now(), time)?;
    // The last report covers all pictures.
    thread::sleep(Duration::from_millis(700));
    await_for(Duration::from_secs(5), || sender.feedback().is_some());
    println!("{} pictures: {:?}", shown.pictures, sender.statistics());
    match sender.feedback() {
        Some(told) => println!("there: {}", told.reception),
        None => println!("no report came"),
    }
    sender.stop(Duration::from_secs(1));
    orb.shutdown(true)?;
    Ok(())
}

/// Waits until a condition holds, for at most `most`.
fn await_for(most: Duration, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() && begin.elapsed() < most {
        thread::sleep(Duration::from_millis(10));
    }
}
