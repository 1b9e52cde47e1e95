//! Threads of an ORB: each is listed with its declared schedule, which the kernel confirms, whichever thread started
//! it; and calls of one priority do not wait for those of another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, Barrier, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use oxorb::client::AsyncReply;
use oxorb::policy::SyncScope;
use oxorb::rt::{
    MappingChoice, OrbThread, SchedulingClass, ThreadPurpose, ThreadScheduling, Threadpool,
};
use oxorb::settings::Concurrency;
use oxorb::{Interface, ObjectRef, SystemException};
use oxorb_sys::schedule::{self, ThreadPriority};
use oxorb_testkit::{require_realtime, watchdog};

use crate::common::fake::{FakeServer, Received};
use crate::common::worker::*;
use crate::common::{self, LONG, NOTE, PING, Pinger, alone, ping, ping_async};

fn fifo(priority: i32) -> ThreadPriority {
    ThreadPriority { class: SchedulingClass::Fifo, priority }
}

/// Starts a call of a [`Worker`] that waits at its gate.
fn wait(object: &ObjectRef) -> AsyncReply<(), SystemException> {
    object.reference().invoke_async(&WAIT, |_| Ok(()), |_| Ok(()))
}

/// Returns kernel ids and names of the process's threads with an ORB's thread names.
fn kernel_threads() -> BTreeMap<i32, String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let tasks = tasks.filter_map(|task| {
        let task = task.ok()?;
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let id = task.file_name().to_str()?.parse().ok()?;
        Some((id, name.trim().to_owned()))
    });
    tasks.filter(|(_, name)| name.starts_with("oxorb-")).collect()
}

/// Runs one thread of each kind in ORBs of this class, started by threads of SCHED_FIFO 40, and calls `look`.
fn with_all_threads(class: SchedulingClass, look: impl FnOnce(&[OrbThread]) + Send) {
    thread::scope(|scope| {
        let started = scope.spawn(move || {
            schedule::set_current(fifo(40)).unwrap();
            run_all_threads(class, look);
        });
        started.join().unwrap();
    });
}

