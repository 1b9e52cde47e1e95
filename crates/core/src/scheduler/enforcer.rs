//! The run-time scheduler of one ORB.

use std::sync::Arc;
use std::time::Duration;

use oxorb_object::{CommunicationClass, Qos};
use oxorb_rt::{Mapping, NativePriority, NativeRange, Priority, PriorityMapping as _};
use oxorb_sched::table;
use oxorb_sys::schedule::Class;

use super::measure::{Graph, Measured};
use super::{CallsBetween, Measurement, RunTimeScheduler, Scheduled};
use crate::rt::Scheduling;

/// A table with what an ORB makes of it.
#[derive(Debug)]
pub(crate) struct Enforcer {
    pub(crate) plan: Arc<RunTimeScheduler>,
    pub(crate) rows: Box<[Row]>,
    pub(super) graph: Graph,
}

/// Row of an operation.
#[derive(Debug)]
pub(crate) struct Row {
    /// Priority of the operation's requests and of the threads that run them.
    pub(crate) priority: Option<Priority>,
    /// Quality of service that travels with the operation's requests.
    pub(crate) qos: Qos,
    /// Smaller goes first in its queue, among equals.
    pub(crate) order: u32,
    pub(crate) measured: Option<Measured>,
}

impl Enforcer {
    pub(crate) fn new(plan: Arc<RunTimeScheduler>, scheduling: &Scheduling) -> Enforcer {
        // A row is named by 16 bits; nobody analyses so many operations of one ORB.
        let operations = plan.table.operations().iter().take(u16::MAX.into());
        let row = |row: &table::Row| {
            let priority = corba(row.os_priority, scheduling);
            let time =
                |nanoseconds: u64| (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds));
            Row {
                priority,
                qos: Qos {
                    priority: priority.map(Priority::get),
                    importance: row.importance as i32,
                    period: time(row.period),
                    deadline: time(row.deadline),
                    class: match row.period {
                        0 => CommunicationClass::Message,
                        _ => CommunicationClass::Isochronous,
                    },
                },
                order: u32::MAX - row.subpriority.max(0).cast_unsigned(),
                measured: plan.measure.then(Measured::default),
            }
        };
        Enforcer { rows: operations.map(row).collect(), graph: Graph::default(), plan }
    }

    pub(crate) fn row(&self, place: u16) -> (&Row, &table::Row) {
        let place = usize::from(place);
        (&self.rows[place], &self.plan.table.operations()[place])
    }

    /// The CORBA priority that threads of a native one have; `None`: they are scheduled otherwise.
    pub(crate) fn thread_priority(&self, native: i32, scheduling: &Scheduling) -> Option<Priority> {
        match self.reserves() {
            true => None,
            false => corba(native, scheduling),
        }
    }

    /// Threads have processor time instead of priorities.
    pub(super) fn reserves(&self) -> bool {
        self.plan.modules.is_some_and(|modules| modules.reserve)
    }

    /// The rows of an interface; `None`: there are none.
    pub(crate) fn interface(
        self: &Arc<Self>,
        repository_id: &str,
        is_a: impl Fn(&str) -> bool,
    ) -> Option<Scheduled> {
        let mut names = self.plan.table.interface(repository_id, is_a);
        names.retain(|(_, place)| *place < self.rows.len());
        Scheduled::new(self, names)
    }

    /// Returns what the requests of every operation of the table took so far, in its order.
    pub(crate) fn measurements(&self) -> Option<Vec<Measurement>> {
        let rows = self.rows.iter().zip(self.plan.table.operations());
        rows.map(|(row, said)| Some(row.measured.as_ref()?.read(&said.name))).collect()
    }

    /// Returns which operation of the table called which.
    pub(crate) fn calls_between(&self) -> Vec<CallsBetween> {
        let operations = self.plan.table.operations();
        self.graph.read(|place| operations[usize::from(place)].name.clone())
    }

    /// Forgets what was measured so far.
    pub(crate) fn reset_measurements(&self) {
        for measured in self.rows.iter().filter_map(|row| row.measured.as_ref()) {
            measured.reset();
        }
        self.graph.reset();
    }
}

/// The CORBA priority that stands for a native one of the table. Where the ORB schedules nothing, priorities travel all the
/// same, spread over those that SCHED_FIFO has.
fn corba(native: i32, scheduling: &Scheduling) -> Option<Priority> {
    let native = NativePriority(i16::try_from(native).ok()?);
    let fifo = Class::Fifo.priorities();
    match scheduling.is_real_time() {
        true => scheduling.corba(native),
        false => Mapping::Linear(NativeRange::new(*fifo.start() as i16, *fifo.end() as i16))
            .to_corba(native),
    }
}
