//! Server process of the demo.

use std::hint::black_box;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{
    LaneScheduling, Priority, PriorityModel, PriorityModelPolicy, SchedulingClass, Threadpool,
    ThreadpoolLane,
};
use oxorb::settings::Concurrency;
use oxorb::{Interface as _, Orb, SystemException};
use oxorb_sys::sync::Mutex;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::interface::navigator::FollowError;
use super::interface::{Alarm, Cause, Navigator, NavigatorRef, Position, Waypoint};
use super::{URGENT, with_lane};
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, because, print_line};

/// Arguments of the server process.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long)]
    listen: String,
    /// Serve urgent calls in a separate lane
    #[arg(long)]
    lane: bool,
    /// Give the lane's priority to the system's scheduler
    #[arg(long, requires = "lane")]
    real_time: bool,
}

/// First line of the server process, printed when it is ready.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Started {
    /// CPU that all its threads share.
    pub cpu: usize,
    /// Reference for the urgent client.
    pub urgent: String,
    /// Reference for all other clients.
    pub busy: String,
    /// Readable reference for the urgent client.
    pub corbaloc: String,
}

/// Number of threads that serve all clients, or all but the urgent one.
const WORKERS: usize = 4;

/// Serves until standard input is closed.
pub(crate) fn run(args: Args) -> Done {
    let cpu = share_one_cpu()?;
    let mut builder = Orb::builder()
        .listen(&args.listen)
        .concurrency(Concurrency::LeaderFollowers { threads: WORKERS });
    if args.lane {
        builder = with_lane(builder, args.real_time);
    }
    let orb = with_args(builder).build()?;
    let (busy, urgent) = match args.lane {
        true => (in_the_crowd(&orb)?, in_a_lane(&orb)?),
        false => {
            let all: NavigatorRef = orb.root_poa().activate(Vehicle::default())?;
            (all.clone(), all)
        }
    };
    orb.bind("Navigator", &busy);
    print_line(&Started {
        cpu,
        urgent: urgent.to_ior(),
        busy: busy.to_ior(),
        corbaloc: corbaloc(&busy),
    })?;

    let ending = orb.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ending.shutdown(false);
    });
    orb.run();
    Ok(())
}

/// Makes all threads of this process compete for the last CPU that it may use, and returns its number.
fn share_one_cpu() -> Result<usize, Failed> {
    let cpu = last_cpu()?;
    stay_on(cpu)?;
    Ok(cpu)
}

/// Returns the number of the last CPU that this process may use.
pub(super) fn last_cpu() -> Result<usize, Failed> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    last.ok_or_else(|| because("this process is not allowed to use any CPU"))
}

/// Binds this thread, and those that it starts, to one CPU.
pub(super) fn stay_on(cpu: usize) -> Done {
    let mut one = CpuSet::new();
    one.set(cpu);
    Ok(sched_setaffinity(None, &one)?)
}

/// Activates the Navigator of the busy clients. Its threads have no real-time priority: they use a whole processor, and
/// the kernel would stop such real-time threads, and others with them, for 50 ms of each second.
fn in_the_crowd(orb: &Orb) -> Result<NavigatorRef, Failed> {
    let lane = ThreadpoolLane::new(Priority::new(1)?, WORKERS);
    activate_in(orb, "crowd", lane.scheduling(LaneScheduling::Class(SchedulingClass::Other)))
}

/// Activates a Navigator whose requests arrive at a separate port and are served by a dedicated thread: at a real-time
/// priority, if requested and permitted.
///
/// Only this lane has such a priority: its calls are short, so that no thread starves.
fn in_a_lane(orb: &Orb) -> Result<NavigatorRef, Failed> {
    activate_in(orb, "urgent", ThreadpoolLane::new(Priority::new(URGENT)?, 1))
}

fn activate_in(orb: &Orb, name: &str, lane: ThreadpoolLane) -> Result<NavigatorRef, Failed> {
    let server_priority = lane.priority.get();
    let pool = orb.create_threadpool(Threadpool::with_lanes([lane]))?;
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa(name, policies)?;
    Ok(poa.activate(Vehicle::default())?)
}

/// Returns the short URL of the bound name.
fn corbaloc(navigator: &NavigatorRef) -> String {
    let ior = navigator.reference().ior();
    match ior.iiop_profiles().next() {
        Some(profile) => format!("corbaloc::1.2@{}/Navigator", profile.endpoints()[0]),
        None => String::new(),
    }
}

/// Vehicle that flies in circles, and follows any given route.
#[derive(Default)]
struct Vehicle {
    served: AtomicU64,
    route: Mutex<Vec<Waypoint>>,
}

impl Vehicle {
    fn count(&self) -> u64 {
        self.served.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Navigator for Vehicle {
    fn served(&self) -> Result<u64, SystemException> {
        Ok(self.count())
    }

    fn current_position(&self) -> Result<Position, SystemException> {
        let angle = self.count() as f64 / 10_000.0;
        Ok(Position {
            latitude: 48.0 + angle.sin(),
            longitude: 11.0 + angle.cos(),
            altitude: 520.0,
        })
    }

    fn follow(&self, new_route: &[Waypoint]) -> Result<f64, FollowError> {
        self.count();
        if new_route.is_empty() {
            return Err(Alarm { why: Cause::EmptyRoute, waypoint: 0 }.into());
        }
        for (index, waypoint) in new_route.iter().enumerate() {
            let waypoint_index = index as u32;
            if waypoint.place.altitude < 0.0 {
                return Err(Alarm { why: Cause::BelowGround, waypoint: waypoint_index }.into());
            }
            if waypoint.place.latitude.abs() > 90.0 {
                return Err(Alarm { why: Cause::OffTheGlobe, waypoint: waypoint_index }.into());
            }
        }
        let length = new_route.windows(2).map(|leg| distance(&leg[0].place, &leg[1].place)).sum();
        *self.route.lock() = new_route.to_vec();
        Ok(length)
    }

    fn current_route(&self) -> Result<Vec<Waypoint>, SystemException> {
        self.count();
        Ok(self.route.lock().clone())
    }

    fn plan(&self, microseconds: u32) -> Result<u64, SystemException> {
        self.count();
        let end = processor_time() + Duration::from_micros(microseconds.min(MOST_PLANNING).into());
        let start = self.current_position()?;
        let mut compared = 0;
        while processor_time() < end {
            let over = Position { latitude: compared as f64 % 90.0, ..start };
            black_box(distance(&start, &over));
            compared += 1;
        }
        Ok(compared)
    }

    fn log(&self, _line: &str) {
        self.count();
    }
}

/// Maximum planning time in microseconds, as any client may call this.
const MOST_PLANNING: u32 = 10_000;

/// Returns the processor time that the calling thread has used.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the distance along the great circle, in metres.
fn distance(from: &Position, to: &Position) -> f64 {
    const EARTH_RADIUS: f64 = 6_371_000.0;
    let (lat1, lat2) = (from.latitude.to_radians(), to.latitude.to_radians());
    let half_lat = (lat2 - lat1) / 2.0;
    let half_lon = (to.longitude - from.longitude).to_radians() / 2.0;
    let chord = half_lat.sin().powi(2) + lat1.cos() * lat2.cos() * half_lon.sin().powi(2);
    2.0 * EARTH_RADIUS * chord.sqrt().asin()
}
