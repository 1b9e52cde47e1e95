//! Consequences of replies and failures for their calls: the only place that decides them.

use std::time::Duration;

use oxorb_giop::ReplyStatus;
use oxorb_object::{CompletionStatus, Ior, SystemException, SystemExceptionKind};

use super::call::Lost;
use super::exchange::Step;
use super::{Peer, Reply, Timing};
use crate::failure::{self, Attempt};
use crate::policy::Retry;
use crate::raise;
use crate::route::RouteProfile;
use crate::shared::Shared;

/// Most forwards of one call: a forward that leads to a forward that leads ... ends there.
const MAX_FORWARDS: u32 = 16;

/// Meaning of a reply for its call.
pub(super) enum Meaning {
    /// Results or a user exception, for the caller.
    Answer(Reply),
    /// The object is at another place, for good if the flag says so.
    Moved(Ior, bool),
    /// The server wants the object named in another way, which the profile now knows.
    Readdressed,
}

impl Meaning {
    /// Returns what a reply means. `profile`: where the request went, unless within this process.
    ///
    /// # Errors
    /// The system exception of the reply, or what is wrong with it.
    pub(super) fn of(
        reply: Reply,
        profile: Option<&RouteProfile>,
    ) -> Result<Meaning, SystemException> {
        match reply.status() {
            ReplyStatus::NO_EXCEPTION | ReplyStatus::USER_EXCEPTION => Ok(Meaning::Answer(reply)),
            ReplyStatus::SYSTEM_EXCEPTION => {
                let made_by = profile.and_then(|profile| profile.made_by);
                Err(failure::raised_by(made_by, reply.system_exception()))
            }
            status @ (ReplyStatus::LOCATION_FORWARD | ReplyStatus::LOCATION_FORWARD_PERM) => {
                let permanent = status == ReplyStatus::LOCATION_FORWARD_PERM;
                Ok(Meaning::Moved(reply.read()?, permanent))
            }
            ReplyStatus::NEEDS_ADDRESSING_MODE => {
                let wanted: i16 = reply.read()?;
                match profile {
                    Some(profile) if profile.set_addressing(wanted as u16) => {
                        Ok(Meaning::Readdressed)
                    }
                    _ => Err(raise::ADDRESSING_LOOP),
                }
            }
            Reply::NO_SUCH_OBJECT => Err(raise::NOT_LOCATED),
            _ => Err(raise::UNKNOWN_REPLY_STATUS),
        }
    }
}

/// Counts one forward more.
///
/// # Errors
/// When there were as many as a call may follow.
pub(super) fn one_more(forwards: u32) -> Result<u32, SystemException> {
    if forwards == MAX_FORWARDS {
        return Err(raise::FORWARD_LOOP);
    }
    Ok(forwards + 1)
}

/// Returns how long to wait before a call that failed so is made again, having been so `retries` times; `None`: it is
/// not.
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
    let delay = retry.delay.saturating_mul(doubled).min(retry.max_delay);
    // What failed says more than that time is over.
    let left = timing.left_to_send().ok()?;
    left.is_none_or(|left| left > delay).then_some(delay)
}

impl Lost {
    /// Returns whether another connection to the same server may carry the request: the server closed this one while it
    /// was idle, so that none of it was read, or promised by CloseConnection that it did not run.
    pub(super) fn may_go_again(&self) -> bool {
        self.reused && self.did_not_run()
    }

    /// Whether the request may be sent again without any risk of it running
    /// twice. Time that is over stays over.
    fn did_not_run(&self) -> bool {
        self.exception.completed == CompletionStatus::No
            && self.exception.kind != SystemExceptionKind::Timeout
    }

    /// Returns what a failed attempt means for the call: another profile may serve a
    /// request that did not run; otherwise the call has failed.
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

    /// Returns what [`end`](Self::end) does for a question that changes nothing: the call itself did not run.
    pub(super) fn end_harmless(
        mut self,
        peer: &Peer,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Step, SystemException> {
        self.exception.completed = CompletionStatus::No;
        self.end(peer, attempts)
    }
}
