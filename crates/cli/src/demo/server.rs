//! The server process of the demo.

use std::io::Read as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use oxorb::{Interface as _, Orb, SystemException};

use super::interface::navigator::FollowError;
use super::interface::{Alarm, Cause, Navigator, NavigatorRef, Position, Waypoint};
use crate::orb::with_args;
use crate::output::{Done, print_line};

/// Arguments of the server process.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long)]
    listen: String,
}

/// What the server process prints when it is ready.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Started {
    /// The object's reference.
    pub ior: String,
    /// The same for people.
    pub corbaloc: String,
}

/// Serves until standard input is closed.
pub(crate) fn run(args: Args) -> Done {
    let orb = with_args(Orb::builder().listen(&args.listen)).build()?;
    let navigator: NavigatorRef = orb.root_poa().activate(Vehicle::default())?;
    orb.bind("Navigator", &navigator);
    let started = Started {
        ior: navigator.to_ior(),
        corbaloc: corbaloc(&navigator),
    };
    print_line(&started)?;

    let ending = orb.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ending.shutdown(false);
    });
    orb.run();
    Ok(())
}

/// The short form, by the name that was bound.
fn corbaloc(navigator: &NavigatorRef) -> String {
    let ior = navigator.as_ref().ior();
    match ior.iiop_profiles().next() {
        Some(profile) => format!("corbaloc::1.2@{}/Navigator", profile.endpoints()[0]),
        None => String::new(),
    }
}

/// Flies in circles, and follows whatever route it is given.
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
            return Err(Alarm {
                why: Cause::EmptyRoute,
                waypoint: 0,
            }
            .into());
        }
        for (index, waypoint) in new_route.iter().enumerate() {
            let waypoint_index = index as u32;
            if waypoint.place.altitude < 0.0 {
                return Err(Alarm {
                    why: Cause::BelowGround,
                    waypoint: waypoint_index,
                }
                .into());
            }
            if waypoint.place.latitude.abs() > 90.0 {
                return Err(Alarm {
                    why: Cause::OffTheGlobe,
                    waypoint: waypoint_index,
                }
                .into());
            }
        }
        let length = new_route
            .windows(2)
            .map(|leg| distance(&leg[0].place, &leg[1].place))
            .sum();
        *self.route.lock().expect("no panic while the lock is held") = new_route.to_vec();
        Ok(length)
    }

    fn current_route(&self) -> Result<Vec<Waypoint>, SystemException> {
        self.count();
        Ok(self
            .route
            .lock()
            .expect("no panic while the lock is held")
            .clone())
    }

    fn log(&self, _line: &str) {
        self.count();
    }
}

/// Along the great circle, in metres.
fn distance(from: &Position, to: &Position) -> f64 {
    const EARTH_RADIUS: f64 = 6_371_000.0;
    let (lat1, lat2) = (from.latitude.to_radians(), to.latitude.to_radians());
    let half_lat = (lat2 - lat1) / 2.0;
    let half_lon = (to.longitude - from.longitude).to_radians() / 2.0;
    let chord = half_lat.sin().powi(2) + lat1.cos() * lat2.cos() * half_lon.sin().powi(2);
    2.0 * EARTH_RADIUS * chord.sqrt().asin()
}
