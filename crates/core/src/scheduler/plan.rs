//! What an ORB is to enforce.

use oxorb_sched::DispatchTable;

/// The run-time scheduler of an ORB: the table of an analysed schedule.
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
    /// What was analysed.
    pub table: DispatchTable,
    /// Response and processor time of every request are measured and held against the table. Costs each request two system
    /// calls and four looks at a clock.
    pub measure: bool,
}

impl RunTimeScheduler {
    /// Enforces a table, measuring nothing.
    pub fn new(table: DispatchTable) -> RunTimeScheduler {
        RunTimeScheduler {
            table,
            measure: false,
        }
    }
}
