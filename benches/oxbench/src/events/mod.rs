//! `oxbench events`: times of events from a supplier to consumers through a channel, for different payloads, numbers of
//! consumers and numbers of filters that do not match. OxORB is compared with omniEvents, zenoh, Cyclone DDS, iceoryx2
//! and raw sockets.
//!
//! Supplier and consumers are in one process, the channel is in another. A time is that from a push to the last
//! consumer's receipt of the event. The push of omniEvents is two-way, according to CosEvent; that of OxORB is oneway,
//! as in TAO. Only omniEvents, OxORB and zenoh's router have an intermediate process. The others take one hop: Cyclone
//! DDS between two processes, and zenoh's peers (over TCP) and iceoryx2 (over shared memory) within one process.

pub(crate) mod driver;
mod report;

use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};
use serde::Serialize;

use self::report::{Report, Row, Seen};
use crate::Result;
use crate::format::display_by_name;
use crate::load::Quiet;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::peers::apart::{ICEORYX2, ZENOH};
use crate::peers::omniorb::Events;
use crate::peers::{cyclone, own_side};
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::protocols::Folder;

/// Options of `oxbench events`.
#[derive(Args)]
pub(crate) struct Options {
    /// Use few events, one round, and at most 100 consumers, to test that everything works
    #[arg(long)]
    quick: bool,

    /// Number of events of each round
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..))]
    events: u64,

    /// Number of rounds of each row; in each round all contenders take turns, beginning with a different one
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Maximum number of consumers of one supplier
    #[arg(long, default_value_t = 1_000)]
    most: u32,

    /// CPUs of the two processes, of supplier and consumers and of the channel: `0` puts both on CPU 0, `0,1` puts them
    /// on one each, `free` leaves the choice to the kernel. The bounds apply to a single CPU
    #[arg(long, default_value = "0")]
    cpus: Placement,

    /// Run only these contenders; default: all available ones
    #[arg(long, value_delimiter = ',')]
    contenders: Vec<Contender>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Contenders, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contender {
    /// Messages over TCP to a process that returns them: two hops without any ORB
    Raw,
    /// The same messages as in `raw`, received by a separate thread that notifies the sending thread
    RawApart,
    /// omniEvents and an omniORB client; the channel uses its shortest cycle
    #[value(name = "omnievents")]
    #[serde(rename = "omnievents")]
    OmniEvents,
    /// A channel in its own process
    #[value(name = "oxorb")]
    #[serde(rename = "oxorb")]
    OxOrb,
    /// A channel in its own process, over UNIX sockets
    #[value(name = "oxorb-unix")]
    #[serde(rename = "oxorb-unix")]
    OxOrbUnix,
    /// A channel in its own process, over shared memory
    #[value(name = "oxorb-shm")]
    #[serde(rename = "oxorb-shm")]
    OxOrbShm,
    /// A channel in the process of supplier and consumers
    Local,
    /// zenoh through a router, with a session for each consumer
    ZenohRouter,
    /// zenoh from the supplier's session to each consumer's, without a router
    ZenohPeers,
    /// Cyclone DDS over UDP from one process to another, reliable, with a reader for each consumer
    Cyclone,
    /// iceoryx2 over shared memory, with a thread for each consumer that sleeps until an event arrives
    Iceoryx2,
}

impl Contender {
    /// Returns the endpoint of OxORB's sides, in which `FILE` stands for a different socket on each side.
    fn endpoint(self) -> &'static str {
        match self {
            Contender::OxOrbUnix => "uiop://FILE",
            Contender::OxOrbShm => "shm://FILE",
            _ => "iiop://127.0.0.1:0",
        }
    }
}

display_by_name!(Contender);

/// Load of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Load {
    pub(crate) consumers: u32,
    /// Number of consumers whose filters do not match.
    pub(crate) idle: u32,
    /// Size in octets of the payload.
    pub(crate) size: u32,
    /// Maximum number of events in transit.
    pub(crate) window: u64,
}

