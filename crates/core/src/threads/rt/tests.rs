//! Priorities of threads: set, raised, restored, refused.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxorb_object::{SystemExceptionKind, minor};
use oxorb_rt::{NativePriority, Priority, PriorityMapping};
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};

use oxorb_testkit::require_realtime;

use super::MappingChoice;
use crate::{Incident, Options, Orb};

fn orb(class: SchedulingClass, mapping: MappingChoice) -> Orb {
    let mut options = Options::default();
    options.realtime.class = class;
    options.realtime.mapping = mapping;
    Orb::new(options)
}

fn priority(value: i16) -> Priority {
    Priority::new(value).unwrap()
}

/// Returns the class and priority for a thread of the native priority `priority`.
fn fifo(priority: i32) -> ThreadPriority {
    ThreadPriority { class: SchedulingClass::Fifo, priority }
}

fn in_a_thread(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(test).join().unwrap());
}

#[test]
fn a_priority_reaches_the_kernel_and_is_restored_after_a_panic() {
    if !require_realtime() {
        return;
    }
    in_a_thread(|| {
        let orb = orb(SchedulingClass::Fifo, MappingChoice::Continuous);
        assert_eq!(orb.thread_priority(), None);
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            let _raised = orb.raise_thread(priority(6)).unwrap();
            assert_eq!(orb.thread_priority(), Some(priority(6)));
            assert_eq!(schedule::current().unwrap(), fifo(7));
            let _higher = orb.raise_thread(priority(9)).unwrap();
            assert_eq!(schedule::current().unwrap(), fifo(10));
            panic!("as a servant might");
        }));
        assert!(panicked.is_err());
        assert_eq!(orb.thread_priority(), None);
        assert_eq!(schedule::current().unwrap(), ThreadPriority::default());
    });
}

#[test]
fn want_of_privilege_is_told_at_most_once_and_priorities_go_on() {
    in_a_thread(|| {
        let orb = orb(SchedulingClass::Fifo, MappingChoice::Linear);
        for value in [1, 20_000, 5, Priority::MAX.get()] {
            orb.set_thread_priority(priority(value)).unwrap();
            assert_eq!(orb.thread_priority(), Some(priority(value)));
        }
        let told = orb.connection_statistics().count(Incident::NoRealTimePriority);
        assert!(told <= 1, "{told}");
    });
}

#[test]
fn a_priority_that_the_class_does_not_have_is_data_conversion() {
    in_a_thread(|| {
        let orb = orb(SchedulingClass::Fifo, MappingChoice::Direct);
        for value in [0, 100] {
            let refused = orb.set_thread_priority(priority(value)).unwrap_err();
            assert_eq!(refused.kind, SystemExceptionKind::DataConversion);
            assert_eq!(refused.minor, minor::data_conversion::PRIORITY_MAPPING);
            assert_eq!(orb.thread_priority(), None);
        }
    });
}

#[test]
fn without_a_real_time_class_no_schedule_is_touched() {
    in_a_thread(|| {
        let orb = orb(SchedulingClass::Other, MappingChoice::Linear);
        orb.set_thread_priority(Priority::MAX).unwrap();
        assert_eq!(orb.effective_priority(), Ok(Priority::MAX));
        assert_eq!(schedule::current().unwrap(), ThreadPriority::default());
    });
}

/// Mapping that counts its uses.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl PriorityMapping for Counting {
    fn to_native(&self, priority: Priority) -> Option<NativePriority> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(NativePriority(priority.get()))
    }

    fn to_corba(&self, native: NativePriority) -> Option<Priority> {
        Priority::new(native.0).ok()
    }
}

#[test]
fn who_has_the_priority_pays_nothing() {
    in_a_thread(|| {
        let mapping = Arc::new(Counting::default());
        let orb = orb(SchedulingClass::Other, MappingChoice::User(mapping.clone()));
        let asked = || mapping.0.load(Ordering::Relaxed);
        orb.set_thread_priority(priority(3)).unwrap();
        assert_eq!(asked(), 1);
        for _ in 0..10 {
            let _raised = orb.raise_thread(priority(3)).unwrap();
        }
        assert_eq!(asked(), 1);
    });
}
