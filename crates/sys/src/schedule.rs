//! Scheduling of threads: class, priority, reservation.
//!
//! Every function here makes one system call. Raising a thread above SCHED_OTHER needs a privilege: `CAP_SYS_NICE`, or
//! a limit that allows it (`ulimit -r`, `RLIMIT_RTPRIO`). Without the privilege, the error is
//! [`io::ErrorKind::PermissionDenied`] and class and priority are unchanged. A new thread inherits class and priority
//! of its creator.

use std::ffi::c_long;
use std::fmt;
use std::io;
use std::mem;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Scheduling class with static priorities (`sched(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SchedulingClass {
    /// Time sharing; a single priority, 0 (SCHED_OTHER).
    #[default]
    Other,
    /// Runs only when the processor is otherwise idle (SCHED_IDLE); a single priority, 0.
    Idle,
    /// Runs until it blocks or a more urgent thread becomes runnable (SCHED_FIFO).
    Fifo,
    /// Fixed priorities, with round robin among equals (SCHED_RR).
    RoundRobin,
}

impl SchedulingClass {
    /// Returns the priorities of the class, from least to most urgent: 1 to 99 on Linux, 0 for
    /// [`SchedulingClass::Other`].
    ///
    /// ```
    /// use oxorb_sys::schedule::SchedulingClass;
    ///
    /// assert_eq!(SchedulingClass::Other.priorities(), 0..=0);
    /// assert!(SchedulingClass::Fifo.priorities().contains(&50));
    /// ```
    pub fn priorities(self) -> RangeInclusive<i32> {
        let policy = self.policy();
        // SAFETY: both take a number and read no memory; these classes exist on every system.
        unsafe { libc::sched_get_priority_min(policy)..=libc::sched_get_priority_max(policy) }
    }

    fn policy(self) -> i32 {
        match self {
            SchedulingClass::Other => libc::SCHED_OTHER,
            SchedulingClass::Idle => libc::SCHED_IDLE,
            SchedulingClass::Fifo => libc::SCHED_FIFO,
            SchedulingClass::RoundRobin => libc::SCHED_RR,
        }
    }
}

/// Class and priority of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ThreadPriority {
    /// The class.
    pub class: SchedulingClass,
    /// Priority within the class.
    pub priority: i32,
}

/// Sets the scheduling class and priority of the calling thread.
///
/// ```
/// use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
///
/// let before = schedule::current()?;
/// match schedule::set_current(ThreadPriority { class: SchedulingClass::Fifo, priority: 10 }) {
///     Ok(()) => assert_eq!(schedule::current()?.priority, 10),
///     Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
/// }
/// schedule::set_current(before)?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`]; [`io::ErrorKind::InvalidInput`] for a priority that the class does not have.
pub fn set_current(ThreadPriority { class, priority }: ThreadPriority) -> io::Result<()> {
    let param = Param { priority };
    // The raw system call applies to the calling thread, whereas the wrappers of some C libraries apply to the process.
    // SAFETY: `param` outlives the call, which only reads it; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, class.policy(), &param) };
    check(result)
}

/// Sets the scheduling class and priority of a thread of this system, given its thread id. One system call.
///
/// ```
/// use oxorb_sys::schedule;
///
/// let own = rustix::thread::gettid().as_raw_nonzero().get();
/// schedule::set(own, schedule::current()?)?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// Those of [`set_current`], or [`io::Error`] if no thread has this id.
pub fn set(thread: i32, ThreadPriority { class, priority }: ThreadPriority) -> io::Result<()> {
    if thread <= 0 {
        // The id 0 would select the calling thread.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let param = Param { priority };
    // SAFETY: `param` outlives the call, which only reads it.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, class.policy(), &param) };
    check(result)
}

/// Reports whether threads of this process may return from SCHED_IDLE to SCHED_OTHER, by a trial on
/// a separate thread. Returning needs `CAP_SYS_NICE`, or a limit that allows the nice value
/// (`RLIMIT_NICE`).
///
/// ```
/// let _ = oxorb_sys::schedule::may_leave_idle();
/// ```
pub fn may_leave_idle() -> bool {
    let try_it = || {
        let idle = ThreadPriority { class: SchedulingClass::Idle, priority: 0 };
        set_current(idle).is_ok() && set_current(ThreadPriority::default()).is_ok()
    };
    let tried = std::thread::Builder::new().spawn(try_it);
    tried.is_ok_and(|thread| thread.join().unwrap_or(false))
}

/// Returns the scheduling class and priority of the calling thread. A kernel policy without a variant in
/// [`SchedulingClass`] is reported as [`SchedulingClass::Other`].
pub fn current() -> io::Result<ThreadPriority> {
    let mut param = Param { priority: 0 };
    // SAFETY: the call takes a number only; 0 is the calling thread.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    // SAFETY: `param` is valid for the one write of the call.
    check(unsafe { libc::syscall(libc::SYS_sched_getparam, 0, &mut param) })?;
    check(policy)?;
    let known = [SchedulingClass::Idle, SchedulingClass::Fifo, SchedulingClass::RoundRobin];
    let class =
        known.into_iter().find(|class| c_long::from(class.policy()) == policy & !RESET_ON_FORK);
    Ok(ThreadPriority { class: class.unwrap_or_default(), priority: param.priority })
}

/// The kernel's layout of `sched_param`; the C libraries' types differ after the first field.
#[repr(C)]
struct Param {
    priority: i32,
}

/// Flag that the kernel reports along with the class.
const RESET_ON_FORK: c_long = 0x4000_0000;

/// Scheduling of a thread: a class and priority, or reserved processor time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadScheduling {
    /// A class and one of its priorities.
    Class(ThreadPriority),
    /// Reserved processor time (SCHED_DEADLINE).
    Reserved(Reservation),
    /// Number of a scheduling policy that has no variant here.
    Unknown(u32),
}

