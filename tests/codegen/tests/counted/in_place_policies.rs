//! `LargePayloads` at each level of client and server: the octets copied for a payload in each mode, and the payloads
//! that are rejected because copies are not permitted.
//!
//! Copied octets are counted for the whole process, both ends together, so the tests that count them run one at a time.

use std::borrow::Cow;

use in_place::{Store, StoreRef};
use oxorb::poa::{Policies, Policy, ThreadPolicy};
use oxorb::policy::{LargePayloads, PolicyCurrent};
use oxorb::values::Octets;
use oxorb::{Interface as _, Orb, Result};
use oxorb_codegen_tests::in_place;
use oxorb_testkit::process::{Turn, turn};

const OCTETS: usize = 100_000;
/// Number of octets greater than the headers and small arguments of a call and its reply.
const HEADS: u64 = 4_000;

const MODES: [(LargePayloads, &str); 4] = [
    (LargePayloads::Copied, "copied"),
    (LargePayloads::SingleCopy, "single-copy"),
    (LargePayloads::InPlace, "in-place"),
    (LargePayloads::InPlaceOnly, "in-place-only"),
];

/// Servant that inspects only the length and the last octet.
struct Servant;

impl Servant {
    fn look(image: &Octets<'_>) -> i64 {
        let mut last = [0];
        if let Some(at) = image.len().checked_sub(1) {
            image.copy_to(at, &mut last);
        }
        image.len() as i64 + i64::from(last[0]) + 1_000_000 * i64::from(image.is_leased())
    }
}

