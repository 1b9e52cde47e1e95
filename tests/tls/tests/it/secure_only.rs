//! TLS only: by setting of the ORB, by policy of a POA, and by policy of the caller.

use std::sync::Arc;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::poa::{IdAssignment, Lifespan, PoaError, Policies, Policy};
use oxorb::policy::{PolicyCurrent, SecureOnly};
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::watchdog;

/// OxORB's own minor codes.
const NOT_PROTECTED_CALL: &str = "SecureOnly requires a protocol that protects its messages";
const NOT_PROTECTED_REQUEST: &str = "accepts requests only over protocols that protect";

static PING: Op = Op::twoway("ping");

/// Servant that answers whether the request was protected.
struct Asked;

impl Servant for Asked {
    fn repository_id(&self) -> &str {
        "IDL:test/Asked:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let protected = upcall.is_protected();
        upcall.reply(|e| {
            e.boolean(protected);
            Ok(())
        })
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Calls, and returns whether the call used TLS.
fn ping(object: &ObjectRef) -> Result<bool, SystemException> {
    let reference = object.reference();
    reference.invoke(&PING, |_| Ok(()), |d| d.boolean())
}

struct Bench {
    server: Orb,
    /// ORB that trusts the server.
    trusting: Orb,
    /// ORB without trusted authorities.
    blind: Orb,
    /// ORB that trusts another authority.
    wary: Orb,
    _files: [Authority; 2],
}

impl Bench {
    /// Creates the clients, and a server that listens in the clear and over TLS.
    fn new() -> Self {
        let (authority, other) = (Authority::new("Test CA"), Authority::new("Other CA"));
        let roots = authority.roots().display().to_string();
        let own = authority.sign("server", &["127.0.0.1"]);
        let server = Orb::builder()
            .setting("TlsRoots", &roots)
            .setting("TlsCertificate", &own.display().to_string())
            .listen("iiop://127.0.0.1:0;iiops://127.0.0.1:0");
        let trusting = Orb::builder().setting("TlsRoots", &roots);
        let others = other.roots().display().to_string();
        Self {
            server: server.build().unwrap(),
            trusting: trusting.build().unwrap(),
            blind: Orb::builder().build().unwrap(),
            wary: Orb::builder().setting("TlsRoots", &others).build().unwrap(),
            _files: [authority, other],
        }
    }

    fn end(self) {
        for orb in [self.blind, self.trusting, self.wary, self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

fn seen(by: &Orb, text: &str) -> ObjectRef {
    by.string_to_object(text).unwrap()
}

#[track_caller]
fn refused(result: Result<bool, SystemException>) {
    let error = result.unwrap_err();
    assert_eq!(error.kind, SystemExceptionKind::InvPolicy, "{error}");
    assert_eq!(error.completed, CompletionStatus::No, "{error}");
    assert!(error.to_string().contains(NOT_PROTECTED_CALL), "{error}");
}

#[test]
fn a_caller_who_wants_it_never_calls_in_the_clear() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new();
    let local = bench.server.root_poa().activate_servant(Arc::new(Asked)).unwrap().to_string();
    // By default, a client that trusts the server uses TLS, and any other client uses the plain port.
    let [trusting, blind, wary] =
        [&bench.trusting, &bench.blind, &bench.wary].map(|orb| seen(orb, &local));
    assert_eq!(ping(&trusting), Ok(true));
    assert_eq!(ping(&blind), Ok(false));
    assert_eq!(ping(&wary), Ok(false), "somebody on the way may bring this about");
    // The policy of a reference.
    assert_eq!(ping(&trusting.with(SecureOnly(true))), Ok(true));
    refused(ping(&blind.with(SecureOnly(true))));
    let error = ping(&wary.with(SecureOnly(true))).unwrap_err();
    assert_eq!(error.completed, CompletionStatus::No, "{error}");
    // The policy of a thread, which the policy of a single call overrides.
    {
        let _scope = PolicyCurrent::scope(&bench.blind, SecureOnly(true));
        refused(ping(&blind));
        assert_eq!(ping(&blind.with(SecureOnly(false))), Ok(false));
    }
    // The policy of an ORB.
    bench.blind.policies().set(SecureOnly(true)).unwrap();
    refused(ping(&blind));
    assert_eq!(blind.reference().client_policy(), Some(SecureOnly(true)));
    bench.end();
}

#[test]
fn the_setting_of_an_orb_is_not_taken_back() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new();
    let local = bench.server.root_poa().activate_servant(Arc::new(Asked)).unwrap().to_string();
    let roots = bench._files[0].roots().display().to_string();
    let strict =
        Orb::builder().setting("TlsRoots", &roots).setting("SecureOnly", "yes").build().unwrap();
    let object = seen(&strict, &local);
    assert_eq!(object.reference().client_policy(), Some(SecureOnly(true)));
    assert_eq!(ping(&object.with(SecureOnly(false))), Ok(true));
    // An object without an address over TLS.
    let plain = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let local = plain.root_poa().activate_servant(Arc::new(Asked)).unwrap();
    refused(ping(&seen(&strict, &local.to_string())));
    refused(ping(&seen(&strict, &local.to_string()).with(SecureOnly(false))));
    for orb in [plain, strict] {
        orb.shutdown(true).unwrap();
    }
    bench.end();
}

#[test]
fn objects_of_a_poa_are_neither_published_nor_served_in_the_clear() {
    let _bound = watchdog(Duration::from_secs(60));
    let bench = Bench::new();
    for policies in [
        Policies::default(),
        Policies {
            id_assignment: IdAssignment::User,
            lifespan: Lifespan::Persistent,
            ..Policies::default()
        },
    ] {
        let make = |name: &str, secure_only| {
            let policies = Policies { secure_only, ..policies };
            let poa = bench.server.root_poa().create_poa(name, policies).unwrap();
            poa.manager().activate().unwrap();
            let servant = Arc::new(Asked);
            let local = match policies.id_assignment {
                IdAssignment::System => poa.activate_servant(servant),
                IdAssignment::User => poa.activate_servant_with_id(&"it".into(), servant),
            };
            ObjectRef::from_ref(local.unwrap())
        };
        let name = format!("{:?}", policies.lifespan);
        let protected = make(&format!("{name}-protected"), true);
        let open = make(&format!("{name}-open"), false);
        // The reference of one object has only the address over TLS. The reference of the other object has both
        // addresses.
        let text = protected.reference().to_string();
        assert_eq!(ping(&seen(&bench.trusting, &text)), Ok(true));
        let error = ping(&seen(&bench.blind, &text)).unwrap_err();
        assert_eq!(error.completed, CompletionStatus::No, "{error}");
        assert_eq!(ping(&seen(&bench.blind, &open.reference().to_string())), Ok(false));
        // A client that knows the key, and calls at the plain port.
        let plain = open.reference().ior().iiop_profiles().next().unwrap();
        let port = plain.port;
        let key = protected.reference().ior().iiop_profiles().next().unwrap().object_key;
        let key: String = key.iter().map(|octet| format!("%{octet:02x}")).collect();
        let url = format!("corbaloc:iiop:1.2@127.0.0.1:{port}/{key}");
        let error = ping(&seen(&bench.blind, &url)).unwrap_err();
        assert_eq!(error.kind, SystemExceptionKind::NoPermission, "{error}");
        assert_eq!(error.completed, CompletionStatus::No, "{error}");
        assert!(error.to_string().contains(NOT_PROTECTED_REQUEST), "{error}");
        // Calls within the process send nothing.
        assert_eq!(ping(&protected), Ok(true));
    }
    bench.end();
}

#[test]
fn a_poa_that_nobody_could_reach_is_refused() {
    let _bound = watchdog(Duration::from_secs(60));
    let plain = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let root = plain.root_poa();
    let list = [Policy::Lifespan(Lifespan::Transient), Policy::SecureOnly(true)];
    let refused = root.new_poa("strict").policy_list(&list).create();
    match refused.err() {
        Some(PoaError::InvalidPolicy(error)) => {
            assert_eq!(error.index, 1);
            assert!(error.to_string().contains("-ORBListenEndpoints"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    plain.shutdown(true).unwrap();
}