fn run_all_threads(class: SchedulingClass, look: impl FnOnce(&[OrbThread])) {
    let orb = |concurrency| {
        common::transport::listening()
            .configure(move |options| {
                options.realtime.mapping = match class {
                    SchedulingClass::Fifo => MappingChoice::Continuous,
                    _ => MappingChoice::Linear,
                };
                options.realtime.class = class;
                options.concurrency = concurrency;
                options.client_idle_timeout = Some(LONG);
                options.client_connections = oxorb::settings::ClientConnections::Cached;
            })
            .build()
            .unwrap()
    };
    let server = orb(Concurrency::ThreadPerConnection);
    let workers = orb(Concurrency::LeaderFollowers { threads: 2 });
    let client = orb(Concurrency::ThreadPerConnection);
    let pool = server.create_threadpool(Threadpool::with_lanes([lane(4, 1), lane(9, 1)])).unwrap();
    let worker = Arc::new(Worker::default());
    let urgent = activate(&lane_poa(&server, pool, 9), &client, &worker);
    let plain = activate(server.root_poa(), &client, &worker);
    let pooled = activate(workers.root_poa(), &client, &worker);
    for object in [&urgent, &plain, &pooled] {
        whereabouts(object);
    }
    // Start threads that outlive the call that starts them: readers, callbacks and alarms of calls at a priority.
    client.set_thread_priority(priority(20)).unwrap();
    schedule::set_current(fifo(40)).unwrap();
    let pinger = server.root_poa().activate_servant(Arc::new(Pinger::default()));
    let pinger = common::elsewhere(&client, &pinger.unwrap());
    let (told, answers) = mpsc::channel();
    ping_async(&pinger, 7).then(move |answer| {
        let _ = told.send(answer.is_ok());
    });
    assert_eq!(answers.recv(), Ok(true));
    let waits = urgent.reference().with_timeout(LONG).invoke_async::<(), SystemException>(
        &WAIT,
        |_| Ok(()),
        |_| Ok(()),
    );
    waits.then(drop);
    worker.until_waiting(1);
    let mut later = Box::pin(wait(&plain));
    let _ = later.poll_ready(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    worker.until_waiting(2);
    let unsent = plain.reference().with(SyncScope::None);
    unsent.send(&PING, |_| Ok(())).unwrap();
    let (mut listed, mut ids, mut kernel) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    // Repeat until each thread has set its class, which may take long on a loaded machine.
    for _ in 0..10_000 {
        let orbs = [&server, &workers, &client];
        listed = orbs.iter().flat_map(|orb| orb.threads()).collect();
        let short = |one: &OrbThread| (one.id, one.name.chars().take(15).collect());
        ids = listed.iter().map(short).collect();
        kernel = kernel_threads();
        if ids == kernel && listed.iter().all(|one| one.actual == one.configured) {
            break;
        }
        thread::sleep(Duration::from_millis(2));
    }
    // Compare the lists just read, without reading them again: the server may be about to start a thread for the
    // connection of the oneway.
    assert_eq!(kernel, ids, "all threads of the ORBs are listed");
    look(&listed);
    worker.open();
    drop(later);
    for orb in [&client, &server, &workers] {
        orb.shutdown(true).unwrap();
    }
}

fn purposes(threads: &[OrbThread]) -> BTreeSet<ThreadPurpose> {
    threads.iter().map(|one| one.purpose).collect()
}

#[test]
fn no_thread_inherits_the_schedule_of_the_one_that_started_it() {
    if !require_realtime() || !alone(no_thread_inherits_the_schedule_of_the_one_that_started_it) {
        return;
    }
    let _guard = watchdog(LONG);
    with_all_threads(SchedulingClass::Other, |threads| {
        for one in threads {
            let plain = ThreadScheduling::Class(ThreadPriority::default());
            assert_eq!(one.configured.scheduling, plain, "{one}");
            assert_eq!(one.actual, one.configured, "{one}");
        }
    });
}

#[test]
fn each_thread_has_the_class_and_priority_that_were_declared_for_it() {
    if !require_realtime()
        || !alone(each_thread_has_the_class_and_priority_that_were_declared_for_it)
    {
        return;
    }
    let _guard = watchdog(LONG);
    with_all_threads(SchedulingClass::Fifo, |threads| {
        for one in threads {
            // The `continuous` mapping starts at the lowest native priority, 1, so each native priority is the CORBA
            // priority plus one.
            let expected = match (one.purpose, one.name.as_str()) {
                (ThreadPurpose::Lane, name) if name.ends_with(".0") => 5,
                (ThreadPurpose::Lane, _) => 10,
                (ThreadPurpose::Acceptor, _) => continue,
                (ThreadPurpose::Reader | ThreadPurpose::Callbacks | ThreadPurpose::Oneways, _) => {
                    21
                }
                _ => 1,
            };
            let expected = ThreadScheduling::Class(fifo(expected));
            // Skip readers: those of calls to the two lanes have the declared priorities of their objects.
            if one.purpose != ThreadPurpose::Reader {
                assert_eq!(one.configured.scheduling, expected, "{one}");
            }
            assert_eq!(one.actual, one.configured, "{one}");
        }
        let of = |purpose: ThreadPurpose| -> Vec<i32> {
            let all = threads.iter().filter(|one| one.purpose == purpose);
            let priority = |one: &OrbThread| match one.actual.scheduling {
                ThreadScheduling::Class(schedule) => schedule.priority,
                _ => -1,
            };
            let mut all: Vec<i32> = all.map(priority).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(of(ThreadPurpose::Acceptor), [1, 1, 1, 5, 10]);
        assert_eq!(of(ThreadPurpose::Reader), [10, 21], "of the lane's band, of the caller's");
        let all = purposes(threads);
        for purpose in [
            ThreadPurpose::Acceptor,
            ThreadPurpose::Connection,
            ThreadPurpose::Worker,
            ThreadPurpose::Lane,
            ThreadPurpose::Reader,
            ThreadPurpose::Callbacks,
            ThreadPurpose::Oneways,
            ThreadPurpose::IdleConnections,
        ] {
            assert!(all.contains(&purpose), "{purpose:?}: {all:?}");
        }
    });
}

#[test]
fn the_list_is_empty_when_the_orb_has_ended() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let object = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
    whereabouts(&object);
    assert!(!server.threads().is_empty());
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    while !server.threads().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_urgent_answer_does_not_wait_for_the_rest_of_another_one() {
    let _guard = watchdog(LONG);
    let client = client();
    let server = FakeServer::start();
    let object = server.object(&client);
    let at = |value: i16| {
        let _raised = client.raise_thread(priority(value)).unwrap();
        ping_async(&object, 7)
    };
    let mut low = at(10);
    let mut of_low = server.accept();
    let low_id = of_low.request();
    let whole = common::fake::reply(low_id, oxorb_giop::ReplyStatus::NO_EXCEPTION, |e| {
        e.longlong(7);
        Ok(())
    });
    of_low.send(&whole[..whole.len() / 2]);
    let urgent = at(20);
    let mut of_urgent = server.accept();
    of_urgent.answer_next(0);
    urgent.wait().unwrap();
    assert!(!low.is_ready());
    of_low.send(&whole[whole.len() / 2..]);
    low.wait().unwrap();
    client.shutdown(true).unwrap();
}

#[test]
fn handlers_of_calls_of_two_priorities_run_side_by_side_each_at_its_own() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let pinger = server.root_poa().activate_servant(Arc::new(Pinger::default()));
    let object = common::elsewhere(&client, &pinger.unwrap());
    // Each handler waits for the other one, so both must run at the same time.
    let both = Arc::new(Barrier::new(2));
    let (told, priorities) = mpsc::channel();
    for value in [10, 20] {
        let _raised = client.raise_thread(priority(value)).unwrap();
        let (both, told, orb) = (Arc::clone(&both), told.clone(), client.clone());
        ping_async(&object, 7).then(move |answer| {
            both.wait();
            let _ = told.send((answer.is_ok(), orb.thread_priority()));
        });
    }
    let mut seen: Vec<_> = priorities.iter().take(2).collect();
    seen.sort();
    let expected = [10, 20].map(|value| (true, Some(priority(value))));
    assert_eq!(seen, expected);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// An urgent oneway is sent although the server does not read the less urgent ones.
#[test]
fn an_urgent_buffered_oneway_waits_for_no_other() {
    let _guard = watchdog(LONG);
    let server = FakeServer::start();
    let url = common::transport::url(&[&server.address()], "x");
    let client = common::transport::builder()
        .setting("BufferedOneways", &LARGE.to_string())
        .build()
        .unwrap();
    let object = client.string_to_object(&url).unwrap();
    let object = object.with(SyncScope::None);
    let send = |at: i16, octets: usize| {
        client.set_thread_priority(priority(at)).unwrap();
        let sent = object.reference().send(&NOTE, |e| {
            e.copy_octets(&vec![0; octets]);
            Ok(())
        });
        sent.unwrap();
    };
    send(10, LARGE / 2);
    let unread = server.accept();
    send(20, 0);
    let mut urgent = server.accept();
    let received = urgent.receive();
    assert!(matches!(received, Received::Request(..)), "{received:?}");
    let threads = client.threads();
    let oneways = threads.iter().filter(|thread| thread.purpose == ThreadPurpose::Oneways);
    assert_eq!(oneways.count(), 2, "{threads:?}");
    assert_eq!(object.reference().buffered().lost, 0);
    drop((unread, urgent));
    client.shutdown(true).unwrap();
}

/// More than socket buffers hold.
const LARGE: usize = 64 << 20;

/// The thread that looks up a name belongs to the ORB, and is as urgent as the caller that waits
/// for it.
#[test]
fn a_lookup_is_a_thread_of_the_orb() {
    common::only_over!(TCP, "only hosts have names that are looked up");
    let _guard = watchdog(LONG);
    let client = common::transport::builder().build().unwrap();
    client.set_thread_priority(priority(20)).unwrap();
    let object = client.string_to_object("corbaloc::no-such-host.invalid:1/x").unwrap();
    // Repeat lookups until one is seen, because a lookup may end before this thread lists the threads.
    let seen = OnceLock::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                client.set_thread_priority(priority(20)).unwrap();
                while seen.get().is_none() {
                    assert!(ping(&object, 1).is_err());
                }
            });
        }
        while seen.get().is_none() {
            let mut threads = client.threads().into_iter();
            if let Some(found) = threads.find(|thread| thread.purpose == ThreadPurpose::LookUp) {
                seen.set(found).unwrap();
            }
        }
    });
    let look_up = seen.get().unwrap();
    assert_eq!(look_up.name, "oxorb-lookup");
    assert_eq!(look_up.actual.cpus, look_up.configured.cpus);
    client.shutdown(true).unwrap();
}
