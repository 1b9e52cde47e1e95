//! A thousand connections over shared memory to one server: their resources, service meanwhile, and leftovers.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::policy::PrivateConnection;
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Number of connections of all clients together.
const CONNECTIONS: u64 = 1_000;
/// Number of client processes.
const CLIENTS: u64 = 4;

/// Variable set in a client: the reference to call.
const CALLING: &str = "OXORB_FAULTS_CALLING";

/// Variable with the path of the parent's signals.
const SIGNS: &str = "OXORB_FAULTS_SIGNS";
const CALL: &str = "call";
const END: &str = "end";

fn await_sign(signs: &str, sign: &str) {
    while !Path::new(signs).join(sign).exists() {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Names of segments and of rooms.
const MAPPINGS: [&str; 2] = ["memfd:oxorb-shm", "memfd:oxorb-rooms"];

/// Client process: each reference has a separate connection.
#[test]
fn call() {
    let Ok(ior) = std::env::var(CALLING) else {
        return;
    };
    let orb = Orb::builder().build().expect("a client");
    let object = || -> ObjectRef {
        let object = orb.string_to_object(&ior).expect("a reference");
        object.with(PrivateConnection)
    };
    let all: Vec<_> = (0..CONNECTIONS / CLIENTS).map(|_| object()).collect();
    let ping_all = |n| {
        for object in &all {
            assert_eq!(ping(object, n), Ok(n + 1));
        }
    };
    ping_all(1);
    println!("connected");
    std::io::stdout().flush().expect("a pipe");
    let signs = std::env::var(SIGNS).expect("told with the reference");
    await_sign(&signs, CALL);
    (2..7).for_each(&ping_all);
    println!("called");
    std::io::stdout().flush().expect("a pipe");
    await_sign(&signs, END);
    orb.shutdown(true).expect("nothing runs");
}

/// Resources of the server, in KiB except for the first two.
#[derive(Clone, Copy, Debug)]
struct Taken {
    sockets: usize,
    descriptors: usize,
    threads: u64,
    addresses: u64,
    shared: u64,
    own: u64,
}

fn taken(server: &Server) -> Taken {
    Taken {
        sockets: server.sockets(),
        descriptors: server.descriptors(),
        threads: server.status("Threads"),
        addresses: server.status("VmSize"),
        shared: server.status("RssShmem"),
        own: server.status("RssAnon"),
    }
}

/// Maximum resources of one connection, on the server's side.
struct Most {
    /// Address space in KiB: the header, two rings, the blocks of both directions, and the rooms.
    addresses: u64,
    /// Pages of the segment after small messages, in KiB.
    shared: u64,
    /// Ordinary memory in KiB.
    own: u64,
}

/// Pages of the urgent client, whose messages cycle through the rings, in KiB.
const URGENT: u64 = 264;

/// Bounds in docs/shared-memory.md, for rings and blocks of the default sizes, and for small ones.
#[test]
#[ignore = "takes its time: .ci/full faults"]
fn a_thousand_connections_over_shared_memory_take_what_is_documented() {
    let _guard = watchdog(5 * LONG);
    let (shared, own) = (16, 24);
    let usual = Most { addresses: 4 + 2 * 128 + 3 * 4096, shared, own };
    // The configuration limits the rings and blocks.
    let small = Most { addresses: 4 + 2 * 16 + 3 * 256, shared, own };
    for (options, most) in [("", usual), ("|ring=16K&blocks=256K", small)] {
        thousand(options, &most);
    }
}

fn thousand(options: &str, most: &Most) {
    let place = oxorb_testkit::net::socket_folder()
        .join(format!("oxorb-faults-thousand-{}", std::process::id()));
    std::fs::create_dir(&place).expect("a directory");
    let put = |sign| std::fs::write(place.join(sign), "").expect("a file");
    let endpoint = format!("shm://{}{options}", place.join("socket").display());
    let settings = [
        ("ListenEndpoints", &*endpoint),
        ("Concurrency", "leader-followers:4"),
        ("MaxConnections", "1100"),
        ("MaxConnectionsPerClient", "0"),
    ];
    let server = Server::with_descriptors(4096, &settings);
    let urgent = client();
    let object = server.object(&urgent);
    // Starts all threads, and makes their one-time allocations.
    for n in 0..100 {
        assert_eq!(ping(&object, n), Ok(n + 1));
    }
    let before = taken(&server);
    let mapped = || MAPPINGS.map(|name| server.mappings(name));
    let (first, over) = (mapped(), AtomicBool::new(false));
    thread::scope(|scope| {
        // The guard ends the calls even if an assertion fails.
        let _over = Over(&over);
        // Another client is answered all the time.
        let answered = scope.spawn(|| {
            let (mut answered, mut slowest) = (0, Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                assert_eq!(ping(&object, answered), Ok(answered + 1));
                slowest = slowest.max(begun.elapsed());
                answered += 1;
            }
            (answered, slowest)
        });
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| start(&server, &place)).collect();
        for client in &mut clients {
            client.wait_for_line("connected", LONG);
        }
        let idle = taken(&server);
        println!("{options:?}: before {before:?}");
        println!("{options:?}: idle {idle:?}");
        assert_eq!(idle.sockets - before.sockets, CONNECTIONS as usize);
        assert_eq!(mapped(), first.map(|first| first + CONNECTIONS as usize));
        // A descriptor, and one more if a thread waits for several connections.
        assert!(idle.descriptors - before.descriptors <= 2 * CONNECTIONS as usize + 8);
        assert!(idle.threads <= before.threads, "four workers are enough");
        let each = |now: u64, before: u64| (now.saturating_sub(before)).div_ceil(CONNECTIONS);
        assert!(each(idle.addresses, before.addresses) <= most.addresses + most.own);
        assert!(each(idle.shared, before.shared + URGENT) <= most.shared);
        assert!(each(idle.own, before.own) <= most.own);
        // Sequentially, and simultaneously: only pages of the rings grow.
        put(CALL);
        for client in &mut clients {
            client.wait_for_line("called", LONG);
        }
        let busy = taken(&server);
        println!("{options:?}: busy {busy:?}");
        assert!(busy.threads <= before.threads);
        assert!(each(busy.shared, before.shared + URGENT) <= most.shared);
        assert!(each(busy.own, before.own) <= most.own);
        // Half of the clients are killed, and half end normally.
        let (killed, ended) = clients.split_at_mut(CLIENTS as usize / 2);
        for client in killed {
            client.kill();
        }
        put(END);
        for client in ended {
            client.wait_success(LONG);
        }
        server.await_sockets(before.sockets);
        over.store(true, Ordering::Relaxed);
        let (answered, slowest) = answered.join().expect("it is answered");
        assert!(answered > 0);
        println!(
            "{options:?}: {answered} answers to the urgent client, the slowest after {slowest:?}"
        );
    });
    server.await_threads(before.threads);
    let end = Instant::now() + LONG;
    while mapped() != first || server.descriptors() > before.descriptors + 8 {
        assert!(Instant::now() < end, "{:?} of {first:?} segments", mapped());
        thread::sleep(Duration::from_millis(10));
    }
    let after = taken(&server);
    println!("{options:?}: after {after:?}");
    assert!(after.shared <= before.shared + URGENT, "pages are left");
    // The allocator retains ordinary memory for reuse.
    assert!(after.addresses < before.addresses + (64 << 10));
    assert_eq!(ping(&object, 1), Ok(2));
    urgent.shutdown(true).expect("nothing runs");
    drop(server);
    std::fs::remove_dir_all(place).expect("the directory");
}

/// Guard that ends the calls of the urgent client on drop.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn start(server: &Server, signs: &Path) -> Process {
    let mut command = Command::new("sh");
    let run = rerun(test_name(call));
    command.args(["-c", "ulimit -n 4096; exec \"$0\" \"$@\""]);
    command.arg(run.get_program()).args(run.get_args());
    command.env(CALLING, server.ior()).env(SIGNS, signs);
    Process::spawn(command)
}
