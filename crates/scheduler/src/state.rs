//! State file of the service.
//!
//! | table | key | value |
//! |---|---|---|
//! | meta | `format` | version of this format |
//! | infos | handle | name, times, levels, dependencies |
//! | limits | handle | best case, overrun, releases in a burst, distance between them; for operations with limits |
//! | scheduled | strategy and dispatching model | minimum and maximum thread priority of the computation |
//!
//! Priorities are not stored, because the same operations under the same strategy always get the same priorities.

use std::path::{Path, PathBuf};

use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::{
    CallKind, Characteristics, Constraints, Dependency, Enabled, Handle, InfoType, RtInfo,
};
use oxorb_sched::service::Service;
use oxorb_sched::{Burst, Repository};
use oxorb_store::{CACHE, Database};
use redb::{ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::{Error, Refusal};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const INFOS: TableDefinition<'_, i32, Row> = TableDefinition::new("infos");
const SCHEDULED: TableDefinition<'_, &str, (i32, i32)> = TableDefinition::new("scheduled");

const LIMITS: TableDefinition<'_, i32, Limits> = TableDefinition::new("limits");

const FORMAT: u64 = 1;

/// Row of limits: best case, overrun, releases in a burst, distance between them.
type Limits = (u64, Option<u64>, u32, u64);

/// Row of an operation: name, times, levels, dependencies.
type Row = (&'static str, Times, Levels, Vec<Edge>);

/// Times: worst case, typical, cached, period, quantum, deadline, jitter, blocking, offset.
type Times = (u64, u64, u64, u64, u64, Option<u64>, u64, u64, Option<u64>);

/// Levels: criticality, importance, type, enabled, threads.
type Levels = (u8, u8, u8, u8, u32);

/// Dependency: kind, calls, handle depended on, enabled.
type Edge = (u8, u32, i32, u8);

/// State file, with a copy of its contents.
pub(crate) struct State {
    path: PathBuf,
    database: Database,
    infos: Vec<RtInfo>,
    scheduled: Option<Plan>,
}

/// Key and value of the schedule: strategy and model, and thread priorities.
type Plan = (String, (i32, i32));

impl State {
    /// Opens or creates a file, and loads its contents into the service.
    pub(crate) fn open(path: PathBuf, service: &mut Service) -> Result<State, Error> {
        if service.is_run_time() {
            let why = "the table of the run-time service is fixed, so it has no state file";
            return Err(failed(&path, why));
        }
        let database = Database::open(&path, CACHE).map_err(|error| match error {
            redb::Error::DatabaseAlreadyOpen => {
                failed(&path, "another process, or this one, already stores schedules in it")
            }
            other => failed(&path, other),
        })?;
        let read = database.write(|open| {
            prepare(open)?;
            read(open)
        });
        let mut state = State { path, database, infos: Vec::new(), scheduled: None };
        let (format, infos, scheduled) = read.map_err(|error| failed(&state.path, error))?;
        if format != FORMAT {
            let why = format!("it has format {format}, but this version supports format {FORMAT}");
            return Err(failed(&state.path, why));
        }
        (state.infos, state.scheduled) = (infos, scheduled);
        state.restore(service).map_err(|error| failed(&state.path, error))?;
        // `restore` has ignored a schedule of another strategy; saving removes it from the file as well.
        state.save(service).map_err(|why| failed(&state.path, why))?;
        Ok(state)
    }

    /// Writes the service's changes to the file; they are on disk when this returns. If they cannot
    /// be written, the service is restored from the file.
    ///
    /// # Errors
    /// [`Refusal::NotWritten`] or, if the file was written but may not be on disk, [`Refusal::Unsure`].
    pub(crate) fn save(&mut self, service: &mut Service) -> Result<(), Refusal> {
        let infos = service.repository().infos();
        let scheduled = plan(service);
        let changed: Vec<&RtInfo> = infos
            .iter()
            .enumerate()
            .filter(|&(at, info)| self.infos.get(at).is_none_or(|kept| !same(kept, info)))
            .map(|(_, info)| info)
            .collect();
        let gone = self.infos.get(infos.len()..).unwrap_or_default();
        if changed.is_empty() && gone.is_empty() && scheduled == self.scheduled {
            return Ok(());
        }
        let mut is_committing = false;
        let written = self
            .database
            .write(|open| write(open, &changed, gone, scheduled.as_ref(), &mut is_committing));
        match written {
            Ok(()) => {
                let changed: Vec<RtInfo> = changed.into_iter().cloned().collect();
                self.infos.truncate(infos.len());
                for info in changed {
                    let at = info.handle.0 as usize - 1;
                    match self.infos.get_mut(at) {
                        Some(kept) => *kept = info,
                        None => self.infos.push(info),
                    }
                }
                self.scheduled = scheduled;
                Ok(())
            }
            Err(error) => {
                let why = failed(&self.path, error).to_string();
                // Read the file again, because the error may have occurred after a successful write.
                let is_made = match self.database.read(read) {
                    Ok((_, found, found_plan)) => {
                        let is_made = found.len() == infos.len()
                            && found.iter().zip(infos).all(|(one, other)| same(one, other))
                            && found_plan == scheduled;
                        (self.infos, self.scheduled) = (found, found_plan);
                        is_made
                    }
                    Err(_) => is_committing,
                };
                // Restoring cannot fail, because the contents were valid when they were written.
                let _ = self.restore(service);
                Err(match is_made {
                    true => Refusal::Unsure(why),
                    false => Refusal::NotWritten(why),
                })
            }
        }
    }

    /// Loads the contents of the file into the service.
    fn restore(&self, service: &mut Service) -> Result<(), oxorb_sched::Error> {
        service.load(Repository::of(self.infos.clone())?);
        if let Some((strategy, (least, most))) = &self.scheduled
            && *strategy == name(service)
        {
            // `compute` refuses only if another version of OxORB accepted this schedule. The service then has no
            // schedule.
            let _ = service.compute(*least, *most);
        }
        Ok(())
    }
}

/// Returns the names of strategy and model.
fn name(service: &Service) -> String {
    let strategy = service.strategy().unwrap_or_default();
    let model = service.model().map_or("", |model| model.name());
    format!("{strategy} by {model}")
}

fn plan(service: &Service) -> Option<Plan> {
    let range = service.range().ok()?;
    Some((name(service), range))
}

/// Reports whether two infos are equal, except for assigned priorities, which follow from the rest.
fn same(one: &RtInfo, other: &RtInfo) -> bool {
    one.entry_point == other.entry_point
        && one.characteristics == other.characteristics
        && one.dependencies == other.dependencies
        && one.enabled == other.enabled
}

/// Creates the tables of every file.
fn prepare(database: &redb::Database) -> Result<(), redb::Error> {
    let change = database.begin_write()?;
    {
        let mut meta = change.open_table(META)?;
        if meta.get("format")?.is_none() {
            meta.insert("format", FORMAT)?;
        }
        change.open_table(INFOS)?;
        change.open_table(SCHEDULED)?;
        change.open_table(LIMITS)?;
    }
    Ok(change.commit()?)
}

fn write(
    database: &redb::Database,
    changed: &[&RtInfo],
    gone: &[RtInfo],
    scheduled: Option<&Plan>,
    is_committing: &mut bool,
) -> Result<(), redb::Error> {
    let change = database.begin_write()?;
    {
        let mut infos = change.open_table(INFOS)?;
        let mut all_limits = change.open_table(LIMITS)?;
        for info in changed {
            infos.insert(info.handle.0, row(info))?;
            match limits(info) {
                Some(limits) => all_limits.insert(info.handle.0, limits)?,
                None => all_limits.remove(info.handle.0)?,
            };
        }
        for info in gone {
            infos.remove(info.handle.0)?;
            all_limits.remove(info.handle.0)?;
        }
        let mut plans = change.open_table(SCHEDULED)?;
        plans.retain(|_, _| false)?;
        if let Some((name, range)) = scheduled {
            plans.insert(name.as_str(), *range)?;
        }
    }
    // With the default, `Durability::Immediate`, a commit calls `fsync`. If that fails, the file may be written.
    *is_committing = true;
    Ok(change.commit()?)
}

type Read = (u64, Vec<RtInfo>, Option<Plan>);

fn read(database: &redb::Database) -> Result<Read, redb::Error> {
    let read = database.begin_read()?;
    let format = read.open_table(META)?.get("format")?;
    let format = format.map_or(0, |format| format.value());
    let mut infos = Vec::new();
    let all_limits = read.open_table(LIMITS)?;
    for entry in read.open_table(INFOS)?.iter()? {
        let (handle, row) = entry?;
        let info = info(Handle(handle.value()), row.value());
        let mut info = info.ok_or_else(damaged)?;
        if let Some(limits) = all_limits.get(handle.value())? {
            limit(&mut info, limits.value());
        }
        infos.push(info);
    }
    let mut scheduled = None;
    if let Some(entry) = read.open_table(SCHEDULED)?.iter()?.next() {
        let (name, range) = entry?;
        scheduled = Some((name.value().to_owned(), range.value()));
    }
    Ok((format, infos, scheduled))
}

fn damaged() -> redb::Error {
    redb::Error::Corrupted("it has an operation that no version writes".to_owned())
}

const KINDS: [CallKind; 2] = [CallKind::OneWay, CallKind::TwoWay];
const ENABLED: [Enabled; 3] = [Enabled::Disabled, Enabled::Enabled, Enabled::NonVolatile];
const TYPES: [InfoType; 4] =
    [InfoType::Operation, InfoType::Conjunction, InfoType::Disjunction, InfoType::RemoteDependant];

fn row(info: &RtInfo) -> (&str, Times, Levels, Vec<Edge>) {
    let said = &info.characteristics;
    let constraints = &said.constraints;
    let times = (
        said.worst_case,
        said.typical,
        said.cached,
        said.period,
        said.quantum,
        constraints.deadline,
        constraints.jitter,
        constraints.blocking,
        constraints.offset,
    );
    let levels = (
        said.criticality as u8,
        said.importance as u8,
        said.info_type as u8,
        info.enabled as u8,
        said.threads,
    );
    let edges = info.dependencies.iter();
    let edges = edges.map(|one| (one.kind as u8, one.calls, one.on.0, one.enabled as u8));
    (&info.entry_point, times, levels, edges.collect())
}

/// Returns the row of limits of an operation; `None` if it has none.
fn limits(info: &RtInfo) -> Option<Limits> {
    let said = &info.characteristics.constraints;
    let (most, distance) = said.burst.map_or((0, 0), |burst| (burst.most, burst.distance));
    let limits = (said.best_case, said.overrun, most, distance);
    (limits != (0, None, 0, 0)).then_some(limits)
}

/// Sets the limits of an operation from its row.
fn limit(info: &mut RtInfo, (best_case, overrun, most, distance): Limits) {
    let said = &mut info.characteristics.constraints;
    said.best_case = best_case;
    said.overrun = overrun;
    said.burst = (most > 0).then_some(Burst { most, distance });
}

/// Returns the info of a row; `None` for a row that [`row`] does not produce.
fn info(
    handle: Handle,
    (name, times, levels, edges): (&str, Times, Levels, Vec<Edge>),
) -> Option<RtInfo> {
    let (worst_case, typical, cached, period, quantum, deadline, jitter, blocking, offset) = times;
    let (criticality, importance, info_type, enabled, threads) = levels;
    let mut dependencies = Vec::with_capacity(edges.len());
    for (kind, calls, on, enabled) in edges {
        dependencies.push(Dependency {
            kind: *KINDS.get(usize::from(kind))?,
            calls,
            dependent: handle,
            on: Handle(on),
            enabled: *ENABLED.get(usize::from(enabled))?,
        });
    }
    Some(RtInfo {
        entry_point: name.to_owned(),
        handle,
        characteristics: Characteristics {
            criticality: *Criticality::ALL.get(usize::from(criticality))?,
            worst_case,
            typical,
            cached,
            period,
            importance: *Importance::ALL.get(usize::from(importance))?,
            quantum,
            threads,
            info_type: *TYPES.get(usize::from(info_type))?,
            constraints: Constraints {
                deadline,
                jitter,
                blocking,
                offset,
                ..Constraints::default()
            },
        },
        dependencies,
        assigned: None,
        enabled: *ENABLED.get(usize::from(enabled))?,
        volatile_token: 0,
    })
}

fn failed(path: &Path, why: impl ToString) -> Error {
    Error::State { path: path.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use oxorb_sched::{DispatchModel, Strategy};
    use oxorb_store::TestStorage;

    use super::*;

    fn service() -> Service {
        Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band))
    }

    #[test]
    fn a_change_whose_fsync_fails_may_have_happened() {
        let storage = TestStorage::default();
        let open = || Database::with_storage(&storage, 1 << 20).unwrap();
        let database = open();
        database.write(prepare).unwrap();
        let path = PathBuf::from("state");
        let mut state = State { path, database, infos: Vec::new(), scheduled: None };
        let mut service = service();
        service.create("first").unwrap();
        state.save(&mut service).unwrap();
        service.create("second").unwrap();
        storage.fail(1);
        let unsure = state.save(&mut service).unwrap_err();
        assert!(matches!(&unsure, Refusal::Unsure(why) if why.contains("disk")), "{unsure}");
        assert!(service.lookup("second").is_ok(), "the service has what the file has");
        drop(state);
        let (_, infos, _) = open().read(read).unwrap();
        let names: Vec<&str> = infos.iter().map(|info| &*info.entry_point).collect();
        assert_eq!(names, ["first", "second"], "the storage has the change");
    }
}
