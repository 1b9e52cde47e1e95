//! Access rules for calls, by certificate, network and user.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::incident::Incident;
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::watchdog;

static BALANCE: Op = Op::twoway("balance");
static CLOSE: Op = Op::twoway("close");

/// Servant that records its callers.
#[derive(Default)]
struct Account(Mutex<Vec<(String, bool)>>);

impl Servant for Account {
    fn repository_id(&self) -> &str {
        "IDL:bank/Account:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let caller = (upcall.peer().to_string(), upcall.is_protected());
        self.0.lock().unwrap().push(caller);
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn call(object: &ObjectRef, operation: &'static Op) -> Result<(), SystemException> {
    object.reference().invoke(operation, |_| Ok(()), |_| Ok(()))
}

const RULES: &str = r#"
[access]
default = "deny"

[[access.rule]]
deny = "tls:mallory"

[[access.rule]]
allow = "tls:alice"
interface = "IDL:bank/*"

[[access.rule]]
allow = "127.0.0.0/8"
operation = ["balance"]
protected = true
"#;

#[test]
fn rules_go_by_the_subject_of_the_certificate() {
    let _bound = watchdog(Duration::from_secs(60));
    let authority = Authority::new("Test CA");
    let roots = authority.roots().display().to_string();
    let config = authority.folder.join("oxorb.toml");
    fs::write(&config, RULES).unwrap();
    let own = authority.sign("server", &["127.0.0.1"]).display().to_string();
    let server = Orb::builder()
        .config_file(&config)
        .setting("TlsRoots", &roots)
        .setting("TlsCertificate", &own)
        .listen("iiop://127.0.0.1:0;iiops://127.0.0.1:0")
        .build()
        .unwrap();
    let account = Arc::new(Account::default());
    let local = server.root_poa().activate_servant(account.clone()).unwrap();
    let client = |name: Option<&str>| {
        let mut builder = Orb::builder();
        if let Some(name) = name {
            builder = builder.setting("TlsRoots", &roots);
            if !name.is_empty() {
                let own = authority.sign(name, &[]).display().to_string();
                builder = builder.setting("TlsCertificate", &own);
            }
        }
        builder.build().unwrap()
    };
    let tried = |name: Option<&str>, operation| {
        let orb = client(name);
        let object = orb.string_to_object(&local.to_string()).unwrap();
        let called = call(&object, operation);
        orb.shutdown(true).unwrap();
        called.map_err(|error| {
            assert_eq!(error.kind, SystemExceptionKind::NoPermission, "{error}");
            assert_eq!(error.completed, CompletionStatus::No);
        })
    };
    assert_eq!(tried(Some("alice"), &CLOSE), Ok(()));
    assert_eq!(tried(Some("mallory"), &BALANCE), Err(()), "an earlier rule");
    assert_eq!(tried(Some("bob"), &BALANCE), Ok(()), "by its network");
    assert_eq!(tried(Some("bob"), &CLOSE), Err(()), "the default");
    assert_eq!(tried(Some(""), &BALANCE), Ok(()), "without a certificate");
    assert_eq!(tried(None, &BALANCE), Err(()), "not over TLS");
    // The process itself.
    let here = server.string_to_object(&local.to_string()).unwrap();
    assert_eq!(call(&here, &CLOSE), Ok(()));
    assert_eq!(server.connection_statistics().count(Incident::RequestDenied), 3);
    let callers = account.0.lock().unwrap().clone();
    let caller = |name: &str, protected| (name.to_owned(), protected);
    assert_eq!(
        callers,
        [
            caller("CN=alice,O=Bank", true),
            caller("CN=bob,O=Bank", true),
            caller("127.0.0.1", true),
            caller("this process", true),
        ]
    );
    server.shutdown(true).unwrap();
}

const LIMIT: &str = r#"
[access]
default = "deny"

[[access.rule]]
limit = "tls:*"
requests = 1
"#;

#[test]
fn one_subject_does_not_use_up_the_rate_of_another() {
    let _bound = watchdog(Duration::from_secs(120));
    let authority = Authority::new("Test CA");
    let roots = authority.roots().display().to_string();
    let rules = authority.folder.join("rules.toml");
    fs::write(&rules, LIMIT).unwrap();
    let own = authority.sign("server", &["127.0.0.1"]).display().to_string();
    let server = Orb::builder()
        .access_rules_file(&rules)
        .setting("TlsRoots", &roots)
        .setting("TlsCertificate", &own)
        .listen("iiops://127.0.0.1:0")
        .build()
        .unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Account::default())).unwrap();
    let client = |name: &str| {
        let own = authority.sign(name, &[]).display().to_string();
        let builder = Orb::builder().setting("TlsRoots", &roots);
        builder.setting("TlsCertificate", &own).build().unwrap()
    };
    let (alice, bob) = (client("alice"), client("bob"));
    let of_alice = alice.string_to_object(&local.to_string()).unwrap();
    let refused = loop {
        if let Err(refused) = call(&of_alice, &BALANCE) {
            break refused;
        }
    };
    assert_eq!(refused.kind, SystemExceptionKind::Transient, "{refused}");
    assert_eq!(refused.minor, minor::transient::CLIENT_RATE);
    assert_eq!(refused.completed, CompletionStatus::No);
    let of_bob = bob.string_to_object(&local.to_string()).unwrap();
    assert_eq!(call(&of_bob, &BALANCE), Ok(()), "the burst of another subject");
    assert!(server.connection_statistics().count(Incident::RequestLimited) > 0);
    for orb in [alice, bob, server] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn endpoints_admit_by_certificate() {
    let _bound = watchdog(Duration::from_secs(60));
    let authority = Authority::new("Test CA");
    let roots = authority.roots().display().to_string();
    let own = authority.sign("server", &["127.0.0.1"]).display().to_string();
    let server = Orb::builder()
        .setting("TlsRoots", &roots)
        .setting("TlsCertificate", &own)
        .listen("iiops://127.0.0.1:0/allow=tls:alice")
        .build()
        .unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Account::default())).unwrap();
    for (name, may) in [("alice", true), ("bob", false)] {
        let own = authority.sign(name, &[]).display().to_string();
        let client = Orb::builder()
            .setting("TlsRoots", &roots)
            .setting("TlsCertificate", &own)
            .build()
            .unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        assert_eq!(call(&object, &BALANCE).is_ok(), may, "{name}");
        client.shutdown(true).unwrap();
    }
    assert!(server.connection_statistics().count(Incident::AccessDenied) > 0);
    server.shutdown(true).unwrap();
}
