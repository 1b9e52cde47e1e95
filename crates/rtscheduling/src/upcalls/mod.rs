//! Real-time upcalls: periodic work of servants that no client requests.
//!
//! An upcall is registered with a reference to an object of this process, a period, a deadline, an
//! offset and an overrun policy. One thread for each priority makes the calls one after the other,
//! in the order of their releases, so upcalls of one priority do not preempt each other and need no
//! locks among themselves. The calls go through the object adapter as any other call does: at the
//! priority of the object's lane, only while the object is active, and through interceptors.
//!
//! Each upcall is an operation of the [schedule](RealTimeUpcalls::repository), for analysis with
//! all other operations.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::time::Duration;
//!
//! use oxorb::{ObjectRef, Orb, Outcome, Servant, Upcall};
//! use oxorb::rt::Priority;
//! use oxorb_rtscheduling::upcalls::{Periodic, RealTimeUpcalls};
//!
//! /// Samples a sensor at each call.
//! struct Sensor(AtomicU64);
//!
//! impl Servant for Sensor {
//!     fn repository_id(&self) -> &str {
//!         "IDL:Sensor:1.0"
//!     }
//!
//!     fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
//!         self.0.fetch_add(1, Ordering::Relaxed);
//!         upcall.done()
//!     }
//! }
//!
//! # static SAMPLE: oxorb::__gen::Op = oxorb::__gen::Op::twoway("sample");
//! # fn sample(sensor: &ObjectRef) -> oxorb::Result<()> {
//! #     use oxorb::Interface as _;
//! #     sensor.reference().invoke(&SAMPLE, |_| Ok(()), |_| Ok(()))
//! # }
//! let orb = Orb::builder().build()?;
//! let servant = Arc::new(Sensor(AtomicU64::new(0)));
//! let sensor = ObjectRef::from_ref(orb.root_poa().activate_servant(servant.clone())?);
//!
//! let upcalls = RealTimeUpcalls::new(&orb);
//! let every = Periodic {
//!     worst_case: Duration::from_micros(100),
//!     ..Periodic::new("Sensor::sample", Duration::from_millis(5))
//! };
//! // With a generated stub: |sensor| sensor.sample()
//! let sampling = upcalls.register(&sensor, every, Priority::new(100)?, |sensor| sample(sensor))?;
//! while sampling.counts().runs < 3 {
//!     std::thread::sleep(Duration::from_millis(1));
//! }
//! assert!(servant.0.load(Ordering::Relaxed) >= 3);
//! assert_eq!(upcalls.repository()?.infos()[0].entry_point, "Sensor::sample");
//! # use oxorb::Interface as _;
//! orb.shutdown(true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counts;
mod executive;
mod periodic;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use counts::UpcallCounts;
pub use periodic::{Missed, Overrun, Periodic, UpcallError};

use oxorb::rt::{Distribution, NativePriority, Priority, SchedulingClass};
use oxorb::sched::repository::{Characteristics, Constraints, Repository};
use oxorb::sched::service::Service;
use oxorb::sched::{Error as ScheduleError, level};
use oxorb::{Interface, Orb, SystemException};
use oxorb_sys::sync::Mutex;

use self::counts::Measured;
use self::executive::{Executive, Job};

/// Default limit on the upcalls of one ORB.
const MOST: usize = 256;

/// Longest wait for running upcalls when the ORB ends.
const END: Duration = Duration::from_secs(5);

/// Real-time upcalls of an ORB. Cheap to clone. They end with their ORB: no further upcall begins
/// then, and running ones are waited for, for at most five seconds.
#[derive(Clone)]
pub struct RealTimeUpcalls {
    inner: Arc<Inner>,
}

struct Inner {
    orb: Orb,
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    executives: Vec<(Priority, Arc<Executive>)>,
    registered: Vec<Registered>,
    numbers: u64,
    ended: bool,
}

