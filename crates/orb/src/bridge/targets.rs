//! Targets that are named by text, their interfaces, and time limits of their calls.

use std::time::{Duration, Instant};

use crate::ior::Ior;
use crate::{CompletionStatus, Interface as _, ObjectRef, Orb, Ref, SystemException};

use crate::bridge::error::Error;
use crate::bridge::interfaces::{Interfaces, is_unanswered};

/// Time limit for a target's answer to a query of its interface.
const ASK: Duration = Duration::from_secs(5);

/// Time limit for the answers to all queries of a target.
const ASK_ALL: Duration = Duration::from_secs(10);

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
/// query and [`ASK_ALL`] for all. The interface stays undeclared if the target does not answer.
pub(crate) fn with_interface(orb: &Orb, mut ior: Ior, known: &Interfaces) -> Ior {
    if ior.type_id.is_empty() {
        let asked = Ref::new(orb, ior.clone()).with_timeout(ASK);
        let end = Instant::now() + ASK_ALL;
        ior.type_id = match asked.repository_id() {
            Ok(id) => id,
            Err(exception) if is_unanswered(&exception) => String::new(),
            // Some ORBs do not answer `_repository_id`; ask the target instead which of the known interfaces it
            // supports.
            Err(_) => {
                let found = known.most_derived(|id| match end > Instant::now() {
                    true => hurried(&asked, end).is_a(id),
                    false => Err(SystemException::timeout(0, CompletionStatus::No)),
                });
                found.unwrap_or_default().to_owned()
            }
        };
    }
    ior
}

/// Returns a reference with the time limit of `target` or the time until `end`, whichever is shorter. A client that
/// sends a late end does not extend the limit of the ORB.
pub(crate) fn hurried(target: &Ref, end: Instant) -> Ref {
    let left = end.saturating_duration_since(Instant::now());
    target.with_timeout(target.timeout().map_or(left, |limit| left.min(limit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_request_does_not_extend_the_limit_of_the_orb() {
        let limit = Duration::from_secs(5);
        let orb = Orb::builder().round_trip_timeout(limit).build().unwrap();
        let target = Ref::new(&orb, Ior::nil());
        let late = Instant::now() + Duration::from_secs(3600);
        assert_eq!(hurried(&target, late).timeout(), Some(limit));
        let unlimited = hurried(&target.with_timeout(None::<Duration>), late).timeout();
        assert!(unlimited.is_some_and(|left| left > limit), "{unlimited:?}");
    }
}
