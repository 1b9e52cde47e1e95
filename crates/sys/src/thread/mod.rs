//! Named threads with declared attributes: processors, scheduling, stack.
//!
//! A thread gets its attributes from a [`Builder`] before its work starts. A [`ThreadRegistry`] lists
//! threads with their configured attributes and those that the kernel reports.

mod places;
mod registry;

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use crate::schedule::{self, Reservation, ReservationError, SchedulingClass, ThreadPriority};

pub use places::{Place, Places};
pub use registry::{OrbThread, ThreadAttributes, ThreadPurpose, ThreadRegistry};
pub use schedule::ThreadScheduling;

/// Builder of a thread, with attributes set before its work starts.
///
/// Attributes not set here are inherited from the thread that starts it.
///
/// ```
/// let cpu = oxorb_sys::thread::allowed_cpus()?[0];
/// let worker = oxorb_sys::thread::Builder::new("lane-0")
///     .cpu(cpu)
///     .spawn(oxorb_sys::thread::allowed_cpus)?;
/// assert_eq!(worker.join().unwrap()?, [cpu]);
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    cpu: Option<usize>,
    cpus: Vec<usize>,
    stack: Option<usize>,
    schedule: Option<ThreadPriority>,
    reservation: Option<Reservation>,
    listed: Option<(Arc<ThreadRegistry>, ThreadPurpose)>,
    places: Arc<Places>,
}

impl Builder {
    /// Creates a builder of a thread with a name. Tools show its first 15 octets; it must not
    /// contain a NUL.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            cpu: None,
            cpus: Vec::new(),
            stack: None,
            schedule: None,
            reservation: None,
            listed: None,
            places: Arc::default(),
        }
    }

    /// Binds the thread to this processor.
    pub fn cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Binds the thread to these processors, unless [`cpu`](Self::cpu) names one. If the process
    /// may not use any of them, the thread keeps the processors of the thread that starts it.
    pub fn cpus(mut self, cpus: &[usize]) -> Self {
        self.cpus = cpus.to_vec();
        self
    }

    /// Sets class and priority, regardless of those of the thread that starts it. Without the
    /// necessary privilege the thread runs in SCHED_OTHER.
    pub fn schedule(mut self, schedule: ThreadPriority) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// Lists the thread in `registry` while it runs.
    pub fn listed(mut self, registry: &Arc<ThreadRegistry>, purpose: ThreadPurpose) -> Self {
        self.listed = Some((Arc::clone(registry), purpose));
        self
    }

    /// Sets the places at which the thread waits, as the registry shows them. Threads that serve
    /// the same connections share them.
    pub fn places(mut self, places: &Arc<Places>) -> Self {
        self.places = Arc::clone(places);
        self
    }

    /// Reserves processor time for the thread (SCHED_DEADLINE). If this process may not reserve
    /// any, the thread starts without a reservation, as [`schedule::is_reserved`] reports.
    pub fn reserve(mut self, reservation: Reservation) -> Self {
        self.reservation = Some(reservation);
        self
    }

    /// Sets the size of the stack in octets; the system may round it up.
    pub fn stack_size(mut self, octets: usize) -> Self {
        self.stack = Some(octets);
        self
    }

    /// Starts the thread, and waits until it has its processors and its reservation. The thread sets its class and
    /// priority only after that, so that a thread which starts a less urgent one does not wait for the latter to be
    /// scheduled.
    ///
    /// # Errors
    /// If the thread cannot be started, or cannot have an attribute; `work` does not run then. If the
    /// kernel refused the reservation, the error contains a [`ReservationError`].
    pub fn spawn<T, F>(self, work: F) -> io::Result<Thread<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let mut builder = std::thread::Builder::new().name(self.name.clone());
        if let Some(octets) = self.stack {
            builder = builder.stack_size(octets);
        }
        let (tell, prepared) = mpsc::sync_channel(1);
        let thread = builder.spawn(move || {
            let prepared = self.place();
            let ready = prepared.is_ok();
            let _listed = ready.then(|| self.enlist());
            Arc::clone(&self.places).take();
            // Sending neither fails nor blocks, because the creator of the thread waits for this message.
            let _ = tell.send(prepared);
            ready.then(|| {
                self.apply_schedule();
                work()
            })
        })?;
        prepared.recv().map_err(io::Error::other)??;
        Ok(Thread(thread))
    }

    /// Sets the processors and the reservation of the calling thread.
    fn place(&self) -> io::Result<()> {
        match self.cpu {
            Some(cpu) => pin_current_thread(cpu)?,
            None if self.cpus.is_empty() => {}
            None => drop(run_on(&self.cpus)),
        }
        match self.reservation.map(schedule::reserve) {
            None | Some(Ok(()) | Err(ReservationError::NotPermitted)) => Ok(()),
            Some(Err(refused)) => Err(io::Error::other(refused)),
        }
    }

    /// Sets the class and priority of the calling thread, unless it has a reservation.
    fn apply_schedule(&self) {
        let Some(wanted) = self.schedule else {
            return;
        };
        if self.reservation.is_some() && schedule::is_reserved() {
            return;
        }
        if schedule::current().ok() != Some(wanted) && schedule::set_current(wanted).is_err() {
            // The process lacks the privilege for the requested schedule. Lowering a thread to SCHED_OTHER needs none.
            let _ = schedule::set_current(ThreadPriority::default());
        }
    }

    fn enlist(&self) -> Option<registry::Entered> {
        let (registry, purpose) = self.listed.as_ref()?;
        let scheduling = match (self.reservation, self.schedule) {
            (Some(reservation), _) => Some(ThreadScheduling::Reserved(reservation)),
            (None, schedule) => schedule.map(ThreadScheduling::Class),
        };
        let cpus = match self.cpu {
            Some(cpu) => vec![cpu],
            None => self.cpus.clone(),
        };
        let configured = ThreadAttributes {
            scheduling: scheduling.unwrap_or(ThreadScheduling::Class(ThreadPriority {
                class: SchedulingClass::Other,
                priority: 0,
            })),
            cpus,
        };
        Some(registry.enter(&self.name, *purpose, configured, &self.places))
    }
}

