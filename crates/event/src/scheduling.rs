//! Reports of a channel to the scheduling service. They describe which supplier's events reach which consumer.
//!
//! ```text
//! supplier's RT_Info <--one way-- ENTRY#rep (the channel, for one consumer) <--one way-- consumer's RT_Info
//! TIMEOUT:PERIOD     <--one way--'
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::time::Duration;

use oxorb_delivery::{
    Dispatching, LanePlan, ModuleThreads, Plan, Qos, SchedulingClass, ThreadPriority,
};
use oxorb_scheduler::rtec_base::DependencyTypeT::OneWayCall;
use oxorb_scheduler::rtec_scheduler::scheduler::{
    CreateError, GetError, PriorityError, RemoveDependencyError,
};
use oxorb_scheduler::rtec_scheduler::{
    CriticalityT, DispatchingTypeT, ImportanceT, InfoTypeT, RtInfo, SchedulerRef,
};
use oxorb_sys::sync::Mutex;

use crate::ConsumerDispatch;
use crate::filter::Program;
use crate::rtec_event_channel_admin::{ConsumerQos, SupplierQos};

/// The scheduling service of a channel, with the information that was reported to it.
pub(crate) struct Scheduling {
    scheduler: SchedulerRef,
    /// Operations of the channel, one for each operation of a consumer, by the number of the consumer.
    consumers: Mutex<BTreeMap<u64, Vec<i32>>>,
    /// Dependencies, by the dependent operation and the operation on which it depends.
    edges: Mutex<BTreeMap<(i32, i32), Edge>>,
    /// Schedule at the last check; `None` if some consumer may not have been placed according to it.
    seen: Mutex<Option<Vec<Assigned>>>,
}

/// Levels that a schedule assigns to an operation, as far as they are needed to place consumers.
#[derive(PartialEq, Eq)]
struct Assigned {
    operation: i32,
    levels: (i32, i32, i32),
    period: i32,
    execution: u64,
}

/// A dependency.
#[derive(Default)]
struct Edge {
    /// Number of pairs of a supplier and a consumer that require this dependency.
    connections: usize,
    /// Whether the service has accepted the dependency.
    told: bool,
}

/// Error of a call to the scheduling service.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scheduling service: {call}: {why}")]
pub struct SchedulingError {
    call: &'static str,
    why: String,
}

impl fmt::Debug for SchedulingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn tried<T, E: Display>(call: &'static str, done: Result<T, E>) -> Result<T, SchedulingError> {
    done.map_err(|why| SchedulingError { call, why: why.to_string() })
}

/// Returns a dispatcher plan for the queues of a schedule. It has one lane for each queue, with the queue's thread
/// priority and order. Pass the plan to [`EventChannel::queued`](crate::EventChannel::queued); consumers of the channel
/// then get the lane of their operation.
///
/// # Errors
/// There is no schedule yet, or the service cannot be reached.
pub fn scheduled_plan(scheduler: &SchedulerRef) -> Result<Plan, SchedulingError> {
    let mut queues = tried("get_config_infos", scheduler.get_config_infos())?;
    queues.sort_by_key(|queue| queue.preemption_priority);
    let lane = |queue: &oxorb_scheduler::rtec_scheduler::ConfigInfo| LanePlan {
        scheduling: ModuleThreads::At(ThreadPriority {
            class: SchedulingClass::Fifo,
            priority: queue.thread_priority.clamp(1, 99),
        }),
        dispatching: match queue.dispatching_type {
            DispatchingTypeT::StaticDispatching => Dispatching::Static,
            DispatchingTypeT::DeadlineDispatching => Dispatching::Deadline,
            DispatchingTypeT::LaxityDispatching => Dispatching::Laxity,
        },
        ..LanePlan::new(format!("events-{}", queue.preemption_priority))
    };
    Ok(Plan::lanes(queues.iter().map(lane)))
}

