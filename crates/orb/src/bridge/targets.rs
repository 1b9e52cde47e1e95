//! Targets that are named by text, and their interfaces.

use std::time::Duration;

use crate::ior::Ior;
use crate::{Interface as _, ObjectRef, Orb, Ref};

use crate::bridge::error::Error;
use crate::bridge::interfaces::Interfaces;

/// Time limit for a target's answer to a query of its interface.
const ASK: Duration = Duration::from_secs(5);

/// Returns the reference that a text denotes.
///
/// # Errors
/// The text cannot be resolved.
pub(crate) fn resolve(orb: &Orb, target: &str) -> Result<Ior, Error> {
    let found: Result<ObjectRef, _> = orb.resolve(target);
    match found {
        Ok(found) => Ok(found.reference().ior().clone()),
        Err(error) => Err(Error::Target(target.to_owned(), error.into())),
    }
}

/// Returns a reference that declares its interface. If `ior` does not, the target is queried, at most [`ASK`] for each
/// query. The interface stays undeclared if the target does not answer.
pub(crate) fn with_interface(orb: &Orb, mut ior: Ior, known: &Interfaces) -> Ior {
    if ior.type_id.is_empty() {
        let asked = Ref::new(orb, ior.clone()).with_timeout(ASK);
        // Some ORBs do not answer `_repository_id`; ask the target instead which of the known interfaces it supports.
        ior.type_id = asked.repository_id().unwrap_or_else(|_| {
            let is_a = |id: &str| asked.is_a(id).unwrap_or(false);
            known.most_derived(is_a).unwrap_or_default().to_owned()
        });
    }
    ior
}
