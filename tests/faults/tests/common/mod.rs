//! A server process, looked at from outside, and calls to it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::{
    CompletionStatus, IdAssignment, Incident, Interface, Lifespan, ObjectRef, Orb, Outcome,
    Policies, Servant, SystemException, Upcall,
};
use oxorb_testkit::process::{Process, rerun};

/// For what must happen: no machine, however loaded, takes that long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

static PING: Op = Op::twoway("ping");
static RUN: Op = Op::twoway("run");
static HANG: Op = Op::twoway("hang");
static BIG: Op = Op::twoway("big");
static COUNT: Op = Op::twoway("count");

/// Set in the process that [`serve`]s.
const SERVING: &str = "OXORB_FAULTS_SERVING";

/// Where the server notes what it runs.
const JOURNAL: &str = "OXORB_FAULTS_JOURNAL";

/// Octets in the answer to `big`: more than any socket buffer holds.
const BIG_ANSWER: usize = 16 << 20;

struct Worker;

impl Worker {
    /// One line for each execution, written before anything else happens.
    fn note(number: i64) {
        let Ok(path) = std::env::var(JOURNAL) else {
            return;
        };
        let mut journal = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("the journal can be written");
        journal
            .write_all(format!("{number}\n").as_bytes())
            .expect("the journal can be written");
    }
}

