//! Repository of descriptors (`RT_Info`): the characteristics and dependencies of operations (paper 0, 4.5; paper
//! 3, 3.4.1).

mod info;
mod locks;

use std::collections::HashMap;

pub use info::{
    Assigned, CallKind, Characteristics, Constraints, Dependency, Enabled, Handle, InfoType, RtInfo,
};
pub use locks::{LockingProtocol, Section, UnknownProtocol};

use crate::error::Error;
use crate::time::LONGEST;

/// Descriptors of the operations of one application.
///
/// Grows up to the limit given to [`with_limit`](Self::with_limit); takes no lock. Looking up a
/// handle is an array access, looking up a name one hash lookup.
///
/// ```
/// use oxorb_sched::repository::{CallKind, Characteristics, Repository};
/// use oxorb_sched::time::MILLISECOND;
///
/// let mut repository = Repository::new();
/// let sensor = repository.create("nav::Sensor::sample")?;
/// let display = repository.create("nav::Display::show")?;
/// repository.set(
///     sensor,
///     Characteristics {
///         worst_case: 2 * MILLISECOND,
///         period: 50 * MILLISECOND,
///         threads: 1,
///         ..Characteristics::default()
///     },
/// )?;
/// // The sensor pushes one event to the display in each of its periods.
/// repository.add_dependency(display, sensor, 1, CallKind::OneWay)?;
/// assert_eq!(repository.lookup("nav::Display::show"), Ok(display));
/// # Ok::<(), oxorb_sched::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Repository {
    infos: Vec<RtInfo>,
    names: HashMap<String, Handle>,
    most: usize,
    /// Critical sections, in the order of adding.
    sections: Vec<Section>,
    protocol: LockingProtocol,
}

impl Default for Repository {
    fn default() -> Self {
        Repository::new()
    }
}

impl Repository {
    /// Default limit on the number of operations.
    pub const MOST: usize = 100_000;

    /// Maximum number of dependencies of one operation.
    pub const MOST_DEPENDENCIES: usize = 10_000;

    /// Maximum number of critical sections.
    pub const MOST_SECTIONS: usize = 100_000;

    /// Returns an empty repository for at most [`MOST`](Self::MOST) operations.
    pub fn new() -> Repository {
        Repository::with_limit(Repository::MOST)
    }

    /// Returns an empty repository for at most `most` operations.
    pub fn with_limit(most: usize) -> Repository {
        Repository {
            infos: Vec::new(),
            names: HashMap::new(),
            most: most.min(i32::MAX as usize - 1),
            sections: Vec::new(),
            protocol: LockingProtocol::Inheritance,
        }
    }

    /// Returns a repository with exactly these descriptors, in the order of their handles, which count from 1.
    ///
    /// ```
    /// use oxorb_sched::Repository;
    /// use oxorb_sched::repository::Handle;
    ///
    /// let mut first = Repository::new();
    /// first.create("a")?;
    /// let second = Repository::of(first.infos().to_vec())?;
    /// assert_eq!(second.lookup("a"), Ok(Handle(1)));
    /// # Ok::<(), oxorb_sched::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create`](Self::create), [`set`](Self::set) and
    /// [`add_dependency`](Self::add_dependency); [`Invalid`](Error::Invalid) if a handle does not
    /// match its index, or a dependency belongs to another info.
    pub fn of(infos: Vec<RtInfo>) -> Result<Repository, Error> {
        let mut repository = Repository::new();
        for info in &infos {
            let handle = repository.create(&info.entry_point)?;
            let own = info.dependencies.iter().all(|one| one.dependent == handle);
            if handle != info.handle || !own {
                let name = &info.entry_point;
                return Err(Error::Invalid(format!(
                    "{name} has the handle {} instead of {handle}, or dependencies of another operation",
                    info.handle
                )));
            }
        }
        for mut info in infos {
            let handle = info.handle;
            repository.set(handle, info.characteristics)?;
            for one in std::mem::take(&mut info.dependencies) {
                repository.add_dependency(handle, one.on, one.calls, one.kind)?;
                let added = repository.get_mut(handle)?.dependencies.last_mut();
                if let Some(added) = added {
                    added.enabled = one.enabled;
                }
            }
            let made = repository.get_mut(handle)?;
            (made.enabled, made.volatile_token) = (info.enabled, info.volatile_token);
            made.assigned = info.assigned;
        }
        Ok(repository)
    }

