//! Side of a pair of processes that exchange requests and responses by iceoryx2, or a publisher with its subscribers,
//! controlled by `oxbench` on standard input.
//!
//! A request and its response carry as many octets as the call's body. Each side copies octets into memory that
//! iceoryx2 lends, and reads them where the other side wrote them. With `spin`, a side polls; with `event`, it sleeps
//! until notified.

mod events;

use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::*;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["server", name, wait] => serve(name, sleeps(wait)?),
        ["client", name, wait] => call(name, sleeps(wait)?),
        ["events"] => events::drive(),
        _ => Err("oxbench-iceoryx2 server|client NAME spin|event, or events".into()),
    }
}

fn sleeps(word: &str) -> Result<bool> {
    match word {
        "spin" => Ok(false),
        "event" => Ok(true),
        _ => Err(format!("{word:?} is neither spin nor event").into()),
    }
}

/// Longest time until a sleeping thread checks whether its standard input has closed.
const LOOK: Duration = Duration::from_millis(200);

/// Initial octets of a loan; grown on demand.
const FIRST: usize = 4096;

/// First octet of a request for a response of one octet; others are returned unchanged.
const SENT: u8 = 0xff;

/// Answers requests until standard input closes, when its parent ends it.
fn serve(name: &str, sleeps: bool) -> Result {
    // A graceful end leaves no files behind.
    let over = &*Box::leak(Box::new(AtomicBool::new(false)));
    std::thread::spawn(|| {
        for _ in std::io::stdin().lock().lines() {}
        over.store(true, Ordering::Relaxed);
    });
    set_log_level(LogLevel::Error);
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service =
        node.service_builder(&name.try_into()?).request_response::<[u8], [u8]>().create()?;
    let server = service
        .server_builder()
        .initial_max_slice_len(FIRST)
        .allocation_strategy(AllocationStrategy::PowerOfTwo)
        .create()?;
    let bell = sleeps.then(|| Bell::new(&node, name, Side::Server)).transpose()?;
    println!("{name}");
    while !over.load(Ordering::Relaxed) {
        let mut found = false;
        while let Some(request) = server.receive()? {
            found = true;
            let octets: &[u8] = match request.payload() {
                [SENT, ..] => &[SENT],
                octets => octets,
            };
            request.loan_slice_uninit(octets.len())?.write_from_slice(octets).send()?;
            if let Some(bell) = &bell {
                bell.ring()?;
            }
        }
        match &bell {
            Some(bell) if !found => bell.wait()?,
            _ => std::hint::spin_loop(),
        }
    }
    Ok(())
}

fn call(name: &str, sleeps: bool) -> Result {
    set_log_level(LogLevel::Error);
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service =
        node.service_builder(&name.try_into()?).request_response::<[u8], [u8]>().open()?;
    let client = service
        .client_builder()
        .initial_max_slice_len(FIRST)
        .allocation_strategy(AllocationStrategy::PowerOfTwo)
        .create()?;
    let bell = sleeps.then(|| Bell::new(&node, name, Side::Client)).transpose()?;
    let mut samples = Vec::new();
    let mut lines = std::io::stdin().lock().lines();
    let mut answer = "ready".to_owned();
    loop {
        println!("{answer}");
        std::io::stdout().flush()?;
        let Some(line) = lines.next().transpose()? else {
            return Ok(());
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        answer = match words[..] {
            ["run", operation, size, calls] => {
                let octets = octets(operation, size.parse()?);
                let calls: usize = calls.parse()?;
                samples = Vec::with_capacity(calls);
                let wanted = match octets[0] {
                    SENT => 1,
                    _ => octets.len(),
                };
                let mut before = Instant::now();
                for _ in 0..calls {
                    let pending =
                        client.loan_slice_uninit(octets.len())?.write_from_slice(&octets).send()?;
                    if let Some(bell) = &bell {
                        bell.ring()?;
                    }
                    let length = loop {
                        if let Some(response) = pending.receive()? {
                            break std::hint::black_box(response.payload()).len();
                        }
                        match &bell {
                            Some(bell) => bell.wait()?,
                            None => std::hint::spin_loop(),
                        }
                    };
                    if length != wanted {
                        return Err("another length came back".into());
                    }
                    let after = Instant::now();
                    samples.push((after - before).as_nanos());
                    before = after;
                }
                "done".to_owned()
            }
            ["samples"] => samples.iter().map(|it| format!("{it} ")).collect(),
            _ => {
                return Err(format!(
                    "standard input has the line {line:?}, which is no command of this process; its commands are run OPERATION \
                     SIZE CALLS and samples"
                )
                .into());
            }
        };
    }
}

/// Returns the body of a call of the cubit. An empty slice cannot be lent.
fn octets(operation: &str, size: usize) -> Vec<u8> {
    let (first, length) = match operation {
        "void" | "octet" => (0, 1),
        "short" => (0, 2),
        "long" => (0, 4),
        "struct" => (0, 10),
        "sent" => (SENT, 4 + size),
        _ => (0, 4 + size),
    };
    let mut octets: Vec<u8> = (0..length).map(|at| at as u8).collect();
    octets[0] = first;
    octets
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Event by which both sides wake each other.
struct Bell {
    there: Notifier<ipc::Service>,
    here: Listener<ipc::Service>,
}

impl Bell {
    fn new(node: &Node<ipc::Service>, name: &str, side: Side) -> Result<Bell> {
        let names = [format!("{name}/client"), format!("{name}/server")];
        let of = |at: usize| -> Result<_> {
            Ok(node.service_builder(&names[at].as_str().try_into()?).event().open_or_create()?)
        };
        let here = usize::from(side == Side::Server);
        Ok(Bell {
            here: of(here)?.listener_builder().create()?,
            there: of(1 - here)?.notifier_builder().create()?,
        })
    }

    fn ring(&self) -> Result {
        self.there.notify()?;
        Ok(())
    }

    fn wait(&self) -> Result {
        self.here.timed_wait(|_| {}, LOOK)?;
        Ok(())
    }
}
