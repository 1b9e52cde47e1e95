//! The connection of a request, as a servant sees it.

use std::sync::{Arc, Mutex, OnceLock};

use oxorb::__gen::{Op, decode_ref, encode_ref};
use oxorb::servant::{ClientConnection, current_connection};
use oxorb::settings::ClientConnections;
use oxorb::transport::PeerId;
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::{until, watchdog};

use crate::common;
use crate::common::transport::{is_tcp, listening};
use crate::common::*;

static ASK: Op = Op::twoway("ask");
static ASK_INNER: Op = Op::twoway("ask_inner");
static ASK_BACK: Op = Op::twoway("ask_back");

/// Servant that records the connection of its requests.
#[derive(Default)]
struct Asked {
    seen: Mutex<Vec<Option<ClientConnection>>>,
    inner: OnceLock<ObjectRef>,
}

impl Asked {
    fn start(orb: &Orb) -> (Arc<Asked>, ObjectRef) {
        let asked = Arc::new(Asked::default());
        let reference = orb.root_poa().activate_servant(asked.clone()).unwrap();
        (asked, ObjectRef::from_ref(reference))
    }

    fn last(&self) -> Option<ClientConnection> {
        self.seen.lock().unwrap().pop().expect("it was asked")
    }
}

impl Servant for Asked {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let called = match upcall.operation() {
            "ask" => Ok(()),
            "ask_inner" => call(self.inner.get().unwrap(), &ASK),
            _ => {
                let back = upcall.args(decode_ref::<ObjectRef>).unwrap();
                call(&back.unwrap(), &ASK)
            }
        };
        self.seen.lock().unwrap().push(current_connection());
        match called {
            Ok(()) => upcall.done(),
            Err(exception) => upcall.fail(exception),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn ask_back(object: &ObjectRef, back: &ObjectRef) -> Result<(), SystemException> {
    object.reference().invoke(&ASK_BACK, |e| encode_ref(e, Some(back)), |_| Ok(()))
}

#[test]
fn a_servant_learns_whose_connection_it_is_and_when_it_has_ended() {
    let _guard = watchdog(2 * LONG);
    for concurrency in ARCHITECTURES {
        let server = common::server(concurrency);
        let (asked, local) = Asked::start(&server);
        let (first, second) =
            (client(ClientConnections::Cached), client(ClientConnections::Cached));
        let object = elsewhere(&first, local.reference());
        call(&object, &ASK).unwrap();
        let one = asked.last().unwrap();
        call(&object, &ASK).unwrap();
        let same = asked.last().unwrap();
        call(&elsewhere(&second, local.reference()), &ASK).unwrap();
        let other = asked.last().unwrap();
        assert!(one.is_same(&same) && !one.is_same(&other), "{concurrency:?}");
        assert_eq!(one.client(), other.client(), "limits count them as one");
        if is_tcp() {
            assert_eq!(*one.client(), PeerId::Ip([127, 0, 0, 1].into()));
        }
        assert!(one.is_open() && other.is_open());
        first.shutdown(true).unwrap();
        until("the first has ended", || !one.is_open());
        assert!(!same.is_open() && other.is_open());

        // Collocated calls have no connection, whichever object makes them.
        call(&local, &ASK).unwrap();
        assert!(asked.last().is_none());
        let (inner, reference) = Asked::start(&server);
        asked.inner.set(reference).unwrap();
        call(&elsewhere(&second, local.reference()), &ASK_INNER).unwrap();
        assert!(inner.last().is_none());
        assert!(asked.last().unwrap().is_same(&other), "again the outer one's");
        server.shutdown(true).unwrap();
        assert!(!other.is_open());
        second.shutdown(true).unwrap();
    }
    assert!(current_connection().is_none());
}

#[test]
fn a_callback_comes_over_the_connection_that_the_client_opened() {
    only_over!(GIOP, "what is offered are addresses of GIOP");
    let _guard = watchdog(2 * LONG);
    for concurrency in EVERY_CONCURRENCY {
        let accepting = listening().concurrency(concurrency);
        let server = accepting.setting("AcceptBiDirectionalGIOP", "1").build().unwrap();
        let client = listening().setting("OfferBiDirectionalGIOP", "1").build().unwrap();
        let (asked, local) = Asked::start(&server);
        let (called_back, here) = Asked::start(&client);
        let object = elsewhere(&client, local.reference());
        ask_back(&object, &here).unwrap();
        assert_eq!(client.connection_statistics().accepted, 0);
        let (of_server, of_client) = (called_back.last().unwrap(), asked.last().unwrap());
        assert!(of_server.is_open() && of_client.is_open());
        server.shutdown(true).unwrap();
        until("both ends have ended", || !of_server.is_open() && !of_client.is_open());
        client.shutdown(true).unwrap();
    }
}
