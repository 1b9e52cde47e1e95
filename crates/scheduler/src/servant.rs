//! Servant of `RtecScheduler::Scheduler`.

use std::sync::Arc;

use oxorb::Servant;
use oxorb::servant::{ServedBy as _, escape};
use oxorb_sched::repository::{Assigned, Characteristics, Handle};
use oxorb_sched::service::Service;
use oxorb_sched::{Anomaly, Error};

use crate::rtec_base::{DependencyEnabledTypeT, DependencyInfo, DependencyTypeT};
use crate::rtec_scheduler::scheduler::*;
use crate::rtec_scheduler::{
    ConfigInfoSet, CriticalityT, DependencySet, DispatchingTypeT, HandleT, ImportanceT, InfoTypeT,
    OsPriority, PeriodT, PreemptionPriorityT, PreemptionSubpriorityT, QuantumT, RtInfo,
    RtInfoEnableStatePair, RtInfoEnabledTypeT, RtInfoSet, Scheduler, SchedulerRef,
    SchedulingAnomalySet, ThreadsT, Time,
};
use crate::{Refusal, Scheduling, wire};

/// Servant of the privileged section or of the application section.
pub(crate) struct Section {
    scheduling: Scheduling,
    /// Whether clients may compute, and read the results.
    privileged: bool,
    /// Whether changes are refused.
    read_only: bool,
}

/// Priorities returned by an operation.
type Priorities = (OsPriority, PreemptionSubpriorityT, PreemptionPriorityT);

impl Section {
    pub(crate) fn new(scheduling: &Scheduling, privileged: bool, read_only: bool) -> Section {
        Section { scheduling: scheduling.clone(), privileged, read_only }
    }

    /// Returns the section as a servant that escapes the characters of names that a client's code
    /// set lacks, so that every client can decode its sequences.
    pub(crate) fn servant(self) -> Arc<dyn Servant> {
        escape::servant(SchedulerRef::servant(self))
    }

    /// Changes the service for an operation of both sections.
    fn change<R, E: From<Refusal>>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Service) -> Result<R, Refusal>,
    ) -> Result<R, E> {
        if self.read_only {
            return Err(self.refuse(operation, Refusal::ReadOnly));
        }
        let done = self.scheduling.attempt(work);
        done.map_err(|refusal| self.refuse(operation, refusal))
    }

    fn look<R, E: From<Refusal>>(
        &self,
        operation: &'static str,
        look: impl FnOnce(&Service) -> Result<R, Error>,
    ) -> Result<R, E> {
        let seen = self.scheduling.look(look);
        seen.and_then(|seen| seen.map_err(Refusal::from))
            .map_err(|refusal| self.refuse(operation, refusal))
    }

    /// Reads the service for an operation of the privileged section only.
    fn privileged<R, E: From<Refusal>>(
        &self,
        operation: &'static str,
        look: impl FnOnce(&Service) -> Result<R, Error>,
    ) -> Result<R, E> {
        match self.privileged {
            true => self.look(operation, look),
            false => Err(self.refuse(operation, Refusal::Privileged)),
        }
    }

    fn refuse<E: From<Refusal>>(&self, operation: &'static str, refusal: Refusal) -> E {
        self.scheduling.tell(operation, &refusal);
        refusal.into()
    }

    /// Computes the schedule and returns what `result` extracts.
    fn compute<R, E: From<Refusal>>(
        &self,
        operation: &'static str,
        range: (i32, i32),
        result: impl FnOnce(&Service, Vec<Anomaly>) -> R,
    ) -> Result<R, E> {
        if !self.privileged {
            return Err(self.refuse(operation, Refusal::Privileged));
        }
        self.change(operation, |service| {
            let anomalies = service.compute(range.0, range.1)?;
            Ok(result(service, anomalies))
        })
    }
}

impl Scheduler for Section {
    fn create(&self, entry_point: &str) -> Result<HandleT, CreateError> {
        let entry_point = escape::incoming(entry_point);
        self.change("create", |service| create(service, &entry_point, self.scheduling.limits()))
    }

    fn lookup(&self, entry_point: &str) -> Result<HandleT, LookupError> {
        let entry_point = escape::incoming(entry_point);
        self.look("lookup", |service| Ok(service.lookup(&entry_point)?.0))
    }

    fn get(&self, handle: HandleT) -> Result<RtInfo, GetError> {
        self.look("get", |service| Ok(wire::info(service.get(Handle(handle))?)))
    }

    fn set(
        &self,
        handle: HandleT,
        criticality: CriticalityT,
        wc_time: Time,
        typical_time: Time,
        cached_time: Time,
        period: PeriodT,
        importance: ImportanceT,
        quantum: QuantumT,
        threads: ThreadsT,
        info_type: InfoTypeT,
    ) -> Result<(), SetError> {
        let said = RtInfo {
            handle,
            criticality,
            worst_case_execution_time: wc_time,
            typical_execution_time: typical_time,
            cached_execution_time: cached_time,
            period,
            importance,
            quantum,
            threads,
            info_type,
            ..nothing()
        };
        self.change("set", |service| {
            let said = all(service, &[said])?;
            Ok(service.set_all(&said)?)
        })
    }

