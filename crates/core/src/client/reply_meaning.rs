//! Consequences of replies and failures for their calls; this module alone decides them.

use std::time::Duration;

use oxorb_giop::ReplyStatus;
use oxorb_object::{CompletionStatus, Ior, SystemException, SystemExceptionKind};

use super::call::Lost;
use super::exchange::Step;
use super::{Peer, Reply, Timing};
use crate::error::{Attempt, failure, raise};
use crate::policy::Retry;
use crate::reference::RouteProfile;
use crate::shared::Shared;
use crate::threads::clock::LONGEST_WAIT;

/// Maximum number of forwards of one call: a longer chain of forwards is an error.
const MAX_FORWARDS: u32 = 16;

/// Meaning of a reply for its call.
pub(super) enum ReplyMeaning {
    /// Results or a user exception, for the caller.
    Answer(Reply),
    /// The object is elsewhere; the flag is true if the forward is permanent.
    Moved(Ior, bool),
    /// The server requires another form of address for the object, which the profile has recorded.
    Readdressed,
}

impl ReplyMeaning {
    /// Returns the meaning of a reply. `profile` is the target of the request, unless that is this process.
    ///
    /// # Errors
    /// The system exception of the reply, or one for a malformed reply.
    pub(super) fn of(
        reply: Reply,
        profile: Option<&RouteProfile>,
    ) -> Result<ReplyMeaning, SystemException> {
        match reply.status() {
            ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => {
                Ok(ReplyMeaning::Answer(reply))
            }
            ReplyStatus::SYSTEM_EXCEPTION => {
                let made_by = profile.and_then(|profile| profile.made_by);
                Err(failure::raised_by(made_by, reply.system_exception()))
            }
            status @ (ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM) => {
                let permanent = status == ReplyStatus::LOCATION_FORWARD_PERM;
                Ok(ReplyMeaning::Moved(reply.read()?, permanent))
            }
            ReplyStatus::NEEDS_ADDRESSING_MODE => {
                let wanted: i16 = reply.read()?;
                match profile {
                    Some(profile) if profile.set_addressing(wanted as u16) => {
                        Ok(ReplyMeaning::Readdressed)
                    }
                    _ => Err(raise::ADDRESSING_LOOP),
                }
            }
            Reply::NO_SUCH_OBJECT => Err(raise::NOT_LOCATED),
            _ => Err(raise::UNKNOWN_REPLY_STATUS),
        }
    }
}

/// Counts one further forward.
///
/// # Errors
/// The call has followed as many forwards as it may.
pub(super) fn one_more(forwards: u32) -> Result<u32, SystemException> {
    if forwards == MAX_FORWARDS {
        return Err(raise::FORWARD_LOOP);
    }
    Ok(forwards + 1)
}

/// Returns the delay before the next retry of a failed call, which has been retried `retries` times; `None` for no
/// retry.
pub(super) fn pause(
    retry: &Retry,
    retries: u32,
    exception: &SystemException,
    timing: Timing,
    shared: &Shared,
) -> Option<Duration> {
    if retries >= retry.times || !exception.is_safe_to_retry() || shared.is_closing() {
        return None;
    }
    let doubled = 1u32.checked_shl(retries).unwrap_or(u32::MAX);
    let delay = retry.delay.saturating_mul(doubled).min(retry.max_delay).min(LONGEST_WAIT);
    // After the end of the time limit there is no retry: the failure tells the caller more than a time-out does.
    let left = timing.left_to_send().ok()?;
    left.is_none_or(|left| left > delay).then_some(delay)
}

impl Lost {
    /// Reports whether another connection to the same server may carry the request, because the server closed this one
    /// while it was idle and so read none of the request, or sent CloseConnection, which promises that the request did
    /// not run.
    pub(super) fn may_go_again(&self) -> bool {
        self.reused && self.did_not_run()
    }

    /// Reports whether the request may be sent again without any risk of running twice. After the end of its time limit
    /// it may not.
    fn did_not_run(&self) -> bool {
        self.exception.completed == CompletionStatus::No
            && self.exception.kind != SystemExceptionKind::Timeout
    }

    /// Returns the next step after a failed attempt: another profile may serve a request that did not run; otherwise
    /// the call has failed.
    pub(super) fn end(
        self,
        peer: &Peer,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Step, SystemException> {
        let elsewhere = self.did_not_run();
        attempts.push(Attempt { endpoint: peer.to_string(), what: self.cause });
        if elsewhere {
            return Ok(Step::NextProfile(self.exception));
        }
        Err(failure::record(self.exception, std::mem::take(attempts)))
    }

    /// Returns the next step as [`end`](Self::end) does, after a failed query, which changes nothing: the call itself
    /// did not run.
    pub(super) fn end_harmless(
        mut self,
        peer: &Peer,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Step, SystemException> {
        self.exception.completed = CompletionStatus::No;
        self.end(peer, attempts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Effective;
    use crate::threads::clock;
    use crate::{Options, Orb};

    /// A call adds the delay to the current time.
    #[test]
    fn delays_may_be_as_long_as_a_duration_can_be() {
        let orb = Orb::new(Options { round_trip_timeout: None, ..Options::default() });
        let timing = Timing::of(&Effective::of(orb.options()));
        let retry = Retry { times: 1, delay: Duration::MAX, max_delay: Duration::MAX };
        let failed = SystemException::transient(0, CompletionStatus::No);
        let delay = pause(&retry, 0, &failed, timing, orb.shared()).unwrap();
        assert!(clock::now().checked_add(delay).is_some());
    }
}
