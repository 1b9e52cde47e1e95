//! Requests built at run time, with a payload in memory shared by both sides.
//!
//! Copied octets are counted for the whole process, both ends together, so the tests that count them run one at a time.

use std::borrow::Cow;

use in_place::{Store, StoreRef};
use oxorb::values::{Octets, Room};
use oxorb::{Interface as _, Orb, Result};
use oxorb_codegen_tests::in_place;
use oxorb_dynamic::{Dynamic, Exception, Request, TypeCode};
use oxorb_testkit::process::turn;

const OCTETS: usize = 100_000;
/// Number of octets greater than the headers and small arguments of a call and its reply.
const HEADS: u64 = 4_000;

struct Servant;

fn look(image: &Octets<'_>) -> i64 {
    let mut last = [0];
    image.copy_to(image.len() - 1, &mut last);
    image.len() as i64 + i64::from(last[0]) + 1_000_000 * i64::from(image.is_leased())
}

impl Store for Servant {
    fn put(&self, name: &str, image: Octets<'_>, behind: i16, number: f64) -> Result<i64> {
        assert_eq!((name, behind, number), ("name", -3, 0.5));
        Ok(look(&image))
    }
    fn both(&self, _: &[i64], image: Octets<'_>) -> Result<i64> {
        Ok(look(&image))
    }
    fn copied(&self, image: &[u8]) -> Result<i64> {
        Ok(look(&image.into()))
    }
    fn marked_false(&self, image: &[u8]) -> Result<i64> {
        Ok(look(&image.into()))
    }
    fn keep(&self, _: Octets<'_>) -> Result<()> {
        Ok(())
    }
    fn tell(&self, _: Octets<'_>) {}
    fn echo<'a>(&'a self, image: Octets<'a>) -> Result<Cow<'a, [u8]>> {
        Ok(image.into_vec().into())
    }
}

fn blob() -> TypeCode {
    let octets = TypeCode::sequence(TypeCode::OCTET);
    TypeCode::alias("IDL:in_place/Blob:1.0", "Blob", octets)
}

fn request(store: &StoreRef, image: impl Into<Octets<'static>>) -> Request {
    let mut request = Request::new(store.reference(), "put").unwrap();
    request
        .add_in("name", TypeCode::STRING, "name")
        .add_octets("image", blob(), image)
        .add_in("behind", TypeCode::SHORT, -3_i16)
        .add_in("number", TypeCode::DOUBLE, 0.5)
        .set_return_type(TypeCode::LONGLONG);
    request
}

fn room(store: &StoreRef, shared: bool) -> Room {
    let mut room = store.room(OCTETS).unwrap();
    assert_eq!(room.is_in_place(), shared);
    room.fill(7);
    room
}

fn copies(work: impl FnOnce()) -> u64 {
    let before = oxorb_sys::shared::copied();
    work();
    let copied = oxorb_sys::shared::copied() - before;
    let payloads = copied / OCTETS as u64;
    assert!(copied - payloads * OCTETS as u64 <= HEADS, "{copied} octets");
    payloads
}

#[test]
fn a_request_without_a_stub_is_sent_from_a_room() {
    let _turn = turn();
    for (endpoint, shared) in [
        ("shm://", true),
        ("giop-lite+shm://", true),
        ("shm://|blocks=0", false),
        ("uiop://", false),
        ("iiop://127.0.0.1:0", false),
    ] {
        let server = Orb::builder().listen(endpoint).build().unwrap();
        let client = Orb::builder().build().unwrap();
        let local: StoreRef = server.root_poa().activate(Servant).unwrap();
        let store: StoreRef = client.resolve(&local.to_ior()).unwrap();
        let sum = OCTETS as i64 + 7 + 1_000_000 * i64::from(shared);
        let answered = Dynamic::Longlong(sum);

        let invoke = || {
            let mut request = request(&store, room(&store, shared));
            assert_eq!(request.invoke().unwrap().returns, answered, "{endpoint}");
        };
        invoke(); // the connection is there
        if shared {
            assert_eq!(copies(invoke), 0, "{endpoint}");
            // The requests are more than the slots in the memory.
            (0..40).for_each(|_| invoke());
            let deferred = || {
                let mut request = request(&store, room(&store, shared));
                request.send_deferred().unwrap();
                assert_eq!(request.get_response().unwrap().returns, answered);
            };
            deferred(); // over the connection that such calls share
            // The room belongs to the connection of synchronous calls, so it is copied once.
            assert_eq!(copies(deferred), 1);
            // The client copies octets from ordinary memory once, and copies values as usual.
            let vector = || {
                let mut request = request(&store, vec![7; OCTETS]);
                assert_eq!(request.invoke().unwrap().returns, answered);
            };
            assert_eq!(copies(vector), 1);
        }
        let mut once = request(&store, room(&store, shared));
        once.invoke().unwrap();
        let again = once.invoke().unwrap_err().to_string();
        assert!(again.contains("BAD_INV_ORDER"), "{again}");
        drop(once);
        let mut oneway = Request::new(store.reference(), "tell").unwrap();
        oneway.add_octets("image", blob(), room(&store, shared));
        oneway.send_oneway().unwrap();
        // The request accepts only octets, and no more than the type allows.
        let nine = TypeCode::bounded_sequence(TypeCode::OCTET, 9);
        let longs = TypeCode::sequence(TypeCode::LONG);
        for (ty, part) in [(nine, "bound of 9"), (longs, "octets"), (TypeCode::LONG, "octets")] {
            let mut wrong = Request::new(store.reference(), "keep").unwrap();
            wrong.add_octets("image", ty, vec![1; 10]);
            let error: Exception = wrong.invoke().unwrap_err();
            let text = error.to_string();
            assert!(text.contains("image") && text.contains(part), "{text}");
        }
        for orb in [&client, &server] {
            orb.shutdown(true).unwrap();
        }
    }
}
