//! Clients that are killed at every step of a call: the server is unharmed, keeps nothing of them, and serves other
//! clients.

use std::thread;
use std::time::Duration;

use oxorb_testkit::{side_by_side, watchdog};

use crate::common::visitor::{Step, Visitor};
use crate::common::*;

/// Concurrency models of the server.
const CONCURRENCIES: [&str; 2] = ["thread-per-connection", "leader-followers:4"];

/// Permitted growth of memory in KiB: more than the noise of an allocator, less than one leaked request or answer.
const GROWTH: u64 = 8 << 10;

#[test]
fn killed_while_it_sends_nothing() {
    killed(Step::Connected, 3);
}

#[test]
fn killed_while_it_sends() {
    killed(Step::Sending, 3);
}

#[test]
fn killed_when_it_has_sent() {
    killed(Step::Sent, 3);
}

#[test]
fn killed_while_its_request_runs() {
    killed(Step::Running, 3);
}

#[test]
fn killed_while_it_is_answered() {
    killed(Step::Answering, 3);
}

#[test]
#[ignore = "takes its time: .ci/full faults"]
fn killed_at_every_step_many_times() {
    for step in Step::ALL {
        killed(step, 12);
    }
}

/// Kills `clients` clients at that step, some of them simultaneously.
fn killed(step: Step, clients: usize) {
    let _guard = watchdog(3 * LONG);
    side_by_side(CONCURRENCIES.len(), CONCURRENCIES, |concurrency| {
        let settings = [("Concurrency", concurrency), ("StallTimeout", "5000")];
        let server = Server::start(&settings);
        let other = client();
        let object = server.object(&other);
        assert_eq!(ping(&object, 1), Ok(2));
        let (threads, descriptors) = (server.status("Threads"), server.descriptors());
        // Some clients come and go first, so that one-time allocations do not count as growth.
        visit_and_die(&server, step, 3);
        server.await_descriptors(descriptors);
        let served = || {
            for n in 0..50 {
                assert_eq!(ping(&object, n), Ok(n + 1), "{step:?} at {concurrency}");
            }
        };
        served();
        let memory = server.status("VmRSS");
        visit_and_die(&server, step, clients);
        served();
        // Nothing is left of the killed clients: no thread (some wait for more work for five seconds), no descriptor,
        // no message.
        server.await_threads(threads);
        server.await_descriptors(descriptors);
        server.await_memory(memory + GROWTH);
        // Later clients are served.
        let newcomer = client();
        assert_eq!(run_once(&server.object(&newcomer), 1), Ok(2));
    });
}

fn visit_and_die(server: &Server, step: Step, clients: usize) {
    // Three clients at a time, so that one worker serves other clients.
    for several in (0..clients).collect::<Vec<_>>().chunks(3) {
        let mut visitors: Vec<_> = several.iter().map(|_| Visitor::start(server, step)).collect();
        let numbers: Vec<_> = visitors.iter().map(Visitor::number).collect();
        let held_back = matches!(step, Step::Sending | Step::Sent | Step::Answering);
        if held_back {
            server.stop();
        }
        for visitor in &mut visitors {
            visitor.go(step);
        }
        match step {
            Step::Connected => {}
            // By then, or shortly after, the buffers of the sockets are full.
            Step::Sending => thread::sleep(Duration::from_millis(100)),
            Step::Sent => {}
            Step::Running => numbers.iter().for_each(|number| server.await_note(*number)),
            Step::Answering => {
                for visitor in &visitors {
                    visitor.signal("-STOP");
                }
                server.signal("-CONT");
                numbers.iter().for_each(|number| server.await_note(*number));
                thread::sleep(Duration::from_millis(50));
            }
        }
        for visitor in visitors {
            visitor.kill();
        }
        if held_back {
            server.signal("-CONT");
        }
        if step == Step::Running {
            // The servants are notified that no caller waits.
            numbers.iter().for_each(|number| server.await_note(-number));
        }
        let journal = server.journal();
        for number in numbers {
            let ran = journal.iter().filter(|one| **one == number).count();
            assert!(ran <= 1, "a request of a client that is gone ran {ran} times");
        }
    }
}
