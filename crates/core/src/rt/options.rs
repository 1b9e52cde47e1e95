//! Options of real time.

use std::sync::Arc;
use std::time::Duration;

use oxorb_rt::{Mapping, NativeRange, PriorityMapping, PriorityTransform};
use oxorb_sys::schedule::{Class, Reservation};
use oxorb_transport::Endpoint;

use crate::protocol::Protocols;

use crate::{AdmissionPlan, Budget, BudgetOf, OverrunHooks, RunTimeScheduler};

/// The real-time part of [`Options`](crate::Options): how CORBA priorities reach the scheduler.
///
/// ```
/// use oxorb_core::{MappingChoice, Options, SchedulingClass};
///
/// let mut options = Options::default();
/// options.realtime.class = SchedulingClass::Fifo;
/// options.realtime.mapping = MappingChoice::Linear;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RealTime {
    /// Scheduling class of the ORB's threads, and of application threads that are given a priority. With
    /// [`Class::Other`], the default, priorities travel and choose lanes and connections, but reach no schedule: the ORB's
    /// threads run in SCHED_OTHER whoever starts them, and those of the application stay as they are.
    pub class: Class,
    /// Mapping of CORBA priorities to native ones.
    pub mapping: MappingChoice,
    /// Changes priorities of requests on their way into and out of servants; `None`: they stay.
    pub transform: Option<Arc<dyn PriorityTransform>>,
    /// Endpoints of lanes of threadpools; those not named take ports that the system chooses.
    pub lane_endpoints: Vec<LaneEndpoints>,
    /// The only processor of a lane's threads, where its threadpool does not say.
    pub lane_cpus: Vec<LaneNumber>,
    /// The DSCP of a lane's packets, 0 to 63, where its threadpool does not say.
    pub lane_dscps: Vec<LaneNumber>,
    /// Longest time that a dynamic thread of a lane waits in vain before it ends; `None`: for ever.
    pub dynamic_idle: Option<Duration>,
    /// Most octets of requests that wait in each lane whose threadpool sets no limit of its own. Default 64 MiB.
    pub max_buffered_octets: usize,
    /// Keeps all memory of the process in RAM from the first threadpool on, and has the threads of lanes touch their
    /// stacks before they serve.
    pub lock_memory: bool,
    /// Priorities and queues of operations that were analysed; `None`: as the policies of POAs and callers say.
    pub scheduler: Option<Arc<RunTimeScheduler>>,
    /// Budgets of operations, objects, POAs and clients. `None`: no limits, and
    /// [`Orb::set_budget`](crate::Orb::set_budget) cannot change that.
    pub budgets: Option<Vec<(BudgetOf, Budget)>>,
    /// Whether and how operations, objects, POAs and clients are admitted while the ORB runs. With it there are
    /// [`budgets`](Self::budgets). `None`: nobody is, and nobody is refused.
    pub admission: Option<AdmissionPlan>,
    /// Time between two looks at running requests with budgets of processor time. Default 1 ms, at
    /// least 50 us.
    pub budget_quantum: Duration,
    /// Called when a request uses more processor time than its [budget](Budget::longest) allows one.
    pub overrun_hooks: OverrunHooks,
}

/// Endpoints of lanes.
#[derive(Debug, Clone)]
pub struct LaneEndpoints {
    /// The threadpool, from 1; `None`: all.
    pub pool: Option<u32>,
    /// The lane, from 0 in the order given at creation; `None`: all.
    pub lane: Option<u32>,
    /// The endpoints. Where one is meant for several lanes, give it port 0 or a `portspan` that is large enough.
    pub endpoints: Vec<Endpoint>,
}

impl LaneEndpoints {
    /// Reads `POOL:LANE=ENDPOINTS`, with `*` for all pools or all lanes.
    pub(crate) fn parse(text: &str, protocols: &Protocols) -> Result<Self, String> {
        const FORM: &str =
            "expected POOL:LANE=ENDPOINTS, as in 1:0=iiop://:5000 or *:*=iiop://:5000/portspan=16";
        let (pool, lane, endpoints) = lane_and_value(text).ok_or(FORM)?;
        Ok(LaneEndpoints {
            pool,
            lane,
            endpoints: protocols.parse(endpoints.trim()).map_err(|error| error.to_string())?,
        })
    }

    pub(crate) fn matches(&self, pool: u32, lane: u32) -> bool {
        matches((self.pool, self.lane), pool, lane)
    }
}