/// Returns the scheduling of a thread of this system, given its thread id. One system call.
///
/// ```
/// use oxorb_sys::schedule::{self, ThreadScheduling};
///
/// let own = rustix::thread::gettid().as_raw_nonzero().get();
/// assert_eq!(schedule::of(own)?, ThreadScheduling::Class(schedule::current()?));
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// [`io::Error`] if no thread has this id.
pub fn of(thread: i32) -> io::Result<ThreadScheduling> {
    let mut attributes = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: the call writes at most `size` octets, which is what `attributes` has, and keeps nothing.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &mut attributes, size, 0) };
    check(result)?;
    let known = [
        SchedulingClass::Other,
        SchedulingClass::Idle,
        SchedulingClass::Fifo,
        SchedulingClass::RoundRobin,
    ];
    let class = known.into_iter().find(|class| class.policy() as u32 == attributes.policy);
    Ok(match (class, attributes.policy) {
        (Some(class), _) => {
            ThreadScheduling::Class(ThreadPriority { class, priority: attributes.priority as i32 })
        }
        (None, DEADLINE) => ThreadScheduling::Reserved(Reservation {
            runtime: Duration::from_nanos(attributes.runtime),
            deadline: Duration::from_nanos(attributes.deadline),
            period: Duration::from_nanos(attributes.period),
        }),
        (None, unknown) => ThreadScheduling::Unknown(unknown),
    })
}

impl fmt::Display for SchedulingClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SchedulingClass::Other => "SCHED_OTHER",
            SchedulingClass::Idle => "SCHED_IDLE",
            SchedulingClass::Fifo => "SCHED_FIFO",
            SchedulingClass::RoundRobin => "SCHED_RR",
        })
    }
}

impl fmt::Display for ThreadScheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadScheduling::Class(ThreadPriority { class, priority }) => {
                write!(f, "{class} {priority}")
            }
            ThreadScheduling::Reserved(Reservation { runtime, period, .. }) => {
                write!(f, "SCHED_DEADLINE {runtime:?} of {period:?}")
            }
            ThreadScheduling::Unknown(number) => write!(f, "policy {number}"),
        }
    }
}

/// Processor time reserved in each period (SCHED_DEADLINE), which the kernel guarantees or refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Processor time in each period; at least 1,024 ns (`LEAST_RUNTIME`).
    pub runtime: Duration,
    /// Time from the start of the period within which the processor time is provided; at least
    /// `runtime`.
    pub deadline: Duration,
    /// Length of the period; at least `deadline`.
    pub period: Duration,
}

/// Shortest runtime that the kernel reserves: it counts reserved time in units of 1,024 ns.
pub const LEAST_RUNTIME: Duration = Duration::from_nanos(1_024);

/// Reason why a [`Reservation`] was refused.
#[non_exhaustive]
pub enum ReservationError {
    /// The times contradict each other.
    Times(Reservation),
    /// The kernel cannot guarantee the reservation in addition to existing ones.
    Refused {
        /// Requested reservation.
        asked: Reservation,
        /// Parts per million of processor time that may be reserved, over all processors
        /// (`kernel.sched_rt_runtime_us` of `kernel.sched_rt_period_us`); `None` if the system does
        /// not report it.
        allowed: Option<u64>,
        /// Number of processors.
        cpus: usize,
    },
    /// The process may not reserve time, or its threads may not run on all processors.
    NotPermitted,
    /// Another error of the system call.
    System(io::Error),
}

