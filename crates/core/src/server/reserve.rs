//! Help that a lane calls for while all its threads are busy. `lending.rs` describes and runs the threads that help.

use std::io;
use std::sync::{Arc, OnceLock, Weak};

use oxorb_sys::poll::Token;

use super::lane::Lane;
use super::reactor::{self, Reactor, ReactorCommand};
use crate::ReactorChoice;
use crate::shared::Shared;
use crate::threads::sync::atomic::Ordering;

/// First token of lanes whose threads are all busy; lower tokens are connections.
const BORROWERS: u64 = 1 << 63;

/// Help for a lane without waiting threads. None by default.
#[derive(Default)]
pub(super) struct Reserve {
    /// Lane that lends threads to this one, and the token of this lane in its reactor.
    lender: OnceLock<(Arc<Lane>, Token)>,
    /// Lanes that this lane lends threads to.
    pub(super) borrowers: OnceLock<Vec<Weak<Lane>>>,
    /// Reactor at which the reader waits until all threads are busy: it then reads requests into
    /// the lane's queue.
    pub(super) reader: Option<Box<dyn Reactor>>,
}

impl Reserve {
    /// Returns a reserve with a reader, for a lane with a queue.
    pub(super) fn buffering() -> io::Result<Reserve> {
        Ok(Reserve { reader: Some(reactor::make(ReactorChoice::Epoll)?), ..Reserve::default() })
    }

    /// Reports whether only the lane's own threads wait at its reactor.
    pub(super) fn is_empty(&self) -> bool {
        self.reader.is_none() && self.lender.get().is_none()
    }

    /// Returns the lane that a token of this lane's reactor stands for.
    #[inline]
    pub(super) fn borrower(&self, token: u64) -> Option<Arc<Lane>> {
        let at = token.checked_sub(BORROWERS)?;
        self.borrowers.get()?.get(at as usize)?.upgrade()
    }
}

/// Makes each lane borrow threads from those below it.
pub(super) fn lend(lanes: &[Arc<Lane>]) -> io::Result<()> {
    for lower in lanes {
        let above = |upper: &&Arc<Lane>| upper.plan.priority > lower.plan.priority;
        let mut uppers: Vec<_> = lanes.iter().filter(above).collect();
        uppers.sort_by_key(|upper| upper.plan.priority);
        for (at, upper) in uppers.iter().enumerate() {
            let between = |lane: &Arc<Lane>| {
                lane.plan.priority > lower.plan.priority && lane.plan.priority < upper.plan.priority
            };
            if lanes.iter().any(between) || upper.reserve.lender.get().is_some() {
                continue;
            }
            let token = Token(BORROWERS + at as u64);
            if upper.reserve.reader.is_none() {
                lower.reactor.watch(&*upper.reactor, token, ReactorCommand::Begin)?;
            }
            let _ = upper.reserve.lender.set((Arc::clone(lower), token));
        }
        let uppers = uppers.into_iter().map(Arc::downgrade).collect();
        let _ = lower.reserve.borrowers.set(uppers);
    }
    Ok(())
}

impl Lane {
    /// Records that an idle thread leaves the reactor, unless no other thread waits there; reports whether it leaves.
    pub(super) fn leaves_to_others(&self) -> bool {
        let others = |threads: usize| threads.checked_sub(1).filter(|others| *others > 0);
        self.waiting.fetch_update(Ordering::SeqCst, Ordering::SeqCst, others).is_ok()
    }

    /// Records that a thread waits at the reactor; dismisses help if it is the first.
    #[inline]
    pub(super) fn comes_back(&self) {
        if self.waiting.fetch_add(1, Ordering::SeqCst) == 0 {
            self.dismiss_help();
        }
    }

    pub(super) fn call_for_help(&self) {
        if let Some(reader) = &self.reserve.reader {
            let _ = reader.watch(&*self.reactor, Token(0), ReactorCommand::Arm);
        } else if let Some((lender, token)) = self.reserve.lender.get() {
            let _ = lender.reactor.watch(&*self.reactor, *token, ReactorCommand::Arm);
        }
    }

    fn dismiss_help(&self) {
        if let Some(reader) = &self.reserve.reader {
            let _ = reader.watch(&*self.reactor, Token(0), ReactorCommand::Disarm);
        } else if let Some((lender, token)) = self.reserve.lender.get() {
            let _ = lender.reactor.watch(&*self.reactor, *token, ReactorCommand::Disarm);
        } else {
            return;
        }
        self.still_needs_help();
    }

    /// Calls for help again, because threads may have left meanwhile.
    pub(super) fn still_needs_help(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            self.call_for_help();
        }
    }

    pub(super) fn raise(&self, shared: &Shared) -> Option<crate::RaisedPriority> {
        shared.priorities().raise(self.plan.priority?, None).ok()
    }

    /// Reports whether the lane can queue requests while all its threads are busy.
    pub(super) fn buffers(&self) -> bool {
        self.reserve.reader.is_some() && self.queue.is_some()
    }

    /// Wakes a thread for a queued request: one that returned to the reactor meanwhile, or one that may be lent.
    pub(super) fn wake_somebody(&self) {
        let mut lane = self;
        loop {
            if lane.waiting.load(Ordering::SeqCst) > 0 {
                return lane.reactor.wake();
            }
            match lane.reserve.lender.get() {
                Some((lender, _)) => lane = lender,
                None => return,
            }
        }
    }
}