/// Running or finished thread. Dropping this value does not end the thread.
#[derive(Debug)]
pub struct Thread<T>(JoinHandle<Option<T>>);

impl<T> Thread<T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// The payload of the thread's panic.
    pub fn join(self) -> std::thread::Result<T> {
        let result = self.0.join()?;
        Ok(result.expect("a thread that could not be prepared is never given out"))
    }

    /// Reports whether the thread has ended, so that [`join`](Self::join) does not block.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// Returns the kernel's id of the calling thread. One system call.
///
/// ```
/// use oxorb_sys::{schedule, thread};
///
/// assert!(schedule::of(thread::current_id()).is_ok());
/// ```
pub fn current_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Binds the calling thread to one processor.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if the processor does not exist, or this process may not use it.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    run_on(&[cpu])
}

fn run_on(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    let known = cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU);
    known.for_each(|&cpu| set.set(cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// Returns the processors on which the calling thread may run, in ascending order.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    cpus_of(None)
}

fn cpus_of(thread: Option<Pid>) -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(thread)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_attributes_when_it_starts() {
        let cpu = *allowed_cpus().unwrap().last().unwrap();
        let thread = Builder::new("lane-7").cpu(cpu).spawn(|| {
            let name = std::thread::current().name().map(str::to_owned);
            (name, allowed_cpus().unwrap())
        });
        let (name, cpus) = thread.unwrap().join().unwrap();
        assert_eq!(name.as_deref(), Some("lane-7"));
        assert_eq!(cpus, [cpu]);
    }

    #[test]
    fn a_reservation_that_cannot_be_is_refused_before_any_work() {
        let day = std::time::Duration::from_secs(24 * 3600);
        let refused = Builder::new("greedy")
            .reserve(Reservation { runtime: day * 2, deadline: day, period: day })
            .spawn(|| panic!("must not run"));
        let inner = refused.unwrap_err().into_inner().unwrap();
        assert!(inner.is::<ReservationError>(), "{inner}");
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_before_any_work() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let refused = Builder::new("lost").cpu(cpu).spawn(|| panic!("must not run"));
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
