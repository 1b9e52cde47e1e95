//! Owner of a connection, and the threads that read it while its own thread runs a request.

use std::sync::{Arc, Weak};

use super::connection::Connection;
use super::followers::Followers;
use super::lane::Lane;
use super::side::ServerSide;
use crate::Serving;
use crate::reference::LaneOf;
use crate::shared::Shared;

/// Owner of a connection after another thread has served it.
#[derive(Clone)]
pub(crate) enum ConnectionOwner {
    /// Thread of the connection alone: one of the ORB's, or of a lane with a thread for each
    /// connection.
    Thread(Option<Arc<Lane>>),
    /// Lane that parks the connection until one of its threads is free.
    Lane(Arc<Lane>),
}

/// [`ConnectionOwner`] that does not keep the lane alive.
pub(super) enum WeakConnectionOwner {
    Thread(Option<Weak<Lane>>),
    Lane(Weak<Lane>),
}

impl ConnectionOwner {
    pub(super) fn downgrade(&self) -> WeakConnectionOwner {
        match self {
            ConnectionOwner::Thread(lane) => {
                WeakConnectionOwner::Thread(lane.as_ref().map(Arc::downgrade))
            }
            ConnectionOwner::Lane(lane) => WeakConnectionOwner::Lane(Arc::downgrade(lane)),
        }
    }

    /// Returns the lane, if there is one.
    fn lane(&self) -> Option<&Arc<Lane>> {
        match self {
            ConnectionOwner::Thread(lane) => lane.as_ref(),
            ConnectionOwner::Lane(lane) => Some(lane),
        }
    }

    /// Returns the name of the lane of a threadpool, if there is one.
    pub(super) fn lane_name(&self) -> Option<LaneOf> {
        let plan = &self.lane()?.plan;
        (plan.pool != 0).then_some(LaneOf { pool: plan.pool, lane: plan.lane })
    }

    /// Returns the lane that serves requests beyond their budgets, if that is another lane and has a queue.
    pub(super) fn lowest(&self) -> Option<Arc<Lane>> {
        self.lane()?.lowest.get()?.upgrade()
    }

    /// Reports whether the owner is the lane for requests beyond their budgets.
    pub(super) fn is_lowest(&self) -> bool {
        self.lane().is_some_and(|lane| lane.is_lowest.get().is_some())
    }

    /// Reports whether the lane's threadpool ends.
    pub(super) fn is_stopping(&self) -> bool {
        self.lane().is_some_and(|lane| lane.is_stopping())
    }

    /// Returns the maximum number of threads of the lane, which serve its connections together; 1 for a connection with
    /// its own thread.
    pub(super) fn threads(&self) -> usize {
        match self {
            ConnectionOwner::Thread(_) => 1,
            ConnectionOwner::Lane(lane) => {
                lane.plan.static_threads.saturating_add(lane.plan.dynamic_threads)
            }
        }
    }

    /// Returns the lane if its requests are served by threads other than the one that reads them.
    pub(super) fn assigns(&self) -> Option<&Arc<Lane>> {
        match self {
            ConnectionOwner::Lane(lane) if lane.plan.serving != Serving::Reader => Some(lane),
            ConnectionOwner::Lane(_) | ConnectionOwner::Thread(_) => None,
        }
    }

    /// Returns the lane whose own thread watches for takeovers; `None` if the ORB's thread does.
    pub(super) fn watched_lane(&self, shared: &Shared) -> Option<&Arc<Lane>> {
        self.lane().filter(|lane| lane.priority().is_some() && shared.scheduling.is_real_time())
    }

    /// Releases the reserved thread.
    pub(super) fn release_thread(&self, side: &ServerSide) {
        if let Some(followers) = self.followers(side) {
            followers.release();
        }
    }

    /// Hands the connection to the reserved thread.
    pub(super) fn hand_on(&self, side: &ServerSide, connection: Connection) {
        match self {
            ConnectionOwner::Lane(lane) => lane.give(connection),
            ConnectionOwner::Thread(_) => {
                if let Some(followers) = self.followers(side) {
                    followers.give(connection);
                }
            }
        }
    }

    /// Returns the followers that take over connections with their own threads.
    pub(super) fn followers<'h>(
        &'h self,
        side: &'h ServerSide,
    ) -> Option<&'h Followers<Connection>> {
        match self {
            ConnectionOwner::Thread(None) => Some(&side.followers),
            ConnectionOwner::Thread(Some(lane)) => Some(&lane.followers),
            ConnectionOwner::Lane(_) => None,
        }
    }
}

impl WeakConnectionOwner {
    pub(super) fn upgrade(&self) -> Option<ConnectionOwner> {
        Some(match self {
            WeakConnectionOwner::Thread(None) => ConnectionOwner::Thread(None),
            WeakConnectionOwner::Thread(Some(lane)) => {
                ConnectionOwner::Thread(Some(lane.upgrade()?))
            }
            WeakConnectionOwner::Lane(lane) => ConnectionOwner::Lane(lane.upgrade()?),
        })
    }
}
