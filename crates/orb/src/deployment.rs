//! Launch of deployment plans: localities and their managers. Requires the feature `deployment`.

use std::process::ExitCode;

pub use oxorb_launch::*;

use crate::Orb;

/// Runs the process of a locality: parses the arguments of the process, and serves until the locality is ended.
///
/// Call it from the `main` of an executable artifact:
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
/// | `--locality UUID --activator IOR` | receives its part of the plan from the node manager that started the process |
/// | `-ORB...` | options of the ORB |
///
/// SIGINT and SIGTERM stop the instances and end the process.
pub fn run_locality(implementations: Implementations) -> ExitCode {
    run_locality_with_args(implementations, std::env::args())
}

/// Runs the process of a locality as [`run_locality`] does, with explicit arguments, the first of which is the
/// program's name. It is for an executable that also has other modes of operation.
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

/// Exports a crate of `crate-type = ["cdylib"]` as a shared library that a plan's artifact may name.
/// `oxorb deploy host` loads and checks the library, and runs its locality with the arguments of [`run_locality`].
///
/// The first argument is a function that returns the [`Implementations`]; the second is the hash of the interfaces,
/// which the IDL compiler writes next to the executors of `NAME.idl` as `NAME_interfaces::HASH`.
///
/// ```
/// use oxorb::deployment::Implementations;
///
/// fn implementations() -> Implementations {
///     // .component::<avionics::GpsRef, _>("create_Avionics_Gps_Impl", Gps::new)
///     Implementations::new()
/// }
///
/// # mod avionics_interfaces { pub const HASH: &str = ""; }
/// oxorb::deployment::export!(implementations, avionics_interfaces::HASH);
/// ```
#[doc(inline)]
pub use crate::__export_artifact as export;

/// Implements [`export!`](crate::deployment::export). It has a name of its own, because `#[macro_export]` places a
/// macro at the crate's root.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_artifact {
    ($implementations:path, $interfaces:expr $(,)?) => {
        const _: () = {
            extern "C" fn main(arguments: $crate::deployment::artifact::Arguments<'_>) -> i32 {
                $crate::deployment::__serve(&arguments, $implementations)
            }
            // A library exports one artifact, so it defines this symbol once; the linker rejects a second definition.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals, reason = "a name for the dynamic linker")]
            static oxorb_artifact: $crate::deployment::artifact::Export =
                $crate::deployment::artifact::exported($interfaces, main);
        };
    };
}

/// Runs the locality of a shared library.
#[doc(hidden)]
pub fn __serve(
    arguments: &artifact::Arguments<'_>,
    implementations: impl FnOnce() -> Implementations,
) -> i32 {
    artifact::serve(arguments, |args| run_locality_with_args(implementations(), args))
}