const ONE: Load = Load { consumers: 1, idle: 0, size: 8, window: 1 };

/// Number of events in transit in the rows that count events per second.
const WINDOW: u64 = 16;

impl Load {
    fn all(most: u32) -> Vec<Load> {
        let sizes = [8, 1_024, 65_536].map(|size| Load { size, ..ONE });
        let many = [10, 100, 1_000].map(|consumers| Load { consumers, ..ONE });
        let rates = [1, 10, 100, 1_000].map(|consumers| Load { consumers, window: WINDOW, ..ONE });
        let filters = [1, 10, 1_000].map(|idle| Load { idle, ..ONE });
        let all = sizes.into_iter().chain(many).chain(rates).chain(filters);
        all.filter(|load| load.consumers.max(load.idle) <= most).collect()
    }

    /// Reports whether a contender supports this load.
    fn suits(&self, contender: Contender) -> bool {
        match contender {
            Contender::Raw | Contender::RawApart => *self == Load { size: self.size, ..ONE },
            // CosEvent has no filters. With 1,000 consumers, omniEvents needs a quarter of a second for each event.
            Contender::OmniEvents => self.idle == 0 && self.consumers <= 100,
            Contender::OxOrb => true,
            Contender::Local => self.idle == 0 && self.window == 1,
            // These contenders need a session, reader, thread or segment for each consumer.
            Contender::ZenohRouter
            | Contender::ZenohPeers
            | Contender::Cyclone
            | Contender::Iceoryx2 => self.idle == 0 && self.consumers <= 100,
            Contender::OxOrbUnix | Contender::OxOrbShm => self.idle == 0 && self.consumers <= 100,
        }
    }

    /// Returns the number of events of a round, which is smaller if each event has many receivers.
    fn events(&self, wanted: u64) -> u64 {
        (wanted * 10 / u64::from(self.consumers.max(10))).max(50).min(wanted)
    }
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (contenders, left_out) = ready(&options.contenders)?;
    let quiet = Quiet::begin(&options.cpus.cpus());
    let (events, rounds, most) = match options.quick {
        true => (100, 1, 100),
        false => (options.events, options.rounds, options.most),
    };
    let folder = Folder::new()?;
    let mut rows = Vec::new();
    for load in Load::all(most) {
        eprintln!("{load} ...");
        let suited: Vec<&Ready> =
            contenders.iter().filter(|one| load.suits(one.contender)).collect();
        let mut seen = vec![Vec::new(); suited.len()];
        for round in 0..rounds {
            for at in 0..suited.len() {
                let at = (at + round as usize) % suited.len();
                seen[at].push(suited[at].measure(
                    options.cpus,
                    &folder,
                    load,
                    load.events(events),
                )?);
            }
        }
        for (one, seen) in suited.into_iter().zip(seen) {
            rows.push(Row::new(one.contender, load, seen));
        }
    }
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        kept_out: quiet.kept_out(),
        rounds,
        events,
        left_out,
        rows,
    })
}

/// Contender whose programs are available.
struct Ready {
    contender: Contender,
    programs: Programs,
}

/// Programs of a contender.
enum Programs {
    /// Sides in this program.
    Own,
    OmniEvents(Events),
    Other(PathBuf),
}

impl Programs {
    fn of(contender: Contender) -> Result<Programs> {
        Ok(match contender {
            Contender::Raw
            | Contender::RawApart
            | Contender::OxOrb
            | Contender::OxOrbUnix
            | Contender::OxOrbShm
            | Contender::Local => Programs::Own,
            Contender::Iceoryx2 => Programs::Other(ICEORYX2.program()?),
            Contender::OmniEvents => Programs::OmniEvents(Events::build()?),
            Contender::ZenohRouter | Contender::ZenohPeers => Programs::Other(ZENOH.program()?),
            Contender::Cyclone => Programs::Other(cyclone::events()?),
        })
    }
}

