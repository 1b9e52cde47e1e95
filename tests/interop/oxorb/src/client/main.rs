//! OxORB client of the interoperability test: runs every check by name against any server, and prints one line for
//! each.
#![forbid(unsafe_code)]

mod any;
mod asynchronous;
mod check;
mod data;
mod large;
mod objects;
mod values;

use std::error::Error;
use std::process::ExitCode;

use check::Checks;
use oxorb_interop::Args;
use oxorb_interop::interop::SuiteRef;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (args, orb) = Args::start()?;
    let suite: SuiteRef = orb.resolve(&args.ior)?;
    let mut checks = Checks::new(&args);
    let groups: [fn(&mut Checks, &SuiteRef) -> check::Result; 7] = [
        data::numbers,
        data::texts,
        data::wide_texts,
        data::aggregates,
        data::choices,
        data::sequences,
        large::messages,
    ];
    for group in groups {
        checks.group(|checks| group(checks, &suite));
    }
    checks.group(|checks| objects::all(checks, &suite, &orb, &args.corbaloc));
    checks.group(|checks| any::all(checks, &suite, &orb));
    checks.group(|checks| values::all(checks, &suite, &orb));
    checks.group(|checks| asynchronous::all(checks, &suite, &orb));
    if args.shutdown {
        // A server that closes idle connections may do so while a oneway is in transit, which would go unnoticed. After
        // an answered call, this connection is not idle.
        oxorb::Interface::reference(&suite).non_existent()?;
        suite.shutdown()?;
    }
    orb.shutdown(true)?;
    Ok(if checks.failures() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