    /// Creates an operation with default characteristics.
    ///
    /// # Errors
    /// [`DuplicateName`](Error::DuplicateName), or [`Full`](Error::Full).
    pub fn create(&mut self, entry_point: &str) -> Result<Handle, Error> {
        if self.names.contains_key(entry_point) {
            return Err(Error::DuplicateName(entry_point.into()));
        }
        let handle = Handle::at(self.infos.len())
            .filter(|_| self.infos.len() < self.most)
            .ok_or(Error::Full(self.most))?;
        self.infos.push(RtInfo::new(entry_point, handle));
        self.names.insert(entry_point.into(), handle);
        Ok(handle)
    }

    /// Returns the handle of a name.
    ///
    /// # Errors
    /// [`UnknownName`](Error::UnknownName).
    pub fn lookup(&self, entry_point: &str) -> Result<Handle, Error> {
        let found = self.names.get(entry_point).copied();
        found.ok_or_else(|| Error::UnknownName(entry_point.into()))
    }

    /// Returns the descriptor of an operation.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle).
    pub fn get(&self, handle: Handle) -> Result<&RtInfo, Error> {
        let found = handle.index().and_then(|index| self.infos.get(index));
        found.ok_or(Error::UnknownHandle(handle))
    }

    fn get_mut(&mut self, handle: Handle) -> Result<&mut RtInfo, Error> {
        let found = handle.index().and_then(|index| self.infos.get_mut(index));
        found.ok_or(Error::UnknownHandle(handle))
    }

    /// Sets the characteristics of an operation, and enables it if it was disabled.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle), or [`Invalid`](Error::Invalid) for times beyond
    /// [`LONGEST`].
    pub fn set(&mut self, handle: Handle, said: Characteristics) -> Result<(), Error> {
        self.set_all(&[(handle, said)])
    }

    /// Sets several operations as [`set`](Self::set) does, all or none.
    ///
    /// # Errors
    /// As for [`set`](Self::set); nothing is changed then.
    pub fn set_all(&mut self, said: &[(Handle, Characteristics)]) -> Result<(), Error> {
        for (handle, said) in said {
            let info = self.get(*handle)?;
            if let Some(problem) = said.problem() {
                return Err(Error::Invalid(format!("{}: {problem}", info.entry_point)));
            }
        }
        for &(handle, said) in said {
            let info = self.get_mut(handle)?;
            info.characteristics = said;
            if info.enabled == Enabled::Disabled {
                info.enabled = Enabled::Enabled;
            }
        }
        Ok(())
    }

    /// Sets several operations as [`set_all`](Self::set_all) does, none of which may be
    /// [`NonVolatile`](Enabled::NonVolatile).
    ///
    /// # Errors
    /// As for [`set_all`](Self::set_all), and [`NonVolatile`](Error::NonVolatile); nothing is
    /// changed then.
    pub fn reset_all(&mut self, said: &[(Handle, Characteristics)]) -> Result<(), Error> {
        for &(handle, _) in said {
            let info = self.get(handle)?;
            if info.enabled == Enabled::NonVolatile {
                return Err(Error::NonVolatile(info.entry_point.clone()));
            }
        }
        self.set_all(said)
    }

    /// Sets these operations, and disables and resets all others that are [`Enabled`](Enabled::Enabled). Changes
    /// all of them or, after an error, none.
    ///
    /// # Errors
    /// As for [`set`](Self::set); nothing is changed then.
    pub fn replace(&mut self, said: &[(Handle, Characteristics)]) -> Result<(), Error> {
        let mut next = self.clone();
        for info in &mut next.infos {
            if info.enabled == Enabled::Enabled {
                info.characteristics = Characteristics::default();
                info.enabled = Enabled::Disabled;
            }
        }
        next.set_all(said)?;
        *self = next;
        Ok(())
    }

    /// Adds a dependency: `dependent` calls `on` ([`TwoWay`](CallKind::TwoWay)) or is called by it
    /// ([`OneWay`](CallKind::OneWay)), `calls` times in each execution of the caller.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle); [`Invalid`](Error::Invalid) for 0 calls or too many dependencies.
    pub fn add_dependency(
        &mut self,
        dependent: Handle,
        on: Handle,
        calls: u32,
        kind: CallKind,
    ) -> Result<(), Error> {
        self.get(on)?;
        let info = self.get_mut(dependent)?;
        if calls == 0 {
            let name = &info.entry_point;
            return Err(Error::Invalid(format!("{name}: a dependency needs at least 1 call")));
        }
        if info.dependencies.len() >= Repository::MOST_DEPENDENCIES {
            let most = Repository::MOST_DEPENDENCIES;
            let name = &info.entry_point;
            return Err(Error::Invalid(format!("{name} has the maximum of {most} dependencies")));
        }
        info.dependencies.push(Dependency {
            kind,
            calls,
            dependent,
            on,
            enabled: Enabled::Enabled,
        });
        Ok(())
    }

