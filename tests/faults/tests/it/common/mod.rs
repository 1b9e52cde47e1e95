//! Server process observed from outside, and calls to it.

pub(crate) mod cable;
pub(crate) mod visitor;
pub(crate) mod worker;
pub(crate) mod world;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use oxorb::__gen::Op;
use oxorb::client::AsyncReply;
use oxorb::incident::Incident;
use oxorb::poa::{IdAssignment, Lifespan, Policies};
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_testkit::net::free_port;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::resources::Growth;

use worker::Worker;

/// Limit for expected events: no machine, however loaded, takes that long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Permitted growth of an ORB's process at rest. Connections to guests that left stay until the ORB checks them, which
/// it does when it makes others: some dozens after any number of visits. Serving threads are kept for the next call.
pub(crate) const KEPT: Growth = Growth { descriptors: 64, threads: 16 };

pub(crate) static PING: Op = Op::twoway("ping");
static RUN: Op = Op::twoway("run");
static HANG: Op = Op::twoway("hang");
static BIG: Op = Op::twoway("big");
static COUNT: Op = Op::twoway("count");

static PATIENT: Op = Op::twoway("patient");
static SWALLOW: Op = Op::twoway("swallow");
static COLLECT: Op = Op::twoway("collect");
static POPULATE: Op = Op::twoway("populate");
static DEPOPULATE: Op = Op::twoway("depopulate");
static OBJECT: Op = Op::twoway("object");
static CALL_BACK: Op = Op::twoway("call_back");

/// Variable set in the process that [`serve`]s.
const SERVING: &str = "OXORB_FAULTS_SERVING";

/// Variable with the file in which the server records executed requests.
const JOURNAL: &str = "OXORB_FAULTS_JOURNAL";

/// Repeats a call until its time-out expires after its request was sent, and returns that TIMEOUT. On a loaded machine
/// the time-out may expire before: then the call has not run.
#[track_caller]
pub(crate) fn timed_out(mut call: impl FnMut() -> Result<i64, SystemException>) -> SystemException {
    loop {
        let late = call().unwrap_err();
        if late.completed != CompletionStatus::No {
            assert_eq!(late.kind, SystemExceptionKind::Timeout, "{late}");
            return late;
        }
    }
}

/// Serves until killed, in the process started by a [`Server`].
#[test]
fn serve() {
    if std::env::var_os(SERVING).is_none() {
        return;
    }
    let orb = Orb::builder().build().expect("the server starts");
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("faults", policies).expect("a POA");
    let worker = poa
        .activate_servant_with_id(&"worker".into(), Arc::new(Worker::new(&poa)))
        .expect("an object");
    println!("{worker}");
    orb.run();
}

/// Server in a separate process. Killed on drop.
pub(crate) struct Server {
    process: Process,
    ior: String,
    /// Settings for [`Server::restart`].
    settings: Vec<(String, String)>,
    place: Place,
    pub(crate) journal: PathBuf,
}

/// Placement and limits of a server.
#[derive(Clone, Default)]
struct Place {
    /// Limit on descriptors.
    descriptors: Option<u32>,
    /// Limit on the address space, in kilobytes.
    addresses: Option<u64>,
    /// Host of a [`World`](world::World); `None` for the test's own.
    host: Option<String>,
    /// Port; 0 for any.
    port: u16,
}