/// Returns the requested contenders, and those left out. By default all contenders, with unavailable ones reported and
/// left out.
fn ready(asked: &[Contender]) -> Result<(Vec<Ready>, Vec<String>)> {
    let known = match asked.is_empty() {
        true => Contender::value_variants(),
        false => asked,
    };
    let (mut ready, mut left_out) = (Vec::new(), Vec::new());
    for &contender in known {
        match Programs::of(contender) {
            Ok(programs) => ready.push(Ready { contender, programs }),
            Err(error) if asked.is_empty() => {
                let told = format!("MISSING  {contender} is not measured: {error}");
                eprintln!("{told}");
                left_out.push(told);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((ready, left_out))
}

impl Ready {
    /// Starts new processes each time, so that loads do not affect each other.
    fn measure(
        &self,
        placement: Placement,
        folder: &Folder,
        load: Load,
        events: u64,
    ) -> Result<Seen> {
        let name = |side| format!("the {side} of {}", self.contender);
        let start =
            |mut command| Process::start(name("channel"), placement, Role::Server, &mut command);
        let (_service, channel, mut command) = match &self.programs {
            Programs::OmniEvents(programs) => {
                let service = programs.serve(placement)?;
                let command = programs.driver(service.channel());
                (Some(service), None, command)
            }
            Programs::Own if self.contender == Contender::Local => {
                (None, None, own_side("event-local")?)
            }
            Programs::Own => {
                let (server, driver) = match self.contender {
                    Contender::Raw | Contender::RawApart => ("event-relay", "event-raw"),
                    _ => ("event-channel", "event-driver"),
                };
                let endpoint = || self.contender.endpoint().replace("FILE", &folder.file());
                let mut command = own_side(server)?;
                command.arg(match self.contender {
                    Contender::Raw | Contender::RawApart => load.size.to_string(),
                    _ => endpoint(),
                });
                let mut channel = start(command)?;
                let mut command = own_side(driver)?;
                command.arg(channel.hear()?);
                match self.contender {
                    Contender::Raw => {}
                    Contender::RawApart => drop(command.arg("--apart")),
                    _ => drop(command.arg(endpoint())),
                }
                (None, Some(channel), command)
            }
            Programs::Other(program) => {
                let mut router = None;
                let mut command = match self.contender {
                    Contender::Cyclone => cyclone::command(program),
                    _ => Command::new(program),
                };
                match self.contender {
                    Contender::ZenohRouter => {
                        let mut serve = Command::new(program);
                        serve.arg("router");
                        let mut routing = start(serve)?;
                        command.arg("driver").arg(routing.hear()?);
                        router = Some(routing);
                    }
                    Contender::ZenohPeers => drop(command.arg("peers")),
                    Contender::Iceoryx2 => drop(command.arg("events")),
                    _ => {}
                }
                (None, router, command)
            }
        };
        let mut driver = Process::start(name("driver"), placement, Role::Client, &mut command)?;
        driver.expect("ready")?;
        let mut answer = String::new();
        // The first run, a tenth as long, warms caches and connections.
        for events in [events.div_ceil(10), events] {
            let Load { consumers, idle, size, window } = load;
            driver.tell(&format!("run {consumers} {idle} {size} {events} {window}"))?;
            answer = driver.hear()?;
        }
        driver.finish()?;
        if let Some(channel) = channel {
            channel.finish()?;
        }
        Seen::parse(&answer, events)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { consumers, idle, size, window } = self;
        let plural = if *consumers == 1 { "" } else { "s" };
        write!(f, "{size} octets, {consumers} consumer{plural}")?;
        if *idle > 0 {
            write!(f, ", {idle} whose filters do not match")?;
        }
        match window {
            1 => Ok(()),
            window => write!(f, ", {window} events on their way"),
        }
    }
}
