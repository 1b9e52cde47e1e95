//! Fronts: endpoints that all lanes of a threadpool share, and the selection of the lane for each connection.

use std::io;
use std::sync::Arc;

use oxorb_transport::{Address, Endpoint, ListenError, Publish, Transport};

use super::error::ThreadpoolError;
use super::plan::Threadpool;
use super::steering::{Front, Steering};
use crate::reference::PublishedAddress;
use crate::server::host::Host;
use crate::server::lane::Lane;
use crate::server::listener::Listeners;
use crate::shared::Shared;
use crate::threads::rt::ThreadpoolId;
use crate::{Options, SetupError};

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

    fn marks(&self, options: &Options, id: ThreadpoolId) -> Vec<Option<u8>> {
        let mark = |at: usize| {
            let priority = oxorb_rt::dscp(self.lanes[at].priority);
            Some(self.mark(options, id, at).unwrap_or(priority))
        };
        (0..self.lanes.len()).map(mark).collect()
    }

    fn cpus(&self, options: &Options, id: ThreadpoolId) -> Vec<Option<usize>> {
        let lanes = 0..self.lanes.len();
        lanes.map(|at| self.cpu(options, id, at)).collect()
    }

    fn least(&self) -> usize {
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

/// Opens the front of the plan for all lanes, if there is one.
pub(super) fn open<'l>(
    orb: &impl Host,
    id: ThreadpoolId,
    plan: &Threadpool,
    lanes: impl Iterator<Item = (&'l Listeners, &'l Arc<Lane>)> + Clone,
) -> Result<OpenFront, SetupError> {
    let Some(front) = &plan.front else {
        return Ok(OpenFront::default());
    };
    let options = orb.options();
    let mut endpoint = front_endpoint(options, &front.endpoint)?;
    let marks = plan.marks(options, id);
    let cpus = match front.by {
        Steering::Mark => vec![None; marks.len()],
        Steering::Processor => plan.cpus(options, id),
    };
    let mut first = None;
    for ((listeners, lane), cpu) in lanes.zip(cpus) {
        let is_first = first.is_none();
        let serves = || Ok(Some(Arc::clone(lane)));
        let listen = |transport: &dyn Transport, endpoint: &Endpoint| {
            transport.listen_in_group(endpoint, is_first, cpu)
        };
        // The port that the system chose for the first lane is used for all lanes.
        endpoint = listeners.open_by(orb, &[endpoint], serves, listen)?.remove(0);
        first.get_or_insert(listeners);
    }
    let least = plan.least();
    if let (Steering::Mark, Some(first)) = (front.by, first) {
        let marks = marks.iter().zip(0..);
        let marks: Vec<(u8, u32)> = marks.filter_map(|(mark, at)| Some(((*mark)?, at))).collect();
        let steered = first.steer_by_mark(&endpoint, &marks, least as u32);
        let advice = "the kernel rejects the program that selects a lane: remove the front";
        steered.map_err(|error| not_open(endpoint.clone(), error, Some(advice)))?;
    }
    // The ports of published addresses are those of the ORB's own endpoints.
    let rules: Vec<Publish> = options.publish.iter().map(Publish::at_own_port).collect();
    Ok(OpenFront { addresses: orb.shared().addresses_by(&endpoint, &rules)?, least })
}

/// Parses the single endpoint of a front.
fn front_endpoint(options: &Options, text: &str) -> Result<Endpoint, SetupError> {
    let named = || Endpoint::new(oxorb_transport::tcp::SCHEME, text);
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let parsed = options.protocols.parse(text);
    let mut endpoints =
        parsed.map_err(|error| not_open(named(), invalid(error.to_string()), None))?;
    if endpoints.len() != 1 {
        let why = invalid(format!("{} endpoints are specified", endpoints.len()));
        let advice = "a front must be one endpoint, such as iiop://:2809";
        return Err(not_open(named(), why, Some(advice)));
    }
    Ok(endpoints.remove(0))
}

fn not_open(endpoint: Endpoint, error: io::Error, advice: Option<&'static str>) -> SetupError {
    SetupError::Listen(ListenError {
        address: endpoint.place.clone(),
        endpoint: Box::new(endpoint),
        error,
        advice,
    })
}