/// Declared timing of an upcall.
struct Registered {
    number: u64,
    periodic: Periodic,
}

impl RealTimeUpcalls {
    /// Returns an empty set of upcalls of an ORB.
    pub fn new(orb: &Orb) -> RealTimeUpcalls {
        RealTimeUpcalls::with_limit(orb, MOST)
    }

    /// Returns an empty set of upcalls of an ORB, with a limit on their number; 256 by default.
    pub fn with_limit(orb: &Orb, most: usize) -> RealTimeUpcalls {
        let upcalls = RealTimeUpcalls {
            inner: Arc::new(Inner { orb: orb.clone(), most, state: Mutex::default() }),
        };
        let ended = Arc::downgrade(&upcalls.inner);
        orb.before_shutdown(move |_| {
            if let Some(inner) = ended.upgrade() {
                inner.end();
            }
        });
        upcalls
    }

    /// Calls `call` with `object` once in each period from now on, in a thread of this priority,
    /// until the [`Registration`] is dropped, the object raises OBJECT_NOT_EXIST, or the ORB ends.
    ///
    /// **Real-time cost.** An upcall allocates nothing itself, and takes a lock that it shares with
    /// upcalls of the same priority. Registering allocates, and starts a thread for the first
    /// upcall of a priority.
    ///
    /// # Errors
    /// [`UpcallError`].
    pub fn register<I: Interface>(
        &self,
        object: &I,
        periodic: Periodic,
        priority: Priority,
        mut call: impl FnMut(&I) -> Result<(), SystemException> + Send + 'static,
    ) -> Result<Registration, UpcallError> {
        periodic.check()?;
        let object = object.clone();
        let measured = Arc::new(Measured::default());
        let (number, executive) = self.inner.add(&periodic, priority)?;
        let job =
            Job::new(number, periodic, Arc::clone(&measured), Box::new(move || call(&object)));
        executive.add(job);
        Ok(Registration { number, executive, measured, upcalls: self.clone() })
    }

    /// Registers an upcall as [`register`](Self::register) does, at the priority that a computed
    /// schedule assigns to the operation of its name.
    ///
    /// # Errors
    /// [`UpcallError`], for example if the schedule has no priority for the operation, or the ORB's
    /// mapping has no CORBA priority for that native one.
    pub fn register_scheduled<I: Interface>(
        &self,
        object: &I,
        periodic: Periodic,
        schedule: &Service,
        call: impl FnMut(&I) -> Result<(), SystemException> + Send + 'static,
    ) -> Result<Registration, UpcallError> {
        let assigned = schedule.entry_point_priority(&periodic.name)?;
        let priority = self.inner.priority(assigned.os_priority);
        let priority = priority.ok_or(UpcallError::NoPriority(assigned.os_priority))?;
        self.register(object, periodic, priority, call)
    }

    /// Returns the registered upcalls as operations of the scheduling service (`RT_Info`), for
    /// analysis with all other operations: for [`Service::merge`], or for a remote service. Each
    /// upcall has one thread there, as its priority has here.
    ///
    /// # Errors
    /// A time that is too long for schedules.
    pub fn repository(&self) -> Result<Repository, ScheduleError> {
        let state = self.inner.lock();
        let mut repository = Repository::new();
        for Registered { periodic, .. } in &state.registered {
            let handle = repository.create(&periodic.name)?;
            repository.set(handle, characteristics(periodic))?;
        }
        Ok(repository)
    }
}

/// Returns an upcall as the scheduling service describes operations.
fn characteristics(periodic: &Periodic) -> Characteristics {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Characteristics {
        criticality: periodic.criticality,
        importance: periodic.importance,
        worst_case: nanoseconds(periodic.worst_case),
        typical: nanoseconds(periodic.worst_case),
        period: nanoseconds(periodic.period),
        threads: 1,
        constraints: Constraints {
            deadline: periodic.deadline.map(nanoseconds),
            offset: Some(nanoseconds(periodic.offset)),
            ..Constraints::default()
        },
        ..Characteristics::default()
    }
}

