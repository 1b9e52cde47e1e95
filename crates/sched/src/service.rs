//! Scheduling service: a repository and its schedule behind one interface, for configuration runs
//! and for run time.
//!
//! In a configuration run an application registers its operations and has the schedule computed. At
//! run time the same code runs against the resulting table: `create` looks operations up, `set` and
//! dependencies change nothing, and `compute` only checks that the registered operations are the
//! analysed ones.

use crate::anomaly::{Anomaly, Severity};
use crate::error::Error;
use crate::repository::{
    Assigned, CallKind, Characteristics, Dependency, Enabled, Handle, Repository, RtInfo, Section,
};
use crate::schedule::{Level, OsPriorities, Schedule};
use crate::strategy::{DispatchModel, Dispatching, InputMapping, OutputMapping};

/// Input mapping that can be shared between threads.
pub type Input = Box<dyn InputMapping + Send + Sync>;

/// Output mapping that can be shared between threads.
pub type Output = Box<dyn OutputMapping + Send + Sync>;

/// Scheduling service; see the [module](self).
pub struct Service {
    repository: Repository,
    computed: Option<Computed>,
    face: Face,
}

/// Result of the last computation.
struct Computed {
    levels: Vec<Level>,
    /// Least and greatest thread priority.
    range: (i32, i32),
}

enum Face {
    Configuration {
        input: Input,
        output: Output,
    },
    RunTime {
        /// For each operation of the table, whether the application has created it.
        registered: Vec<bool>,
    },
}

/// Result of an off-line analysis: the operations with their priorities, and the queues.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Operations, in the order of their handles.
    pub operations: Vec<(String, Characteristics, Option<Assigned>)>,
    /// Queues.
    pub levels: Vec<Level>,
}

