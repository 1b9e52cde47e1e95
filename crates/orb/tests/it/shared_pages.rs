//! Pages of shared memory: settings of the ORB for all connections and of an endpoint for its own, and refusals of
//! the system.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it tests shared memory alone.

use std::fs;
use std::sync::Arc;
use std::thread;

use oxorb::incident::Incident;
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_testkit::watchdog;

use crate::common::*;

struct Setting {
    server: Orb,
    client: Orb,
    object: ObjectRef,
}

impl Setting {
    fn new(endpoint: &str, pages: Option<&str>) -> Self {
        // Wait until the connections of the previous setting are closed, which happens when their threads end.
        let _watchdog = watchdog(LONG);
        while fs::read_to_string("/proc/self/maps").unwrap().contains("memfd:oxorb-") {
            thread::yield_now();
        }
        let mut server = Orb::builder().listen(endpoint);
        if let Some(pages) = pages {
            server = server.setting("SharedPages", pages);
        }
        let server = server.build().unwrap();
        let servant = Arc::new(Pinger::default());
        let local = server.root_poa().activate_servant(servant).unwrap();
        let client = Orb::builder().build().unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        Self { server, client, object }
    }

    fn refused(&self) -> u64 {
        let statistics = self.server.connection_statistics();
        statistics.count(Incident::PagesRefused)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

/// Reports whether all pages of a connection's memory are resident at one of its ends.
fn some_end_has_all_pages() -> bool {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines();
    let mut all = false;
    while let Some(line) = lines.next() {
        if line.contains("memfd:oxorb-shm") {
            let mut field = |name: &str| {
                let found = lines.find(|line| line.starts_with(name)).unwrap();
                let number = found.split_whitespace().nth(1).unwrap();
                number.parse::<u64>().unwrap()
            };
            all |= field("Size:") == field("Rss:");
        }
    }
    all
}

#[test]
fn an_endpoint_says_how_pages_are_handled() {
    // Run in a process of its own, because the memory maps of the whole process are read.
    if !alone(an_endpoint_says_how_pages_are_handled) {
        return;
    }
    for (endpoint, orb, resident) in [
        ("shm://", None, false),
        ("shm://", Some("resident"), true),
        ("shm://|pages=resident", None, true),
        ("shm://|pages=on-demand", Some("resident"), false),
        ("giop-lite+shm://|pages=resident", Some("on-demand"), true),
        // The endpoint's setting applies. The ORB's would be refused, because the memory is too small for it.
        ("shm://|ring=4K&blocks=0&pages=resident", Some("huge"), true),
    ] {
        let setting = Setting::new(endpoint, orb);
        assert!(!setting.object.reference().is_a("IDL:Other:1.0").unwrap());
        assert_eq!(some_end_has_all_pages(), resident, "{endpoint} {orb:?}");
        assert_eq!(setting.refused(), 0);
    }
    // A memory of 12 KiB is smaller than a huge page, so that huge pages are refused.
    let small = "shm://|ring=4K&blocks=0";
    for (endpoint, orb) in [(small, Some("huge")), (&format!("{small}&pages=huge"), None)] {
        let setting = Setting::new(endpoint, orb);
        for round in 1..=3 {
            let error = setting.object.reference().is_a("IDL:Other:1.0");
            let error = error.unwrap_err();
            assert_eq!(error.completed, oxorb::CompletionStatus::No, "{error}");
            assert!(setting.refused() >= round, "{endpoint} {orb:?}");
        }
    }
    // If one endpoint refuses connections, the other one serves.
    let two = format!("{small}&pages=huge;iiop://127.0.0.1:0");
    let setting = Setting::new(&two, None);
    assert!(!setting.object.reference().is_a("IDL:Other:1.0").unwrap());
    let error = Orb::builder().listen("shm://|pages=gigantic").build().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("expected on-demand|resident"), "{error}");
    let error = Orb::builder().listen("uiop://|pages=locked").build();
    assert!(error.is_err(), "there is no memory that both share");
}
