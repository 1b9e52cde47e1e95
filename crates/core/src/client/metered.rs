//! Calls that are counted, for an ORB whose metrics are asked for.

use oxorb_giop::ReplyStatus;
use oxorb_object::SystemException;

use super::ReplyIn;
use crate::Ref;
use crate::monitoring::metrics::Ending;
use crate::threads::clock;

/// Call that is counted when it ends.
#[derive(Clone, Copy)]
pub(super) struct Metered {
    /// Time of the monotonic clock at which it began, in nanoseconds.
    began: u64,
}

impl Metered {
    /// Begins to count a call; returns `None` if the ORB counts none.
    #[inline]
    pub(super) fn begin(reference: &Ref) -> Option<Metered> {
        let counts = reference.orb().interceptors().meter.is_some();
        counts.then(|| Metered { began: clock::monotonic_nanoseconds() })
    }

    /// Counts a two-way call.
    pub(super) fn answered(self, reference: &Ref, ended: Result<&ReplyIn<'_>, &SystemException>) {
        let ending = match ended {
            Ok(reply) if reply.status() == ReplyStatus::USER_EXCEPTION => Ending::UserException,
            Ok(_) => Ending::Results,
            Err(exception) => Ending::SystemException(*exception),
        };
        self.end(reference, ending);
    }

    /// Counts a oneway.
    pub(super) fn sent(self, reference: &Ref, sent: Result<(), SystemException>) {
        self.end(reference, sent.map_or_else(Ending::SystemException, |()| Ending::Sent));
    }

    /// Counts a call whose caller has dropped it.
    pub(super) fn abandoned(self, reference: &Ref) {
        self.end(reference, Ending::Abandoned);
    }

    #[inline(never)]
    fn end(self, reference: &Ref, ending: Ending) {
        let orb = reference.orb();
        if let Some(meter) = &orb.interceptors().meter {
            meter.call_ended(orb.serving_lane(), self.began, ending);
        }
    }
}