impl Service {
    /// Returns a service for configuration runs.
    ///
    /// ```
    /// use oxorb_sched::repository::Characteristics;
    /// use oxorb_sched::service::Service;
    /// use oxorb_sched::{DispatchModel, Error, Strategy};
    ///
    /// let mut service = Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band));
    /// let sample = service.create("Sensor::sample")?;
    /// assert_eq!(service.priority(sample), Err(Error::NotScheduled));
    /// service.set(sample, Characteristics { worst_case: 1, period: 5, ..Characteristics::default() })?;
    /// service.compute(1, 99)?;
    /// assert_eq!(service.priority(sample)?.os_priority, 99);
    ///
    /// let mut at_run_time = Service::run_time(service.table()?)?;
    /// let sample = at_run_time.create("Sensor::sample")?;
    /// assert_eq!(at_run_time.priority(sample)?.os_priority, 99);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn configuration(input: Input, output: Output) -> Service {
        Service {
            repository: Repository::new(),
            computed: None,
            face: Face::Configuration { input, output },
        }
    }

    /// Returns a service for run time, with the table of a configuration run.
    ///
    /// # Errors
    /// An operation occurs twice in the table, or a value is out of range.
    pub fn run_time(table: Table) -> Result<Service, Error> {
        let mut repository = Repository::with_limit(table.operations.len());
        let mut scheduled = Vec::new();
        for (name, characteristics, assigned) in &table.operations {
            let handle = repository.create(name)?;
            repository.set(handle, *characteristics)?;
            scheduled.extend(assigned.map(|assigned| (handle, assigned)));
        }
        repository.assign(scheduled)?;
        let priorities = || table.levels.iter().map(|level| level.os_priority);
        Ok(Service {
            face: Face::RunTime { registered: vec![false; repository.len()] },
            repository,
            computed: Some(Computed {
                range: (priorities().min().unwrap_or(0), priorities().max().unwrap_or(0)),
                levels: table.levels,
            }),
        })
    }

    /// Returns the computed table, for [`run_time`](Self::run_time).
    ///
    /// # Errors
    /// [`NotScheduled`](Error::NotScheduled).
    pub fn table(&self) -> Result<Table, Error> {
        let operations = self.repository.infos().iter();
        Ok(Table {
            levels: self.levels()?.to_vec(),
            operations: operations
                .map(|info| (info.entry_point.clone(), info.characteristics, info.assigned))
                .collect(),
        })
    }

    /// Reports whether this service is for run time.
    pub fn is_run_time(&self) -> bool {
        matches!(self.face, Face::RunTime { .. })
    }

    /// Returns the name of the strategy; `None` at run time, which does not need it.
    pub fn strategy(&self) -> Option<&str> {
        match &self.face {
            Face::Configuration { input, .. } => Some(input.name()),
            Face::RunTime { .. } => None,
        }
    }

    /// Returns the dispatching model, in configuration runs.
    pub fn model(&self) -> Option<DispatchModel> {
        match &self.face {
            Face::Configuration { output, .. } => Some(output.model()),
            Face::RunTime { .. } => None,
        }
    }

    /// Replaces all operations, as if the given ones had been created one by one, and discards the
    /// schedule. Use this for operations from a file or a previous process of the service. Changes nothing at run
    /// time.
    pub fn load(&mut self, mut repository: Repository) {
        if let Face::Configuration { .. } = self.face {
            repository.forget_schedule();
            self.repository = repository;
            self.computed = None;
        }
    }

    /// Merges operations by name: creates or overwrites each given operation and adds its missing
    /// dependencies; everything else stays. Changes nothing at run time.
    ///
    /// # Errors
    /// [`Full`](Error::Full); the operations before it are merged.
    pub fn merge(&mut self, operations: &Repository) -> Result<(), Error> {
        if self.is_run_time() {
            return Ok(());
        }
        self.computed = None;
        let mut handles = Vec::with_capacity(operations.len());
        for info in operations.infos() {
            let handle = match self.repository.lookup(&info.entry_point) {
                Ok(handle) => handle,
                Err(_) => self.repository.create(&info.entry_point)?,
            };
            self.repository.set(handle, info.characteristics)?;
            self.repository.enable(&[(handle, info.enabled)])?;
            handles.push(handle);
        }
        let here = |theirs: Handle| {
            let place = theirs.index().and_then(|at| handles.get(at));
            place.copied().ok_or(Error::UnknownHandle(theirs))
        };
        for section in operations.sections() {
            let section = Section { operation: here(section.operation)?, ..section.clone() };
            if !self.repository.sections().contains(&section) {
                self.repository.add_section(section)?;
            }
        }
        if !operations.sections().is_empty() {
            self.repository.set_protocol(operations.protocol());
        }
        for one in operations.dependencies() {
            let one = Dependency { dependent: here(one.dependent)?, on: here(one.on)?, ..*one };
            // If the dependency does not exist, add it. Then enable or disable it as in `operations`.
            if self.repository.enable_dependencies(&[one]).is_err() {
                let Dependency { dependent, on, calls, kind, .. } = one;
                self.repository.add_dependency(dependent, on, calls, kind)?;
                self.repository.enable_dependencies(&[one])?;
            }
        }
        Ok(())
    }

    /// Creates an operation; at run time, looks it up in the table.
    ///
    /// # Errors
    /// [`DuplicateName`](Error::DuplicateName); at run time [`UnknownName`](Error::UnknownName).
    pub fn create(&mut self, entry_point: &str) -> Result<Handle, Error> {
        match &mut self.face {
            Face::Configuration { .. } => {
                let handle = self.repository.create(entry_point)?;
                self.computed = None;
                Ok(handle)
            }
            Face::RunTime { registered } => {
                let handle = self.repository.lookup(entry_point)?;
                if let Some(registered) = handle.index().and_then(|at| registered.get_mut(at)) {
                    *registered = true;
                }
                Ok(handle)
            }
        }
    }

    /// Returns the handle of a name.
    ///
    /// # Errors
    /// [`UnknownName`](Error::UnknownName).
    pub fn lookup(&self, entry_point: &str) -> Result<Handle, Error> {
        self.repository.lookup(entry_point)
    }

    /// Returns the descriptor of an operation.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle).
    pub fn get(&self, handle: Handle) -> Result<&RtInfo, Error> {
        self.repository.get(handle)
    }

    /// Sets the characteristics of an operation as [`Repository::set`] does; at run time only checks the handle.
    ///
    /// # Errors
    /// As for [`Repository::set`].
    pub fn set(&mut self, handle: Handle, said: Characteristics) -> Result<(), Error> {
        self.set_all(&[(handle, said)])
    }

    /// Sets infos as [`Repository::set_all`] does; at run time only checks the handles.
    ///
    /// # Errors
    /// As for [`Repository::set_all`].
    pub fn set_all(&mut self, said: &[(Handle, Characteristics)]) -> Result<(), Error> {
        self.change(handles(said), |repository| repository.set_all(said))
    }

    /// Sets infos as [`Repository::reset_all`] does; at run time only checks the handles.
    ///
    /// # Errors
    /// As for [`Repository::reset_all`].
    pub fn reset_all(&mut self, said: &[(Handle, Characteristics)]) -> Result<(), Error> {
        self.change(handles(said), |repository| repository.reset_all(said))
    }

    /// Replaces infos as [`Repository::replace`] does; at run time only checks the handles.
    ///
    /// # Errors
    /// As for [`Repository::replace`].
    pub fn replace(&mut self, said: &[(Handle, Characteristics)]) -> Result<(), Error> {
        self.change(handles(said), |repository| repository.replace(said))
    }

    /// Adds a dependency as [`Repository::add_dependency`] does; at run time only checks the
    /// handles.
    ///
    /// # Errors
    /// As for [`Repository::add_dependency`].
    pub fn add_dependency(
        &mut self,
        dependent: Handle,
        on: Handle,
        calls: u32,
        kind: CallKind,
    ) -> Result<(), Error> {
        self.change([dependent, on], |repository| {
            repository.add_dependency(dependent, on, calls, kind)
        })
    }

    /// Removes a dependency as [`Repository::remove_dependency`] does; at run time only checks the
    /// handles.
    ///
    /// # Errors
    /// As for [`Repository::remove_dependency`].
    pub fn remove_dependency(
        &mut self,
        dependent: Handle,
        on: Handle,
        calls: u32,
        kind: CallKind,
    ) -> Result<(), Error> {
        self.change([dependent, on], |repository| {
            repository.remove_dependency(dependent, on, calls, kind)
        })
    }

    /// Enables or disables dependencies as [`Repository::enable_dependencies`] does; at run time
    /// only checks the handles.
    ///
    /// # Errors
    /// As for [`Repository::enable_dependencies`].
    pub fn enable_dependencies(&mut self, said: &[Dependency]) -> Result<(), Error> {
        let handles = said.iter().flat_map(|one| [one.dependent, one.on]);
        self.change(handles, |repository| repository.enable_dependencies(said))
    }

    /// Enables or disables operations as [`Repository::enable`] does; at run time only checks the
    /// handles.
    ///
    /// # Errors
    /// As for [`Repository::enable`].
    pub fn enable(&mut self, said: &[(Handle, Enabled)]) -> Result<(), Error> {
        self.change(handles(said), |repository| repository.enable(said))
    }

    /// Runs `work` on the repository and discards the schedule; at run time only checks the
    /// handles.
    fn change(
        &mut self,
        handles: impl IntoIterator<Item = Handle>,
        work: impl FnOnce(&mut Repository) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.is_run_time() {
            let mut handles = handles.into_iter();
            return handles.try_for_each(|handle| self.repository.get(handle).map(|_| ()));
        }
        work(&mut self.repository)?;
        self.computed = None;
        Ok(())
    }

    /// Computes the schedule with thread priorities from `minimum` to `maximum` and returns its
    /// anomalies. At run time only checks that every operation of the table is registered and that
    /// the priorities of the table are in the range.
    ///
    /// A cycle of calls is a fatal anomaly and not an error, as the IDL has no exception for it in this operation;
    /// nothing is scheduled then.
    ///
    /// # Errors
    /// [`UtilizationBoundExceeded`](Error::UtilizationBoundExceeded),
    /// [`InsufficientThreadPriorityLevels`](Error::InsufficientThreadPriorityLevels),
    /// [`Invalid`](Error::Invalid), and at run time
    /// [`TaskCountMismatch`](Error::TaskCountMismatch).
    pub fn compute(&mut self, minimum: i32, maximum: i32) -> Result<Vec<Anomaly>, Error> {
        let (input, output) = match &self.face {
            Face::Configuration { input, output } => (input, output),
            Face::RunTime { registered } => {
                check_table(registered, self.levels()?, minimum, maximum)?;
                return Ok(Vec::new());
            }
        };
        let priorities = OsPriorities::range(minimum, maximum)?;
        self.computed = None;
        self.repository.forget_schedule();
        let schedule = match Schedule::compute(&self.repository, &**input, &**output, &priorities) {
            Ok(schedule) => schedule,
            Err(Error::Cycles(cycles)) => {
                let fatal = cycles.iter().map(|cycle| {
                    let why = format!("cyclic dependencies: {cycle}");
                    Anomaly::new(Severity::Fatal, cycle.0.first().map(String::as_str), why)
                });
                return Ok(fatal.collect());
            }
            Err(error) => return Err(error),
        };
        schedule.check()?;
        let rows = schedule.assignments.iter();
        self.repository.assign(rows.map(|row| (row.handle, row.assigned)))?;
        self.computed = Some(Computed { levels: schedule.levels, range: (minimum, maximum) });
        Ok(schedule.anomalies)
    }

    /// Returns the priorities assigned to an operation; O(1).
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle), [`NotScheduled`](Error::NotScheduled), [`LeftOut`](Error::LeftOut).
    pub fn priority(&self, handle: Handle) -> Result<Assigned, Error> {
        let info = self.repository.get(handle)?;
        self.levels()?;
        let left_out = || Error::LeftOut(info.entry_point.clone());
        info.assigned.ok_or_else(left_out)
    }

    /// Returns the priorities assigned to an operation, by its name.
    ///
    /// # Errors
    /// [`UnknownName`](Error::UnknownName), [`NotScheduled`](Error::NotScheduled), [`LeftOut`](Error::LeftOut).
    pub fn entry_point_priority(&self, entry_point: &str) -> Result<Assigned, Error> {
        self.priority(self.repository.lookup(entry_point)?)
    }

    /// Returns the thread priority and the order of a queue (paper 3, 3.4.2).
    ///
    /// # Errors
    /// [`NotScheduled`](Error::NotScheduled), [`UnknownPriorityLevel`](Error::UnknownPriorityLevel).
    pub fn dispatch_configuration(
        &self,
        preemption_priority: i32,
    ) -> Result<(i32, Dispatching), Error> {
        let levels = self.levels()?;
        let level = usize::try_from(preemption_priority).ok().and_then(|at| levels.get(at));
        let level = level.ok_or(Error::UnknownPriorityLevel(preemption_priority))?;
        Ok((level.os_priority, level.dispatching))
    }

    /// Returns the least urgent preemption priority; -1 if there are no queues.
    ///
    /// # Errors
    /// [`NotScheduled`](Error::NotScheduled).
    pub fn last_scheduled_priority(&self) -> Result<i32, Error> {
        let last = self.levels()?.last();
        Ok(last.map_or(-1, |level| level.preemption_priority))
    }

    /// Returns all queues.
    ///
    /// # Errors
    /// [`NotScheduled`](Error::NotScheduled).
    pub fn levels(&self) -> Result<&[Level], Error> {
        let computed = self.computed.as_ref().ok_or(Error::NotScheduled)?;
        Ok(&computed.levels)
    }

    /// Returns the lowest and the highest thread priority of the last computation; at run time those of the table.
    ///
    /// # Errors
    /// [`NotScheduled`](Error::NotScheduled).
    pub fn range(&self) -> Result<(i32, i32), Error> {
        let computed = self.computed.as_ref().ok_or(Error::NotScheduled)?;
        Ok(computed.range)
    }

    /// Returns all operations and dependencies.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Deletes all operations and the schedule of a configuration run. At run time the table stays,
    /// and all registrations are cleared.
    pub fn destroy(&mut self) {
        match &mut self.face {
            Face::Configuration { .. } => {
                self.repository.destroy();
                self.computed = None;
            }
            Face::RunTime { registered } => registered.fill(false),
        }
    }
}

