//! Enforcement of the run-time scheduler's table by one ORB.

use std::sync::Arc;
use std::time::Duration;

use oxorb_object::{CommunicationClass, Qos};
use oxorb_rt::{Mapping, NativePriority, NativeRange, Priority, PriorityMapping as _};
use oxorb_sched::table;
use oxorb_sys::schedule::SchedulingClass;

use super::measure::{Graph, Measured};
use super::{CallsBetween, Measurement, RunTimeScheduler, Scheduled};
use crate::threads::rt::Scheduling;

/// Table of the run-time scheduler, with the ORB's data for its rows.
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
    /// Quality of service sent with the operation's requests.
    pub(crate) qos: Qos,
    /// Rank among equals in the queue; a smaller one has precedence.
    pub(crate) order: u32,
    pub(crate) measured: Option<Measured>,
}

impl Enforcer {
    pub(crate) fn new(plan: Arc<RunTimeScheduler>, scheduling: &Scheduling) -> Enforcer {
        // Row indices have 16 bits, which suffice for the operations of one ORB.
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

    /// Returns the CORBA priority of threads with a native one; `None` if threads have reservations
    /// instead.
    pub(crate) fn thread_priority(&self, native: i32, scheduling: &Scheduling) -> Option<Priority> {
        match self.reserves() {
            true => None,
            false => corba(native, scheduling),
        }
    }

    /// Reports whether threads reserve processor time instead of having priorities.
    pub(super) fn reserves(&self) -> bool {
        self.plan.modules.is_some_and(|modules| modules.reserve)
    }

    /// Returns the rows of an interface; `None` if there are none.
    pub(crate) fn interface(
        self: &Arc<Self>,
        repository_id: &str,
        is_a: impl Fn(&str) -> bool,
    ) -> Option<Scheduled> {
        let mut names = self.plan.table.interface(repository_id, is_a);
        names.retain(|(_, place)| *place < self.rows.len());
        Scheduled::new(self, names)
    }

    /// Returns the measurements of all operations, in the order of the table.
    pub(crate) fn measurements(&self) -> Option<Vec<Measurement>> {
        let rows = self.rows.iter().zip(self.plan.table.operations());
        rows.map(|(row, said)| Some(row.measured.as_ref()?.read(&said.name))).collect()
    }

    /// Returns the counts of calls between operations of the table.
    pub(crate) fn calls_between(&self) -> Vec<CallsBetween> {
        let operations = self.plan.table.operations();
        self.graph.read(|place| operations[usize::from(place)].name.clone())
    }

    /// Resets the measurements.
    pub(crate) fn reset_measurements(&self) {
        for measured in self.rows.iter().filter_map(|row| row.measured.as_ref()) {
            measured.reset();
        }
        self.graph.reset();
    }
}

/// Returns the CORBA priority of a native one in the table. If the ORB does not schedule its threads, priorities are
/// still sent, mapped from the range of SCHED_FIFO.
fn corba(native: i32, scheduling: &Scheduling) -> Option<Priority> {
    let native = NativePriority(i16::try_from(native).ok()?);
    let fifo = SchedulingClass::Fifo.priorities();
    match scheduling.is_real_time() {
        true => scheduling.corba(native),
        false => Mapping::Linear(NativeRange::new(*fifo.start() as i16, *fifo.end() as i16))
            .to_corba(native),
    }
}