impl Server {
    /// Starts a server with settings by their `-ORB` names.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Server {
        Server::at(Place::default(), settings)
    }

    /// Starts a server as [`start`](Server::start) does, at a port that is still free when it starts
    /// again.
    pub(crate) fn restartable(settings: &[(&str, &str)]) -> Server {
        let place = Place { port: free_port(), ..Place::default() };
        Server::at(place, settings)
    }

    /// Starts a server as [`start`](Server::start) does, with a limit on descriptors.
    pub(crate) fn with_descriptors(most: u32, settings: &[(&str, &str)]) -> Server {
        let place = Place { descriptors: Some(most), ..Place::default() };
        Server::at(place, settings)
    }

    /// Starts a server as [`start`](Server::start) does, with a limit on the address space in kilobytes.
    pub(crate) fn with_addresses(most: u64, settings: &[(&str, &str)]) -> Server {
        let place = Place { addresses: Some(most), ..Place::default() };
        Server::at(place, settings)
    }

    /// Starts a server as [`start`](Server::start) does, on a host of a [`World`](world::World), at all its addresses.
    pub(crate) fn on(host: &str, settings: &[(&str, &str)]) -> Server {
        let place = Place { host: Some(host.to_owned()), ..Place::default() };
        Server::at(place, settings)
    }

    fn at(place: Place, settings: &[(&str, &str)]) -> Server {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // Process ids repeat in other worlds.
        let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
        let name = format!("oxorb-faults-{}-{nanos}-{number}", std::process::id());
        let journal = std::env::temp_dir().join(name);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings: Vec<_> = settings.iter().map(owned).collect();
        let (process, ior) = run(&settings, &place, place.port, &journal);
        Server { process, ior, settings, place, journal }
    }

    /// Returns its object, resolved by `client`.
    pub(crate) fn object(&self, client: &Orb) -> ObjectRef {
        client.string_to_object(&self.ior).expect("its reference")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let orb = Orb::builder().build().expect("an ORB");
        let object = self.object(&orb);
        let profile = object.reference().ior().iiop_profiles().next().expect("an IIOP profile");
        SocketAddr::new(profile.host.parse().expect("an address"), profile.port)
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Sends SIGSTOP, and waits until every thread has stopped.
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

    /// Kills the server, and then starts it again on the same port.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.restart_killed();
    }

    /// Starts the server again after [`kill`](Server::kill): on a separate host, where no other process takes its port,
    /// or one of [`restartable`](Server::restartable).
    pub(crate) fn restart_killed(&mut self) {
        let port = self.address().port();
        let started = run(&self.settings, &self.place, port, &self.journal);
        (self.process, self.ior) = started;
    }

    /// Ends the server, and returns its whole output.
    pub(crate) fn stop_and_tell(mut self) -> String {
        self.kill();
        let lines = self.process.output().iter();
        lines.map(|line| format!("{}\n", line.text)).collect()
    }

    pub(crate) fn kill(&mut self) {
        self.signal("-KILL");
        self.process.wait(LONG);
    }

    /// Returns a number from /proc/PID/status: `Threads`, `VmRSS` (KiB).
    pub(crate) fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let text = fs::read_to_string(path).expect("the server runs");
        let line = text.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Returns the number of its open descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        let open = fs::read_dir(format!("/proc/{}/fd", self.process.id()));
        open.expect("the server runs").count()
    }

    /// Returns the number of its sockets. An ORB opens other descriptors once, on first need: it waits at an epoll of
    /// an in-memory connection when a request over it takes long.
    pub(crate) fn sockets(&self) -> usize {
        let open = fs::read_dir(format!("/proc/{}/fd", self.process.id()));
        let links = open.expect("the server runs").flatten();
        let links = links.filter_map(|one| fs::read_link(one.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    }

    /// Waits until it has at most `most` sockets.
    pub(crate) fn await_sockets(&self, most: usize) {
        let end = Instant::now() + LONG;
        while self.sockets() > most {
            assert!(Instant::now() < end, "{} sockets", self.sockets());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the number of its memory mappings of this name.
    pub(crate) fn mappings(&self, name: &str) -> usize {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.process.id()));
        let maps = maps.expect("the server runs");
        maps.lines().filter(|line| line.contains(name)).count()
    }

    /// Waits until it has at most `most` descriptors.
    pub(crate) fn await_descriptors(&self, most: usize) {
        let end = Instant::now() + LONG;
        while self.descriptors() > most {
            assert!(Instant::now() < end, "{} descriptors", self.descriptors());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it uses at most `most` KiB of memory.
    pub(crate) fn await_memory(&self, most: u64) {
        let end = Instant::now() + LONG;
        while self.status("VmRSS") > most {
            assert!(Instant::now() < end, "{} KiB", self.status("VmRSS"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it has recorded that number.
    pub(crate) fn await_note(&self, number: i64) {
        let end = Instant::now() + LONG;
        while !self.journal().contains(&number) {
            assert!(Instant::now() < end, "{number} does not run");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns its reference, for another process.
    pub(crate) fn ior(&self) -> &str {
        &self.ior
    }

    /// Waits until it has at most `most` threads.
    pub(crate) fn await_threads(&self, most: u64) {
        let end = Instant::now() + LONG;
        while self.status("Threads") > most {
            assert!(Instant::now() < end, "{} threads", self.status("Threads"));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the numbers of executed requests, in order.
    pub(crate) fn journal(&self) -> Vec<i64> {
        let text = fs::read_to_string(&self.journal).unwrap_or_default();
        text.lines().map(|line| line.parse().expect("a number")).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.journal);
    }
}

fn run(
    settings: &[(String, String)],
    place: &Place,
    port: u16,
    journal: &PathBuf,
) -> (Process, String) {
    let test = rerun(test_name(serve));
    let mut command = match place {
        Place { host: Some(host), .. } => world::on(host, &test),
        Place { descriptors: Some(most), .. } => {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")])
                .arg(test.get_program())
                .args(test.get_args());
            shell
        }
        Place { addresses: Some(most), .. } => {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &format!("ulimit -v {most}; exec \"$0\" \"$@\"")])
                .arg(test.get_program())
                .args(test.get_args());
            shell
        }
        _ => test,
    };
    let host = match place.host {
        Some(_) => "",
        None => "127.0.0.1",
    };
    command
        .env(SERVING, "yes")
        // Large blocks are returned to the system when freed, so that the remaining memory is the ORB's.
        .env("MALLOC_MMAP_THRESHOLD_", "65536")
        .env(JOURNAL, journal)
        .env("OXORB_LISTENENDPOINTS", format!("iiop://{host}:{port}"));
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

/// Sends anys without a value, each of which takes ten times its octets once decoded.
pub(crate) fn collect(object: &ObjectRef, anys: u32) -> Result<i64, SystemException> {
    let nulls = |e: &mut oxorb::cdr::Encoder<'_>| {
        e.ulong(anys);
        e.copy_octets(&vec![0; 4 * anys as usize]);
        Ok(())
    };
    object.reference().invoke(&COLLECT, nulls, |d| d.longlong())
}

pub(crate) fn ping(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    number(object, &PING, n)
}

/// Sends `octets` octets; returns the number received.
pub(crate) fn swallow(object: &ObjectRef, octets: usize) -> Result<i64, SystemException> {
    let much = vec![7; octets];
    object.reference().invoke(
        &SWALLOW,
        |e| {
            e.length(octets, None)?;
            e.copy_octets(&much);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Calls like `ping`, and records the call in the journal.
pub(crate) fn run_once(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    number(object, &RUN, n)
}

/// Calls like `run_once`, without waiting for the answer; the request has been sent.
pub(crate) fn run_async(object: &ObjectRef, n: i64) -> AsyncReply<i64, SystemException> {
    object.reference().invoke_async(
        &RUN,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Makes a call that is recorded in the journal, and never answered.
pub(crate) fn hang(object: &ObjectRef, n: i64) -> Result<i64, SystemException> {
    number(object, &HANG, n)
}

/// Makes a call that is recorded in the journal, and has a long answer.
pub(crate) fn big(object: &ObjectRef, n: i64) -> Result<usize, SystemException> {
    object.reference().invoke(
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

/// Makes the server create `adapters` POAs with `objects` objects each.
pub(crate) fn populate(worker: &ObjectRef, adapters: i64, objects: i64) {
    let done: Result<i64, SystemException> = worker.reference().invoke(
        &POPULATE,
        |e| {
            e.longlong(adapters);
            e.longlong(objects);
            Ok(())
        },
        |d| d.longlong(),
    );
    assert_eq!(done, Ok(adapters * objects));
}

/// Makes the server deactivate the objects and destroy the POAs.
pub(crate) fn depopulate(worker: &ObjectRef, adapters: i64) {
    assert_eq!(number(worker, &DEPOPULATE, adapters), Ok(adapters));
}

/// Returns one of those objects: its `ping(n)` returns n plus its number.
pub(crate) fn object_of(worker: &ObjectRef, adapter: i64, object: i64) -> ObjectRef {
    let found: Result<Option<ObjectRef>, SystemException> = worker.reference().invoke(
        &OBJECT,
        |e| {
            e.longlong(adapter);
            e.longlong(object);
            Ok(())
        },
        oxorb::__gen::decode_ref,
    );
    found.expect("the server is served").expect("not nil")
}

/// Makes the server call `ping(n)` of another object.
pub(crate) fn call_back(
    worker: &ObjectRef,
    back: &ObjectRef,
    n: i64,
) -> Result<i64, SystemException> {
    worker.reference().invoke(
        &CALL_BACK,
        |e| {
            oxorb::__gen::encode_ref(e, Some(back))?;
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Returns the number of incidents at the server.
pub(crate) fn count(object: &ObjectRef, incident: Incident) -> i64 {
    let counted: Result<i64, SystemException> = object.reference().invoke(
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
    object.reference().invoke(
        op,
        |e| {
            e.longlong(n);
            Ok(())
        },
        |d| d.longlong(),
    )
}

/// Returns a request in the form of a client.
pub(crate) fn request(object: &ObjectRef, operation: &str, number: i64) -> Vec<u8> {
    request_with(object, operation, &number.to_le_bytes())
}

/// Returns a request like `request`, with arbitrary arguments.
pub(crate) fn request_with(object: &ObjectRef, operation: &str, arguments: &[u8]) -> Vec<u8> {
    let profile = object.reference().ior().iiop_profiles().next().expect("an IIOP profile");
    let mut body = Vec::new();
    let aligned = |body: &mut Vec<u8>, to: usize| {
        body.resize((body.len() + 12).next_multiple_of(to) - 12, 0);
    };
    body.extend(2u32.to_le_bytes()); // request id
    body.extend([3, 0, 0, 0]); // a reply is wanted
    body.extend([0, 0, 0, 0]); // by key
    body.extend((profile.object_key.len() as u32).to_le_bytes());
    body.extend(&profile.object_key);
    aligned(&mut body, 4);
    body.extend((operation.len() as u32 + 1).to_le_bytes());
    body.extend(operation.as_bytes());
    body.push(0);
    aligned(&mut body, 4);
    body.extend(0u32.to_le_bytes()); // no service contexts
    aligned(&mut body, 8);
    body.extend(arguments);
    let mut message = b"GIOP\x01\x02\x01\x00".to_vec();
    message.extend((body.len() as u32).to_le_bytes());
    message.extend(body);
    message
}

/// Returns a reference whose calls take at most `limit`.
pub(crate) fn within(object: &ObjectRef, limit: Duration) -> ObjectRef {
    ObjectRef::from_ref(object.reference().with_timeout(limit))
}

#[track_caller]
pub(crate) fn assert_completed(exception: SystemException, status: CompletionStatus) {
    assert_eq!(exception.completed, status, "{exception}");
}
