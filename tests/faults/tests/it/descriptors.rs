//! A client whose process runs out of descriptors: existing connections keep working, failures to get new ones name the
//! limit and the setting, and everything recovers when descriptors are free again.

use std::fs::{self, File};
use std::thread;
use std::time::Duration;

use oxorb::client::Failure;
use oxorb::policy::Retry;
use oxorb::settings::ClientConnections;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind, minor,
};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::{until, watchdog};

use crate::common::*;

/// Descriptor limit of the client.
const MOST: u32 = 48;

/// Variable set for the client process of the test `starve`: the references to call.
const STARVING: &str = "OXORB_FAULTS_STARVING";

/// Client in a separate process.
#[test]
fn starve() {
    let Some(servers) = std::env::var_os(STARVING) else {
        return;
    };
    let servers = servers.into_string().expect("references");
    let iors: Vec<&str> = servers.split(' ').collect();
    let before = sockets();
    for connections in [
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
        ClientConnections::Cached,
        // The last one, because this thread may keep one of its connections for a while.
        ClientConnections::Private,
    ] {
        // A connection of the previous client that is closed later would free a descriptor.
        until("the previous client has no connections", || sockets() <= before);
        let client = Orb::builder().client_connections(connections).build().expect("a client");
        let objects = [0, 1].map(|at| client.string_to_object(iors[at]).expect("a reference"));
        starved(&objects, connections);
        client.shutdown(true).expect("nothing runs");
    }
}

fn starved([known, new]: &[ObjectRef; 2], connections: ClientConnections) {
    assert_eq!(ping(known, 1), Ok(2));
    let hoard = exhaust();
    assert_eq!(ping(known, 2), Ok(3), "what is open goes on");
    let asynchronously = || {
        let sent = new.reference().invoke_async(
            &PING,
            |e| {
                e.longlong(1);
                Ok(())
            },
            |d| d.longlong(),
        );
        sent.wait()
    };
    let unshared = [ClientConnections::Cached, ClientConnections::Private];
    if unshared.contains(&connections) {
        // The descriptor of the idle connection is closed; the next call obtains another one.
        assert_eq!(ping(new, 1), Ok(2));
        assert_eq!(ping(known, 3), Ok(4));
        drop(hoard);
        return;
    }
    // Each failure is examined before the next call, because a thread stores the attempts of its last failure only.
    let calls: [&dyn Fn() -> Result<i64, SystemException>; 2] =
        [&|| run_once(new, 7), &asynchronously];
    for call in calls {
        let raised = call().unwrap_err();
        assert_eq!(raised.kind, SystemExceptionKind::Transient);
        assert_eq!(raised.minor, minor::transient::NO_DESCRIPTORS);
        assert_eq!(raised.completed, CompletionStatus::No);
        let said = Failure::of(&raised).expect("it was tried").to_string();
        for part in ["Too many open files", &format!("{MOST} descriptors"), "ulimit -n"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(said.contains("-ORBMaxClientConnections"), "{said}");
    }
    // Even a name lookup fails.
    let orb = new.reference().orb();
    let named = orb.string_to_object("corbaloc:iiop:1.2@localhost:1/x");
    let raised = ping(&named.expect("a reference"), 1).unwrap_err();
    assert_eq!(raised.minor, minor::transient::NO_DESCRIPTORS);
    // A caller that retries succeeds as soon as descriptors are free again.
    let patient = new.with(Retry {
        times: u32::MAX,
        delay: Duration::from_millis(5),
        max_delay: Duration::from_millis(20),
    });
    thread::scope(|scope| {
        let calling = scope.spawn(|| ping(&patient, 8));
        thread::sleep(Duration::from_millis(50));
        drop(hoard);
        assert_eq!(calling.join().expect("it ends"), Ok(9));
    });
    assert_eq!(asynchronously(), Ok(2));
}

/// Returns the number of sockets of this process.
fn sockets() -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("this process runs").flatten();
    let links = open.filter_map(|one| fs::read_link(one.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// Takes all free descriptors.
fn exhaust() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[test]
fn a_client_without_descriptors_is_told_so_and_recovers() {
    let _guard = watchdog(2 * LONG);
    let servers = [0, 1].map(|_| Server::start(&[]));
    let test = rerun(test_name(starve));
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &format!("ulimit -n {MOST}; exec \"$0\" \"$@\"")])
        .arg(test.get_program())
        .args(test.get_args());
    shell.env(STARVING, servers.each_ref().map(Server::ior).join(" "));
    let mut client = Process::spawn(shell);
    client.wait_success(LONG);
    // Calls with COMPLETED_NO did not run.
    assert!(servers.iter().all(|server| server.journal().is_empty()));
}