/// A number that some lanes have: their processor, or the DSCP of their packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneNumber {
    /// The threadpool, from 1; `None`: all.
    pub pool: Option<u32>,
    /// The lane, from 0 in the order given at creation; `None`: all.
    pub lane: Option<u32>,
    /// The number.
    pub number: u16,
}

impl LaneNumber {
    /// Reads `POOL:LANE=NUMBER`, with `*` for all pools or all lanes; at most `most`.
    pub(crate) fn parse(text: &str, most: u16) -> Result<Self, String> {
        let form = || format!("expected POOL:LANE=NUMBER up to {most}, as in 1:0=3 or *:*=3");
        let (pool, lane, number) = lane_and_value(text).ok_or_else(form)?;
        let number = number.parse().ok().filter(|number| *number <= most);
        Ok(LaneNumber { pool, lane, number: number.ok_or_else(form)? })
    }

    /// Returns the number of a lane; the first entry that names the lane decides.
    pub(crate) fn of(all: &[LaneNumber], pool: u32, lane: u32) -> Option<u16> {
        let named = |each: &&LaneNumber| matches((each.pool, each.lane), pool, lane);
        all.iter().find(named).map(|each| each.number)
    }
}

type LaneName = (Option<u32>, Option<u32>);

/// `POOL:LANE=VALUE`.
fn lane_and_value(text: &str) -> Option<(Option<u32>, Option<u32>, &str)> {
    let (key, value) = text.split_once(['=', ' '])?;
    let (pool, lane) = key.split_once(':')?;
    let number = |text: &str| match text {
        "*" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some((number(pool)?, number(lane)?, value))
}

fn matches((named_pool, named_lane): LaneName, pool: u32, lane: u32) -> bool {
    named_pool.is_none_or(|named| named == pool) && named_lane.is_none_or(|named| named == lane)
}

impl Default for RealTime {
    fn default() -> Self {
        RealTime {
            class: Class::Other,
            mapping: MappingChoice::default(),
            transform: None,
            lane_endpoints: Vec::new(),
            lane_cpus: Vec::new(),
            lane_dscps: Vec::new(),
            dynamic_idle: None,
            max_buffered_octets: 64 << 20,
            lock_memory: false,
            scheduler: None,
            budgets: None,
            admission: None,
            budget_quantum: Duration::from_millis(1),
            overrun_hooks: OverrunHooks::default(),
        }
    }
}

/// Choice of an ORB's [`PriorityMapping`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum MappingChoice {
    /// Maps to the same number; those that the class does not have are refused. TAO's default.
    Direct,
    /// All CORBA priorities spread over all native ones of the class.
    #[default]
    Linear,
    /// Maps from the lowest native priority of the class upwards, one by one.
    Continuous,
    /// The application's own.
    User(Arc<dyn PriorityMapping>),
}

impl RealTime {
    /// Returns the mapping, for the priorities of the class. Allocates.
    pub fn mapping(&self) -> Arc<dyn PriorityMapping> {
        let range = self.range();
        match &self.mapping {
            MappingChoice::Direct => Arc::new(Mapping::Direct),
            MappingChoice::Linear => Arc::new(Mapping::Linear(range)),
            MappingChoice::Continuous => Arc::new(Mapping::Continuous(range)),
            MappingChoice::User(own) => Arc::clone(own),
        }
    }

    /// The native priorities of the class.
    pub(super) fn range(&self) -> NativeRange {
        let range = self.class.priorities();
        NativeRange::new(*range.start() as i16, *range.end() as i16)
    }
}

/// Schedule of the threads of a lane. Without the privilege, they keep the schedule that they have,
/// which is told once ([`Incident::NoRealTimePriority`](crate::Incident::NoRealTimePriority)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LaneScheduling {
    /// Class that the option SchedPolicy names.
    #[default]
    AsOrb,
    /// Class of the lane's own. With SCHED_FIFO and SCHED_RR, its priority is the native one of the
    /// lane's priority, so the ORB has to be of one of these, too; SCHED_OTHER and SCHED_IDLE have
    /// none, for work that has to wait for all else.
    Class(Class),
    /// Each thread has so much processor time of its own (SCHED_DEADLINE), and the lane's priority travels and chooses,
    /// but does not reach the kernel. A pool with more than the kernel gives away is not created, and the error names
    /// what was asked and what there is. Such threads are all there from the start, may run on every processor, and are
    /// lent to nobody.
    Reserved(Reservation),
}
