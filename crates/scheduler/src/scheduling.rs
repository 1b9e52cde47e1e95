//! Shared state behind all references to the service.

#[cfg(feature = "store")]
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use oxorb_sched::service::Service;

#[cfg(feature = "store")]
use crate::Error;
use crate::Refusal;
#[cfg(feature = "store")]
use crate::state::State;

/// Type without values: without the feature `store`, no service has a state file.
#[cfg(not(feature = "store"))]
enum State {}

#[cfg(not(feature = "store"))]
impl State {
    fn save(&mut self, _: &mut Service) -> Result<(), Refusal> {
        match *self {}
    }
}

/// Limits of a scheduling service. Requests beyond them are refused with a minor code that
/// identifies the setting.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of operations. Default 10,000, at about 500 octets each. The time to compute a schedule grows
    /// with the square of their number. Exceeding the limit raises IMP_LIMIT, minor `SCHEDULED`.
    pub operations: usize,
    /// Maximum number of dependencies of all operations together. Default 100,000, at 24 octets each. Exceeding the
    /// limit raises IMP_LIMIT, minor `SCHEDULED`.
    pub dependencies: usize,
    /// Maximum length in octets of an operation's name. Default 1,024. Exceeding the limit raises BAD_PARAM, minor
    /// `SCHEDULING`.
    pub name_octets: usize,
    /// Longest time that a call waits for earlier calls. Default 5 s. Exceeding the limit raises
    /// SYNCHRONIZATION_FAILURE.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            operations: 10_000,
            dependencies: 100_000,
            name_octets: 1_024,
            patience: Duration::from_secs(5),
        }
    }
}

/// Scheduling service that threads share. Cheap to clone: all clones are the same service.
///
/// ```
/// use oxorb_sched::repository::Characteristics;
/// use oxorb_sched::service::Service;
/// use oxorb_sched::{DispatchModel, Strategy};
/// use oxorb_scheduler::Scheduling;
///
/// let service = Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band));
/// let scheduling = Scheduling::new(service);
/// let sample = scheduling.change(|service| {
///     let sample = service.create("Sensor::sample")?;
///     service.set(sample, Characteristics { worst_case: 1, period: 5, ..Characteristics::default() })?;
///     service.compute(1, 99)?;
///     Ok(sample)
/// })?;
/// let assigned = scheduling.look(|service| service.priority(sample))??;
/// assert_eq!(assigned.os_priority, 99);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Scheduling {
    shared: Arc<Shared>,
}

type Observer = Box<dyn Fn(&'static str, &Refusal) + Send + Sync>;

struct Shared {
    /// Service; `None` while a thread uses it.
    kept: Mutex<Option<Box<Kept>>>,
    free: Condvar,
    limits: Limits,
    observer: OnceLock<Observer>,
}

struct Kept {
    service: Service,
    state: Option<State>,
}

impl Scheduling {
    /// Returns a service whose state is lost when the process ends.
    pub fn new(service: Service) -> Scheduling {
        Scheduling::with_limits(service, Limits::default())
    }

    /// Returns a service with these limits.
    pub fn with_limits(service: Service, limits: Limits) -> Scheduling {
        Scheduling::of(service, None, limits)
    }

    /// Returns a service that outlives the process: each change is on disk before it is acknowledged. The contents of
    /// the file replace those of `service`. A stored schedule is restored only if it was computed with the strategy and
    /// dispatching model of `service`.
    ///
    /// Only one process at a time can open the file.
    ///
    /// # Errors
    /// [`Error::State`]: the file cannot be opened or is damaged, or `service` is a run-time service, whose table is
    /// fixed.
    #[cfg(feature = "store")]
    pub fn open(
        state: impl Into<PathBuf>,
        mut service: Service,
        limits: Limits,
    ) -> Result<Scheduling, Error> {
        let state = State::open(state.into(), &mut service)?;
        Ok(Scheduling::of(service, Some(state), limits))
    }

    fn of(service: Service, state: Option<State>, limits: Limits) -> Scheduling {
        let kept = Some(Box::new(Kept { service, state }));
        Scheduling {
            shared: Arc::new(Shared {
                kept: Mutex::new(kept),
                free: Condvar::new(),
                limits,
                observer: OnceLock::new(),
            }),
        }
    }

    /// Returns the limits of the service.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Reads from the service.
    ///
    /// # Errors
    /// [`Refusal::Busy`].
    pub fn look<R>(&self, look: impl FnOnce(&Service) -> R) -> Result<R, Refusal> {
        self.take().map(|taken| look(&taken.kept().service))
    }

    /// Changes the service. If there is a state file, the changes are on disk when this returns,
    /// even if `work` returned an error.
    ///
    /// # Errors
    /// [`Refusal::Busy`]; [`Refusal::NotWritten`], and nothing is changed then; [`Refusal::Unsure`], and the service
    /// may be changed then; the error of `work`.
    pub fn change<R>(
        &self,
        work: impl FnOnce(&mut Service) -> Result<R, oxorb_sched::Error>,
    ) -> Result<R, Refusal> {
        self.attempt(|service| work(service).map_err(Refusal::from))
    }

    /// Changes the service as [`change`](Self::change) does, for work that can fail with any [`Refusal`].
    pub(crate) fn attempt<R>(
        &self,
        work: impl FnOnce(&mut Service) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let mut taken = self.take()?;
        let Kept { service, state } = taken.kept_mut();
        let done = work(service);
        if let Some(state) = state {
            state.save(service)?;
        }
        done
    }

    /// Deletes everything of a configuration run, including its entries in the state file, so that it can be repeated.
    ///
    /// # Errors
    /// As for [`change`](Self::change).
    pub fn destroy(&self) -> Result<(), Refusal> {
        self.change(|service| {
            service.destroy();
            Ok(())
        })
    }

    /// Sets the observer, which is called with the name of the operation and the reason whenever an operation of a
    /// client is refused. Clients themselves receive only exceptions without data. The observer can be set once for
    /// each service; later calls have no effect. The refused call returns after the observer has returned.
    pub fn observe(&self, observer: impl Fn(&'static str, &Refusal) + Send + Sync + 'static) {
        let _ = self.shared.observer.set(Box::new(observer));
    }

    pub(crate) fn tell(&self, operation: &'static str, refusal: &Refusal) {
        if let Some(observer) = self.shared.observer.get() {
            observer(operation, refusal);
        }
    }

    fn take(&self) -> Result<Taken<'_>, Refusal> {
        let shared = &*self.shared;
        let patience = shared.limits.patience;
        let waited = shared.free.wait_timeout_while(shared.lock(), patience, |kept| kept.is_none());
        let (mut kept, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let kept = kept.take();
        match kept {
            Some(_) => Ok(Taken { shared, kept }),
            None => Err(Refusal::Busy(patience)),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Box<Kept>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Exclusive access to the service, which ends when this value is dropped, even by a panic.
struct Taken<'a> {
    shared: &'a Shared,
    /// Service; `None` only while the access ends.
    kept: Option<Box<Kept>>,
}

impl Taken<'_> {
    fn kept(&self) -> &Kept {
        self.kept.as_deref().expect("it was taken")
    }

    fn kept_mut(&mut self) -> &mut Kept {
        self.kept.as_deref_mut().expect("it was taken")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.shared.lock() = self.kept.take();
        self.shared.free.notify_one();
    }
}

impl std::fmt::Debug for Scheduling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheduling").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}