impl Store for Servant {
    fn put(&self, _: &str, image: Octets<'_>, _: i16, _: f64) -> Result<i64> {
        Ok(Self::look(&image))
    }
    fn both(&self, counts: &[i64], image: Octets<'_>) -> Result<i64> {
        Ok(Self::look(&image) + counts.len() as i64)
    }
    fn copied(&self, image: &[u8]) -> Result<i64> {
        Ok(image.len() as i64)
    }
    fn marked_false(&self, image: &[u8]) -> Result<i64> {
        Ok(image.len() as i64)
    }
    fn keep(&self, _: Octets<'_>) -> Result<()> {
        Ok(())
    }
    fn tell(&self, _: Octets<'_>) {}
    fn echo<'a>(&'a self, image: Octets<'a>) -> Result<Cow<'a, [u8]>> {
        Ok(image.into_vec().into())
    }
}

struct Setting {
    server: Orb,
    client: Orb,
    store: StoreRef,
    _turn: Turn,
}

fn setting(endpoint: &str, orb: Option<&str>, poa: Option<LargePayloads>) -> Setting {
    let turn = turn();
    let mut server = Orb::builder().listen(endpoint);
    if let Some(mode) = orb {
        server = server.setting("LargePayloads", mode);
    }
    let server = server.build().unwrap();
    let policies = Policies { large_payloads: poa, ..Policies::default() };
    let root = server.root_poa();
    let poa = root.new_poa("stores").policies(policies);
    let poa = poa.manager(root.manager().clone()).create().unwrap();
    let local: StoreRef = poa.activate(Servant).unwrap();
    let client = Orb::builder().build().unwrap();
    let store: StoreRef = client.resolve(&local.to_ior()).unwrap();
    Setting { server, client, store, _turn: turn }
}

impl Drop for Setting {
    fn drop(&mut self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

#[derive(Debug, PartialEq, Clone, Copy)]
struct Counts {
    /// Number of copies of a payload from ordinary memory.
    sent: u64,
    /// Number of copies of a payload written into a room.
    room: u64,
    /// Whether the servant read the payload where the client wrote it.
    in_place: bool,
}

fn copied(work: impl FnOnce() -> i64) -> (i64, u64) {
    let before = oxorb_sys::shared::copied();
    let result = work();
    let copied = oxorb_sys::shared::copied() - before;
    let payloads = copied / OCTETS as u64;
    assert!(copied - payloads * OCTETS as u64 <= HEADS, "{copied} octets");
    (result, payloads)
}

impl Setting {
    fn counts(&self) -> Counts {
        let image = vec![7; OCTETS];
        // Makes the connection, and memory for copies.
        self.store.put("", (&image).into(), 0, 0.0).unwrap();
        let put = || self.store.put("", (&image).into(), 0, 0.0).unwrap();
        let (first, sent) = copied(put);
        let (second, room) = copied(|| {
            let mut room = self.store.room(OCTETS).unwrap();
            assert!(room.is_in_place());
            room.fill(7);
            self.store.put("", room.into(), 0, 0.0).unwrap()
        });
        assert_eq!(first, second);
        assert_eq!(first % 1_000_000, OCTETS as i64 + 7);
        Counts { sent, room, in_place: first > 1_000_000 }
    }
}

fn wanted(mode: LargePayloads) -> Counts {
    let copies = u64::from(mode == LargePayloads::Copied);
    Counts { sent: 1 + copies, room: copies, in_place: copies == 0 }
}

#[test]
fn each_mode_copies_as_often_at_the_orb_as_at_the_endpoint_and_the_poa() {
    for (mode, text) in MODES {
        let endpoint = format!("shm://|payloads={text}");
        assert_eq!(setting("shm://", Some(text), None).counts(), wanted(mode), "{text}");
        assert_eq!(setting(&endpoint, None, None).counts(), wanted(mode), "{text}");
        assert_eq!(setting("shm://", None, Some(mode)).counts(), wanted(mode), "{text}");
    }
}

#[test]
fn the_poa_goes_before_the_endpoint_and_that_before_the_orb() {
    let (copied, in_place) = (LargePayloads::Copied, LargePayloads::InPlace);
    let (c, i) = ("shm://|payloads=copied", "shm://|payloads=in-place");
    for (endpoint, orb, poa, mode) in [
        (i, Some("copied"), None, in_place),
        (c, Some("in-place"), None, copied),
        (c, None, Some(in_place), in_place),
        (i, Some("in-place"), Some(copied), copied),
        (i, Some("copied"), Some(copied), copied),
        ("shm://", Some("copied"), Some(in_place), in_place),
    ] {
        let setting = setting(endpoint, orb, poa);
        assert_eq!(setting.counts(), wanted(mode), "{endpoint} {orb:?} {poa:?}");
        // The operation overrides all of them: it is not marked.
        let image = vec![7; OCTETS];
        let unmarked = || setting.store.copied(&image).unwrap();
        assert_eq!(self::copied(unmarked), (OCTETS as i64, 2));
    }
}

/// Each endpoint of a server has its own mode, also with the light messagings.
#[test]
fn endpoints_of_one_server_differ() {
    for (protocol, other) in [("shm", "giop-lite+shm"), ("giop-lite+shm", "giop-lite-rt+shm")] {
        let _turn = turn();
        for (payloads, mode) in
            [("copied", LargePayloads::Copied), ("in-place", LargePayloads::InPlace)]
        {
            let server = Orb::builder()
                .listen(&format!("{protocol}://|payloads={payloads}"))
                .listen(&format!("{other}://|payloads=single-copy"))
                .build()
                .unwrap();
            let local: StoreRef = server.root_poa().activate(Servant).unwrap();
            for (name, mode) in [(protocol, mode), (other, LargePayloads::SingleCopy)] {
                let client = Orb::builder().setting("Protocols", name).build().unwrap();
                let store: StoreRef = client.resolve(&local.to_ior()).unwrap();
                let image = vec![1; OCTETS];
                let put = || store.put("", (&image).into(), 0, 0.0).unwrap();
                put();
                let in_place = mode != LargePayloads::Copied;
                let sum = OCTETS as i64 + 1 + 1_000_000 * i64::from(in_place);
                assert_eq!(copied(put), (sum, 2 - u64::from(in_place)), "{name} {mode:?}");
                client.shutdown(true).unwrap();
            }
            server.shutdown(true).unwrap();
        }
    }
}

#[test]
fn a_server_that_reads_in_place_only_refuses_large_copies() {
    let image = vec![7; OCTETS];
    let only = LargePayloads::InPlaceOnly;
    let refuses = |setting: &Setting| {
        for _ in 0..2 {
            let error = setting.store.put("", (&image).into(), 0, 0.0).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("NO_RESOURCES (minor OxORB 6"), "{text}");
            assert_eq!(error.completed, oxorb::CompletionStatus::No);
            // Small payloads, and other kinds, pass.
            let small = &image[..(16 << 10) - 1];
            assert_eq!(setting.store.put("", small.into(), 0, 0.0).unwrap(), 16_390);
            assert_eq!(setting.store.copied(&image).unwrap(), OCTETS as i64);
            let counts = vec![1; 10_000];
            assert_eq!(setting.store.both(&counts, small.into()).unwrap(), 26_390);
        }
    };
    for endpoint in ["iiop://127.0.0.1:0", "uiop://", "shm://|blocks=0"] {
        refuses(&setting(endpoint, Some("in-place-only"), None));
        refuses(&setting(endpoint, None, Some(only)));
        // An object that accepts copies is served, regardless of the ORB's mode.
        let lenient = setting(endpoint, Some("in-place-only"), Some(LargePayloads::InPlace));
        let sum = lenient.store.put("", (&image).into(), 0, 0.0).unwrap();
        assert_eq!(sum, OCTETS as i64 + 7);
    }
    refuses(&setting("shm://|blocks=0&payloads=in-place-only", None, None));
    // The memory is shared, but another payload of the call occupies it. All of it may also be in use by other calls.
    let setting = setting("shm://|blocks=256K&payloads=in-place-only", None, None);
    let counts = vec![1; 10_000];
    let error = setting.store.both(&counts, (&image).into()).unwrap_err();
    assert!(error.to_string().contains("minor OxORB 6"), "{error}");
    let room = setting.store.room(200 << 10).unwrap();
    assert!(setting.store.put("", (&image).into(), 0, 0.0).unwrap() > 1_000_000);
    let more = setting.store.room(OCTETS);
    assert!(!more.unwrap().is_in_place());
    drop(room);
    // Within the process no payload is sent, so none is rejected.
    let local: StoreRef = setting.server.resolve(&setting.store.to_ior()).unwrap();
    assert_eq!(local.put("", (&image).into(), 0, 0.0).unwrap(), OCTETS as i64 + 7);
}

#[test]
fn modes_of_other_transports_change_nothing() {
    for endpoint in ["iiop://127.0.0.1:0", "uiop://"] {
        for (mode, text) in &MODES[..3] {
            for (orb, poa) in [(Some(*text), None), (None, Some(*mode))] {
                let setting = setting(endpoint, orb, poa);
                let image = vec![7; OCTETS];
                let sum = setting.store.put("", (&image).into(), 0, 0.0).unwrap();
                assert_eq!(sum, OCTETS as i64 + 7, "{endpoint} {text}");
            }
        }
    }
    let refused = Orb::builder().listen("iiop://127.0.0.1:0/payloads=copied").build();
    assert!(refused.is_err());
}

/// The main thread gets a copy of each request, so a POA cannot require both.
#[test]
fn requests_for_the_main_thread_are_copies() {
    let both = [
        Policy::Thread(ThreadPolicy::MainThread),
        Policy::LargePayloads(LargePayloads::InPlaceOnly),
    ];
    let error = Policies::from_list(&both).unwrap_err();
    assert!(error.rule.contains("MainThread"), "{error}");
    let policies = Policies::from_list(&both[1..]).unwrap();
    assert_eq!(policies.large_payloads, Some(LargePayloads::InPlaceOnly));
    assert_eq!(Policies::from_list(&policies.to_list()), Ok(policies));
}

/// The client's mode applies to its rooms, and to results that it reads.
#[test]
fn a_client_that_copies_has_ordinary_rooms() {
    let setting = setting("shm://", None, None);
    for mode in [LargePayloads::Copied, LargePayloads::SingleCopy] {
        let store = setting.store.with(mode);
        let put = || {
            let mut room = store.room(OCTETS).unwrap();
            assert!(!room.is_in_place());
            room.fill(7);
            store.put("", room.into(), 0, 0.0).unwrap()
        };
        put();
        assert_eq!(copied(put), (1_000_007 + OCTETS as i64, 1));
        let _scope = PolicyCurrent::scope(&setting.client, mode);
        assert!(!setting.store.room(OCTETS).unwrap().is_in_place());
    }
}