impl Scheduling {
    pub(crate) fn new(scheduler: SchedulerRef) -> Scheduling {
        Scheduling {
            scheduler,
            consumers: Mutex::default(),
            edges: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Reports whether the schedule has changed since the last call. Makes one call to the service, whose time is
    /// linear in the number of its operations.
    pub(crate) fn has_changed(&self) -> Result<bool, SchedulingError> {
        let infos = tried("get_rt_info_set", self.scheduler.get_rt_info_set())?;
        let assigned = infos.iter().map(|info| Assigned {
            operation: info.handle,
            levels: (info.priority, info.preemption_subpriority, info.preemption_priority),
            period: info.period,
            execution: info.worst_case_execution_time,
        });
        let now = Some(assigned.collect());
        let mut seen = self.seen.lock();
        let changed = *seen != now;
        *seen = now;
        Ok(changed)
    }

    /// Makes the next check report a change. Needed when a consumer is placed, because a check that ran at the same
    /// time may have missed this consumer.
    pub(crate) fn look_anew(&self) {
        *self.seen.lock() = None;
    }

    /// Reports a consumer. For each of its operations, declares an operation of the channel on which it depends.
    pub(crate) fn consumer(
        &self,
        number: u64,
        qos: &ConsumerQos,
        program: &Program,
    ) -> Result<(), SchedulingError> {
        let mut ours = Vec::new();
        for theirs in operations(qos) {
            let info = tried("get", self.scheduler.get(theirs))?;
            let levels = (info.criticality, info.importance);
            let channel = self.operation(&format!("{}#rep", info.entry_point), 0, levels)?;
            self.depend(theirs, channel)?;
            ours.push(channel);
            for (_, period) in program.timers() {
                let period = i32::try_from(*period).unwrap_or(i32::MAX);
                let timer = self.operation(&format!("TIMEOUT:{period}"), period, levels)?;
                self.depend(channel, timer)?;
            }
        }
        self.consumers.lock().insert(number, ours);
        Ok(())
    }

    /// Reports that a consumer depends on a supplier, because the supplier's events may match its filter.
    pub(crate) fn pair(
        &self,
        consumer: u64,
        program: &Program,
        supplier: &SupplierQos,
    ) -> Result<(), SchedulingError> {
        for (channel, on) in self.edges_of(consumer, program, supplier) {
            self.depend(channel, on)?;
        }
        Ok(())
    }

    /// Withdraws the dependency of a consumer on a supplier.
    pub(crate) fn unpair(&self, consumer: u64, program: &Program, supplier: &SupplierQos) {
        for edge in self.edges_of(consumer, program, supplier) {
            let mut edges = self.edges.lock();
            let Some(known) = edges.get_mut(&edge) else {
                continue;
            };
            known.connections -= 1;
            if known.connections == 0 {
                edges.remove(&edge);
                drop(edges);
                // Ignore the error: a run-time table does not permit changes, and the service may no longer exist.
                let _ = self.scheduler.remove_dependency(edge.0, edge.1, 1, OneWayCall);
            }
        }
    }

    /// Withdraws all dependencies, because the channel ends. Stops at the first call that is not answered: the service
    /// is then slow or no longer exists.
    pub(crate) fn retract(&self) {
        self.consumers.lock().clear();
        let edges = std::mem::take(&mut *self.edges.lock());
        for ((dependent, on), _) in edges.into_iter().filter(|(_, edge)| edge.told) {
            let removed = self.scheduler.remove_dependency(dependent, on, 1, OneWayCall);
            if matches!(removed, Err(RemoveDependencyError::System(_))) {
                return;
            }
        }
    }

    /// Removes a consumer. Its operations remain in the service, because it may connect again.
    pub(crate) fn forget(&self, number: u64) {
        self.consumers.lock().remove(&number);
    }

    /// Returns the scheduled dispatch of a consumer's most urgent operation: its lane and its order in the lane and,
    /// for lanes that are ordered by deadline or laxity, its period and its longest execution time. `None` if no
    /// operation is scheduled.
    ///
    /// # Errors
    /// The service cannot be reached. The next check will then report a change.
    pub(crate) fn place(
        &self,
        qos: &ConsumerQos,
        lanes: usize,
        dispatch: &ConsumerDispatch,
    ) -> Result<Option<ConsumerDispatch>, SchedulingError> {
        let placed = self.placed(qos, lanes, dispatch);
        if placed.is_err() {
            self.look_anew();
        }
        placed
    }

    fn placed(
        &self,
        qos: &ConsumerQos,
        lanes: usize,
        dispatch: &ConsumerDispatch,
    ) -> Result<Option<ConsumerDispatch>, SchedulingError> {
        let mut assigned = Vec::new();
        for operation in operations(qos) {
            match self.scheduler.priority(operation) {
                Ok((_, subpriority, preemption)) => {
                    assigned.push((preemption, subpriority, operation));
                }
                Err(why @ PriorityError::System(_)) => return tried("priority", Err(why)),
                Err(_) => {}
            }
        }
        // A smaller preemption priority is more urgent; within a lane, a greater subpriority is.
        let most_urgent = assigned.into_iter().min_by_key(|it| (it.0, Reverse(it.1), it.2));
        let Some((preemption, subpriority, operation)) = most_urgent else {
            return Ok(None);
        };
        let info = self.info(operation)?;
        Ok(Some(ConsumerDispatch {
            queue: Qos {
                lane: usize::try_from(preemption).unwrap_or(0).min(lanes.saturating_sub(1)),
                order_in_lane: u32::MAX - u32::try_from(subpriority).unwrap_or(0),
                execution: units(info.map_or(0, |info| info.worst_case_execution_time)),
                ..dispatch.queue.clone()
            },
            deadline: self.period(operation)?.or(dispatch.deadline),
            ..dispatch.clone()
        }))
    }

    /// Returns the descriptor of an operation; `None` if the service does not know the operation.
    fn info(&self, operation: i32) -> Result<Option<RtInfo>, SchedulingError> {
        match self.scheduler.get(operation) {
            Ok(info) => Ok(Some(info)),
            Err(why @ GetError::System(_)) => tried("get", Err(why)),
            Err(_) => Ok(None),
        }
    }

    /// Returns the mean time between two events of a supplier that observes the periods of its operations, and the
    /// number of these operations; `None` if none of them has a period.
    pub(crate) fn declared(&self, qos: &SupplierQos) -> Option<(Duration, u32)> {
        let operations = qos.publications.iter();
        let operations = operations.map(|one| one.dependency_info.rt_info);
        let operations: BTreeSet<i32> = operations.filter(|handle| *handle != 0).collect();
        let period = |at: &i32| self.period(*at).ok().flatten();
        let periods: Option<Vec<Duration>> = operations.iter().map(period).collect();
        let periods = periods.filter(|periods| !periods.is_empty())?;
        // Each operation sends one event per period, so the rates of the operations are added.
        let rate: f64 = periods.iter().map(|period| period.as_secs_f64().recip()).sum();
        let number = u32::try_from(periods.len()).unwrap_or(u32::MAX);
        Some((Duration::try_from_secs_f64(rate.recip()).ok()?, number))
    }

    /// Returns the period of an operation. If it has none, returns the shortest period of the operations on which it
    /// depends.
    fn period(&self, operation: i32) -> Result<Option<Duration>, SchedulingError> {
        let mut seen = BTreeSet::from([operation]);
        let mut next = vec![operation];
        let mut shortest: Option<u64> = None;
        while let Some(here) = next.pop() {
            let Some(info) = self.info(here)? else {
                return Ok(None);
            };
            match u64::try_from(info.period) {
                Ok(period @ 1..) => {
                    shortest = Some(shortest.map_or(period, |shortest| shortest.min(period)));
                }
                _ => {
                    let on = info.dependencies.iter().map(|it| it.rt_info_depended_on);
                    next.extend(on.filter(|&on| seen.len() < MOST_LOOKS && seen.insert(on)));
                }
            }
        }
        Ok(shortest.map(units))
    }

    fn edges_of(
        &self,
        consumer: u64,
        program: &Program,
        supplier: &SupplierQos,
    ) -> Vec<(i32, i32)> {
        let ours = self.consumers.lock().get(&consumer).cloned().unwrap_or_default();
        let mut edges = Vec::new();
        for one in &supplier.publications {
            let theirs = one.dependency_info.rt_info;
            if theirs != 0 && program.can_match(&one.event.header) {
                edges.extend(ours.iter().map(|channel| (*channel, theirs)));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Finds or creates an operation. An operation with a period belongs to a timer, and has a thread. The operation
    /// has the highest criticality and importance of its consumers. With lower values, a strategy that orders by
    /// criticality would make these consumers wait for all others.
    fn operation(
        &self,
        name: &str,
        period: i32,
        (criticality, importance): (CriticalityT, ImportanceT),
    ) -> Result<i32, SchedulingError> {
        let (handle, criticality, importance) = match self.scheduler.create(name) {
            Ok(handle) => (handle, criticality, importance),
            Err(CreateError::DuplicateName(_)) => {
                let handle = tried("lookup", self.scheduler.lookup(name))?;
                let before = tried("get", self.scheduler.get(handle))?;
                let more = (criticality.max(before.criticality), importance.max(before.importance));
                if more == (before.criticality, before.importance) {
                    return Ok(handle);
                }
                (handle, more.0, more.1)
            }
            Err(why) => return tried("create", Err(why)),
        };
        let done = self.scheduler.set(
            handle,
            criticality,
            0,
            0,
            0,
            period,
            importance,
            0,
            i32::from(period > 0),
            InfoTypeT::Operation,
        );
        tried("set", done).map(|()| handle)
    }

    fn depend(&self, dependent: i32, on: i32) -> Result<(), SchedulingError> {
        let mut edges = self.edges.lock();
        let edge = edges.entry((dependent, on)).or_default();
        edge.connections += 1;
        if std::mem::replace(&mut edge.told, true) {
            return Ok(());
        }
        drop(edges);
        let told = self.tell(dependent, on);
        if told.is_err()
            && let Some(edge) = self.edges.lock().get_mut(&(dependent, on))
        {
            // Record the failure, so that the next connection reports the dependency again.
            edge.told = false;
        }
        told
    }

    fn tell(&self, dependent: i32, on: i32) -> Result<(), SchedulingError> {
        // Do not add a dependency that exists, because that would invalidate a schedule that was computed with it.
        let info = tried("get", self.scheduler.get(dependent))?;
        let mut known = info.dependencies.iter();
        if known.any(|it| it.rt_info_depended_on == on && it.dependency_type == OneWayCall) {
            return Ok(());
        }
        let done = self.scheduler.add_dependency(dependent, on, 1, OneWayCall);
        tried("add_dependency", done)
    }
}

fn units(units: u64) -> Duration {
    Duration::from_nanos(units.saturating_mul(100))
}

/// Maximum number of operations that are visited to find a period.
const MOST_LOOKS: usize = 1_000;

/// Returns the operations of a consumer, without duplicates.
fn operations(qos: &ConsumerQos) -> Vec<i32> {
    let all = qos.dependencies.iter().map(|one| one.rt_info);
    let mut all: Vec<i32> = all.filter(|handle| *handle != 0).collect();
    all.sort_unstable();
    all.dedup();
    all
}