impl Servant for Worker {
    fn repository_id(&self) -> &str {
        "IDL:oxorb.org/Faults/Worker:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "ping" | "run" | "hang" | "big" => {
                let number = match upcall.args(|d| d.longlong()) {
                    Ok(number) => number,
                    Err(rejected) => return upcall.reject(rejected),
                };
                match upcall.operation() {
                    "ping" => {}
                    _ => Worker::note(number),
                }
                match upcall.operation() {
                    "hang" => thread::sleep(2 * LONG),
                    "big" => {
                        return upcall.reply(|e| {
                            e.length(BIG_ANSWER, None)?;
                            e.copy_octets(&vec![7; BIG_ANSWER]);
                            Ok(())
                        });
                    }
                    _ => {}
                }
                upcall.reply(|e| {
                    e.longlong(number + 1);
                    Ok(())
                })
            }
            "count" => match upcall.args(|d| d.ulong()) {
                Ok(at) => {
                    let statistics = upcall.orb().connection_statistics();
                    let count = statistics.count(Incident::ALL[at as usize]);
                    upcall.reply(|e| {
                        e.longlong(count as i64);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        1
    }
}

/// In the process that a [`Server`] started: serves until it is killed.
pub(crate) fn serve() {
    if std::env::var_os(SERVING).is_none() {
        return;
    }
    let orb = Orb::builder().build().expect("the server starts");
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        ..Policies::default()
    };
    let poa = orb
        .root_poa()
        .create_poa("faults", policies)
        .expect("a POA");
    let worker = poa
        .activate_servant_with_id(&"worker".into(), Arc::new(Worker))
        .expect("an object");
    println!("{worker}");
    orb.run();
}

/// A server in a process of its own. Killed when dropped.
pub(crate) struct Server {
    process: Process,
    ior: String,
    /// What [`Server::restart`] needs again.
    settings: Vec<(String, String)>,
    descriptors: Option<u32>,
    pub(crate) journal: PathBuf,
}

impl Server {
    /// With settings by their `-ORB` names. The test file needs a test `serve` that calls
    /// [`serve`].
    pub(crate) fn start(settings: &[(&str, &str)]) -> Server {
        Server::with_descriptors(None, settings)
    }

    /// The same, with at most so many descriptors.
    pub(crate) fn with_descriptors(most: Option<u32>, settings: &[(&str, &str)]) -> Server {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("oxorb-faults-{}-{number}", std::process::id());
        let journal = std::env::temp_dir().join(name);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings: Vec<_> = settings.iter().map(owned).collect();
        let (process, ior) = run(&settings, most, 0, &journal);
        Server {
            process,
            ior,
            settings,
            descriptors: most,
            journal,
        }
    }

    /// Its object, as `client` resolves it.
    pub(crate) fn object(&self, client: &Orb) -> ObjectRef {
        client.string_to_object(&self.ior).expect("its reference")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let orb = Orb::builder().build().expect("an ORB");
        let object = self.object(&orb);
        let profile = Interface::as_ref(&object)
            .ior()
            .iiop_profiles()
            .next()
            .expect("an IIOP profile");
        SocketAddr::new(profile.host.parse().expect("an address"), profile.port)
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.process.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// SIGSTOP, and waits until every thread has stopped.
    pub(crate) fn stop(&self) {
        self.signal("-STOP");
        let tasks = format!("/proc/{}/task", self.process.id());
        let stopped = |task: std::io::Result<fs::DirEntry>| {
            let status = fs::read_to_string(task.expect("a thread").path().join("status"));
            status.is_ok_and(|status| status.contains("State:\tT"))
        };
        while !fs::read_dir(&tasks).expect("its threads").all(stopped) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// kill -9, and once it is gone the same server again on the same port.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.restart_killed();
    }

    /// The same server again, after [`kill`](Server::kill).
    pub(crate) fn restart_killed(&mut self) {
        let port = self.address().port();
        let started = run(&self.settings, self.descriptors, port, &self.journal);
        (self.process, self.ior) = started;
    }

    pub(crate) fn kill(&mut self) {
        self.signal("-KILL");
        self.process.wait(LONG);
    }

    /// A line of /proc/PID/status that has a number: `Threads`, `VmRSS` (KiB).
    pub(crate) fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let text = fs::read_to_string(path).expect("the server runs");
        let line = text.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Waits until it has at most so many threads.
    pub(crate) fn await_threads(&self, most: u64) {
        let end = Instant::now() + LONG;
        while self.status("Threads") > most {
            assert!(Instant::now() < end, "{} threads", self.status("Threads"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The numbers that were run, in order.
    pub(crate) fn journal(&self) -> Vec<i64> {
        let text = fs::read_to_string(&self.journal).unwrap_or_default();
        text.lines()
            .map(|line| line.parse().expect("a number"))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.journal);
    }
}

fn run(
    settings: &[(String, String)],
    descriptors: Option<u32>,
    port: u16,
    journal: &PathBuf,
) -> (Process, String) {
    let test = rerun("serve");
    let mut command = match descriptors {
        None => test,
        Some(most) => {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")])
                .arg(test.get_program())
                .args(test.get_args());
            shell
        }
    };
    command
        .env(SERVING, "yes")
        .env(JOURNAL, journal)
        .env("OXORB_LISTENENDPOINTS", format!("iiop://127.0.0.1:{port}"));
    for (name, value) in settings {
        command.env(format!("OXORB_{}", name.to_uppercase()), value);
    }
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("IOR:", LONG);
    let at = line.find("IOR:").expect("waited for");
    let ior = line[at..].trim().to_owned();
    (process, ior)
}

pub(crate) fn client() -> Orb {
    Orb::builder().build().expect("a client")
}

pub(crate) fn ping(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    number(object, &PING, n)
}

/// As `ping`, and noted in the journal.
pub(crate) fn run_once(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    number(object, &RUN, n)
}

/// Noted in the journal, and never answered.
pub(crate) fn hang(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    number(object, &HANG, n)
}

/// Noted in the journal, and answered at length.
pub(crate) fn big(object: &ObjectRef, n: i64) -> Result<usize, SystemException> {
    Interface::as_ref(object).invoke(
        &BIG,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| {
            let length = d.length(None, 1)?;
            d.octets(length).map(<[u8]>::len)
        },
    )
}

/// How often something happened at the server.
pub(crate) fn count(object: &ObjectRef, incident: Incident) -> i64 {
    let counted: Result<i64, SystemException> = Interface::as_ref(object).invoke(
        &COUNT,
        |e| {
            e.ulong(incident as u32);
            Ok(())
        },
        |d| d.longlong(),
    );
    counted.expect("the server is served")
}

fn number(object: &ObjectRef, op: &'static Op, n: i64) -> Result<i64, SystemException> {
    Interface::as_ref(object).invoke(
        op,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Through this reference a call takes at most `limit`.
pub(crate) fn within(object: &ObjectRef, limit: Duration) -> ObjectRef {
    ObjectRef::from_ref(Interface::as_ref(object).with_timeout(limit))
}

#[track_caller]
pub(crate) fn assert_completed(exception: SystemException, status: CompletionStatus) {
    assert_eq!(exception.completed, status, "{exception}");
}
