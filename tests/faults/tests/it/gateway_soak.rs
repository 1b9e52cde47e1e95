//! A gateway whose clients come and go, orderly and not, while the server behind it is killed again and again. No call
//! that raised COMPLETED_NO has run, and memory, descriptors and threads of the gateway end as they began.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::gateway::{Gateway, GatewaySettings, SigningKey};
use oxorb::ior::Ior;
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, SystemException, SystemExceptionKind,
};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::resources::{Resources, length_of_a_soak};
use oxorb_testkit::watchdog;

use crate::common::worker::Leaf;
use crate::common::*;

/// Variable set in the gateway's process: the reference of the server.
const TARGET: &str = "OXORB_FAULTS_GATEWAY_TARGET";

const ANYWHERE: &str = "iiop://127.0.0.1:0";

/// Permitted growth of memory after the first quarter, in KiB: memory retained by the allocator and by threads.
const SLACK: u64 = 16 << 10;

/// Time between two ends of the server.
const LIFE: Duration = Duration::from_secs(3);

/// Runs the gateway in a separate process, until killed.
#[test]
fn gateway_process() {
    let Ok(server) = std::env::var(TARGET) else {
        return;
    };
    let side = || Orb::builder().listen(ANYWHERE).round_trip_timeout(Duration::from_secs(5));
    let settings = GatewaySettings {
        callbacks: Some("allow 127.0.0.0/8".parse().unwrap()),
        // Clients bring many objects, of which few are kept.
        max_active: 100,
        ..GatewaySettings::new(SigningKey::random().unwrap())
    };
    let gateway = Gateway::new(side(), side(), settings).unwrap();
    gateway.open("Worker", &server).unwrap();
    gateway.listen().unwrap();
    println!("at {}", gateway.reference("Worker").unwrap().to_ior());
    gateway.run();
}

/// Clients that come and go.
struct Guests {
    reference: String,
    stop: AtomicBool,
    visits: AtomicU64,
    answers: AtomicU64,
}

impl Guests {
    /// Comes and goes until stopped, in each of six ways.
    fn come_and_go(&self, seed: u64) {
        for visit in seed.. {
            if self.stop.load(SeqCst) {
                return;
            }
            let orb = Orb::builder().listen(ANYWHERE).build().unwrap();
            let worker: ObjectRef = orb.resolve(&self.reference).unwrap();
            let worker = within(&worker, Duration::from_secs(10));
            match visit % 6 {
                0 => (0..20).for_each(|n| self.answered(ping(&worker, n), n + 1)),
                1 => self.be_called_back(&orb, &worker),
                2 => self.answered(swallow(&worker, 256 << 10), 256 << 10),
                3 => self.send_half(&worker),
                4 => self.forge(&orb, &worker),
                _ => {
                    // The client leaves while its request runs.
                    let reply = run_async(&worker, 0);
                    orb.shutdown(false).unwrap();
                    drop(reply);
                }
            }
            orb.shutdown(true).unwrap();
            self.visits.fetch_add(1, SeqCst);
        }
    }

    /// Checks the result of a call. A call may fail because the server is killed.
    fn answered(&self, result: Result<i64, SystemException>, wanted: i64) {
        match result {
            Ok(answer) => {
                assert_eq!(answer, wanted);
                self.answers.fetch_add(1, SeqCst);
            }
            Err(exception) => assert!(is_of_a_killed_server(exception), "{exception}"),
        }
    }

    fn be_called_back(&self, orb: &Orb, worker: &ObjectRef) {
        let leaf = orb.root_poa().activate_servant(Arc::new(Leaf(5))).unwrap();
        let leaf = ObjectRef::from_ref(leaf);
        (0..5).for_each(|n| self.answered(call_back(worker, &leaf, n), n + 5));
    }

    /// Sends a part of a request, and leaves.
    fn send_half(&self, worker: &ObjectRef) {
        let profile = worker.reference().ior().iiop_profiles().next().unwrap();
        let mut stream = TcpStream::connect((profile.host.as_str(), profile.port)).unwrap();
        let request = request(worker, "ping", 1);
        // The gateway may be short of connections.
        let _ = stream.write_all(&request[..request.len() / 2]);
    }

    /// Calls an object that the gateway has not handed out.
    fn forge(&self, orb: &Orb, worker: &ObjectRef) {
        let ior = worker.reference().ior();
        let mut profile = ior.iiop_profiles().next().unwrap();
        *profile.object_key.last_mut().unwrap() ^= 1;
        let profiles = vec![profile.to_profile()];
        let forged = Ior { type_id: ior.type_id.clone(), profiles };
        let forged: ObjectRef = orb.resolve(&forged.to_string()).unwrap();
        let refused = ping(&forged, 1).unwrap_err();
        assert_eq!(refused.completed, CompletionStatus::No, "{refused}");
    }
}

fn is_of_a_killed_server(exception: SystemException) -> bool {
    let kinds = [
        // A server that starts again listens before it has its object.
        SystemExceptionKind::ObjectNotExist,
        SystemExceptionKind::Transient,
        SystemExceptionKind::CommFailure,
        SystemExceptionKind::Timeout,
    ];
    kinds.contains(&exception.kind)
}

