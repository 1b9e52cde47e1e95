//! Named threads, and the processors they may run on.
//!
//! A thread gets its attributes from a [`Builder`] before its first line of work runs.

use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::schedule::{self, Reservation, ReservationError};

/// What a thread shall be before it starts to work.
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
    stack: Option<usize>,
    reservation: Option<Reservation>,
}

impl Builder {
    /// A thread with a name. Tools show its first 15 octets; it must not contain a NUL.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            cpu: None,
            stack: None,
            reservation: None,
        }
    }

    /// Runs on this processor only.
    pub fn cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Has processor time of its own (SCHED_DEADLINE). Where this process may not reserve any, the thread starts
    /// without: [`schedule::is_reserved`] tells it.
    pub fn reserve(mut self, reservation: Reservation) -> Self {
        self.reservation = Some(reservation);
        self
    }

    /// Has a stack of so many octets, rounded up as the system needs it.
    pub fn stack_size(mut self, octets: usize) -> Self {
        self.stack = Some(octets);
        self
    }

    /// Starts the thread, and waits until it has all its attributes.
    ///
    /// # Errors
    /// When the thread cannot be had, or cannot have an attribute; `work` has not begun then. A refused reservation is
    /// a [`ReservationError`] inside.
    pub fn spawn<T, F>(self, work: F) -> io::Result<Thread<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let mut builder = std::thread::Builder::new().name(self.name);
        if let Some(octets) = self.stack {
            builder = builder.stack_size(octets);
        }
        let (tell, prepared) = mpsc::sync_channel(1);
        let thread = builder.spawn(move || {
            let prepared = prepare(self.cpu, self.reservation);
            let ready = prepared.is_ok();
            // The receiver waits for exactly this.
            let _ = tell.send(prepared);
            ready.then(work)
        })?;
        prepared.recv().map_err(io::Error::other)??;
        Ok(Thread(thread))
    }
}

fn prepare(cpu: Option<usize>, reservation: Option<Reservation>) -> io::Result<()> {
    cpu.map_or(Ok(()), pin_current_thread)?;
    match reservation.map(schedule::reserve) {
        None | Some(Ok(()) | Err(ReservationError::NotPermitted)) => Ok(()),
        Some(Err(refused)) => Err(io::Error::other(refused)),
    }
}

/// A thread that was started. Dropping this does not end it.
#[derive(Debug)]
pub struct Thread<T>(JoinHandle<Option<T>>);

impl<T> Thread<T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// What the thread panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        let result = self.0.join()?;
        Ok(result.expect("a thread that could not be prepared is never given out"))
    }

    /// Whether the thread has ended, so that [`join`](Self::join) does not block.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// Binds the calling thread to one processor.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if there is no such processor, or this process may not use it.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// The processors on which the calling thread may run, in ascending order.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
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
            .reserve(Reservation {
                runtime: day * 2,
                deadline: day,
                period: day,
            })
            .spawn(|| panic!("must not run"));
        let inner = refused.unwrap_err().into_inner().unwrap();
        assert!(inner.is::<ReservationError>(), "{inner}");
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_before_any_work() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let refused = Builder::new("lost")
                .cpu(cpu)
                .spawn(|| panic!("must not run"));
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
