//! Interfaces that a gateway takes from an Interface Repository.

use std::time::{Duration, Instant};

use oxorb::bridge::Interfaces;
use oxorb::config::GatewayFile;
use oxorb::{Orb, Ref};
use oxorb_ifr::client::Queries;
use oxorb_ifr::types::Interface;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, because};

use crate::types::Source;

/// Maximum number of interfaces of a repository.
const MOST: usize = 10_000;

/// Time limit for all queries together.
const TIME: Duration = Duration::from_secs(60);

/// Shortest time limit of a call, so that one after the end of the time fails with TIMEOUT.
const SHORTEST: Duration = Duration::from_millis(1);

/// Adds the interfaces of the repository that a file names, if it names one.
///
/// # Errors
/// The repository cannot be reached, does not answer in time, or has too many interfaces.
pub(super) fn add(file: &GatewayFile, known: &mut Interfaces) -> Done {
    let Some(reference) = &file.ifr else {
        return Ok(());
    };
    // This ORB has the settings of the side inside, but not its ports, which the gateway needs.
    let orb = with_args(file.inside()).configure(|options| {
        options.listen.clear();
        options.metrics = None;
        options.preconnect.clear();
    });
    let orb = orb.build()?;
    let found = interfaces(&orb, reference);
    orb.shutdown(true)?;
    for interface in found? {
        known.add(&interface.repository_id, interface.operations);
    }
    Ok(())
}

fn interfaces(orb: &Orb, reference: &str) -> Result<Vec<Interface>, Failed> {
    let end = Instant::now() + TIME;
    let limited = |object: &Ref| -> oxorb::Result<Ref> {
        let left = end.saturating_duration_since(Instant::now());
        Ok(object.with_timeout(left.max(SHORTEST)))
    };
    let repository = Source::repository(orb, reference)?;
    let found = Queries::new(&limited).interfaces(&repository, MOST + 1);
    let found = found.map_err(|exception| {
        because(format!("the Interface Repository {reference}: {exception}"))
    })?;
    match found.len() > MOST {
        true => Err(because(format!(
            "the Interface Repository {reference} has more than {MOST} interfaces: name IDL files with `idl` instead"
        ))),
        false => Ok(found),
    }
}
