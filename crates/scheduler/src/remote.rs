//! Client of a scheduling service of this or any other ORB.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display};

use oxorb::client::{Failure, Raises};
use oxorb::{Orb, SystemException};
use oxorb_sched::repository::{Assigned, Dependency, Handle, Repository, RtInfo};
use oxorb_sched::{Anomaly, Level};

use crate::rtec_base::{DependencyEnabledTypeT, DependencyInfo};
use crate::rtec_scheduler::scheduler::{CreateError, EntryPointPriorityError, GetConfigInfosError};
use crate::rtec_scheduler::{RtInfo as WireInfo, SchedulerRef};
use crate::wire;

/// Client of a scheduling service, possibly of another ORB. Cheap to clone.
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

/// Counts of the operations and dependencies loaded into a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Number of operations that the service did not have.
    pub created: usize,
    /// Number of operations that the service had and that were overwritten.
    pub updated: usize,
    /// Number of dependencies that the service did not have.
    pub dependencies: usize,
    /// Number of operations whose deadline, jitter, blocking or offset was not loaded: `RT_Info`
    /// has no fields for them.
    pub constrained: usize,
}

/// Error of an operation on a remote service.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scheduling service: cannot {what}: {why}")]
pub struct RemoteError {
    what: String,
    why: String,
}

impl RemoteError {
    fn new(what: impl Display, why: &(impl Display + Raises<SystemException>)) -> RemoteError {
        // If the call did not reach the service, the ORB knows details that the exception does not carry.
        let failure = why.exception().and_then(Failure::of);
        let why = failure.map_or_else(|| why.to_string(), |failure| failure.to_string());
        RemoteError { what: what.to_string(), why }
    }

    /// Returns the error for an answer that was received but cannot be used.
    fn unusable(what: &str, why: &impl Display) -> RemoteError {
        RemoteError { what: what.to_owned(), why: why.to_string() }
    }
}

impl fmt::Debug for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Adds the attempted action to an error.
fn tried<T, E: Display + Raises<SystemException>>(
    done: Result<T, E>,
    what: impl Display,
) -> Result<T, RemoteError> {
    done.map_err(|why| RemoteError::new(what, &why))
}

impl Remote {
    /// Returns a client of the referenced service.
    pub fn new(scheduler: SchedulerRef) -> Remote {
        Remote { scheduler }
    }

    /// Connects to a scheduling service by `IOR:`, `corbaloc:`, `corbaname:` or `file:`. Checks the
    /// type of the object.
    ///
    /// # Errors
    /// The object is not a scheduling service, or cannot be reached.
    pub fn at(orb: &Orb, reference: &str) -> Result<Remote, oxorb::ResolveError> {
        orb.resolve::<SchedulerRef>(reference).map(Remote::new)
    }

    /// Returns the reference, with the operations of the IDL.
    pub fn scheduler(&self) -> &SchedulerRef {
        &self.scheduler
    }

    /// Creates or updates these operations and their dependencies in the service, which assigns its own handles. Makes
    /// two calls for each new operation, three for each existing one, one for each new dependency, and one to read the
    /// existing dependencies. Other operations of the service are kept.
    ///
    /// # Errors
    /// The first refusal of the service. Earlier changes are kept.
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

    /// Returns all operations and dependencies of the service. The returned handles count from 1 in
    /// the order of the service's list.
    ///
    /// # Errors
    /// The service cannot be reached, or its answer is inconsistent.
    pub fn repository(&self) -> Result<Repository, RemoteError> {
        let infos = tried(self.scheduler.get_rt_info_set(), "read operations")?;
        let dependencies = self.dependencies()?;
        joined(infos, &dependencies)
            .map_err(|why| RemoteError::unusable("use the operations of the service", &why))
    }

    /// Makes the service compute with thread priorities from `minimum` to `maximum`; returns the
    /// anomalies of the schedule.
    ///
    /// # Errors
    /// The service refuses to compute, or cannot be reached.
    pub fn compute(&self, minimum: i32, maximum: i32) -> Result<Vec<Anomaly>, RemoteError> {
        let found = self.scheduler.recompute_scheduling(minimum, maximum);
        let found =
            tried(found, format_args!("compute with priorities from {minimum} to {maximum}"))?;
        Ok(found.into_iter().map(wire::to_anomaly).collect())
    }

    /// Returns the priorities of an operation; `None` if there is no schedule or it leaves the operation out.
    ///
    /// # Errors
    /// The service does not have the operation, or cannot be reached.
    pub fn priority(&self, entry_point: &str) -> Result<Option<Assigned>, RemoteError> {
        match self.scheduler.entry_point_priority(entry_point) {
            Ok((os_priority, subpriority, preemption_priority)) => {
                Ok(Some(Assigned { os_priority, subpriority, preemption_priority }))
            }
            Err(EntryPointPriorityError::NotScheduled(_)) => Ok(None),
            Err(why) => {
                let what = format_args!("report the priority of {entry_point:?}");
                Err(RemoteError::new(what, &why))
            }
        }
    }

    /// Returns the queues of the schedule; `None` if there is no schedule.
    ///
    /// # Errors
    /// The service cannot be reached, or its answer is inconsistent.
    pub fn levels(&self) -> Result<Option<Vec<Level>>, RemoteError> {
        match self.scheduler.get_config_infos() {
            Ok(configs) => {
                let levels: Result<Vec<_>, _> = configs.iter().map(wire::level).collect();
                levels.map(Some).map_err(|why| RemoteError::unusable("use its queues", &why))
            }
            Err(GetConfigInfosError::NotScheduled(_)) => Ok(None),
            Err(why) => Err(RemoteError::new("read queues", &why)),
        }
    }
}

/// Returns the dependency as enabled, so that dependencies can be compared regardless of whether they are enabled.
fn whether_or_not(it: DependencyInfo) -> DependencyInfo {
    DependencyInfo { enabled: DependencyEnabledTypeT::DependencyEnabled, ..it }
}

/// Builds a repository from received operations and dependencies.
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
        // `place` has assigned the handle of an element of `made`; handles count from 1.
        made[one.dependent.0 as usize - 1].dependencies.push(one);
    }
    Repository::of(made)
}