impl Inner {
    fn lock(&self) -> oxorb_sys::sync::MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the CORBA priority of a native one. If the ORB's threads have no native priorities,
    /// maps those of the real-time classes of Linux, 1 to 99, in proportion; the result then only
    /// orders the priorities that requests carry.
    fn priority(&self, native: i32) -> Option<Priority> {
        let realtime = &self.orb.options().realtime;
        if realtime.class == SchedulingClass::Other {
            let most = i32::from(Priority::MAX.get());
            let priority = (1..=99).contains(&native).then(|| (native - 1) * most / 98)?;
            return Priority::new(i16::try_from(priority).ok()?).ok();
        }
        let native = NativePriority(i16::try_from(native).ok()?);
        realtime.mapping().to_corba(native)
    }

    /// Adds an upcall, and returns its number and its executive.
    fn add(
        &self,
        periodic: &Periodic,
        priority: Priority,
    ) -> Result<(u64, Arc<Executive>), UpcallError> {
        let mut state = self.lock();
        if state.ended {
            return Err(UpcallError::Ended);
        }
        if state.registered.len() >= self.most {
            return Err(UpcallError::TooMany(self.most));
        }
        if state.registered.iter().any(|it| it.periodic.name == periodic.name) {
            return Err(UpcallError::DuplicateName(periodic.name.clone()));
        }
        let known = state.executives.iter().find(|(known, _)| *known == priority);
        let executive = match known {
            Some((_, executive)) => Arc::clone(executive),
            None => {
                let executive =
                    Executive::start(&self.orb, priority).map_err(UpcallError::Thread)?;
                state.executives.push((priority, Arc::clone(&executive)));
                executive
            }
        };
        state.numbers += 1;
        let number = state.numbers;
        state.registered.push(Registered { number, periodic: periodic.clone() });
        Ok((number, executive))
    }

    fn end(&self) {
        let executives = {
            let mut state = self.lock();
            state.ended = true;
            std::mem::take(&mut state.executives)
        };
        let until = Instant::now() + END;
        for (_, executive) in &executives {
            executive.stop();
        }
        for (_, executive) in &executives {
            executive.wait_stopped(until);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for (_, executive) in &self.lock().executives {
            executive.stop();
        }
    }
}

impl fmt::Debug for RealTimeUpcalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.inner.lock();
        let names = state.registered.iter().map(|it| &it.periodic.name);
        f.debug_list().entries(names).finish()
    }
}

/// Registered upcall, called until this is dropped.
#[must_use = "no call is made once it is gone"]
pub struct Registration {
    number: u64,
    executive: Arc<Executive>,
    measured: Arc<Measured>,
    upcalls: RealTimeUpcalls,
}

impl Registration {
    /// Returns the current counters.
    pub fn counts(&self) -> UpcallCounts {
        self.measured.counts()
    }

    /// Returns the distribution of times from releases to the beginnings of calls: the jitter of
    /// the upcall. Allocates.
    pub fn start_latency(&self) -> Distribution {
        self.measured.latency.read()
    }

    /// Returns the distribution of times from releases to the ends of calls. Allocates.
    pub fn response(&self) -> Distribution {
        self.measured.response.read()
    }

    /// Ends the upcall and waits for a running call, for at most `limit`. Reports whether none
    /// runs. Does not wait if called from within the upcall itself.
    pub fn end(self, limit: Duration) -> bool {
        let now = Instant::now();
        let until = now.checked_add(limit).unwrap_or(now + END);
        self.executive.remove(self.number, Some(until))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.executive.remove(self.number, None);
        let mut state = self.upcalls.inner.lock();
        state.registered.retain(|it| it.number != self.number);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// Properties of upcalls that the analysis uses.
pub use level::{Criticality, Importance};