    /// Removes a dependency.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle); [`UnknownDependency`](Error::UnknownDependency) if
    /// none of this kind and number of calls exists.
    pub fn remove_dependency(
        &mut self,
        dependent: Handle,
        on: Handle,
        calls: u32,
        kind: CallKind,
    ) -> Result<(), Error> {
        let place = self.find(dependent, on, calls, kind)?;
        self.get_mut(dependent)?.dependencies.remove(place);
        Ok(())
    }

    /// Sets the states of dependencies to their `enabled`, all or none.
    ///
    /// # Errors
    /// As for [`remove_dependency`](Self::remove_dependency); nothing is changed then.
    pub fn enable_dependencies(&mut self, said: &[Dependency]) -> Result<(), Error> {
        let mut places = Vec::with_capacity(said.len());
        for one in said {
            places.push(self.find(one.dependent, one.on, one.calls, one.kind)?);
        }
        for (one, place) in said.iter().zip(places) {
            self.get_mut(one.dependent)?.dependencies[place].enabled = one.enabled;
        }
        Ok(())
    }

    /// Sets the states of operations, all or none.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle); nothing is changed then.
    pub fn enable(&mut self, said: &[(Handle, Enabled)]) -> Result<(), Error> {
        for &(handle, _) in said {
            self.get(handle)?;
        }
        for &(handle, enabled) in said {
            self.get_mut(handle)?.enabled = enabled;
        }
        Ok(())
    }

    /// Adds a critical section of an operation. Several sections of one resource may be added.
    /// Schedules include the resulting blocking.
    ///
    /// # Errors
    /// [`UnknownHandle`](Error::UnknownHandle); [`Invalid`](Error::Invalid) for a resource without
    /// a name, too many sections, or a time beyond [`LONGEST`].
    pub fn add_section(&mut self, section: Section) -> Result<(), Error> {
        let name = &self.get(section.operation)?.entry_point;
        if section.resource.trim().is_empty() || section.longest > LONGEST {
            return Err(Error::Invalid(format!(
                "{name}: a critical section needs a resource with a name, and a time below 36 years"
            )));
        }
        if self.sections.len() >= Repository::MOST_SECTIONS {
            let most = Repository::MOST_SECTIONS;
            return Err(Error::Invalid(format!(
                "{name}: there is the maximum of {most} critical sections"
            )));
        }
        self.sections.push(section);
        Ok(())
    }

    /// Returns all critical sections, in the order of adding.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the locking protocol; priority inheritance by default.
    pub fn protocol(&self) -> LockingProtocol {
        self.protocol
    }

    /// Sets the locking protocol.
    pub fn set_protocol(&mut self, protocol: LockingProtocol) {
        self.protocol = protocol;
    }

    /// Returns the index of a dependency among those of its dependent.
    fn find(
        &self,
        dependent: Handle,
        on: Handle,
        calls: u32,
        kind: CallKind,
    ) -> Result<usize, Error> {
        self.get(on)?;
        let mut dependencies = self.get(dependent)?.dependencies.iter();
        let found = dependencies.position(|one| (one.on, one.calls, one.kind) == (on, calls, kind));
        found.ok_or(Error::UnknownDependency { dependent, on })
    }

    /// Stores the priorities of a schedule for these operations, and clears those of all others.
    pub(crate) fn assign(
        &mut self,
        assigned: impl IntoIterator<Item = (Handle, Assigned)>,
    ) -> Result<(), Error> {
        self.forget_schedule();
        for (handle, assigned) in assigned {
            self.get_mut(handle)?.assigned = Some(assigned);
        }
        Ok(())
    }

    pub(crate) fn forget_schedule(&mut self) {
        for info in &mut self.infos {
            info.assigned = None;
        }
    }

    /// Returns all descriptors, in the order of their handles.
    pub fn infos(&self) -> &[RtInfo] {
        &self.infos
    }