    fn set_seq(&self, infos: &[RtInfo]) -> Result<(), SetSeqError> {
        self.change("set_seq", |service| {
            let said = all(service, infos)?;
            Ok(service.set_all(&said)?)
        })
    }

    fn replace_seq(&self, infos: &[RtInfo]) -> Result<(), ReplaceSeqError> {
        self.change("replace_seq", |service| {
            let said = all(service, infos)?;
            Ok(service.replace(&said)?)
        })
    }

    fn reset(
        &self,
        handle: HandleT,
        criticality: CriticalityT,
        wc_time: Time,
        typical_time: Time,
        cached_time: Time,
        period: PeriodT,
        importance: ImportanceT,
        quantum: QuantumT,
        threads: ThreadsT,
        info_type: InfoTypeT,
    ) -> Result<(), ResetError> {
        let said = RtInfo {
            handle,
            criticality,
            worst_case_execution_time: wc_time,
            typical_execution_time: typical_time,
            cached_execution_time: cached_time,
            period,
            importance,
            quantum,
            threads,
            info_type,
            ..nothing()
        };
        self.change("reset", |service| {
            let said = all(service, &[said])?;
            Ok(service.reset_all(&said)?)
        })
    }

    fn reset_seq(&self, infos: &[RtInfo]) -> Result<(), ResetSeqError> {
        self.change("reset_seq", |service| {
            let said = all(service, infos)?;
            Ok(service.reset_all(&said)?)
        })
    }

    fn add_dependency(
        &self,
        handle: HandleT,
        dependency: HandleT,
        number_of_calls: i32,
        dependency_type: DependencyTypeT,
    ) -> Result<(), AddDependencyError> {
        let most = self.scheduling.limits().dependencies;
        self.change("add_dependency", |service| {
            let calls = wire::calls(number_of_calls)?;
            if !service.is_run_time() && service.repository().dependencies().count() >= most {
                return Err(Refusal::TooMany { what: "dependencies", most });
            }
            let (handle, on) = (Handle(handle), Handle(dependency));
            Ok(service.add_dependency(handle, on, calls, dependency_type.into())?)
        })
    }

    fn remove_dependency(
        &self,
        handle: HandleT,
        dependency: HandleT,
        number_of_calls: i32,
        dependency_type: DependencyTypeT,
    ) -> Result<(), RemoveDependencyError> {
        self.change("remove_dependency", |service| {
            let calls = wire::calls(number_of_calls)?;
            let (handle, on) = (Handle(handle), Handle(dependency));
            Ok(service.remove_dependency(handle, on, calls, dependency_type.into())?)
        })
    }

    fn set_dependency_enable_state(
        &self,
        handle: HandleT,
        dependency: HandleT,
        number_of_calls: i32,
        dependency_type: DependencyTypeT,
        enabled: DependencyEnabledTypeT,
    ) -> Result<(), SetDependencyEnableStateError> {
        let said = DependencyInfo {
            dependency_type,
            number_of_calls,
            rt_info: handle,
            rt_info_depended_on: dependency,
            enabled,
        };
        self.change("set_dependency_enable_state", |service| {
            Ok(service.enable_dependencies(&[wire::to_dependency(&said)?])?)
        })
    }

    fn set_dependency_enable_state_seq(
        &self,
        dependencies: &[DependencyInfo],
    ) -> Result<(), SetDependencyEnableStateSeqError> {
        self.change("set_dependency_enable_state_seq", |service| {
            let said: Result<Vec<_>, _> = dependencies.iter().map(wire::to_dependency).collect();
            Ok(service.enable_dependencies(&said?)?)
        })
    }

    fn set_rt_info_enable_state(
        &self,
        handle: HandleT,
        enabled: RtInfoEnabledTypeT,
    ) -> Result<(), SetRtInfoEnableStateError> {
        self.change("set_rt_info_enable_state", |service| {
            Ok(service.enable(&[(Handle(handle), enabled.into())])?)
        })
    }

    fn set_rt_info_enable_state_seq(
        &self,
        pair_set: &[RtInfoEnableStatePair],
    ) -> Result<(), SetRtInfoEnableStateSeqError> {
        let said: Vec<_> =
            pair_set.iter().map(|pair| (Handle(pair.handle), pair.enabled.into())).collect();
        self.change("set_rt_info_enable_state_seq", |service| Ok(service.enable(&said)?))
    }

    fn priority(&self, handle: HandleT) -> Result<Priorities, PriorityError> {
        self.privileged("priority", |service| service.priority(Handle(handle)).map(priorities))
    }

