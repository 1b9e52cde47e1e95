//! OxORB's side of oneways, and the protocol of both ORBs' client processes on standard input and output:
//!
//! ```text
//! < ready
//! > send 8 4 300 1048576     octets of the argument, callers, milliseconds, octets of a oneway before that (0: none)
//! < 812345 300123456         oneways that were sent, nanoseconds until the server had counted all of them
//! ```

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxorb::policy::{BufferingConstraint, SyncScope};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface, Orb, SystemException, SystemExceptionKind};

use super::{Load, Mode};
use crate::process::Process;
use crate::{Result, session};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("oneway");
}

use generated::oxbench::{Gauge, GaugeRef};

/// Number of oneways between two reads of the clock.
const AT_ONCE: u64 = 64;

/// Time between two checks of the arrivals.
const NAP: Duration = Duration::from_micros(100);

/// Size in octets of a client's buffer.
const BUFFER: &str = "4194304";

/// Total size in octets of the buffered oneways at which they are sent.
const BATCH: usize = 64 << 10;

/// Longest wait of buffered oneways.
const PATIENCE: Duration = Duration::from_millis(1);

/// Serves a `Gauge` until standard input closes, with a thread for each connection as omniORB does.
pub(crate) fn serve() -> Result {
    let orb = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .concurrency(Concurrency::ThreadPerConnection)
        .build()?;
    let gauge: GaugeRef = orb.root_poa().activate(Counter::default())?;
    session::announce(&gauge.to_ior().to_string())?;
    orb.shutdown(true)?;
    Ok(())
}

#[derive(Default)]
struct Counter {
    arrived: AtomicU64,
}

impl Gauge for Counter {
    fn set(&self, value: i64) {
        black_box(value);
        self.arrived.fetch_add(1, Ordering::Relaxed);
    }

    fn record(&self, data: &[u8]) {
        black_box(data);
        self.arrived.fetch_add(1, Ordering::Relaxed);
    }

    fn arrived(&self) -> Result<u64, SystemException> {
        Ok(self.arrived.load(Ordering::Relaxed))
    }
}

/// Sends as requested on standard input.
pub(crate) fn call(mode: Mode, reference: &str) -> Result {
    let orb = Orb::builder()
        .client_connections(ClientConnections::Private)
        .setting("BufferedOneways", BUFFER)
        .build()?;
    let plain: GaugeRef = orb.resolve(reference)?;
    let gauge = match mode {
        Mode::OmniOrb => return Err("omniORB has a program of its own".into()),
        Mode::Plain => plain.clone(),
        Mode::None => plain.with(SyncScope::None),
        Mode::Buffered => plain.with(SyncScope::None).with(BufferingConstraint {
            octets: Some(BATCH),
            time: Some(PATIENCE),
            count: None,
        }),
    };
    plain.arrived()?;
    let mut total = 0;
    let mut output = std::io::stdout().lock();
    writeln!(output, "ready")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let (load, time) = parse(&line?)?;
        let arrived = |total| -> Result {
            gauge.reference().flush()?;
            while plain.arrived()? < total {
                std::thread::sleep(NAP);
            }
            Ok(())
        };
        // The callers stay for both phases, and so do their connections.
        let (sent, start) = callers(load, time, &gauge, |before| {
            total += before;
            arrived(total)
        })?;
        total += sent;
        arrived(total)?;
        writeln!(output, "{sent} {}", start.elapsed().as_nanos())?;
        output.flush()?;
    }
    orb.shutdown(true)?;
    Ok(())
}

/// Makes all callers send; returns the number of oneways, and the start time. `arrived` waits for the oneways sent
/// first.
fn callers(
    load: Load,
    time: Duration,
    gauge: &GaugeRef,
    arrived: impl FnOnce(u64) -> Result,
) -> Result<(u64, Instant)> {
    let prepared = Arc::new(std::sync::Barrier::new(load.callers + 1));
    let begin = Arc::new(std::sync::Barrier::new(load.callers + 1));
    std::thread::scope(|scope| {
        let spawn = |_| {
            let (prepared, begin) = (Arc::clone(&prepared), Arc::clone(&begin));
            scope.spawn(move || {
                let before = match load.before {
                    0 => Ok(()),
                    octets => record(gauge, &vec![0; octets as usize]),
                };
                prepared.wait();
                begin.wait();
                before.and_then(|()| send(gauge, load.size, Instant::now() + time))
            })
        };
        let threads: Vec<_> = (0..load.callers).map(spawn).collect();
        prepared.wait();
        let before = if load.before == 0 { 0 } else { load.callers };
        let arrived = arrived(before as u64);
        let start = Instant::now();
        begin.wait();
        let sent: Result<Vec<u64>> = threads
            .into_iter()
            .map(|thread| thread.join().expect("callers do not panic"))
            .collect();
        arrived?;
        Ok((sent?.iter().sum(), start))
    })
}

/// Sends oneways until `end`, as one caller. Returns their number.
fn send(gauge: &GaugeRef, size: u32, end: Instant) -> Result<u64> {
    let data: Vec<u8> = (0..size).map(|i| i as u8).collect();
    let mut sent = 0;
    while Instant::now() < end {
        for _ in 0..AT_ONCE {
            match size {
                8 => patiently(gauge, || gauge.set(sent as i64))?,
                _ => record(gauge, &data)?,
            }
            sent += 1;
        }
    }
    Ok(sent)
}

fn record(gauge: &GaugeRef, data: &[u8]) -> Result {
    patiently(gauge, || gauge.record(data))
}

/// Sends a oneway; if the buffer is full, waits until it has been sent, and retries.
fn patiently(gauge: &GaugeRef, send: impl Fn() -> Result<(), SystemException>) -> Result {
    loop {
        match send() {
            Err(full) if full.kind == SystemExceptionKind::Transient => {
                gauge.reference().flush()?
            }
            sent => return Ok(sent?),
        }
    }
}

/// Makes a client process send for `milliseconds`; returns oneways per second.
pub(super) fn ask(client: &mut Process, load: Load, milliseconds: u64) -> Result<u64> {
    let Load { size, callers, before } = load;
    client.tell(&format!("send {size} {callers} {milliseconds} {before}"))?;
    let line = client.hear()?;
    let (sent, nanoseconds) = line.split_once(' ').ok_or("two numbers are expected")?;
    let (sent, nanoseconds): (u64, u64) = (sent.parse()?, nanoseconds.parse()?);
    Ok((sent as f64 / nanoseconds as f64 * 1e9) as u64)
}

fn parse(line: &str) -> Result<(Load, Duration)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["send", size, callers, milliseconds, before] = words[..] else {
        let known = "send SIZE CALLERS MILLISECONDS BEFORE";
        return Err(session::no_command(line, known).into());
    };
    let load = Load { size: size.parse()?, callers: callers.parse()?, before: before.parse()? };
    Ok((load, Duration::from_millis(milliseconds.parse()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_read_as_it_is_told() {
        let load = Load { size: 8, callers: 4, before: 1 << 20 };
        let told = parse("send 8 4 300 1048576").unwrap();
        assert_eq!(told, (load, Duration::from_millis(300)));
        assert!(parse("send 8 4 300").is_err());
    }
}
