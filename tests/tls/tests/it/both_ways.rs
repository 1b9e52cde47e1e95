//! Callbacks over the connection that a client opened (bidirectional GIOP): over TLS, only if its certificate matches
//! the client's address.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::{Op, decode_ref, encode_ref};
use oxorb::incident::Incident;
use oxorb::{Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::watchdog;

static CALL_BACK: Op = Op::twoway("call_back");
static PING: Op = Op::twoway("ping");

/// Address that cannot be connected to.
const HIDDEN: &str = "iiops://127.0.0.1:0/hostname_in_ior=behind-nat.invalid";

/// Servant that calls back, and counts calls.
#[derive(Default)]
struct Player(Mutex<u64>);

impl Servant for Player {
    fn repository_id(&self) -> &str {
        "IDL:test/Player:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        if upcall.operation() == "ping" {
            *self.0.lock().unwrap() += 1;
            return upcall.done();
        }
        let back = upcall.args(decode_ref::<ObjectRef>).unwrap();
        match ping(&back.expect("not nil")) {
            Ok(()) => upcall.done(),
            Err(exception) => upcall.fail(exception),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn ping(object: &ObjectRef) -> Result<(), SystemException> {
    object.reference().invoke(&PING, |_| Ok(()), |_| Ok(()))
}

/// Runs a server, and a client whose certificate has these names. Returns the result of a call that calls back, the
/// number of callbacks, and the server's counts of offers.
fn called_back(names: &[&str], clients: &str) -> (Result<(), SystemException>, u64, [u64; 2]) {
    let authority = Authority::new("Test CA");
    let file = |path: std::path::PathBuf| path.display().to_string();
    let with = |certificate: String| {
        let roots = file(authority.roots());
        let builder = Orb::builder().setting("TlsRoots", &roots);
        builder.setting("TlsCertificate", &certificate).round_trip_timeout(Duration::from_secs(20))
    };
    let server = with(file(authority.sign("server", &["127.0.0.1"])))
        .setting("TlsClients", clients)
        .setting("AcceptBiDirectionalGIOP", "1")
        .listen("iiops://127.0.0.1:0")
        .build()
        .unwrap();
    let client = with(file(authority.sign("client", names)))
        .setting("OfferBiDirectionalGIOP", "1")
        .listen(HIDDEN)
        .build()
        .unwrap();
    let activate = |orb: &Orb| {
        let player = Arc::new(Player::default());
        let reference = orb.root_poa().activate_servant(player.clone()).unwrap();
        (player, ObjectRef::from_ref(reference))
    };
    let (_, at_server) = activate(&server);
    let (player, here) = activate(&client);
    let object = client.string_to_object(&at_server.reference().to_string()).unwrap();
    let call = object.reference().invoke(&CALL_BACK, |e| encode_ref(e, Some(&here)), |_| Ok(()));
    let statistics = server.connection_statistics();
    let told = [Incident::BidirectionalAccepted, Incident::BidirectionalRefused]
        .map(|incident| statistics.count(incident));
    assert_eq!(statistics.open, 1, "the client's own connection");
    for orb in [&client, &server] {
        orb.shutdown(true).unwrap();
    }
    let calls = *player.0.lock().unwrap();
    (call, calls, told)
}

#[test]
fn who_has_shown_the_certificate_of_its_host_is_called_back() {
    let _bound = watchdog(Duration::from_secs(60));
    let (call, calls, told) = called_back(&["behind-nat.invalid"], "required");
    assert_eq!((call, calls, told), (Ok(()), 1, [1, 0]));
}

#[test]
fn who_has_shown_another_or_none_is_not() {
    let _bound = watchdog(Duration::from_secs(60));
    for (names, clients) in
        [(&["elsewhere.invalid"], "required"), (&["behind-nat.invalid"], "ignored")]
    {
        let (call, calls, _) = called_back(names, clients);
        assert!(call.is_err(), "{names:?} {clients}");
        assert_eq!(calls, 0, "{names:?} {clients}");
    }
}
