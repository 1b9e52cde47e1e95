//! Addresses that outlive a server: names as keys, and keys of other servers
//! (docs/stable-addresses.md).

use std::sync::Arc;

use oxorb::poa::{Current, IdAssignment, IdUniqueness, Policies, RequestProcessing};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface as _, ObjectRef, Orb, Outcome, Servant, SystemExceptionKind, Upcall};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Servant that answers pings with the length of the object id.
struct ByKey(Current);

impl Servant for ByKey {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let id = self.0.object_id().unwrap();
        upcall.reply(|e| {
            e.longlong(id.as_bytes().len().try_into().unwrap());
            Ok(())
        })
    }
}

/// Returns a reference with another key at the address of an object.
fn at(client: &Orb, beside: &ObjectRef, key: &str) -> ObjectRef {
    let url = transport::url(&[&address(beside)], key);
    client.string_to_object(&url).unwrap()
}

#[test]
fn a_name_that_is_unbound_leads_nowhere_and_the_object_lives_on() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let pinger = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    let pinger = ObjectRef::from_ref(pinger);
    server.bind("Pinger", &pinger);
    let by_name = at(&client, &pinger, "Pinger");
    assert_eq!(ping(&by_name, 1), Ok(2));
    assert!(server.unbind("Pinger"));
    assert!(!server.unbind("Pinger"));
    let gone = ping(&by_name, 1).unwrap_err();
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    assert!(server.string_to_object("corbaloc:rir:/Pinger").is_err());
    assert_eq!(ping(&elsewhere(&client, oxorb::Interface::reference(&pinger)), 1), Ok(2));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn one_poa_serves_all_keys_that_nobody_here_made() {
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let pinger = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    let pinger = ObjectRef::from_ref(pinger);
    server.bind("Pinger", &pinger);
    let foreign = at(&client, &pinger, "StandardImplName/old_poa/42");
    let gone = ping(&foreign, 1).unwrap_err();
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);

    let policies = Policies {
        id_assignment: IdAssignment::User,
        id_uniqueness: IdUniqueness::Multiple,
        request_processing: RequestProcessing::DefaultServant,
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("foreign", policies).unwrap();
    poa.set_servant(Arc::new(ByKey(poa.current()))).unwrap();
    poa.take_foreign_keys();
    assert_eq!(ping(&foreign, 1), Ok(27));
    assert_eq!(foreign.non_existent(), Ok(false));
    // Names and keys of this server still denote its own objects.
    assert_eq!(ping(&at(&client, &pinger, "Pinger"), 1), Ok(2));
    poa.destroy(true, true).unwrap();
    let gone = ping(&foreign, 1).unwrap_err();
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