/// Reserves processor time for the calling thread, in place of its class and priority.
///
/// The thread must be allowed on all processors, since the kernel may move it. One system call.
///
/// # Errors
/// [`ReservationError`]; the thread's scheduling is unchanged.
pub fn reserve(asked: Reservation) -> Result<(), ReservationError> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let ordered = asked.runtime <= asked.deadline && asked.deadline <= asked.period;
    if !ordered || asked.runtime < LEAST_RUNTIME {
        return Err(ReservationError::Times(asked));
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: DEADLINE,
        // With this flag, new threads of this thread start without the reservation. Otherwise, the kernel would refuse
        // to start them.
        flags: RESET_FLAG,
        runtime: nanos(asked.runtime),
        deadline: nanos(asked.deadline),
        period: nanos(asked.period),
        ..Attributes::default()
    };
    // SAFETY: the call reads `size` octets, which is what `attributes` has, and keeps nothing.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    check(result).map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => ReservationError::Refused {
            asked,
            allowed: allowed(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        },
        Some(libc::EPERM) => ReservationError::NotPermitted,
        Some(libc::EINVAL) => ReservationError::Times(asked),
        _ => ReservationError::System(error),
    })
}

/// Reports whether the calling thread has a reservation.
pub fn is_reserved() -> bool {
    // SAFETY: the call takes a number only; 0 is the calling thread.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    policy & !RESET_ON_FORK == DEADLINE as c_long
}

/// Returns the parts per million of processor time that the kernel allows to be reserved.
fn allowed() -> Option<u64> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse::<i64>().ok()
    };
    let runtime = read("sched_rt_runtime_us")?;
    let period = u64::try_from(read("sched_rt_period_us")?).ok()?;
    let Ok(runtime) = u64::try_from(runtime) else {
        return Some(MILLION); // -1: no limit
    };
    (runtime * MILLION).checked_div(period)
}

const MILLION: u64 = 1_000_000;

impl Reservation {
    /// Returns the reserved share of one processor, in parts per million.
    pub fn share(&self) -> u64 {
        let share = self.runtime.as_nanos() * u128::from(MILLION) / self.period.as_nanos().max(1);
        share as u64
    }
}

impl fmt::Display for ReservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: u64| format!("{}.{} %", share / 10_000, share / 1000 % 10);
        match self {
            ReservationError::Times(Reservation {
                runtime,
                deadline,
                period,
            }) => write!(
                f,
                "{runtime:?} within {deadline:?} of each {period:?} cannot be reserved: the kernel requires 1.024 us \
                 <= runtime <= deadline <= period, and a period that the kernel allows \
                 (kernel.sched_deadline_period_*_us)"
            ),
            ReservationError::Refused {
                asked,
                allowed,
                cpus,
            } => {
                let Reservation {
                    runtime, period, ..
                } = asked;
                write!(
                    f,
                    "{runtime:?} of each {period:?} ({} of a processor) is more than the kernel has left: ",
                    percent(asked.share())
                )?;
                match allowed {
                    Some(allowed) => write!(
                        f,
                        "the kernel reserves at most {} of each of {cpus} processors (kernel.sched_rt_runtime_us)",
                        percent(*allowed)
                    ),
                    None => write!(f, "the kernel does not report how much of {cpus} processors that is"),
                }
            }
            ReservationError::NotPermitted => f.write_str(
                "this process may not reserve processor time: that needs CAP_SYS_NICE, and threads that may run on \
                 every processor",
            ),
            ReservationError::System(error) => {
                write!(f, "processor time cannot be reserved: {error}")
            }
        }
    }
}

impl fmt::Debug for ReservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ReservationError {}

const DEADLINE: u32 = 6;

/// `SCHED_FLAG_RESET_ON_FORK`: new threads of the thread do not inherit its reservation.
const RESET_FLAG: u64 = 1;

/// `struct sched_attr` in its first version, which all kernels accept.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const _: () = assert!(mem::size_of::<Attributes>() == 48);

