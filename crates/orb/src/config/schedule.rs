//! `[schedule]`: the table of the schedule that the ORB enforces, as
//! `oxorb sched emit --language json` writes it.

use std::path::Path;

use oxorb_core::{ModuleSettings, RunTimeScheduler};
use oxorb_rt::dispatch::QueueStorage;
use oxorb_sched::queue::Missed;
use oxorb_sched::table::{DispatchTable, Queue, Row};
use oxorb_sched::{DispatchModel, Dispatching};
use serde::Deserialize;
use toml::de::DeTable;

use crate::config::ConfigError;
use crate::config::file::Source;

const KNOWN: [&str; 3] = ["table", "measure", "modules"];
const KNOWN_OF_MODULES: [&str; 7] =
    ["capacity", "storage", "missed", "threads", "cpu", "admission", "reserve"];

/// Largest accepted value of a numeric key.
const MOST: u64 = 1_000_000;

/// Reads the table `[schedule]`; the path of the schedule is relative to `folder`.
pub(crate) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    at: usize,
    folder: &Path,
) -> Result<RunTimeScheduler, ConfigError> {
    for key in table.keys() {
        if !KNOWN.contains(&key.get_ref().as_ref()) {
            return Err(source.unknown(key, &KNOWN));
        }
    }
    let path = table.get("table").ok_or_else(|| {
        let problem =
            "a schedule needs a table: the file that `oxorb sched emit --language json` wrote";
        source.error(at, problem)
    })?;
    let place = path.span().start;
    let mut scheduler = load(&folder.join(source.text(path)?))
        .map_err(|error| source.error(place, error.to_string()))?;
    if let Some(measure) = table.get("measure") {
        scheduler.measure = source.yes_or_no(measure)?;
    }
    if let Some(modules) = table.get("modules") {
        scheduler.modules = Some(read_modules(source, source.table(modules)?)?);
    }
    Ok(scheduler)
}

fn read_modules(source: &Source<'_>, table: &DeTable<'_>) -> Result<ModuleSettings, ConfigError> {
    let mut modules = ModuleSettings::default();
    for (key, value) in table {
        let one_of = |known: &str| source.error(value.span().start, format!("expected {known}"));
        let count = || match source.number(value, MOST)? {
            0 => Err(one_of("a number, 1 or greater")),
            number => Ok(number as usize),
        };
        match key.get_ref().as_ref() {
            "capacity" => modules.capacity = count()?,
            "threads" => modules.threads = count()?,
            "cpu" => modules.cpu = Some(source.number(value, u16::MAX.into())? as usize),
            "admission" => modules.admission = source.yes_or_no(value)?,
            "reserve" => modules.reserve = source.yes_or_no(value)?,
            "storage" => {
                modules.storage = match source.text(value)? {
                    "list" => QueueStorage::List,
                    "heap" => QueueStorage::Heap,
                    _ => return Err(one_of("\"list\" or \"heap\"")),
                }
            }
            "missed" => {
                modules.missed = match source.text(value)? {
                    "run" => Missed::Run,
                    "demote" => Missed::Demote,
                    "drop" => Missed::Drop,
                    _ => return Err(one_of("\"run\", \"demote\" or \"drop\"")),
                }
            }
            _ => return Err(source.unknown(key, &KNOWN_OF_MODULES)),
        }
    }
    Ok(modules)
}

/// Reads the schedule's table from its file.
pub(crate) fn load(path: &Path) -> Result<RunTimeScheduler, ConfigError> {
    let origin = || path.display().to_string();
    let wrong =
        |line: Option<usize>, problem: String| ConfigError { origin: origin(), line, problem };
    let text = crate::config::text::read(path).map_err(|problem| wrong(None, problem))?;
    let file: File = serde_json::from_str(&text)
        .map_err(|error| wrong(Some(error.line()), error.to_string()))?;
    let measure = file.measure;
    let table = file.table().map_err(|problem| wrong(None, problem))?;
    let mut scheduler = RunTimeScheduler::new(table);
    scheduler.measure = measure;
    Ok(scheduler)
}

#[derive(Deserialize)]
struct File {
    /// Dispatching model of the analysis; absent in tables of older versions.
    model: Option<String>,
    operations: Vec<Operation>,
    queues: Vec<Level>,
    /// Set by `oxorb sched calibrate`.
    #[serde(default)]
    measure: bool,
}

#[derive(Deserialize)]
struct Operation {
    name: String,
    os_priority: i32,
    preemption_priority: usize,
    subpriority: i32,
    worst_case_ns: u64,
    period_ns: u64,
    deadline_ns: u64,
    criticality: String,
    importance: String,
    critical: bool,
}

#[derive(Deserialize)]
struct Level {
    os_priority: i32,
    dispatching: String,
}

impl File {
    fn table(self) -> Result<DispatchTable, String> {
        let rows: Result<_, String> = self.operations.into_iter().map(Operation::row).collect();
        let queues: Result<Vec<Queue>, String> =
            self.queues.into_iter().map(Level::queue).collect();
        let queues = queues?;
        let fixed = queues.iter().all(|queue| queue.dispatching == Dispatching::Static);
        let model = match self.model {
            Some(model) => model.parse()?,
            // Static queues behave the same under every model, so any default is correct.
            None if fixed => DispatchModel::Band,
            None => {
                return Err(
                    "it has queues by deadline or laxity, but does not name the analysed dispatching model; generate \
                     it again with `oxorb sched emit --language json`"
                        .into(),
                );
            }
        };
        let table = DispatchTable::new(model, rows?, queues).map_err(|error| error.to_string())?;
        table.enforceable().map_err(|error| error.to_string())?;
        Ok(table)
    }
}

impl Operation {
    fn row(self) -> Result<Row, String> {
        let wrong = |what, why| format!("the {what} of {}: {why}", self.name);
        let criticality = self.criticality.parse();
        let importance = self.importance.parse();
        Ok(Row {
            criticality: criticality.map_err(|error| wrong("criticality", error))?,
            importance: importance.map_err(|error| wrong("importance", error))?,
            name: self.name,
            os_priority: self.os_priority,
            queue: self.preemption_priority,
            subpriority: self.subpriority,
            worst_case: self.worst_case_ns,
            period: self.period_ns,
            deadline: self.deadline_ns,
            critical: self.critical,
        })
    }
}

impl Level {
    fn queue(self) -> Result<Queue, String> {
        Ok(Queue {
            os_priority: self.os_priority,
            dispatching: match self.dispatching.as_str() {
                "static" => Dispatching::Static,
                "deadline" => Dispatching::Deadline,
                "laxity" => Dispatching::Laxity,
                other => {
                    return Err(format!(
                        "{other:?} is not an order of a queue; expected static, deadline or laxity"
                    ));
                }
            },
        })
    }
}
