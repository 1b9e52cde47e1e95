//! Dispatching modules of an ORB: one for each queue of the run-time scheduler's table (paper 3, 3.4.6, Figure 17).
//!
//! ```text
//! reader          takes a request off its connection (assign.rs), finds its row, tests whether it may be in time
//!   -> Module     of the row's queue: waits by static order, deadline or laxity
//!        -> its thread, at the queue's OS priority: Upcall -> servant -> reply over the connection's Turn
//! ```
//!
//! Requests of operations without a row, and collocated calls, run as without modules.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_giop::Request;
use oxorb_object::{Qos, SystemException};
use oxorb_rt::Priority;
use oxorb_rt::dispatch::{DispatchingModule, ModuleCounts, ModulePlan, ModuleThreads};
use oxorb_sched::queue::{Full, Taken, Timing};
use oxorb_sys::schedule::Reservation;

use super::assigned::AssignedRequest;
use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::dropping::Dropping;
use super::side::ServerSide;
use crate::error::raise;
use crate::scheduler::{Enforcer, arrived_at};
use crate::shared::Shared;
use crate::threads::clock::monotonic_nanoseconds;
use crate::threads::sync::atomic::{AtomicU64, Ordering};
use crate::{Incident, ModuleSettings, Orb};

/// All dispatching modules of one ORB.
pub(crate) struct DispatchingModules {
    enforcer: Arc<Enforcer>,
    /// Modules, the most urgent first.
    modules: Vec<DispatchingModule<ModuleRequest>>,
    backlog: Backlog,
    admission: bool,
}

/// Sum of the worst-case times of the requests queued and running in each module, in ns.
type Backlog = Arc<[AtomicU64]>;

/// Request in a dispatching module.
struct ModuleRequest {
    request: AssignedRequest<HeldOrb>,
    row: u16,
    /// Time of receipt, in nanoseconds of the monotonic clock.
    arrived: u64,
}

/// ORB of a request in its module, whose threads have none.
struct HeldOrb(Orb);

impl AsRef<ServerSide> for HeldOrb {
    fn as_ref(&self) -> &ServerSide {
        self.0.server()
    }
}

/// Row and timing of a request for a module.
#[derive(Clone, Copy)]
pub(super) struct Due {
    row: u16,
    arrived: u64,
    timing: Timing,
}

/// Time beyond any deadline of a request.
const NEVER: u64 = u64::MAX >> 1;

impl DispatchingModules {
    /// Starts the threads of all modules; `None` if the ORB has none.
    ///
    /// # Errors
    /// The system provides no thread, or the kernel refuses the reserved processor time.
    pub(crate) fn start(shared: &Shared) -> io::Result<Option<DispatchingModules>> {
        let Some(enforcer) = shared.enforcer.as_ref() else {
            return Ok(None);
        };
        let needed = || {
            let table = &enforcer.plan.table;
            table.needs_queues().then(ModuleSettings::default)
        };
        let Some(plan) = enforcer.plan.modules.or_else(needed) else {
            return Ok(None);
        };
        let queues = enforcer.plan.table.queues();
        let backlog: Backlog = queues.iter().map(|_| AtomicU64::new(0)).collect();
        let mut modules = Vec::with_capacity(queues.len());
        for (level, queue) in queues.iter().enumerate() {
            let mut module = ModulePlan::new(format!("oxorb-disp-{level}"), queue.dispatching);
            module.missed = plan.missed;
            module.storage = plan.storage;
            module.capacity = plan.capacity;
            module.threads = plan.threads;
            module.cpu = plan.cpu;
            module.cpus = shared.threads.cpus().to_vec();
            module.listed = Some(Arc::clone(shared.threads.registry()));
            let priority = enforcer.thread_priority(queue.os_priority, &shared.scheduling);
            module.scheduling = match plan.reserve {
                true => ModuleThreads::Reserved(reservation(enforcer, level)?),
                false => ModuleThreads::At(shared.scheduling.declared(priority)),
            };
            let worker = ModuleWorker {
                enforcer: Arc::clone(enforcer),
                backlog: Arc::clone(&backlog),
                level,
                priority,
            };
            modules.push(DispatchingModule::start(module, move |taken| worker.run(taken))?);
        }
        Ok(Some(DispatchingModules {
            enforcer: Arc::clone(enforcer),
            modules,
            backlog,
            admission: plan.admission,
        }))
    }

    /// Returns row and timing of a request for a module; `None` if its operation has no row.
    ///
    /// # Errors
    /// TRANSIENT if the request would miss its deadline.
    pub(super) fn admit(
        &self,
        orb: &Orb,
        request: &Request<'_>,
        key: &[u8],
    ) -> Result<Option<Due>, SystemException> {
        let scheduled = orb.adapter().and_then(|adapter| adapter.scheduled(key));
        let Some(row) = scheduled.and_then(|scheduled| scheduled.find(request.operation)) else {
            return Ok(None);
        };
        let (known, said) = self.enforcer.row(row);
        let arrived = monotonic_nanoseconds();
        let declared = Some(said.deadline).filter(|&deadline| deadline != 0);
        // The caller's deadline counts if it is shorter than the declared one.
        let asked = Qos::of(&request.contexts).and_then(|qos| qos.due());
        let asked = asked.map(|deadline| deadline.as_nanos() as u64);
        let relative = match (declared, asked) {
            (Some(declared), Some(asked)) => declared.min(asked),
            (one, other) => one.or(other).unwrap_or(NEVER),
        };
        let deadline = arrived.saturating_add(relative).min(NEVER);
        let timing = Timing { deadline, execution: said.worst_case, order: known.order };
        if self.admission && arrived + self.before(said.queue) + said.worst_case > deadline {
            if let Some(measured) = &known.measured {
                measured.refused();
            }
            return Err(raise::NOT_ADMITTED);
        }
        Ok(Some(Due { row, arrived, timing }))
    }