    /// Returns all dependencies, in the order of their dependents.
    pub fn dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.infos.iter().flat_map(|info| &info.dependencies)
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Reports whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Deletes everything and frees its memory, so that a configuration run can be repeated in the
    /// same process.
    pub fn destroy(&mut self) {
        *self = Repository::with_limit(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::LONGEST;

    #[test]
    fn names_are_unique_and_handles_count_from_one() {
        let mut repository = Repository::with_limit(2);
        assert_eq!(repository.create("a"), Ok(Handle(1)));
        assert_eq!(repository.create("a"), Err(Error::DuplicateName("a".into())));
        assert_eq!(repository.create("b"), Ok(Handle(2)));
        assert_eq!(repository.create("c"), Err(Error::Full(2)));
        assert_eq!(repository.lookup("c"), Err(Error::UnknownName("c".into())));
        for wrong in [-1, 0, 3, i32::MIN, i32::MAX] {
            let handle = Handle(wrong);
            assert_eq!(repository.get(handle).err(), Some(Error::UnknownHandle(handle)));
        }
    }

    #[test]
    fn bad_values_are_told_with_the_name() {
        let mut repository = Repository::new();
        let handle = repository.create("sample").unwrap();
        let said = Characteristics { period: LONGEST + 1, ..Characteristics::default() };
        let refused = repository.set(handle, said).unwrap_err();
        assert!(refused.to_string().starts_with("sample: the period of"));
        let refused = repository.add_dependency(handle, handle, 0, CallKind::OneWay);
        assert_eq!(refused.unwrap_err().exception(), "BAD_PARAM");
        let refused = repository.add_dependency(handle, Handle(7), 1, CallKind::OneWay);
        assert_eq!(refused, Err(Error::UnknownHandle(Handle(7))));
    }

    #[test]
    fn replace_is_all_or_nothing_and_spares_what_is_not_volatile() {
        let mut repository = Repository::new();
        let [kept, reset, set] = ["a", "b", "c"].map(|name| repository.create(name).unwrap());
        let said = |period| Characteristics { period, ..Characteristics::default() };
        for handle in [kept, reset, set] {
            repository.set(handle, said(5)).unwrap();
        }
        repository.enable(&[(kept, Enabled::NonVolatile)]).unwrap();
        let wrong = repository.replace(&[(set, said(7)), (Handle(9), said(7))]);
        assert_eq!(wrong, Err(Error::UnknownHandle(Handle(9))));
        let periods = |repository: &Repository| -> Vec<u64> {
            let infos = repository.infos().iter();
            infos.map(|info| info.characteristics.period).collect()
        };
        assert_eq!(periods(&repository), [5, 5, 5]);
        let states = |repository: &Repository| -> Vec<Enabled> {
            repository.infos().iter().map(|info| info.enabled).collect()
        };
        use Enabled::{Disabled, NonVolatile};
        assert_eq!(states(&repository), [NonVolatile, Enabled::Enabled, Enabled::Enabled]);
        repository.replace(&[(set, said(7))]).unwrap();
        assert_eq!(periods(&repository), [5, 0, 7]);
        // As in TAO's reconfiguring scheduler, `replace` disables all other operations, and setting an operation
        // enables it.
        assert_eq!(states(&repository), [NonVolatile, Disabled, Enabled::Enabled]);
        let again = [(reset, said(9)), (kept, said(9))];
        let refused = Err(Error::NonVolatile("a".into()));
        assert_eq!(repository.reset_all(&again), refused);
        assert_eq!(periods(&repository), [5, 0, 7]);
        repository.reset_all(&again[..1]).unwrap();
        assert_eq!(periods(&repository), [5, 9, 7]);
        assert_eq!(states(&repository), [NonVolatile, Enabled::Enabled, Enabled::Enabled]);
        repository.enable(&[(set, Disabled)]).unwrap();
        repository.set(set, said(8)).unwrap();
        repository.set(kept, said(6)).unwrap();
        assert_eq!(states(&repository), [NonVolatile, Enabled::Enabled, Enabled::Enabled]);
    }

    #[test]
    fn dependencies_come_go_and_sleep() {
        let mut repository = Repository::new();
        let [a, b] = ["a", "b"].map(|name| repository.create(name).unwrap());
        repository.add_dependency(a, b, 2, CallKind::TwoWay).unwrap();
        let asleep = |calls| Dependency {
            kind: CallKind::TwoWay,
            calls,
            dependent: a,
            on: b,
            enabled: Enabled::Disabled,
        };
        let none = Err(Error::UnknownDependency { dependent: a, on: b });
        // The second dependency does not exist, so the first one does not change either.
        assert_eq!(repository.enable_dependencies(&[asleep(2), asleep(1)]), none);
        let enabled = |repository: &Repository| repository.dependencies().next().unwrap().enabled;
        assert_eq!(enabled(&repository), Enabled::Enabled);
        assert_eq!(repository.enable_dependencies(&[asleep(2)]), Ok(()));
        assert_eq!(enabled(&repository), Enabled::Disabled);
        assert_eq!(repository.remove_dependency(a, b, 2, CallKind::OneWay), none);
        assert_eq!(repository.remove_dependency(a, b, 2, CallKind::TwoWay), Ok(()));
        assert_eq!(repository.dependencies().count(), 0);
        repository.destroy();
        assert!(repository.is_empty());
    }
}
