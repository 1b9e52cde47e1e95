//! Rules of the service: whether names may change, and which servers it connects to.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;

use oxorb::ior::{Ior, SocketIdentity, Version};
use oxorb::protocol::Profile;
use oxorb::transport::{Address, Notation, Part};
use oxorb::{Interface as _, Orb, SystemExceptionKind, minor};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::cos_naming::naming_context::{BindError, ResolveError};
use oxorb_naming::{Federation, Limits, Rules, Store};

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
        // The caller may continue at `cxt`, the context of the other server.
        Err(ResolveError::CannotProceed(stopped)) => {
            assert_eq!(stopped.cxt, Some(foreign));
            assert_eq!(stopped.rest_of_name, n("a/b"));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(here.root.bind(&n("there/a"), None), Err(BindError::CannotProceed(_))));
    assert_eq!(trap.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    // A rule permits only the servers that it lists.
    for (rule, goes) in [
        (address.to_string(), true),
        ("127.0.0.1".to_owned(), true),
        ("127.0.0.1:1".to_owned(), false),
        ("north.example".to_owned(), false),
    ] {
        let rules = Rules { federation: rule.parse().unwrap(), ..Rules::default() };
        let limits =
            Limits { forward_timeout: std::time::Duration::from_secs(1), ..Limits::default() };
        let here = Served::under(Store::in_memory().unwrap(), limits, rules, 0);
        let foreign = here.client.string_to_object(&url).unwrap();
        let foreign: NamingContextRef = foreign.unchecked_narrow();
        here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
        assert!(here.root.resolve(&n("there/a")).is_err());
        assert_eq!(trap.accept().is_ok(), goes, "{rule}");
    }
}

