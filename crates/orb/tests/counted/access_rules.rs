//! Access rules: applied whichever thread serves a request, without allocation or lock.

use std::sync::{Arc, Mutex};
use std::thread;

use oxorb::incident::Incident;
use oxorb::poa::{
    Cookie, IdAssignment, IdUniqueness, Lifespan, ObjectId, Poa, Policies, Refused,
    RequestProcessing, ServantLocator, ServantRetention, ThreadPolicy,
};
use oxorb::settings::ClientConnections;
use oxorb::{ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_core::lock;
use oxorb_core::{AccessRule, AccessRules, RequestRate};
use oxorb_object::minor::no_permission::ACCESS_RULES;
use oxorb_testkit::alloc;
use oxorb_testkit::watchdog;

use crate::common::*;

/// Returns a rule for all callers.
fn rule(allow: bool, fill: impl FnOnce(&mut AccessRule)) -> AccessRule {
    let mut rule = AccessRule { place: "rules.toml:1".to_owned(), allow, ..AccessRule::default() };
    fill(&mut rule);
    rule
}

fn those(rules: Vec<AccessRule>) -> Arc<AccessRules> {
    Arc::new(AccessRules { place: "rules.toml:1".to_owned(), allow: false, rules })
}

fn server_with(rules: Vec<AccessRule>) -> Orb {
    transport::listening()
        .configure(|options| options.access_rules = Some(those(rules)))
        .build()
        .unwrap()
}

fn text(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

/// Locator that returns a new servant for each request.
struct Locator;

impl ServantLocator for Locator {
    fn preinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused> {
        Ok((Arc::new(Pinger::default()), None))
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
        _: Cookie,
        _: Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}

/// All ways in which a POA finds a servant; the rules apply after each.
const WAYS: [&str; 5] = ["active", "named", "default", "located", "main"];

fn reached(server: &Orb, client: &Orb, way: &str) -> ObjectRef {
    let mut policies = Policies { id_assignment: IdAssignment::User, ..Policies::default() };
    match way {
        "named" => policies.lifespan = Lifespan::Persistent,
        "default" => {
            policies.id_uniqueness = IdUniqueness::Multiple;
            policies.request_processing = RequestProcessing::DefaultServant;
        }
        "located" => {
            policies.servant_retention = ServantRetention::NonRetain;
            policies.request_processing = RequestProcessing::ServantManager;
        }
        "main" => policies.thread = ThreadPolicy::MainThread,
        _ => {}
    }
    let poa = server.root_poa().create_poa(way, policies).unwrap();
    poa.manager().activate().unwrap();
    let servant = Arc::new(Pinger::default());
    match way {
        "default" => poa.set_servant(servant).unwrap(),
        "located" => poa.set_servant_locator(Locator).unwrap(),
        _ => drop(poa.activate_servant_with_id(&"it".into(), servant).unwrap()),
    }
    elsewhere(client, &poa.create_reference_of("it", PINGER).unwrap())
}

#[test]
fn rules_hold_whichever_way_leads_to_the_servant() {
    only_over!(SOCKETS, "a process admits itself");
    let _guard = watchdog(LONG);
    let server = server_with(vec![
        rule(false, |it| it.operations = text("stop")),
        rule(true, |it| it.objects = WAYS.map(|way| format!("{way}/it")).to_vec()),
    ]);
    let client = client(ClientConnections::Cached);
    let other = server_with(Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        for (number, way) in WAYS.into_iter().enumerate() {
            let object = reached(&server, &client, way);
            let denied = || server.connection_statistics().count(Incident::RequestDenied);
            assert_eq!(ping(&object, 1), Ok(2), "{way}");
            let refused = call(&object, &STOP).unwrap_err();
            assert_eq!(refused.minor, ACCESS_RULES, "{way}: {refused}");
            assert_eq!(denied(), number as u64 + 1, "{way}");
        }
        let refused = ping(&reached(&other, &client, "active"), 1).unwrap_err();
        assert_eq!(refused.minor, ACCESS_RULES, "the default");
        server.shutdown(true).unwrap();
    });
    other.shutdown(true).unwrap();
    client.shutdown(true).unwrap();
}

/// A [`Pinger`] that records allocations and locks of its thread.
#[derive(Default)]
struct Probe {
    inner: Pinger,
    seen: Mutex<Vec<(u64, u64)>>,
}

impl Servant for Probe {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let mut seen = self.seen.lock().unwrap();
        if seen.len() < seen.capacity() {
            let locks = lock::taken().expect("tests are debug builds");
            seen.push((alloc::local().count, locks));
        }
        drop(seen);
        self.inner.dispatch(upcall)
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

const WARM_UP: i64 = 100;
const PINGS: usize = 200;

/// Asserts that the server's thread allocates nothing and takes no lock from one request to the next, after a few
/// requests.
#[track_caller]
fn assert_steady(object: &ObjectRef, probe: &Probe, what: &str) {
    probe.seen.lock().unwrap().clear();
    for n in 0..WARM_UP {
        assert_eq!(ping(object, n), Ok(n + 1), "{what}");
    }
    *probe.seen.lock().unwrap() = Vec::with_capacity(PINGS);
    for n in 0..PINGS as i64 {
        assert_eq!(ping(object, n), Ok(n + 1), "{what}");
    }
    let seen = probe.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), PINGS, "{what}");
    let (first, last) = (seen[0], seen[PINGS - 1]);
    assert_eq!((last.0 - first.0, last.1 - first.1), (0, 0), "allocations and locks, {what}");
}

#[test]
fn a_request_that_many_rules_are_about_allocates_nothing_and_takes_no_lock() {
    only_over!(CLEAR, "rustls allocates for each record");
    let _guard = watchdog(LONG);
    let mut rules: Vec<_> = (0..500)
        .map(|number| {
            rule(false, |it| {
                it.operations = text(&format!("operation_{number}"));
                it.interfaces = text("IDL:test/*");
                it.objects = text(&format!("deep/object{number}*"));
                it.who.add(true, &format!("uid:{number}")).unwrap();
                it.who.add(true, "all").unwrap();
            })
        })
        .collect();
    rules.push(rule(true, |it| {
        it.objects = text("deep/probe");
        it.operations = text("ping");
    }));
    let server = server_with(rules);
    let policies = Policies { id_assignment: IdAssignment::User, ..Policies::default() };
    let poa = server.root_poa().create_poa("deep", policies).unwrap();
    poa.manager().activate().unwrap();
    for sharing in UNSHARED {
        let probe = Arc::new(Probe { inner: Pinger::default(), seen: Mutex::default() });
        let local = poa.activate_servant_with_id(&"probe".into(), probe.clone());
        let client = client(sharing);
        let object = elsewhere(&client, &local.unwrap());
        assert_steady(&object, &probe, &format!("{sharing:?}"));
        client.shutdown(true).unwrap();
        poa.deactivate_id("probe").unwrap();
    }
    server.shutdown(true).unwrap();
}

/// A rule with a limit costs an admitted request neither allocations nor locks, nor does an earlier replacement of the
/// rules.
#[test]
fn a_request_within_its_limit_allocates_nothing_and_takes_no_lock_after_a_reload_either() {
    only_over!(CLEAR, "rustls allocates for each record");
    let _guard = watchdog(LONG);
    let limited = |count: usize| {
        let limit = Some(RequestRate { per_second: 1_000_000_000, burst: 1_000_000_000 });
        let others = (1..count).map(|number| {
            rule(true, |it| {
                it.operations = text(&format!("operation_{number}"));
                it.limit = limit;
            })
        });
        let of_ping = rule(true, |it| {
            it.operations = text("ping");
            it.limit = limit;
        });
        others.chain([of_ping]).collect::<Vec<_>>()
    };
    for sharing in UNSHARED {
        let server = server_with(limited(3));
        let client = client(sharing);
        let probe = Arc::new(Probe { inner: Pinger::default(), seen: Mutex::default() });
        let local = server.root_poa().activate_servant(probe.clone()).unwrap();
        let object = elsewhere(&client, &local);
        assert_steady(&object, &probe, &format!("{sharing:?}"));
        for count in [7, 1, 70] {
            assert!(server.replace_access_rules(&those(limited(count))));
            assert_steady(&object, &probe, &format!("{sharing:?}, {count} rules"));
        }
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}
