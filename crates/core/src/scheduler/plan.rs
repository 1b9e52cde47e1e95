//! Settings of the run-time scheduler.

use oxorb_rt::dispatch::QueueStorage;
use oxorb_sched::DispatchTable;
use oxorb_sched::queue::Missed;

/// Run-time scheduler of an ORB: the table of an analysed schedule, and how it is enforced.
///
/// An ORB that cannot enforce the dispatching model of the table is not built: [`DispatchTable::enforceable`]. Thread
/// priorities suffice if each queue of the table has one operation; otherwise requests wait in dispatching modules.
///
/// An operation is looked up in O(1) by interface and name. On the server its requests run at the OS priority of its
/// row, regardless of the POA's priority model; the thread's own priority is restored afterwards. On the client its
/// requests carry this priority, which selects the lane, and the row's quality of service (RIOP). Interfaces without a
/// row, and objects of default servants and servant locators, are served as if there were no table.
///
/// ```
/// use oxorb_core::{Options, RunTimeScheduler};
/// use oxorb_sched::simulate::table_1;
/// use oxorb_sched::{DispatchModel, DispatchTable, OsPriorities, Schedule, Strategy};
///
/// let priorities = OsPriorities::range(1, 90)?;
/// let schedule = Schedule::compute(&table_1::operations()?, &Strategy::MUF, &DispatchModel::Band, &priorities)?;
/// let mut options = Options::default();
/// options.realtime.scheduler = Some(RunTimeScheduler::new(DispatchTable::from(&schedule)).into());
/// # Ok::<(), oxorb_sched::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunTimeScheduler {
    /// Result of the analysis.
    pub table: DispatchTable,
    /// Settings of the dispatching modules, one for each queue of the table, in which requests wait. With `None`, the
    /// defaults apply if a queue of the table has several operations; otherwise there are no modules, and requests run
    /// in the thread that read them, at the priority of their operation. The reading thread must be more urgent than
    /// the modules, such as one of a lane.
    pub modules: Option<ModuleSettings>,
    /// Whether response and processor time of every request are measured and compared with the table. It costs each
    /// request two system calls and four readings of a clock.
    pub measure: bool,
}

/// Settings of the dispatching modules of an ORB.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ModuleSettings {
    /// Maximum number of requests that wait in each queue; a further one raises TRANSIENT (minor `REQUESTS_BUFFERED`).
    /// Default 64.
    pub capacity: usize,
    /// Data structure of the queues.
    pub storage: QueueStorage,
    /// Treatment of requests that can no longer meet their deadline; a dropped one raises TIMEOUT (minor
    /// `DISPATCHED_LATE`).
    pub missed: Missed,
    /// Number of threads of each module. Default 1.
    pub threads: usize,
    /// Processor of the modules' threads; `None` for any.
    pub cpu: Option<usize>,
    /// Whether a request that would miss its deadline is refused at once with TRANSIENT (minor `NOT_ADMITTED`). This is
    /// computed from the worst-case times of the requests that wait or run in its queue and in more urgent ones.
    pub admission: bool,
    /// Whether the threads of each module reserve the processor time of its operations (SCHED_DEADLINE) instead of
    /// having its priority. If the reservation fails, the ORB does not listen, and reports the shortfall. Excludes
    /// `cpu`.
    pub reserve: bool,
}

impl RunTimeScheduler {
    /// Returns settings that enforce a table in the threads that read requests, without
    /// measurements.
    pub fn new(table: DispatchTable) -> RunTimeScheduler {
        RunTimeScheduler { table, modules: None, measure: false }
    }
}

impl Default for ModuleSettings {
    fn default() -> Self {
        ModuleSettings {
            capacity: 64,
            storage: QueueStorage::default(),
            missed: Missed::default(),
            threads: 1,
            cpu: None,
            admission: false,
            reserve: false,
        }
    }
}