/// A reference to a permitted address may also contain a UNIX socket of this machine, which the
/// rule must permit as well.
#[test]
fn no_rule_of_addresses_allows_a_socket_beside_one() {
    let path = oxorb_testkit::net::socket_folder()
        .join(format!("oxorb-naming-beside-{}", std::process::id()));
    let trap = UnixListener::bind(&path).unwrap();
    trap.set_nonblocking(true).unwrap();
    let socket: Address = format!("unix:{}", path.display()).parse().unwrap();
    let known = published(&path).remove(0);
    let uid = user_of(&known);
    for (socket, rule, goes) in [
        (&socket, "127.0.0.1".to_owned(), false),
        (&socket, "any".to_owned(), true),
        (&socket, format!("127.0.0.1,{}", path.display()), true),
        (&socket, format!("127.0.0.1,{}x", path.display()), false),
        // The reference does not contain the owner of the socket, so a rule for a user does not permit it.
        (&socket, format!("127.0.0.1,uid:{uid}"), false),
        (&known, "127.0.0.1".to_owned(), false),
        (&known, format!("127.0.0.1,uid:{uid}"), true),
        (&known, format!("127.0.0.1,uid:{}", uid + 1), false),
        (&known, format!("uid:{uid}"), false),
    ] {
        let rules = Rules { federation: rule.parse().unwrap(), ..Rules::default() };
        let limits =
            Limits { forward_timeout: std::time::Duration::from_secs(1), ..Limits::default() };
        let here = Served::under(Store::in_memory().unwrap(), limits, rules, 0);
        let protocols = &here.client.options().protocols;
        let [iiop, uiop] = ["iiop", "uiop"].map(|name| protocols.named(name).unwrap().profile());
        let address = "tcp:127.0.0.1:1".parse().unwrap();
        let mut profile = Profile::new(address, Version::V1_2, b"NameService");
        profile.components.extend(uiop.beside(socket));
        let ior = Ior { type_id: String::new(), profiles: vec![iiop.write(&profile)] };
        let foreign = here.client.string_to_object(&ior.to_string()).unwrap();
        let foreign: NamingContextRef = foreign.unchecked_narrow();
        here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
        assert!(here.root.resolve(&n("there/a")).is_err());
        assert_eq!(trap.accept().is_ok(), goes, "{rule} {socket}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// Returns the addresses that a server on a UNIX socket publishes.
fn published(path: &Path) -> Vec<Address> {
    let orb = Orb::builder().build().unwrap();
    let protocol = orb.options().protocols.named("uiop").unwrap();
    let path = path.display().to_string();
    let endpoint = protocol.transport().endpoints(Notation::Url, Part::new(&path));
    let endpoint = endpoint.unwrap().remove(0);
    protocol.transport().published(&endpoint, &[]).unwrap()
}

fn user_of(socket: &Address) -> u32 {
    let identity: SocketIdentity = socket.verified().unwrap().parse().unwrap();
    identity.uid
}

/// Rules cover the addresses of every protocol that the server uses.
#[test]
fn names_are_followed_over_every_protocol_as_rules_say() {
    let path = oxorb_testkit::net::socket_folder()
        .join(format!("oxorb-naming-over-{}", std::process::id()));
    let endpoints = format!(
        "iiop://127.0.0.1:0;giop-lite-rt+tcp://127.0.0.1:0;uiop://{path};shm://{path}.shm|ring=64K",
        path = path.display()
    );
    let memory = || Store::in_memory().unwrap();
    let there = Served::at(&endpoints, memory(), Limits::default(), Rules::default());
    there.root.bind(&n("a"), None).unwrap();
    let whole = there.service.root().reference().ior().clone();
    let only = |at: usize| Ior {
        type_id: whole.type_id.clone(),
        profiles: vec![whole.profiles[at].clone()],
    };
    let uid = user_of(&published(&path)[0]);
    for (ior, rule, goes) in [
        (only(1), "127.0.0.1".to_owned(), true),
        (only(1), "127.0.0.1:1".to_owned(), false),
        (only(2), "127.0.0.1".to_owned(), false),
        (only(2), format!("uid:{uid}"), true),
        (only(2), path.display().to_string(), true),
        (only(2), format!("{}.shm", path.display()), false),
        (only(3), "127.0.0.1".to_owned(), false),
        (only(3), format!("uid:{uid}"), true),
        (only(3), path.display().to_string(), false),
        (only(3), format!("{}.shm", path.display()), true),
        (whole.clone(), "127.0.0.1".to_owned(), false),
        (whole.clone(), format!("127.0.0.1, uid:{uid}"), true),
    ] {
        let rules = Rules { federation: rule.parse().unwrap(), ..Rules::default() };
        let here = Served::under(memory(), Limits::default(), rules, 0);
        let foreign = here.client.string_to_object(&ior.to_string()).unwrap();
        let foreign: NamingContextRef = foreign.unchecked_narrow();
        here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
        let found = here.root.resolve(&n("there/a"));
        assert_eq!(found.is_ok(), goes, "{rule}: {found:?}");
    }
}

#[test]
fn a_context_bound_to_itself_costs_no_thread() {
    let limits = Limits { forwards: 0, ..Limits::default() };
    let here = Served::federated(limits);
    // The bound reference is the root's `corbaloc:`, which the server must recognise as its own without a call.
    here.root.bind_context(&n("a"), Some(&here.root.clone().into())).unwrap();
    here.root.bind(&n("x"), None).unwrap();
    let name = format!("{}x", "a/".repeat(63));
    assert_eq!(here.root.resolve(&n(&name)), Ok(None));
}

#[test]
fn the_root_is_known_by_its_addresses_of_every_protocol() {
    let path = oxorb_testkit::net::socket_folder()
        .join(format!("oxorb-naming-root-{}", std::process::id()));
    let endpoints =
        format!("iiop://127.0.0.1:0;giop-lite-rt+tcp://127.0.0.1:0;uiop://{}", path.display());
    let limits = Limits { forwards: 0, ..Limits::default() };
    let rules = Rules { federation: Federation::Any, ..Rules::default() };
    let here = Served::at(&endpoints, Store::in_memory().unwrap(), limits, rules);
    here.root.bind(&n("x"), None).unwrap();
    let all = here.service.root().reference().to_corbaloc().unwrap();
    let (addresses, _) = all.rsplit_once(['|', '/']).unwrap();
    let lite = addresses.split(',').find(|it| it.contains("lite-rt")).unwrap();
    let lite = lite.trim_start_matches("corbaloc:");
    let own = [
        format!("corbaloc:uiop:{}|NameService", path.display()),
        format!("corbaloc:{lite}/NameService"),
    ];
    for (at, url) in own.iter().enumerate() {
        let foreign = here.client.string_to_object(url).unwrap();
        let foreign: NamingContextRef = foreign.unchecked_narrow();
        let name = format!("a{at}");
        here.root.bind_context(&n(&name), Some(&foreign)).unwrap();
        let found = here.root.resolve(&n(&format!("{name}/x")));
        assert_eq!(found, Ok(None), "{url} takes no call to another server");
    }
    let other = format!("corbaloc:uiop:{}x|NameService", path.display());
    let foreign = here.client.string_to_object(&other).unwrap();
    let foreign: NamingContextRef = foreign.unchecked_narrow();
    here.root.bind_context(&n("b"), Some(&foreign)).unwrap();
    assert!(here.root.resolve(&n("b/x")).is_err());
}

#[test]
fn a_loop_that_is_not_seen_through_takes_no_more_threads_than_allowed() {
    let here = Served::federated(Limits { forwards: 5, ..Limits::default() });
    // The server does not recognise itself under another host name.
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
    // The failed resolution has released all its permits for calls to other servers.
    here.root.bind(&n("x"), None).unwrap();
    assert_eq!(here.root.resolve(&n("a/a/a/a/a/x")), Ok(None));
}

#[test]
fn a_read_only_service_refuses_every_change() {
    let rules = Rules { read_only: true, ..Rules::default() };
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
    // If two servers refer a client to each other, the resolution ends because each step consumes a component of the
    // name.
    let back = there.client.resolve(&here.service.root().to_ior()).unwrap();
    there.root.bind_context(&n("here"), Some(&back)).unwrap();
    let name = format!("{}x", "there/here/".repeat(20));
    let failed = names.resolve::<oxorb::ObjectRef>(name.as_str()).unwrap_err();
    assert!(failed.to_string().contains("there is no \"x\""), "{failed}");
}
