//! Facts about an ORB for one page of metrics.

use oxorb_rt::dispatch::ModuleCounts;
use oxorb_sys::thread::ThreadPurpose;

use crate::monitoring::ConnectionStatistics;
use crate::scheduler::Measurement;
use crate::scheduler::budget::BudgetSum;
use crate::server::LaneMemory;

/// Facts about an ORB at one time, except the counts of its [`Meter`](super::Meter).
pub(crate) struct Snapshot {
    pub(crate) connections: ConnectionStatistics,
    /// Number of handshakes of protected connections that were finished.
    pub(crate) handshakes: u64,
    /// Number of open connections to servers that carry one call at a time.
    pub(crate) client_connections: usize,
    /// Number of requests that servants keep to answer later.
    pub(crate) unanswered: usize,
    /// Number of running calls of this process to its own objects, without a connection.
    pub(crate) collocated: usize,
    /// Number of running threads of each purpose.
    pub(crate) threads: Vec<(ThreadPurpose, usize)>,
    pub(crate) lanes: Vec<LaneState>,
    /// Counts of the dispatching modules, the most urgent first.
    pub(crate) modules: Vec<ModuleCounts>,
    /// Measurements of the operations in the scheduler's table.
    pub(crate) operations: Vec<Measurement>,
    /// Use of budgets, by the kind of their owners.
    pub(crate) budgets: Vec<(&'static str, BudgetSum)>,
}

/// State of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneState {
    /// Threadpool; 0 for the ORB's own threads.
    pub(crate) pool: u32,
    /// Index in the threadpool, from 0.
    pub(crate) lane: u32,
    /// CORBA priority of its threads, if they have one.
    pub(crate) priority: Option<i16>,
    /// Number of threads that wait at its reactor.
    pub(crate) waiting: usize,
    /// Number of running threads that were started on demand.
    pub(crate) dynamic: usize,
    /// Number of connections that wait at its reactor.
    pub(crate) parked: usize,
    /// Number of requests in its queue, and their maximum number; `None` for a lane without a queue.
    pub(crate) queue: Option<(usize, usize)>,
    /// Preallocated buffers, if it has any.
    pub(crate) memory: Option<LaneMemory>,
}
