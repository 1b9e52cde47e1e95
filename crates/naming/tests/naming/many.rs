//! Hundreds of thousands of names in one context: bound, listed, and found again after a kill, in constant memory.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_naming::cos_naming::NamingContextExtRef;
use oxorb_naming::{Names, stringify};
use oxorb_testkit::process::Process;

use super::{Folder, killed, n};

/// Number of concurrent clients, whose changes are written together.
const CLIENTS: usize = 64;

/// Memory that the server may use in addition to that of an empty store (KiB): the store's cache, and a thread for each
/// client.
const ROOM: u64 = 160 << 10;

#[test]
fn thousands_of_names() {
    come_and_stay("thousands", 3_000);
}

#[test]
#[ignore = "takes its time: .ci/full faults"]
fn two_hundred_thousand_names() {
    come_and_stay("two-hundred-thousand", 200_000);
}

fn come_and_stay(test: &str, names: usize) {
    let _watchdog = oxorb_testkit::watchdog::watchdog(Duration::from_secs(600));
    let folder = Folder::new(test);
    let (mut server, url) = killed::start(&folder.store());
    let empty = memory(&server);
    bind(&url, names);
    let full = memory(&server);
    println!("{names} names: {} KiB besides {empty}", full.saturating_sub(empty));
    assert!(full < empty + ROOM, "{full} KiB after {empty} KiB");
    list(&url, names);
    server.kill();

    let (server, url) = killed::start(&folder.store());
    let again = memory(&server);
    println!("started again with {again} KiB");
    assert!(again < empty + ROOM, "{again} KiB after {empty} KiB");
    list(&url, names);
    let listed = memory(&server);
    assert!(listed < empty + ROOM, "{listed} KiB after {empty} KiB");
    let orb = Orb::builder().build().unwrap();
    let root: NamingContextExtRef = orb.resolve(&url).unwrap();
    for at in (0..names).step_by(names / 100) {
        let bound = root.resolve(&n(&name(at))).unwrap().unwrap();
        let to = bound.reference().to_corbaloc().unwrap();
        assert!(to.ends_with(&format!("/{at}")), "{to}");
    }
    // The large context still accepts and removes a binding.
    let object = orb.string_to_object("corbaloc::192.0.2.1:1/new").unwrap();
    root.bind(&n("new"), Some(&object)).unwrap();
    root.unbind(&n("new")).unwrap();
    assert!(root.resolve(&n("new")).is_err());
    orb.shutdown(true).unwrap();
}

fn name(at: usize) -> String {
    format!("object-{at}.service")
}

fn bind(url: &str, names: usize) {
    let orb = Orb::builder().build().unwrap();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let names_at = Names::at(&orb, url).unwrap();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= names {
                        break;
                    }
                    let to = format!("corbaloc::192.0.2.1:4711/{at}");
                    let object = orb.string_to_object(&to).unwrap();
                    names_at.bind(name(at).as_str(), &object).unwrap();
                }
            });
        }
    });
    orb.shutdown(true).unwrap();
}

/// Lists all names in portions, through the server's iterator, and checks that each name occurs exactly once.
fn list(url: &str, names: usize) {
    let orb = Orb::builder().build().unwrap();
    let entries = Names::at(&orb, url).unwrap().list().unwrap();
    let mut seen = HashSet::with_capacity(names);
    for entry in entries {
        let text = stringify(&[entry.unwrap().component]);
        assert!(seen.insert(text), "twice");
    }
    assert_eq!(seen.len(), names);
    assert!((0..names).all(|at| seen.contains(&name(at))));
    orb.shutdown(true).unwrap();
}

/// Returns the memory of the process, in KiB.
fn memory(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
