//! Deployment plans launched: localities and their managers. With the feature `deployment`.

use std::process::ExitCode;

pub use oxorb_launch::*;

use crate::Orb;

/// Runs the process of a locality: reads the arguments of the process, serves until it is told to end.
///
/// It is the `main` of an executable artifact:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use oxorb::deployment::{Implementations, run_locality};
///
/// fn main() -> ExitCode {
///     // .component::<avionics::GpsRef, _>("create_Avionics_Gps_Impl", Gps::new)
///     run_locality(Implementations::new())
/// }
/// ```
///
/// | arguments | |
/// |---|---|
/// | `--plan FILE --node NODE --process NAME` | runs the part of a plan alone; `--rt FILE`, `--references DIR`, `--wait SECONDS` |
/// | `--locality UUID --activator IOR` | is told its part by the node manager that started it |
/// | `-ORB...` | options of the ORB |
///
/// SIGINT and SIGTERM stop the instances and end the process.
pub fn run_locality(implementations: Implementations) -> ExitCode {
    run_locality_with_args(implementations, std::env::args())
}

/// Runs the process of a locality, as [`run_locality`] does, with arguments of which the first is the name of the program: for
/// an executable that does other things as well.
pub fn run_locality_with_args(
    implementations: Implementations,
    args: impl IntoIterator<Item = String>,
) -> ExitCode {
    oxorb_launch::run(implementations, args.into_iter().collect(), |args| {
        let orb = Orb::builder().args(args).build()?;
        orb.shutdown_on_signal()?;
        Ok(Started {
            root: orb.root_poa().clone(),
            rest: orb.args().iter().skip(1).cloned().collect(),
            orb: (*orb).clone(),
        })
    })
}
