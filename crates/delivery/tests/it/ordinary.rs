//! Housekeeping threads do not inherit the priority of the thread that started them.

use std::sync::mpsc;
use std::time::Duration;

use oxorb_delivery::{Monotonic, SchedulingClass, ThreadPriority, Timers};
use oxorb_sys::schedule;
use oxorb_testkit::require_realtime;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn timers_of_an_urgent_thread_run_in_sched_other() {
    if !require_realtime() {
        return;
    }
    let urgent = ThreadPriority { class: SchedulingClass::Fifo, priority: 3 };
    let seen = std::thread::spawn(move || {
        schedule::set_current(urgent).unwrap();
        let (tell, told) = mpsc::channel();
        let timers = Timers::start("ordinary", std::sync::Arc::new(Monotonic), 1, None).unwrap();
        let timer = timers
            .add(move |_| {
                let _ = tell.send(schedule::current().unwrap());
            })
            .unwrap();
        timer.at(0);
        told.recv_timeout(LONG).unwrap()
    });
    assert_eq!(seen.join().unwrap(), ThreadPriority::default());
}
