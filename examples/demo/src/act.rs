//! Act: a server process, the process of the busy clients, and that of the urgent client.

use std::time::{Duration, Instant};

use super::client::{BusyTold, UrgentTold};
use super::display::{Display, REFRESH};
use super::process::{PATIENCE, Process};
use super::server::Started;
use super::{Args, display};
use oxorb_terminal::output::{Failed, because};

/// The three acts, in order. Each adds one feature to the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Four threads that serve requests in order of arrival.
    Plain,
    /// Lane for the urgent client, scheduled like all other threads.
    Lane,
    /// Lane and urgent client at SCHED_FIFO.
    RealTime,
}

impl Act {
    pub(super) fn title(self) -> &'static str {
        match self {
            Act::Plain => {
                "Act 1 of 3, plain: four threads serve all clients in the order of arrival"
            }
            Act::Lane => {
                "Act 2 of 3, a lane: the urgent client has its own port, thread and connection"
            }
            Act::RealTime => {
                "Act 3 of 3, a lane at SCHED_FIFO: the lane and its client also have a priority"
            }
        }
    }

    /// Returns the additional arguments of its server and its urgent client.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Act::Plain => &[],
            Act::Lane => &["--lane"],
            Act::RealTime => &["--lane", "--real-time"],
        }
    }
}

/// Results of an act.
#[derive(serde::Serialize)]
pub(super) struct Seen {
    pub corbaloc: String,
    pub ior: String,
    pub urgent: UrgentTold,
    /// Number of other clients.
    pub clients: u32,
    pub others: BusyTold,
}

/// CPU time of the server for each call of a busy client, in microseconds.
pub(super) const WORK: u32 = 200;

/// Starts all processes, shows their reports, and ends them.
pub(super) fn play(act: Act, args: &Args, display: &mut Display) -> Result<Seen, Failed> {
    let mut server = {
        let mut line = vec!["demo-server", "--listen", &args.listen];
        line.extend(act.arguments());
        Process::start("the server", &line)?
    };
    let started: Started = server.hear()?;
    display.rise(act, &started)?;

    let (clients, work) = (args.clients.to_string(), WORK.to_string());
    let line = ["demo-client", "busy", "--clients", &clients, "--work", &work, &started.busy];
    let mut busy = Process::start("the process of the busy clients", &line)?;
    // The urgent client starts once the others are busy.
    let mut others: BusyTold = busy.hear()?;

    let seconds = args.seconds.to_string();
    let mut line = vec!["demo-client", "urgent", "--seconds", &seconds];
    line.extend(act.arguments());
    line.push(&started.urgent);
    let urgent_client = Process::start("the urgent client", &line)?;
    let mut urgent = UrgentTold::default();

    let end = Instant::now() + Duration::from_secs(args.seconds.into()) + PATIENCE;
    let mut next_show = Instant::now() + REFRESH;
    while !urgent.done && !others.done {
        if Instant::now() >= end {
            return Err(because("the urgent client did not end in time"));
        }
        std::thread::sleep(display::LOOK);
        urgent_client.read(&mut urgent, |told| told.done)?;
        busy.read(&mut others, |told| told.done)?;
        if Instant::now() >= next_show {
            display.update(&urgent, &others)?;
            next_show += REFRESH;
        }
    }
    display.fall()?;
    busy.stop();
    busy.read(&mut others, |told| told.done)?;
    server.stop();
    if let Some(error) = urgent.error.as_ref().or(others.error.as_ref()) {
        return Err(because(format!("a client failed: {error}")));
    }
    Ok(Seen {
        corbaloc: started.corbaloc,
        ior: started.busy,
        urgent,
        clients: args.clients,
        others,
    })
}
