//! Real-time options.

use std::sync::Arc;
use std::time::Duration;

use oxorb_rt::{Mapping, NativeRange, PriorityMapping, PriorityTransform};
use oxorb_sys::schedule::{Reservation, SchedulingClass};
use oxorb_transport::Endpoint;

use crate::protocol::Protocols;

use crate::{AdmissionPlan, Budget, BudgetOf, OverrunHooks, RunTimeScheduler};

/// Real-time part of [`Options`](crate::Options): scheduling by CORBA priorities.
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
    /// Scheduling class of the ORB's threads, and of application threads with a CORBA priority. With
    /// [`SchedulingClass::Other`], the default, priorities are sent and select lanes and connections, but have no
    /// effect in the kernel: the ORB's threads run in SCHED_OTHER, regardless of the class of the thread that starts
    /// them, and application threads are unchanged.
    pub class: SchedulingClass,
    /// Mapping of CORBA priorities to native ones.
    pub mapping: MappingChoice,
    /// Transform of request priorities on their way into and out of servants; `None` for unchanged
    /// priorities.
    pub transform: Option<Arc<dyn PriorityTransform>>,
    /// Endpoints of lanes of threadpools; other lanes get ports that the system chooses.
    pub lane_endpoints: Vec<LaneEndpoints>,
    /// Whether all lanes share the ORB's own endpoints, which must be of TCP or TLS. The first message of a connection
    /// selects its lane, and requests for objects of other lanes are passed to these.
    pub lanes_on_one_port: bool,
    /// Processors of lanes whose threadpools set none.
    pub lane_cpus: Vec<LaneNumber>,
    /// DSCPs of the packets of lanes whose threadpools set none, 0 to 63.
    pub lane_dscps: Vec<LaneNumber>,
    /// Time that a dynamic thread of a lane is idle before it ends; `None` for no limit.
    pub dynamic_idle: Option<Duration>,
    /// Maximum total size in octets of queued requests in each lane whose threadpool sets no limit. Default 64 MiB.
    pub max_buffered_octets: usize,
    /// Whether all memory of the process is locked in RAM from the first threadpool on, and the threads of lanes touch
    /// their stacks before they serve.
    pub lock_memory: bool,
    /// Run-time scheduler, which sets the priorities and queues of analysed operations. If `None`, the policies of POAs
    /// and callers determine them.
    pub scheduler: Option<Arc<RunTimeScheduler>>,
    /// Budgets of operations, objects, POAs and clients. If `None`, there are no budgets, and
    /// [`Orb::set_budget`](crate::Orb::set_budget) cannot add any.
    pub budgets: Option<Vec<(BudgetOf, Budget)>>,
    /// Plan by which operations, objects, POAs and clients are admitted to the running ORB; it enables
    /// [`budgets`](Self::budgets). `None` for no admission control.
    pub admission: Option<AdmissionPlan>,
    /// Interval between two checks of running requests with budgets of processor time. Default 1 ms, at least 50 us.
    pub budget_quantum: Duration,
    /// Hooks called when a request uses more processor time than its [budget](Budget::longest)
    /// allows for one request.
    pub overrun_hooks: OverrunHooks,
}

/// Endpoints of lanes.
#[derive(Debug, Clone)]
pub struct LaneEndpoints {
    /// Threadpool, from 1; `None` for all.
    pub pool: Option<u32>,
    /// Lane, from 0 in the order given at creation; `None` for all.
    pub lane: Option<u32>,
    /// Endpoints. An endpoint for several lanes needs port 0 or a sufficient `portspan`.
    pub endpoints: Vec<Endpoint>,
}

impl LaneEndpoints {
    /// Parses `POOL:LANE=ENDPOINTS`, with `*` for all pools or all lanes.
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

/// Number assigned to lanes: a processor, or the DSCP of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneNumber {
    /// Threadpool, from 1; `None` for all.
    pub pool: Option<u32>,
    /// Lane, from 0 in the order given at creation; `None` for all.
    pub lane: Option<u32>,
    /// Number.
    pub number: u16,
}

impl LaneNumber {
    /// Parses `POOL:LANE=NUMBER`, with `*` for all pools or all lanes; the number is at most
    /// `most`.
    pub(crate) fn parse(text: &str, most: u16) -> Result<Self, String> {
        let form = || format!("expected POOL:LANE=NUMBER up to {most}, as in 1:0=3 or *:*=3");
        let (pool, lane, number) = lane_and_value(text).ok_or_else(form)?;
        let number = number.parse().ok().filter(|number| *number <= most);
        Ok(LaneNumber { pool, lane, number: number.ok_or_else(form)? })
    }

    /// Returns the number of a lane, from the first entry that names the lane.
    pub(crate) fn of(all: &[LaneNumber], pool: u32, lane: u32) -> Option<u16> {
        let named = |each: &&LaneNumber| matches((each.pool, each.lane), pool, lane);
        all.iter().find(named).map(|each| each.number)
    }
}

type LaneName = (Option<u32>, Option<u32>);

/// Parses `POOL:LANE=VALUE`.
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
            class: SchedulingClass::Other,
            mapping: MappingChoice::default(),
            transform: None,
            lane_endpoints: Vec::new(),
            lanes_on_one_port: false,
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

/// [`PriorityMapping`] that an ORB uses.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum MappingChoice {
    /// Maps to the same number; numbers that the class lacks are refused. TAO's default.
    Direct,
    /// Maps the range of CORBA priorities linearly to the native range of the class.
    #[default]
    Linear,
    /// Maps from the lowest native priority of the class upwards, one by one.
    Continuous,
    /// Mapping of the application.
    User(Arc<dyn PriorityMapping>),
}

impl RealTime {
    /// Returns the mapping for the priorities of the class. Allocates.
    pub fn mapping(&self) -> Arc<dyn PriorityMapping> {
        let range = self.range();
        match &self.mapping {
            MappingChoice::Direct => Arc::new(Mapping::Direct),
            MappingChoice::Linear => Arc::new(Mapping::Linear(range)),
            MappingChoice::Continuous => Arc::new(Mapping::Continuous(range)),
            MappingChoice::User(own) => Arc::clone(own),
        }
    }

    /// Returns the native priorities of the class.
    pub(super) fn range(&self) -> NativeRange {
        let range = self.class.priorities();
        NativeRange::new(*range.start() as i16, *range.end() as i16)
    }
}

/// Scheduling of the threads of a lane. Without the privilege they keep their class and priority, which is reported
/// once ([`Incident::NoRealTimePriority`](crate::Incident::NoRealTimePriority)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LaneScheduling {
    /// Class that the option SchedPolicy names.
    #[default]
    AsOrb,
    /// Class of the lane's own. With SCHED_FIFO and SCHED_RR, the native priority is that of the
    /// lane's priority, so the ORB must also have one of these classes. SCHED_OTHER and SCHED_IDLE
    /// have no priority; they are for work that must wait for all other work.
    Class(SchedulingClass),
    /// Reserved processor time for each thread (SCHED_DEADLINE). The lane's priority is sent and selects the lane, but
    /// the kernel does not see it. If a pool reserves more than the kernel grants, it is not created; the error names
    /// the demand and the limit. Such threads all exist from the start, may run on every processor, and are not lent.
    Reserved(Reservation),
}