    fn entry_point_priority(
        &self,
        entry_point: &str,
    ) -> Result<Priorities, EntryPointPriorityError> {
        let entry_point = escape::incoming(entry_point);
        self.privileged("entry_point_priority", |service| {
            service.entry_point_priority(&entry_point).map(priorities)
        })
    }

    fn compute_scheduling(
        &self,
        minimum_priority: i32,
        maximum_priority: i32,
    ) -> Result<
        (RtInfoSet, DependencySet, ConfigInfoSet, SchedulingAnomalySet),
        ComputeSchedulingError,
    > {
        let range = (minimum_priority, maximum_priority);
        self.compute("compute_scheduling", range, |service, anomalies| {
            (
                infos(service),
                dependencies(service),
                configs(service),
                anomalies.iter().map(wire::anomaly).collect(),
            )
        })
    }

    fn recompute_scheduling(
        &self,
        minimum_priority: i32,
        maximum_priority: i32,
    ) -> Result<SchedulingAnomalySet, RecomputeSchedulingError> {
        let range = (minimum_priority, maximum_priority);
        self.compute("recompute_scheduling", range, |_, anomalies| {
            anomalies.iter().map(wire::anomaly).collect()
        })
    }

    fn get_rt_info_set(&self) -> Result<RtInfoSet, GetRtInfoSetError> {
        self.look("get_rt_info_set", |service| Ok(infos(service)))
    }

    fn get_dependency_set(&self) -> Result<DependencySet, GetDependencySetError> {
        self.look("get_dependency_set", |service| Ok(dependencies(service)))
    }

    fn get_config_info_set(&self) -> Result<ConfigInfoSet, GetConfigInfoSetError> {
        self.privileged("get_config_info_set", |service| Ok(configs(service)))
    }

    fn dispatch_configuration(
        &self,
        p_priority: PreemptionPriorityT,
    ) -> Result<(OsPriority, DispatchingTypeT), DispatchConfigurationError> {
        self.privileged("dispatch_configuration", |service| {
            let (priority, dispatching) = service.dispatch_configuration(p_priority)?;
            Ok((priority, dispatching.into()))
        })
    }

    fn last_scheduled_priority(&self) -> Result<PreemptionPriorityT, LastScheduledPriorityError> {
        self.privileged("last_scheduled_priority", Service::last_scheduled_priority)
    }

    fn get_config_infos(&self) -> Result<ConfigInfoSet, GetConfigInfosError> {
        self.privileged("get_config_infos", |service| {
            Ok(service.levels()?.iter().map(wire::config).collect())
        })
    }
}

fn create(
    service: &mut Service,
    entry_point: &str,
    limits: &crate::Limits,
) -> Result<HandleT, Refusal> {
    if service.is_run_time() {
        let handle = service.create(entry_point);
        return match handle {
            Err(Error::UnknownName(name)) => Err(Refusal::NotAnalysed(name)),
            handle => Ok(handle?.0),
        };
    }
    let (octets, most) = (entry_point.len(), limits.name_octets);
    if octets > most {
        let why = format!("a name of {octets} octets is too long: the limit is {most}");
        return Err(Error::Invalid(why).into());
    }
    // If the name exists already, the exception is DuplicateName even at the limit.
    if service.repository().len() >= limits.operations && service.lookup(entry_point).is_err() {
        return Err(Refusal::TooMany { what: "operations", most: limits.operations });
    }
    Ok(service.create(entry_point)?.0)
}

/// Decodes infos and keeps the existing constraints, which the wire format does not carry.
fn all(service: &Service, infos: &[RtInfo]) -> Result<Vec<(Handle, Characteristics)>, Refusal> {
    let mut said = Vec::with_capacity(infos.len());
    for info in infos {
        let handle = Handle(info.handle);
        let before = &service.get(handle)?.characteristics;
        let says =
            Characteristics { constraints: before.constraints, ..wire::characteristics(info)? };
        said.push((handle, says));
    }
    Ok(said)
}

/// Returns an info with default values.
fn nothing() -> RtInfo {
    let none = oxorb_sched::repository::RtInfo {
        entry_point: String::new(),
        handle: Handle(0),
        characteristics: Characteristics::default(),
        dependencies: Vec::new(),
        assigned: None,
        enabled: Default::default(),
        volatile_token: 0,
    };
    wire::info(&none)
}

fn priorities(assigned: Assigned) -> Priorities {
    (assigned.os_priority, assigned.subpriority, assigned.preemption_priority)
}

fn infos(service: &Service) -> RtInfoSet {
    service.repository().infos().iter().map(wire::info).collect()
}

fn dependencies(service: &Service) -> DependencySet {
    let dependencies = service.repository().dependencies();
    dependencies.map(wire::dependency).collect()
}

/// Returns all queues, or none if there is no schedule.
fn configs(service: &Service) -> ConfigInfoSet {
    let levels = service.levels().unwrap_or_default();
    levels.iter().map(wire::config).collect()
}
