//! Rules for changes of names and for connections of the server (S12).

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use oxorb::protocol::Profile;
use oxorb::{Interface as _, Ior, SystemExceptionKind, Version, minor};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::cos_naming::naming_context::{BindError, ResolveError};
use oxorb_naming::{Limits, Rules, Store};

use super::{Served, n};

#[test]
fn nobody_makes_the_server_connect_where_no_rule_allows_it() {
    let here = Served::new();
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let address = trap.local_addr().unwrap();
    let url = format!("corbaloc::{address}/NameService");
    let foreign = here.client.string_to_object(&url).unwrap();
    let foreign: NamingContextRef = foreign.unchecked_narrow();
    here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
    match here.root.resolve(&n("there/a/b")) {
        // The caller may go there.
        Err(ResolveError::CannotProceed(stopped)) => {
            assert_eq!(stopped.cxt, Some(foreign));
            assert_eq!(stopped.rest_of_name, n("a/b"));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        here.root.bind(&n("there/a"), None),
        Err(BindError::CannotProceed(_))
    ));
    assert_eq!(trap.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    // By rule it goes there, and there only.
    for (rule, goes) in [
        (address.to_string(), true),
        ("127.0.0.1".to_owned(), true),
        ("127.0.0.1:1".to_owned(), false),
        ("north.example".to_owned(), false),
    ] {
        let rules = Rules {
            federation: rule.parse().unwrap(),
            ..Rules::default()
        };
        let limits = Limits {
            forward_timeout: std::time::Duration::from_millis(100),
            ..Limits::default()
        };
        let here = Served::under(Store::in_memory().unwrap(), limits, rules, 0);
        let foreign = here.client.string_to_object(&url).unwrap();
        let foreign: NamingContextRef = foreign.unchecked_narrow();
        here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
        assert!(here.root.resolve(&n("there/a")).is_err());
        assert_eq!(trap.accept().is_ok(), goes, "{rule}");
    }
}

/// A reference may tell of a UNIX socket of this machine beside an address that is allowed.
#[test]
fn no_rule_of_addresses_allows_a_socket_beside_one() {
    let path = std::env::temp_dir().join(format!("oxorb-naming-beside-{}", std::process::id()));
    let trap = UnixListener::bind(&path).unwrap();
    trap.set_nonblocking(true).unwrap();
    for (rule, goes) in [("127.0.0.1", false), ("any", true)] {
        let rules = Rules {
            federation: rule.parse().unwrap(),
            ..Rules::default()
        };
        let limits = Limits {
            forward_timeout: std::time::Duration::from_millis(100),
            ..Limits::default()
        };
        let here = Served::under(Store::in_memory().unwrap(), limits, rules, 0);
        let protocols = &here.client.options().protocols;
        let [iiop, uiop] = ["iiop", "uiop"].map(|name| protocols.named(name).unwrap().profile());
        let address = "tcp:127.0.0.1:1".parse().unwrap();
        let mut profile = Profile::new(address, Version::V1_2, b"NameService");
        let socket = format!("unix:{}", path.display()).parse().unwrap();
        profile.components.extend(uiop.beside(&socket));
        let ior = Ior {
            type_id: String::new(),
            profiles: vec![iiop.write(&profile)],
        };
        let foreign = here.client.string_to_object(&ior.to_string()).unwrap();
        let foreign: NamingContextRef = foreign.unchecked_narrow();
        here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
        assert!(here.root.resolve(&n("there/a")).is_err());
        assert_eq!(trap.accept().is_ok(), goes, "{rule}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_context_bound_to_itself_costs_no_thread() {
    let limits = Limits {
        forwards: 0,
        ..Limits::default()
    };
    let here = Served::federated(limits);
    // As it published itself, and as `corbaloc:` says it.
    here.root
        .bind_context(&n("a"), Some(&here.root.clone().into()))
        .unwrap();
    here.root.bind(&n("x"), None).unwrap();
    let name = format!("{}x", "a/".repeat(63));
    assert_eq!(here.root.resolve(&n(&name)), Ok(None));
}

#[test]
fn a_loop_that_is_not_seen_through_takes_no_more_threads_than_allowed() {
    let here = Served::federated(Limits {
        forwards: 5,
        ..Limits::default()
    });
    // The same server under another name.
    let alias = here.address().replace("127.0.0.1", "localhost");
    let url = format!("corbaloc::{alias}/NameService");
    let foreign = here.client.string_to_object(&url).unwrap();
    let foreign: NamingContextRef = foreign.unchecked_narrow();
    here.root.bind_context(&n("a"), Some(&foreign)).unwrap();
    let name = format!("{}x", "a/".repeat(39));
    match here.root.resolve(&n(&name)) {
        Err(ResolveError::CannotProceed(stopped)) => {
            assert_eq!(stopped.rest_of_name.len(), 40 - (5 + 1));
        }
        other => panic!("{other:?}"),
    }
    // All shares were given back.
    here.root.bind(&n("x"), None).unwrap();
    assert_eq!(here.root.resolve(&n("a/a/a/a/a/x")), Ok(None));
}

#[test]
fn a_read_only_service_refuses_every_change() {
    let rules = Rules {
        read_only: true,
        ..Rules::default()
    };
    let here = Served::under(Store::in_memory().unwrap(), Limits::default(), rules, 0);
    let refused = |error: &oxorb::SystemException| {
        assert_eq!(error.kind, SystemExceptionKind::NoPermission);
        assert_eq!(error.minor, minor::no_permission::READ_ONLY);
    };
    match here.root.bind(&n("a"), None) {
        Err(BindError::System(error)) => refused(&error),
        other => panic!("{other:?}"),
    }
    refused(&here.root.new_context().unwrap_err());
    assert!(here.root.bind_new_context(&n("a")).is_err());
    assert!(here.root.rebind(&n("a"), None).is_err());
    assert!(here.root.unbind(&n("a")).is_err());
    assert_eq!(here.root.list(10).unwrap().0, []);
}

#[test]
fn a_client_goes_on_where_the_server_may_not() {
    let (here, there) = (Served::new(), Served::new());
    let foreign = here.client.resolve(&there.service.root().to_ior()).unwrap();
    here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
    let names = here.names();
    let made = names.make_context("there/a").unwrap();
    names.bind("there/a/o", &here.object("o")).unwrap();
    let found: oxorb::ObjectRef = names.resolve("there/a/o").unwrap();
    assert_eq!(found, here.object("o"));
    names.unbind("there/a/o").unwrap();
    assert_eq!(super::listed(made.root()), Vec::<String>::new());
    // Two that send a client to and fro lose it at the end of the name.
    let back = there.client.resolve(&here.service.root().to_ior()).unwrap();
    there.root.bind_context(&n("here"), Some(&back)).unwrap();
    let name = format!("{}x", "there/here/".repeat(20));
    let failed = names
        .resolve::<oxorb::ObjectRef>(name.as_str())
        .unwrap_err();
    assert!(failed.to_string().contains("there is no \"x\""), "{failed}");
}
