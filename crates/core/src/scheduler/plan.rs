//! Schedule that an ORB is to enforce.

use oxorb_rt::dispatch::Storage;
use oxorb_sched::DispatchTable;
use oxorb_sched::queue::Missed;

/// The run-time scheduler of an ORB: the table of an analysed schedule, and how it is enforced.
///
/// An ORB enforces the dispatching model of the table or is not built: [`DispatchTable::enforceable`]. Thread priorities alone
/// do where each queue of the table has one operation; where a queue has several, requests wait in dispatching modules.
///
/// An operation is found in O(1) by interface and name. On the server its requests run at the OS priority of its row, which
/// is undone afterwards, whatever the POA's priority model says. On the client they travel with that priority, which
/// chooses the lane, and with what the row says in RIOP. Interfaces of which the table has no row are served as if there
/// were no table; so are objects that a default servant or servant locator stands for.
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
    /// Settings of the dispatching modules, one for each queue of the table, in which requests wait. `None`: with the defaults
    /// where a queue of the table has several operations to put in order; else there are none, and requests run in the thread
    /// that read them, at the priority of their operation. Whoever reads has to be more urgent than the modules: a lane, say.
    pub modules: Option<Modules>,
    /// Response and processor time of every request are measured and held against the table. Costs each request two system
    /// calls and four looks at a clock.
    pub measure: bool,
}

/// Settings by which the dispatching modules of an ORB are made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Modules {
    /// Most requests that wait in each; a further one is answered TRANSIENT (minor `REQUESTS_BUFFERED`). Default 64.
    pub capacity: usize,
    /// Data structure of the queues.
    pub storage: Storage,
    /// Treatment of requests that cannot be in time any more; one that is dropped is answered
    /// TIMEOUT (minor `DISPATCHED_LATE`).
    pub missed: Missed,
    /// Threads of each. Default 1.
    pub threads: usize,
    /// The only processor of their threads; `None`: any.
    pub cpu: Option<usize>,
    /// A request that would not be done by its deadline, by the worst-case times of what waits and runs in its queue and
    /// those above, is refused at once with TRANSIENT (minor `NOT_ADMITTED`).
    pub admission: bool,
    /// The threads of each module reserve what its operations use (SCHED_DEADLINE) instead of having its priority; an ORB
    /// that cannot have that does not listen, and says how much is missing. Not together with `cpu`.
    pub reserve: bool,
}

impl RunTimeScheduler {
    /// Enforces a table in the threads that read requests, measuring nothing.
    pub fn new(table: DispatchTable) -> RunTimeScheduler {
        RunTimeScheduler { table, modules: None, measure: false }
    }
}

impl Default for Modules {
    fn default() -> Self {
        Modules {
            capacity: 64,
            storage: Storage::default(),
            missed: Missed::default(),
            threads: 1,
            cpu: None,
            admission: false,
            reserve: false,
        }
    }
}