/// Client that calls with consecutive numbers, each of which the server records.
pub(crate) struct Steady {
    worker: ObjectRef,
    next: AtomicI64,
    answered: AtomicU64,
    /// Completion status of each failed call.
    failed: Mutex<HashMap<i64, CompletionStatus>>,
}

impl Steady {
    /// Returns a client of a worker.
    pub(crate) fn new(worker: ObjectRef) -> Steady {
        let (next, answered) = (AtomicI64::new(1), AtomicU64::new(0));
        Steady { worker, next, answered, failed: Mutex::default() }
    }

    /// Returns the number of answered calls.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(SeqCst)
    }

    /// Returns the number of failed calls.
    pub(crate) fn failed(&self) -> usize {
        self.failed.lock().unwrap().len()
    }

    /// Calls for a time.
    fn call_for(&self, length: Duration) {
        let end = Instant::now() + length;
        self.call_while(|| Instant::now() < end);
    }

    /// Calls as long as `goes_on` holds.
    pub(crate) fn call_while(&self, goes_on: impl Fn() -> bool) {
        while goes_on() {
            let number = self.next.fetch_add(1, SeqCst);
            match run_once(&self.worker, number) {
                Ok(answer) => {
                    assert_eq!(answer, number + 1);
                    self.answered.fetch_add(1, SeqCst);
                }
                Err(exception) => {
                    assert!(is_of_a_killed_server(exception), "{exception}");
                    self.failed.lock().unwrap().insert(number, exception.completed);
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Checks that each call with an answer has run once, and none that raised COMPLETED_NO.
    pub(crate) fn check(&self, journal: &[i64]) {
        let mut ran: HashMap<i64, u32> = HashMap::new();
        for number in journal.iter().filter(|number| **number > 0) {
            *ran.entry(*number).or_default() += 1;
        }
        let failed = self.failed.lock().unwrap();
        for number in 1..self.next.load(SeqCst) {
            let times = ran.get(&number).copied().unwrap_or_default();
            match failed.get(&number) {
                None => assert_eq!(times, 1, "the call {number} was answered"),
                Some(CompletionStatus::No) => assert_eq!(times, 0, "the call {number} did not run"),
                Some(_) => assert!(times <= 1, "the call {number}"),
            }
        }
    }
}

/// Lets guests come and go for a time, while the server is killed and the steady client calls.
fn soak(server: &mut Server, guests: &Arc<Guests>, steady: &Arc<Steady>, length: Duration) {
    guests.stop.store(false, SeqCst);
    let visitors: Vec<_> = (0..4)
        .map(|at| {
            let guests = Arc::clone(guests);
            thread::spawn(move || guests.come_and_go(at * 7))
        })
        .collect();
    let calling = {
        let steady = Arc::clone(steady);
        thread::spawn(move || steady.call_for(length))
    };
    while !calling.is_finished() {
        thread::sleep(LIFE.min(length / 4));
        server.restart();
    }
    let called = calling.join();
    // The guests end even if the steady client has failed.
    guests.stop.store(true, SeqCst);
    for visitor in visitors {
        visitor.join().unwrap();
    }
    called.unwrap();
}

#[test]
#[ignore = "45 s, or OXORB_SOAK_SECONDS"]
fn a_gateway_whose_clients_come_and_go_ends_as_it_began() {
    let length = length_of_a_soak(45);
    let _guard = watchdog(length + 6 * LONG);
    let mut server = Server::restartable(&[]);
    let mut command = rerun(test_name(gateway_process));
    command.env(TARGET, server.ior());
    let mut gateway = Process::spawn(command);
    let line = gateway.wait_for_line("at IOR:", LONG);
    let reference = line.rsplit_once(' ').unwrap().1.to_owned();
    let orb = client();
    let worker = orb.string_to_object(&reference).unwrap();
    let steady = Arc::new(Steady::new(within(&worker, Duration::from_secs(10))));
    let guests = Arc::new(Guests {
        reference,
        stop: AtomicBool::new(false),
        visits: AtomicU64::new(0),
        answers: AtomicU64::new(0),
    });
    steady.call_for(Duration::from_millis(500));
    let beginning = Resources::of(gateway.id());
    let mut rest = |length| {
        soak(&mut server, &guests, &steady, length);
        Resources::at_rest(gateway.id(), beginning, KEPT, LONG)
    };
    let (first, last) = (rest(length / 4), rest(length * 3 / 4));
    let count = |counter: &AtomicU64| counter.load(SeqCst);
    let (visits, answers) = (count(&guests.visits), count(&guests.answers));
    let failed = steady.failed();
    println!(
        "{visits} visits, {answers} answers to guests, {} calls of the steady client, of which {failed} failed; \
         gateway at the beginning {beginning:?}, after a quarter {first:?}, at the end {last:?}",
        steady.next.load(SeqCst) - 1,
    );
    assert!(visits > 20 && answers > 0);
    steady.check(&server.journal());
    assert!(last.memory <= first.memory + SLACK, "{first:?} -> {last:?}");
    orb.shutdown(true).unwrap();
}