    /// Returns the worst-case time of the work before a new request of this queue, in ns.
    fn before(&self, queue: usize) -> u64 {
        let urgent = self.backlog[..=queue].iter();
        urgent.map(|work| work.load(Ordering::Relaxed)).sum()
    }

    /// Queues the request of a [detached](Connection::detach) connection in its module, or rejects it with TRANSIENT.
    pub(super) fn dispatch(&self, orb: &Orb, detached: Connection, due: Due) {
        let (known, said) = self.enforcer.row(due.row);
        let request = AssignedRequest::new(HeldOrb(orb.clone()), detached, Dropping::default());
        let job = ModuleRequest { request, row: due.row, arrived: due.arrived };
        let backlog = &self.backlog[said.queue];
        backlog.fetch_add(said.worst_case, Ordering::Relaxed);
        if let Err(Full(job)) = self.modules[said.queue].dispatch(job, due.timing) {
            backlog.fetch_sub(said.worst_case, Ordering::Relaxed);
            if let Some(measured) = &known.measured {
                measured.refused();
            }
            let detail = || "its dispatching module is full".to_owned();
            orb.shared().note(Incident::BufferFull, || said.name.clone(), detail);
            job.request.refuse(raise::REQUESTS_BUFFERED);
        }
    }

    /// Returns the counts of each module, the most urgent first.
    pub(crate) fn counts(&self) -> Vec<ModuleCounts> {
        self.modules.iter().map(DispatchingModule::counts).collect()
    }

    /// Ends the threads after their running requests; queued requests are rejected with TRANSIENT.
    pub(crate) fn stop(&self, until: Instant) {
        for module in &self.modules {
            drop(module.stop());
        }
        for module in &self.modules {
            module.wait_ended(until);
        }
    }
}

/// Returns the reservation for a queue: the processor time of all its operations in the shortest of
/// their periods.
fn reservation(enforcer: &Enforcer, level: usize) -> io::Result<Reservation> {
    let rows = || {
        let rows = enforcer.plan.table.operations().iter();
        rows.filter(move |row| row.queue == level && row.period != 0)
    };
    let period = rows().map(|row| row.period).min().unwrap_or(0);
    let part = |worst_case: u64, of: u64| {
        let share = u128::from(worst_case) * u128::from(period);
        u64::try_from(share.div_ceil(of.into())).unwrap_or(u64::MAX)
    };
    let runtime =
        rows().fold(0u64, |sum, row| sum.saturating_add(part(row.worst_case, row.period)));
    if runtime == 0 || runtime > period {
        return Err(io::Error::other(format!(
            "processor time cannot be reserved for dispatching queue {level}: its operations use {runtime} ns of each \
             {period} ns"
        )));
    }
    let period = Duration::from_nanos(period);
    Ok(Reservation { runtime: Duration::from_nanos(runtime), deadline: period, period })
}

/// Work of the threads of a module.
struct ModuleWorker {
    enforcer: Arc<Enforcer>,
    backlog: Backlog,
    level: usize,
    /// Priority of the threads; `None` to leave them unchanged.
    priority: Option<Priority>,
}

impl ModuleWorker {
    fn run(&self, taken: Taken<ModuleRequest>) {
        crate::threads::within::mark_server_thread();
        let (Taken::Due(job) | Taken::Late(job) | Taken::Dropped(job)) = &taken;
        let row = job.row;
        let done = Done(self, row);
        if let Some(priority) = self.priority {
            // Only the first request of a thread costs a system call. `set` reports a refusal itself, so the result is
            // ignored.
            let _ = job.request.side().shared.priorities().set(priority);
        }
        match taken {
            Taken::Due(job) => job.serve(),
            Taken::Late(job) => {
                self.late(&job);
                job.serve();
            }
            Taken::Dropped(job) => {
                self.late(&job);
                if let Some(measured) = &self.enforcer.row(row).0.measured {
                    measured.missed();
                }
                job.request.refuse(raise::DISPATCHED_LATE);
            }
        }
        drop(done);
    }

    fn late(&self, job: &ModuleRequest) {
        let name = || self.enforcer.row(job.row).1.name.clone();
        let waited = || {
            let waited = monotonic_nanoseconds().saturating_sub(job.arrived);
            format!("waited for {waited} ns")
        };
        job.request.side().shared.note(Incident::DispatchedLate, name, waited);
    }
}

impl ModuleRequest {
    fn serve(self) {
        let owner = ConnectionOwner::Thread(None);
        arrived_at(self.arrived, || {
            self.request.serve_by(|orb, connection| connection.serve_detached(&orb.0, &owner));
        });
    }
}

/// Guard that removes a request from the backlog, even after a panic of its servant.
struct Done<'w>(&'w ModuleWorker, u16);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let Done(worker, row) = self;
        let worst_case = worker.enforcer.row(*row).1.worst_case;
        worker.backlog[worker.level].fetch_sub(worst_case, Ordering::Relaxed);
    }
}
