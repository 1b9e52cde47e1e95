//! Threads that are the only one of their lane, to which servants and tasks may be confined.

use std::cell::{Cell, RefCell};

use crate::reference::LaneOf;

thread_local! {
    /// Number of the ORB, and the lane of which this is the only thread.
    static LANE: Cell<Option<(u32, LaneOf)>> = const { Cell::new(None) };
    /// Functions that are called when the thread ends.
    static ENDS: RefCell<Vec<fn()>> = const { RefCell::new(Vec::new()) };
}

/// Guard of a thread that is the only one of its lane. Dropping it ends everything that is confined to the thread.
pub(crate) struct Confines(());

impl Confines {
    pub(crate) fn begin(orb: u32, lane: LaneOf) -> Confines {
        LANE.set(Some((orb, lane)));
        Confines(())
    }
}

impl Drop for Confines {
    fn drop(&mut self) {
        LANE.set(None);
        while let Some(end) = ENDS.with_borrow_mut(Vec::pop) {
            end();
        }
    }
}

/// Returns the ORB's number and the lane of which the calling thread is the only one.
pub(crate) fn lane_of_this_thread() -> Option<(u32, LaneOf)> {
    LANE.try_with(Cell::get).ok().flatten()
}

/// Calls `end`, once, when the calling thread ceases to be the only one of a lane.
pub(crate) fn at_end(end: fn()) {
    ENDS.with_borrow_mut(|ends| {
        if !ends.contains(&end) {
            ends.push(end);
        }
    });
}
