//! kill -9 at any time loses no acknowledged binding, and leaves no change half done.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_naming::cos_naming::NamingContextExtRef;
use oxorb_naming::{NameService, Store};
use oxorb_testkit::process::{Process, rerun};
use oxorb_testkit::until;

use super::{Folder, address, listed, n};

const START: Duration = Duration::from_secs(60);

/// Environment variable with the path of the server's store.
const STORE: &str = "OXORB_TEST_STORE";

/// Runs the server process that the other test kills; not a test itself.
#[test]
#[ignore = "the server of the other test"]
fn server() {
    let Some(store) = std::env::var_os(STORE) else {
        return;
    };
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let service = NameService::start(&orb, Store::open(store).unwrap()).unwrap();
    println!("ready corbaloc::{}/NameService", address(service.root()));
    orb.run();
}

pub(super) fn start(store: &Path) -> (Process, String) {
    let mut command: Command = rerun("killed::server");
    command.env(STORE, store);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("ready ", START);
    let url = line.split_once("ready ").expect("it matched").1.trim();
    (process, url.to_owned())
}

#[test]
fn acknowledged_bindings_are_there_after_a_kill() {
    let _watchdog = oxorb_testkit::watchdog::watchdog(Duration::from_secs(300));
    let folder = Folder::new("killed");
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut rounds = 0;
    // Acknowledged changes of each client: names, contexts with a trailing slash, and removed names with a leading
    // dash.
    let mut known: Vec<BTreeSet<String>> = vec![BTreeSet::new(); 3];
    while rounds < 8 {
        rounds += 1;
        let (mut server, url) = start(&folder.store());
        check(&url, &known);
        // Kill the server after pseudo-random times (xorshift), which are the same in every run of the test.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let moment = Duration::from_micros(20_000 + random % 200_000);
        let all = |known: &[BTreeSet<String>]| known.iter().map(BTreeSet::len).sum::<usize>();
        let before = all(&known);
        let acknowledged = Mutex::new(&mut known);
        std::thread::scope(|scope| {
            for client in 0..3 {
                let (url, acknowledged) = (&url, &acknowledged);
                scope.spawn(move || work(url, client, rounds, acknowledged));
            }
            until("changes are acknowledged", || all(&acknowledged.lock().unwrap()) >= before + 8);
            std::thread::sleep(moment);
            server.kill();
        });
    }
    let (_server, url) = start(&folder.store());
    check(&url, &known);
    let all: usize = known.iter().map(BTreeSet::len).sum();
    assert!(all > 50, "only {all} changes were acknowledged");
}

/// Binds and unbinds until the server no longer answers, recording the acknowledged changes. The name of a pending
/// change is removed from the record, since it may be bound or not.
fn work(url: &str, client: usize, round: u32, acknowledged: &Mutex<&mut Vec<BTreeSet<String>>>) {
    let orb = Orb::builder().round_trip_timeout(Duration::from_secs(20)).build().unwrap();
    let Ok(root) = orb.resolve::<NamingContextExtRef>(url) else {
        return;
    };
    let note = |name: &str, there: bool| {
        let mut known = acknowledged.lock().unwrap();
        match there {
            true => known[client].insert(name.to_owned()),
            false => known[client].remove(name),
        }
    };
    let object = orb.string_to_object("corbaloc::192.0.2.1:1/o").unwrap();
    for i in 0.. {
        let context = format!("c{client}-{round}-{i}");
        let name = format!("{context}/o.{client}");
        let Ok(Some(_)) = root.bind_new_context(&n(&context)) else {
            break;
        };
        note(&format!("{context}/"), true);
        if root.bind(&n(&name), Some(&object)).is_err() {
            break;
        }
        note(&name, true);
        if i % 3 == 0 {
            note(&name, false);
            if root.unbind(&n(&name)).is_err() {
                break;
            }
            note(&format!("-{name}"), true);
        }
    }
    let _ = orb.shutdown(true);
}

/// Checks that every acknowledged binding exists, that every name whose removal was acknowledged is unbound, and that
/// bound contexts exist.
fn check(url: &str, known: &[BTreeSet<String>]) {
    let orb = Orb::builder().round_trip_timeout(Duration::from_secs(20)).build().unwrap();
    let root: NamingContextExtRef = orb.resolve(url).unwrap();
    for name in known.iter().flatten() {
        if let Some(context) = name.strip_suffix('/') {
            let found = root.resolve(&n(context)).unwrap().unwrap();
            assert_eq!(found.non_existent(), Ok(false), "{name} is half made");
        } else if let Some(removed) = name.strip_prefix('-') {
            assert!(root.resolve(&n(removed)).is_err(), "{removed} came back");
        } else {
            assert!(root.resolve(&n(name)).unwrap().is_some(), "{name} was lost");
        }
    }
    for entry in listed(&root.clone().into()) {
        let context = entry.strip_suffix('/').expect("only contexts are bound in the root");
        let context = root.resolve(&n(context)).unwrap().unwrap();
        assert_eq!(context.non_existent(), Ok(false), "{entry} is half made");
    }
    orb.shutdown(true).unwrap();
}
