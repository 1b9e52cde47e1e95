//! A scheduling service elsewhere, of this or any other ORB, as Rust programs like it.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display};

use oxorb::Orb;
use oxorb_sched::repository::{Assigned, Dependency, Handle, Repository, RtInfo};
use oxorb_sched::{Anomaly, Level};

use crate::rtec_base::{DependencyEnabledTypeT, DependencyInfo};
use crate::rtec_scheduler::scheduler::{CreateError, EntryPointPriorityError, GetConfigInfosError};
use crate::rtec_scheduler::{RtInfo as WireInfo, SchedulerRef};
use crate::wire;

/// A scheduling service that may be another ORB's. Cheap to clone.
///
/// ```
/// use oxorb::Orb;
/// use oxorb_sched::repository::{CallKind, Characteristics, Repository};
/// use oxorb_sched::service::Service;
/// use oxorb_sched::{DispatchModel, Strategy};
/// use oxorb_scheduler::{Remote, Scheduling, serve};
///
/// let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
/// let service = Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band));
/// let served = serve(&server, &Scheduling::new(service))?;
/// let remote = Remote::new(served.scheduler().clone());
///
/// let mut operations = Repository::new();
/// let sample = operations.create("Sensor::sample")?;
/// let said = Characteristics { worst_case: 2_000_000, period: 50_000_000, ..Characteristics::default() };
/// operations.set(sample, said)?;
/// let filter = operations.create("Filter::update")?;
/// operations.add_dependency(filter, sample, 1, CallKind::OneWay)?;
///
/// assert_eq!(remote.load(&operations)?.created, 2);
/// assert!(remote.compute(1, 99)?.is_empty());
/// assert_eq!(remote.priority("Filter::update")?.unwrap().os_priority, 99);
/// assert_eq!(remote.repository()?.get(sample)?.characteristics, said);
/// # server.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Remote {
    scheduler: SchedulerRef,
}

/// Result of loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Operations that the service did not know.
    pub created: usize,
    /// Operations that it knew, and that are now as they were loaded.
    pub updated: usize,
    /// Dependencies that it did not know.
    pub dependencies: usize,
    /// Operations whose deadline, jitter, blocking or offset stayed behind: `RT_Info` has no fields for them.
    pub constrained: usize,
}

/// Why something could not be done with a service.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scheduling service: cannot {what}: {why}")]
pub struct RemoteError {
    what: String,
    why: String,
}

impl RemoteError {
    fn new(what: impl Display, why: &impl Display) -> RemoteError {
        let mut why = why.to_string();
        // Of a service that was not reached the ORB knows more than the exception says.
        if let Some(failure) = oxorb::last_failure()
            && failure.exception.to_string() == why
        {
            why = failure.to_string();
        }
        RemoteError { what: what.to_string(), why }
    }
}

impl fmt::Debug for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Adds what was tried.
fn tried<T, E: Display>(done: Result<T, E>, what: impl Display) -> Result<T, RemoteError> {
    done.map_err(|why| RemoteError::new(what, &why))
}

impl Remote {
    /// The service that a reference leads to.
    pub fn new(scheduler: SchedulerRef) -> Remote {
        Remote { scheduler }
    }

    /// Connects to a scheduling service by `IOR:`, `corbaloc:`, `corbaname:` or `file:`. Asks the
    /// object whether it is a scheduling service.
    ///
    /// # Errors
    /// It is not, or it cannot be reached.
    pub fn at(orb: &Orb, reference: &str) -> Result<Remote, oxorb::ResolveError> {
        orb.resolve::<SchedulerRef>(reference).map(Remote::new)
    }

    /// The operations as they are in IDL.
    pub fn scheduler(&self) -> &SchedulerRef {
        &self.scheduler
    }

    /// Makes the service know these operations and what they need, under its own handles: two calls for each operation,
    /// one for each dependency that it does not know yet. What else it knows stays.
    ///
    /// # Errors
    /// The first thing that the service refuses; what came before it is done.
    pub fn load(&self, operations: &Repository) -> Result<Loaded, RemoteError> {
        let mut loaded = Loaded::default();
        let mut theirs = HashMap::new();
        for info in operations.infos() {
            let name = &info.entry_point;
            let handle = match self.scheduler.create(name) {
                Ok(handle) => {
                    loaded.created += 1;
                    handle
                }
                Err(CreateError::DuplicateName(_)) => {
                    loaded.updated += 1;
                    tried(self.scheduler.lookup(name), format_args!("find {name:?}"))?
                }
                Err(why) => return Err(RemoteError::new(format_args!("create {name:?}"), &why)),
            };
            theirs.insert(info.handle, handle);
            self.set(handle, info)?;
            let constraints = info.characteristics.constraints;
            loaded.constrained += usize::from(constraints != Default::default());
        }
        let known = self.dependencies()?.into_iter().map(whether_or_not);
        let known: HashSet<DependencyInfo> = known.collect();
        for one in operations.dependencies() {
            let end = |ours| theirs.get(ours).copied().unwrap_or_default();
            let new = DependencyInfo {
                rt_info: end(&one.dependent),
                rt_info_depended_on: end(&one.on),
                ..wire::dependency(one)
            };
            if !known.contains(&whether_or_not(new)) {
                self.add(&new)?;
                loaded.dependencies += 1;
            }
        }
        Ok(loaded)
    }