fn handles<T>(said: &[(Handle, T)]) -> impl Iterator<Item = Handle> {
    said.iter().map(|&(handle, _)| handle)
}

fn check_table(
    registered: &[bool],
    levels: &[Level],
    minimum: i32,
    maximum: i32,
) -> Result<(), Error> {
    let many = registered.iter().filter(|&&registered| registered).count();
    if many != registered.len() {
        return Err(Error::TaskCountMismatch { analysed: registered.len(), registered: many });
    }
    let available =
        levels.iter().filter(|level| (minimum..=maximum).contains(&level.os_priority)).count();
    match available == levels.len() {
        true => Ok(()),
        false => Err(Error::InsufficientThreadPriorityLevels { needed: levels.len(), available }),
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("run_time", &self.is_run_time())
            .field("operations", &self.repository.len())
            .field("levels", &self.levels().ok().map(<[Level]>::len))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Strategy;

    fn service() -> Service {
        Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band))
    }

    fn said(worst_case: u64, period: u64) -> Characteristics {
        Characteristics { worst_case, period, ..Characteristics::default() }
    }

    #[test]
    fn nothing_is_scheduled_before_it_is_computed_nor_after_a_change() {
        let mut service = service();
        let a = service.create("a").unwrap();
        service.set(a, said(1, 10)).unwrap();
        assert_eq!(service.levels(), Err(Error::NotScheduled));
        assert_eq!(service.dispatch_configuration(0), Err(Error::NotScheduled));
        assert_eq!(service.compute(1, 9), Ok(vec![]));
        assert_eq!(service.dispatch_configuration(0), Ok((9, Dispatching::Static)));
        assert_eq!(service.dispatch_configuration(1), Err(Error::UnknownPriorityLevel(1)));
        assert_eq!(service.last_scheduled_priority(), Ok(0));
        service.create("b").unwrap();
        assert_eq!(service.priority(a), Err(Error::NotScheduled));
        assert_eq!(service.priority(Handle(9)), Err(Error::UnknownHandle(Handle(9))));
        service.destroy();
        assert!(service.repository().is_empty());
    }

    #[test]
    fn what_has_no_rate_has_no_priority() {
        let mut service = service();
        let [a, b] = ["a", "b"].map(|name| service.create(name).unwrap());
        service.set(a, said(1, 10)).unwrap();
        let anomalies = service.compute(1, 9).unwrap();
        assert_eq!(anomalies[0].operation.as_deref(), Some("b"));
        assert_eq!(service.priority(a).map(|found| found.os_priority), Ok(9));
        assert_eq!(service.priority(b), Err(Error::LeftOut("b".into())));
        let again = Service::run_time(service.table().unwrap()).unwrap();
        assert_eq!(again.priority(b), Err(Error::LeftOut("b".into())));
        // A new schedule discards all priorities of the previous one, even those of operations that it leaves out.
        service.enable(&[(a, Enabled::Disabled)]).unwrap();
        service.compute(1, 9).unwrap();
        assert_eq!(service.priority(a), Err(Error::LeftOut("a".into())));
        assert_eq!(service.last_scheduled_priority(), Ok(-1));
    }

    #[test]
    fn what_is_loaded_replaces_and_is_not_scheduled() {
        let mut service = service();
        let a = service.create("a").unwrap();
        service.set(a, said(1, 10)).unwrap();
        service.compute(3, 9).unwrap();
        assert_eq!(service.range(), Ok((3, 9)));
        let kept = service.repository().clone();
        service.destroy();
        service.load(kept);
        assert_eq!(service.range(), Err(Error::NotScheduled));
        assert_eq!(service.get(a).unwrap().assigned, None);
        service.compute(3, 9).unwrap();
        assert_eq!(service.priority(a).unwrap().os_priority, 9);
    }

    #[test]
    fn merging_is_by_name_and_adds_what_is_missing() {
        let mut service = service();
        let mine = service.create("mine").unwrap();
        let shared = service.create("shared").unwrap();
        service.set(shared, said(1, 10)).unwrap();
        let mut more = Repository::new();
        let [shared, new] = ["shared", "new"].map(|name| more.create(name).unwrap());
        more.set(shared, said(2, 20)).unwrap();
        more.add_dependency(shared, new, 3, CallKind::TwoWay).unwrap();
        for _ in 0..2 {
            service.merge(&more).unwrap();
            let infos = service.repository().infos();
            let names: Vec<&str> = infos.iter().map(|info| &*info.entry_point).collect();
            assert_eq!(names, ["mine", "shared", "new"]);
            assert_eq!(infos[1].characteristics, said(2, 20));
            let dependencies: Vec<_> = service.repository().dependencies().collect();
            assert_eq!(dependencies.len(), 1);
            assert_eq!((dependencies[0].dependent, dependencies[0].on), (Handle(2), Handle(3)));
        }
        assert_eq!(service.lookup("mine"), Ok(mine));
    }

    #[test]
    fn rings_are_fatal_anomalies() {
        let mut service = service();
        let [a, b] = ["a", "b"].map(|name| service.create(name).unwrap());
        service.add_dependency(a, b, 1, CallKind::TwoWay).unwrap();
        service.add_dependency(b, a, 1, CallKind::TwoWay).unwrap();
        let anomalies = service.compute(1, 9).unwrap();
        assert_eq!(anomalies[0].severity, Severity::Fatal);
        assert_eq!(anomalies[0].description, "cyclic dependencies: a -> b -> a");
        assert_eq!(service.levels(), Err(Error::NotScheduled));
    }

    #[test]
    fn at_run_time_everything_analysed_must_register_and_nothing_changes() {
        let mut configured = service();
        for (name, period) in [("a", 10), ("b", 20)] {
            let handle = configured.create(name).unwrap();
            configured.set(handle, said(1, period)).unwrap();
        }
        configured.compute(1, 9).unwrap();
        let mut service = Service::run_time(configured.table().unwrap()).unwrap();
        assert_eq!(service.create("c"), Err(Error::UnknownName("c".into())));
        let a = service.create("a").unwrap();
        let mismatch = Error::TaskCountMismatch { analysed: 2, registered: 1 };
        assert_eq!(service.compute(1, 9), Err(mismatch));
        service.create("b").unwrap();
        service.set(a, said(7, 7)).unwrap();
        assert_eq!(service.get(a).unwrap().characteristics, said(1, 10));
        assert_eq!(service.compute(1, 9), Ok(vec![]));
        assert_eq!(
            service.compute(1, 8).unwrap_err().exception(),
            "INSUFFICIENT_THREAD_PRIORITY_LEVELS"
        );
        assert_eq!(service.priority(a).unwrap().os_priority, 9);
    }
}
