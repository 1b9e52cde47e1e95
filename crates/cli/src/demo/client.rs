//! A client process of the demo.

use std::time::{Duration, Instant};

use clap::ValueEnum;
use oxorb::{ClientConnections, Orb};

use super::interface::navigator::FollowError;
use super::interface::{Alarm, Cause, NavigatorRef, Position, Waypoint};
use crate::orb::with_args;
use crate::output::{Done, print_line};
use crate::statistics::{Latencies, Percentiles};

/// Arguments of a client process.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to call
    #[arg(long, value_enum)]
    role: Role,
    /// For how long
    #[arg(long)]
    seconds: u64,
    /// The server's reference
    reference: String,
}

/// What a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Asks for the position: 24 octets back
    Position,
    /// Sends a route of 100 waypoints
    Route,
    /// Sends routes that raise an alarm
    Alarm,
}

impl Role {
    pub(crate) fn of(number: u32) -> Self {
        [Role::Position, Role::Route, Role::Alarm][number as usize % 3]
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Position => "position",
            Role::Route => "route",
            Role::Alarm => "alarm",
        }
    }
}

/// What a client tells: a line of JSON now and then, and one at the end.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Told {
    pub role: Role,
    pub seconds: f64,
    pub latency: Percentiles,
    pub done: bool,
    pub error: Option<String>,
}

impl Told {
    pub(crate) fn nothing_yet(role: Role) -> Self {
        Told {
            role,
            seconds: 0.0,
            latency: Percentiles::default(),
            done: false,
            error: None,
        }
    }
}

/// How often a client tells.
const INTERVAL: Duration = Duration::from_millis(200);

/// Calls that are not counted: connecting, warming up.
const WARM_UP: u32 = 200;

/// Calls back to back until time is over.
pub(crate) fn run(args: Args) -> Done {
    let mut told = Told::nothing_yet(args.role);
    let outcome = call(&args, &mut told);
    told.done = true;
    told.error = outcome.err();
    print_line(&told)
}

fn call(args: &Args, told: &mut Told) -> Result<(), String> {
    let orb = with_args(Orb::builder().client_connections(ClientConnections::Private))
        .build()
        .map_err(|error| error.to_string())?;
    let navigator: NavigatorRef = orb
        .resolve(&args.reference)
        .map_err(|error| error.to_string())?;
    let work = Work::new(args.role);
    for _ in 0..WARM_UP {
        work.once(&navigator)?;
    }
    let mut latencies = Latencies::new();
    let start = Instant::now();
    let end = start + Duration::from_secs(args.seconds);
    let mut tell = start + INTERVAL;
    loop {
        let before = Instant::now();
        work.once(&navigator)?;
        let after = Instant::now();
        latencies.record(after - before);
        if after >= tell || after >= end {
            told.seconds = (after - start).as_secs_f64();
            told.latency = latencies.percentiles();
            if after >= end {
                return Ok(());
            }
            if print_line(told).is_err() {
                return Err("nobody listens any more".to_owned());
            }
            tell = after + INTERVAL;
        }
    }
}

/// One client's call, prepared.
struct Work {
    role: Role,
    route: Vec<Waypoint>,
}

impl Work {
    fn new(role: Role) -> Self {
        let mut route: Vec<Waypoint> = (0..100).map(waypoint).collect();
        if role == Role::Alarm {
            route.truncate(3);
            route[2].place.altitude = -100.0;
        }
        Work { role, route }
    }

    fn once(&self, navigator: &NavigatorRef) -> Result<(), String> {
        match self.role {
            Role::Position => match navigator.current_position() {
                Ok(_) => Ok(()),
                Err(exception) => Err(exception.to_string()),
            },
            Role::Route => match navigator.follow(&self.route) {
                Ok(metres) if metres > 0.0 => Ok(()),
                Ok(metres) => Err(format!("a route of 100 waypoints is {metres} m long")),
                Err(error) => Err(error.to_string()),
            },
            Role::Alarm => match navigator.follow(&self.route) {
                Err(FollowError::Alarm(Alarm {
                    why: Cause::BelowGround,
                    waypoint: 2,
                })) => Ok(()),
                Err(error) => Err(format!(
                    "expected the alarm BELOW_GROUND at waypoint 2, got {error}"
                )),
                Ok(_) => {
                    Err("expected the alarm BELOW_GROUND, but the route was accepted".to_owned())
                }
            },
        }
    }
}

fn waypoint(number: u32) -> Waypoint {
    let step = f64::from(number) / 100.0;
    Waypoint {
        name: format!("WP{number:03}"),
        place: Position {
            latitude: 48.0 + step,
            longitude: 11.0 - step,
            altitude: 500.0 + number as f32,
        },
    }
}