    fn set(&self, handle: i32, info: &RtInfo) -> Result<(), RemoteError> {
        let said = wire::info(info);
        let done = self.scheduler.set(
            handle,
            said.criticality,
            said.worst_case_execution_time,
            said.typical_execution_time,
            said.cached_execution_time,
            said.period,
            said.importance,
            said.quantum,
            said.threads,
            said.info_type,
        );
        tried(done, format_args!("set {:?}", info.entry_point))
    }

    fn add(&self, new: &DependencyInfo) -> Result<(), RemoteError> {
        let done = self.scheduler.add_dependency(
            new.rt_info,
            new.rt_info_depended_on,
            new.number_of_calls,
            new.dependency_type,
        );
        tried(
            done,
            format_args!("make operation {} depend on {}", new.rt_info, new.rt_info_depended_on),
        )
    }

    fn dependencies(&self) -> Result<Vec<DependencyInfo>, RemoteError> {
        tried(self.scheduler.get_dependency_set(), "read dependencies")
    }

    /// All operations and dependencies of the service. Handles here count from 1 in the order of the service's list.
    ///
    /// # Errors
    /// It cannot be reached, or what it answers makes no sense.
    pub fn repository(&self) -> Result<Repository, RemoteError> {
        let infos = tried(self.scheduler.get_rt_info_set(), "read operations")?;
        let dependencies = self.dependencies()?;
        tried(joined(infos, &dependencies), "use what it holds")
    }

    /// Lets the service compute with thread priorities from `minimum` to `maximum`; gives what there is against the
    /// schedule.
    ///
    /// # Errors
    /// There is none: the exception says why.
    pub fn compute(&self, minimum: i32, maximum: i32) -> Result<Vec<Anomaly>, RemoteError> {
        let found = self.scheduler.recompute_scheduling(minimum, maximum);
        let found =
            tried(found, format_args!("compute with priorities from {minimum} to {maximum}"))?;
        Ok(found.into_iter().map(wire::to_anomaly).collect())
    }

    /// Returns what an operation was assigned; `None` while nothing is scheduled, and where the
    /// schedule leaves it out.
    ///
    /// # Errors
    /// The service does not know it, or cannot be reached.
    pub fn priority(&self, entry_point: &str) -> Result<Option<Assigned>, RemoteError> {
        match self.scheduler.entry_point_priority(entry_point) {
            Ok((os_priority, subpriority, preemption_priority)) => {
                Ok(Some(Assigned { os_priority, subpriority, preemption_priority }))
            }
            Err(EntryPointPriorityError::NotScheduled(_)) => Ok(None),
            Err(why) => {
                let what = format_args!("tell the priority of {entry_point:?}");
                Err(RemoteError::new(what, &why))
            }
        }
    }

    /// The queues of the schedule; `None` while nothing is scheduled.
    ///
    /// # Errors
    /// The service cannot be reached, or what it answers makes no sense.
    pub fn levels(&self) -> Result<Option<Vec<Level>>, RemoteError> {
        match self.scheduler.get_config_infos() {
            Ok(configs) => {
                let levels: Result<Vec<_>, _> = configs.iter().map(wire::level).collect();
                tried(levels, "use its queues").map(Some)
            }
            Err(GetConfigInfosError::NotScheduled(_)) => Ok(None),
            Err(why) => Err(RemoteError::new("read queues", &why)),
        }
    }
}

/// A dependency without whether it counts.
fn whether_or_not(it: DependencyInfo) -> DependencyInfo {
    DependencyInfo { enabled: DependencyEnabledTypeT::DependencyEnabled, ..it }
}

/// A repository of what arrived.
fn joined(
    infos: Vec<WireInfo>,
    dependencies: &[DependencyInfo],
) -> Result<Repository, oxorb_sched::Error> {
    let places = infos.iter().map(|info| info.handle).zip((1..).map(Handle));
    let places: HashMap<i32, Handle> = places.collect();
    let place = |theirs: Handle| {
        let found = places.get(&theirs.0).copied();
        found.ok_or(oxorb_sched::Error::UnknownHandle(theirs))
    };
    let mut made = Vec::with_capacity(infos.len());
    for info in infos {
        made.push(RtInfo {
            characteristics: wire::characteristics(&info)?,
            handle: place(Handle(info.handle))?,
            dependencies: Vec::new(),
            assigned: None,
            enabled: info.enabled.into(),
            volatile_token: info.volatile_token,
            entry_point: info.entry_point,
        });
    }
    for one in dependencies {
        let one = wire::to_dependency(one)?;
        let one = Dependency { dependent: place(one.dependent)?, on: place(one.on)?, ..one };
        // The place was found, and places count from 1.
        made[one.dependent.0 as usize - 1].dependencies.push(one);
    }
    Repository::of(made)
}