fn check(result: c_long) -> io::Result<()> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use oxorb_testkit::{overload_is_refused, require_realtime, require_reservations};

    use super::*;

    fn in_a_thread(test: fn()) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_class_and_priority_hold_for_the_thread_alone() {
        if !require_realtime() {
            return;
        }
        in_a_thread(|| {
            for class in [SchedulingClass::Fifo, SchedulingClass::RoundRobin] {
                let wanted = ThreadPriority { class, priority: 3 };
                set_current(wanted).unwrap();
                assert_eq!(current().unwrap(), wanted);
            }
            set_current(ThreadPriority::default()).unwrap();
            assert_eq!(current().unwrap(), ThreadPriority::default());
        });
        assert_eq!(current().unwrap().class, SchedulingClass::Other);
    }

    #[test]
    fn a_priority_that_the_class_does_not_have_is_refused() {
        in_a_thread(|| {
            for (class, priority) in [
                (SchedulingClass::Other, 1),
                (SchedulingClass::Fifo, 0),
                (SchedulingClass::Fifo, 100),
            ] {
                let error = set_current(ThreadPriority { class, priority }).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            }
        });
    }

    const WHOLE: Reservation = Reservation {
        runtime: Duration::from_millis(100),
        deadline: Duration::from_millis(100),
        period: Duration::from_millis(100),
    };

    #[test]
    fn times_that_contradict_each_other_are_refused() {
        in_a_thread(|| {
            let late = Reservation { deadline: Duration::from_millis(50), ..WHOLE };
            let none = Reservation { runtime: Duration::ZERO, ..WHOLE };
            let runtime = LEAST_RUNTIME - Duration::from_nanos(1);
            let short = Reservation { runtime, ..WHOLE };
            for asked in [late, none, short] {
                assert!(matches!(reserve(asked), Err(ReservationError::Times(_))));
            }
        });
    }

    /// The kernel reports the reservation, and the thread continues to run.
    #[test]
    fn a_reservation_that_is_granted_is_what_the_kernel_schedules_by() {
        let Some(_account) = require_reservations() else {
            return;
        };
        in_a_thread(|| {
            let asked = Reservation {
                runtime: Duration::from_millis(2),
                deadline: Duration::from_millis(20),
                period: Duration::from_millis(40),
            };
            reserve(asked).unwrap();
            // The thread may start other threads, which have no reservation.
            let other = std::thread::spawn(is_reserved).join();
            assert!(is_reserved() && !other.unwrap());
            let told = std::fs::read_to_string("/proc/thread-self/sched").unwrap();
            let value = |name: &str| {
                let line = told.lines().find(|line| line.starts_with(name));
                let (_, value) = line.unwrap().rsplit_once(':').unwrap();
                value.trim().parse::<u64>().unwrap()
            };
            assert_eq!(value("policy"), u64::from(DEADLINE));
            assert!(value("dl.runtime") <= 2_000_000, "{told}");
            // The thread never sleeps, but the kernel limits it to the reserved 5 %. The bound of a quarter leaves a
            // margin.
            let on_processor = || {
                let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
                told.split(' ').next().unwrap().parse::<u64>().unwrap()
            };
            let (began, before) = (std::time::Instant::now(), on_processor());
            while began.elapsed() < Duration::from_millis(200) {}
            let used = Duration::from_nanos(on_processor() - before);
            assert!(used * 4 < began.elapsed(), "{used:?}");
            // The thread may reduce its reservation.
            let less = Reservation { runtime: Duration::from_millis(1), ..asked };
            reserve(less).unwrap();
        });
    }

    #[test]
    fn more_than_the_kernel_gives_away_is_refused_with_the_shortfall() {
        let Some(_account) = require_reservations() else {
            return;
        };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        // The reservations together exceed all processors. None takes a whole processor, because Linux 6.18 miscounts
        // such reservations when they end (see `oxorb_testkit::realtime`).
        let part = Reservation { runtime: Duration::from_millis(45), ..WHOLE };
        let threads = 2 * cpus + cpus / 4 + 1;
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = std::sync::Mutex::new(ended);
        let refused = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|_| {
                    let (tell, told) = std::sync::mpsc::channel();
                    let (ended, refused) = (&ended, &refused);
                    scope.spawn(move || {
                        if let Err(error) = reserve(part) {
                            refused.lock().unwrap().push(error.to_string());
                        }
                        let _ = tell.send(());
                        let _ = ended.lock().unwrap().recv();
                    });
                    told
                })
                .collect();
            started.iter().for_each(|told| told.recv().unwrap());
            drop(end);
        });
        let refused = refused.into_inner().unwrap();
        let start = "45ms of each 100ms (45.0 % of a processor)";
        assert_eq!(
            !refused.is_empty(),
            overload_is_refused(),
            "of {cpus} processors more was asked for than there is"
        );
        assert!(refused.iter().all(|text| text.starts_with(start)), "{refused:?}");
    }

    #[test]
    fn the_refusal_names_what_was_asked_and_what_there_is() {
        let error = ReservationError::Refused { asked: WHOLE, allowed: Some(950_000), cpus: 2 };
        assert_eq!(
            error.to_string(),
            "100ms of each 100ms (100.0 % of a processor) is more than the kernel has left: the kernel reserves at \
             most 95.0 % of each of 2 processors (kernel.sched_rt_runtime_us)"
        );
    }
}
