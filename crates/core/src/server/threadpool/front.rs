//! Fronts: endpoints that all lanes of a threadpool share, and the selection of the lane for each connection.

use oxorb_transport::Address;

use super::error::ThreadpoolError;
use super::plan::Threadpool;
use super::steering::{Front, Steering};
use crate::Options;
use crate::reference::PublishedAddress;
use crate::shared::Shared;
use crate::threads::rt::ThreadpoolId;

/// An open [`Front`].
#[derive(Default)]
pub(super) struct OpenFront {
    pub(super) addresses: Vec<PublishedAddress>,
    /// Index of the lane that receives connections for which no other lane is selected.
    pub(super) least: usize,
}

impl OpenFront {
    /// Reports whether an address is that of the front.
    pub(super) fn is_at(&self, address: &Address) -> bool {
        let at = |front: &PublishedAddress| address.leads_to(&front.address);
        self.addresses.iter().any(at)
    }
}

impl Threadpool {
    /// Adds a TCP endpoint at which all lanes listen, where the kernel selects the lane for each connection. In
    /// references to all lanes its address comes first, for clients without RT-CORBA; clients with RT-CORBA still
    /// select the port of their lane.
    ///
    /// The kernel allows other processes of the same user to listen at this endpoint, too, and to receive some of its
    /// connections.
    ///
    /// ```
    /// use oxorb_core::{Steering, Threadpool, ThreadpoolLane};
    /// use oxorb_rt::Priority;
    ///
    /// let lanes = [
    ///     ThreadpoolLane::new(Priority::new(100)?, 4).dscp(10),
    ///     ThreadpoolLane::new(Priority::new(20_000)?, 1).dscp(46),
    /// ];
    /// let pool = Threadpool::with_lanes(lanes).front("iiop://:2809", Steering::Mark);
    /// # Ok::<(), oxorb_rt::OutOfRange>(())
    /// ```
    ///
    /// # Errors
    /// Creating the pool fails if it has no lanes, if two lanes have the same DSCP or processor or a lane has no
    /// processor, if the endpoint is not one of TCP, or if another process listens at it.
    pub fn front(mut self, endpoint: impl Into<String>, by: Steering) -> Self {
        self.front = Some(Front { endpoint: endpoint.into(), by });
        self
    }

    /// Checks that the front can distinguish the lanes.
    pub(super) fn check_front(
        &self,
        shared: &Shared,
        id: ThreadpoolId,
    ) -> Result<(), ThreadpoolError> {
        let wrong = |why| Err(ThreadpoolError::BadParameter(why));
        let Some(front) = &self.front else {
            return Ok(());
        };
        if !self.has_lanes {
            return wrong(
                "a front needs a pool with lanes, from which the kernel selects one (front)",
            );
        }
        let options = &shared.options;
        match front.by {
            Steering::Mark if !differ(self.marks(options, id)) => wrong(
                "a front identifies each lane by its mark: give each lane a different DSCP (dscp, -ORBLaneDSCP), or \
                 priorities with different DSCPs",
            ),
            Steering::Processor if !differ(self.cpus(options, id)) => wrong(
                "a front by processor needs a different processor for each lane (cpu, -ORBLaneCPU)",
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn marks(&self, options: &Options, id: ThreadpoolId) -> Vec<Option<u8>> {
        let mark = |at: usize| {
            let priority = oxorb_rt::dscp(self.lanes[at].priority);
            Some(self.mark(options, id, at).unwrap_or(priority))
        };
        (0..self.lanes.len()).map(mark).collect()
    }

    pub(super) fn cpus(&self, options: &Options, id: ThreadpoolId) -> Vec<Option<usize>> {
        let lanes = 0..self.lanes.len();
        lanes.map(|at| self.cpu(options, id, at)).collect()
    }

    pub(super) fn least(&self) -> usize {
        let lanes = self.lanes.iter().enumerate();
        let least = lanes.min_by_key(|(_, lane)| lane.priority);
        least.map_or(0, |(at, _)| at)
    }
}

/// Reports whether all values are present and different.
fn differ<T: Ord>(mut all: Vec<Option<T>>) -> bool {
    all.sort();
    all.iter().all(Option::is_some) && all.windows(2).all(|pair| pair[0] != pair[1])
}
