//! A distributable thread in three processes, cancelled in each of them.

use std::env;
use std::sync::{Arc, Mutex};
use std::thread;

use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_rtscheduling::{DtState, Id, RtScheduling};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Environment variable of the processes that [`serve`].
const ROLE: &str = "OXORB_TEST_ROLE";
/// Environment variable with the reference to the object of the next process.
const NEXT: &str = "OXORB_TEST_NEXT";

/// Server process, with its object.
struct Child {
    process: Process,
    ior: String,
}

impl Child {
    fn start(role: &str, next: Option<&str>) -> Child {
        let mut command = rerun(test_name(serving));
        command.env(ROLE, role).env(NEXT, next.unwrap_or_default());
        let mut process = Process::spawn(command);
        let line = process.wait_for_line("IOR:", LONG);
        // The test harness writes the name of the test on the same line, before the reference.
        let ior = line[line.find("IOR:").unwrap()..].trim().to_owned();
        Child { process, ior }
    }

    fn says(&mut self, what: &str) -> String {
        self.process.wait_for_line(what, LONG)
    }
}

/// Server in a process of its own; does nothing in the process of the tests.
#[test]
fn serving() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let scheduling = RtScheduling::new(Notes::default());
    let orb = server(&scheduling);
    let next = env::var(NEXT).ok().filter(|next| !next.is_empty());
    let next = next.map(|next| orb.string_to_object(&next).unwrap());
    let here: Arc<Mutex<Option<Id>>> = Arc::default();
    let (current, scheduling) = (scheduling.current(&orb), scheduling);
    let object = serve(&orb, move |operation| match operation {
        "run" => {
            *here.lock().unwrap() = current.id();
            let segment = current.begin_scheduling_segment(&role, 7, None).unwrap();
            // This line tells the test that it may cancel the thread from here on.
            println!("{role} runs {}", current.id().unwrap());
            let ended = match &next {
                Some(next) => run(next),
                None => current.sleep(2 * LONG),
            };
            println!("{role} ended {ended:?}");
            segment.end()?;
            ended
        }
        _ => {
            let id = here.lock().unwrap().expect("it was here");
            let thread = scheduling.lookup(&id).expect("it is here");
            println!("{role} cancels {:?}", thread.cancel());
            Ok(())
        }
    });
    println!("{}", object.to_ior());
    orb.run();
}

/// Starts the thread in a native thread of its own; returns the result of its call, and its state
/// afterwards.
fn begin(
    orb: &Orb,
    scheduling: &RtScheduling<Notes>,
    object: ObjectRef,
) -> thread::JoinHandle<(Result<(), SystemException>, Result<(), SystemException>)> {
    let current = scheduling.current(orb);
    thread::spawn(move || {
        let segment = current.begin_scheduling_segment("head", 5, None).unwrap();
        let called = run(&object);
        (called, segment.end())
    })
}

#[test]
fn a_thread_is_cancelled_wherever_that_is_asked_for() {
    let _watch = watchdog(3 * LONG);
    let mut last = Child::start("last", None);
    let mut middle = Child::start("middle", Some(&last.ior));
    let scheduling = RtScheduling::new(Notes::default());
    let orb = client(&scheduling);
    let objects = [&middle, &last].map(|it| orb.string_to_object(&it.ior).unwrap());
    for canceller in ["head", "middle", "last"] {
        let head = begin(&orb, &scheduling, objects[0].clone());
        let id = last.says("last runs");
        let id = id.split_whitespace().last().unwrap();
        assert!(middle.says("middle runs").ends_with(id), "the same thread");
        match canceller {
            "head" => {
                let octets: Vec<u8> = oxorb_testkit::octets(id);
                let id = Id::from_octets(&octets).unwrap();
                let thread = scheduling.lookup(&id).unwrap();
                assert_eq!(thread.cancel(), Ok(true), "the next process has answered");
                // The thread may have returned and ended already.
                assert_ne!(thread.state(), DtState::Active);
                // A second cancellation sends no further notifications.
                let again = thread.cancel().or_else(|error| match error.kind {
                    SystemExceptionKind::ObjectNotExist => Ok(true),
                    _ => Err(error),
                });
                assert_eq!(again, Ok(true));
            }
            "middle" => tell_at(&objects[0]),
            _ => tell_at(&objects[1]),
        }
        // `last` would sleep for twice `LONG`, so the cancellation has interrupted its wait.
        assert!(last.says("last ended").contains("THREAD_CANCELLED"));
        assert!(middle.says("middle ended").contains("THREAD_CANCELLED"));
        let (called, ended) = head.join().unwrap();
        assert_eq!(called.unwrap_err().kind, cancelled(CompletionStatus::No).kind);
        assert_eq!(ended, Err(cancelled(CompletionStatus::No)));
    }
    orb.shutdown(true).unwrap();
}

/// Makes the process of an object cancel the last thread that was there.
fn tell_at(object: &ObjectRef) {
    static CANCEL: oxorb::__gen::Op = oxorb::__gen::Op::twoway("cancel");
    let told: Result<(), SystemException> =
        object.reference().invoke(&CANCEL, |_| Ok(()), |_| Ok(()));
    told.unwrap();
}

#[test]
fn a_process_that_was_killed_bounds_the_wait_of_a_cancel() {
    let _watch = watchdog(3 * LONG);
    let mut last = Child::start("last", None);
    let mut middle = Child::start("middle", Some(&last.ior));
    let scheduling = RtScheduling::new(Notes::default());
    let orb = client(&scheduling);
    let object = orb.string_to_object(&middle.ior).unwrap();
    let head = begin(&orb, &scheduling, object.clone());
    last.says("last runs");
    last.process.kill();
    let (called, ended) = head.join().unwrap();
    assert!(called.is_err());
    assert_eq!(ended, Ok(()), "a call has failed, and nobody has cancelled the thread");
    middle.says("middle ended");
    orb.shutdown(true).unwrap();
}
