//! `@in_place` parameters. Over shared memory, the servant reads them where the client wrote them. Over other
//! transports, and if they are small, it gets a copy of the octets.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use in_place::{Store, StoreRef};
use oxorb::policy::{LargePayloads, PolicyCurrent};
use oxorb::values::Octets;
use oxorb::{Interface as _, Orb, Outcome, Result, Upcall};
use oxorb_codegen_tests::in_place;
use oxorb_testkit::process::test_name;
use oxorb_testkit::syscalls;

#[derive(Default)]
struct Servant {
    leased: AtomicUsize,
    told: AtomicUsize,
    kept: Mutex<Vec<Octets<'static>>>,
}

fn sum(octets: &Octets<'_>) -> i64 {
    let mut sum = 0;
    octets.for_each_chunk::<1000>(|chunk| {
        sum += chunk.iter().map(|octet| i64::from(*octet)).sum::<i64>();
    });
    sum
}

impl Servant {
    fn note(&self, octets: &Octets<'_>) {
        self.leased.fetch_add(usize::from(octets.is_leased()), Ordering::Relaxed);
    }
}

impl Store for Servant {
    fn put(&self, name: &str, image: Octets<'_>, behind: i16, number: f64) -> Result<i64> {
        self.note(&image);
        Ok(sum(&image) + name.len() as i64 + i64::from(behind) + number as i64)
    }

    fn both(&self, counts: &[i64], image: Octets<'_>) -> Result<i64> {
        self.note(&image);
        Ok(sum(&image) + counts.iter().sum::<i64>())
    }

    fn copied(&self, image: &[u8]) -> Result<i64> {
        Ok(sum(&image.into()))
    }

    fn marked_false(&self, image: &[u8]) -> Result<i64> {
        Ok(sum(&image.into()))
    }

    fn keep(&self, image: Octets<'_>) -> Result<()> {
        self.note(&image);
        self.kept.lock().unwrap().push(image.into_owned());
        Ok(())
    }

    fn tell(&self, image: Octets<'_>) {
        match image.as_slice() {
            Some(b"begin") => return syscalls::begin("server"),
            Some(b"end") => return syscalls::end("server"),
            _ => {}
        }
        self.note(&image);
        self.told.fetch_add(image.len(), Ordering::SeqCst);
    }

    fn echo<'a>(&'a self, image: Octets<'a>) -> Result<Cow<'a, [u8]>> {
        self.note(&image);
        Ok(image.into_vec().into())
    }
}

struct Setting {
    server: Orb,
    client: Orb,
    servant: Arc<Servant>,
    store: StoreRef,
}

fn setting(endpoint: &str) -> Setting {
    setting_with(endpoint, "thread-per-connection")
}

fn setting_with(endpoint: &str, concurrency: &str) -> Setting {
    let server = Orb::builder().setting("Concurrency", concurrency);
    setting_of(server.listen(endpoint).build().unwrap())
}

fn setting_of(server: Orb) -> Setting {
    let client = Orb::builder().build().unwrap();
    let servant = Arc::new(Servant::default());
    let local: StoreRef = server.root_poa().activate(Arc::clone(&servant)).unwrap();
    let store = client.resolve(&local.to_ior()).unwrap();
    Setting { server, client, servant, store }
}

impl Setting {
    fn leased(&self) -> usize {
        self.servant.leased.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}

fn image(octets: usize) -> (Vec<u8>, i64) {
    let image: Vec<u8> = (0..octets).map(|octet| (octet % 253) as u8).collect();
    let sum = image.iter().map(|octet| i64::from(*octet)).sum();
    (image, sum)
}

/// Sizes with every remainder, because following values are aligned as if the octets were present.
#[test]
fn a_servant_reads_a_large_argument_where_the_client_wrote_it() {
    for endpoint in ["shm://", "giop-lite+shm://", "giop-lite-rt+shm://"] {
        reads_in_place(&setting(endpoint));
    }
}

fn reads_in_place(setting: &Setting) {
    for octets in (20_000..20_009).chain([16 << 10, 1 << 20, 3 << 20]) {
        let (image, sum) = image(octets);
        for name in ["", "a", "name", "a longer one"] {
            let all = setting.store.put(name, (&image).into(), -7, 9.0).unwrap();
            assert_eq!(all, sum + name.len() as i64 + 2, "{octets} {name:?}");
        }
        assert_eq!(setting.leased(), 4, "{octets}");
    }
}

#[test]
fn what_is_small_or_not_marked_or_another_argument_is_copied() {
    let setting = setting("shm://");
    let (image, sum) = image(100_000);
    let store = &setting.store;
    assert_eq!(store.put("", (&image[..100]).into(), 0, 0.0).unwrap(), 4950);
    assert_eq!(store.put("", (&[]).into(), 0, 0.0).unwrap(), 0);
    for _ in 0..3 {
        assert_eq!(store.copied(&image).unwrap(), sum);
        assert_eq!(store.marked_false(&image).unwrap(), sum);
    }
    assert_eq!(setting.leased(), 0);
    // The first large argument is the one that the transport lends.
    let numbers = vec![1; 10_000];
    assert_eq!(store.both(&numbers, (&image).into()).unwrap(), sum + 10_000);
    assert_eq!(setting.leased(), 0);
    assert_eq!(store.both(&[1, 2], image.into()).unwrap(), sum + 3);
    assert_eq!(setting.leased(), 1);
}

#[test]
fn over_other_transports_the_octets_are_the_same() {
    for endpoint in ["iiop://127.0.0.1:0", "uiop://", "shm://|blocks=0"] {
        let setting = setting(endpoint);
        let (image, sum) = image(100_000);
        let store = &setting.store;
        assert_eq!(store.put("ab", (&image).into(), 0, 0.0).unwrap(), sum + 2);
        assert_eq!(*store.echo((&image).into()).unwrap(), image);
        assert_eq!(setting.leased(), 0, "{endpoint}");
    }
}

#[test]
fn within_the_process_the_servant_is_called_with_the_callers_octets() {
    let setting = setting("shm://");
    let local: StoreRef = setting.server.resolve(&setting.store.to_ior()).unwrap();
    let (image, sum) = image(100_000);
    assert_eq!(local.put("", (&image).into(), 1, 1.0).unwrap(), sum + 2);
    assert_eq!(local.put("", image.into(), 1, 1.0).unwrap(), sum + 2);
    assert_eq!(setting.leased(), 0);
}

/// Memory provided by the ORB, for any protocol: the same call, and the same octets.
#[test]
fn a_room_of_the_orb_is_an_argument_like_any_other() {
    for endpoint in ["iiop://127.0.0.1:0", "uiop://", "shm://", "shm://|blocks=0"] {
        let setting = setting(endpoint);
        let (image, sum) = image(100_000);
        for octets in [&image[..], &image[..20_001], &image[..100], &[]] {
            let wanted: i64 = octets.iter().map(|octet| i64::from(*octet)).sum();
            let mut room = setting.store.room(octets.len()).unwrap();
            let shared = endpoint == "shm://" && octets.len() >= 16 << 10;
            assert_eq!(room.is_in_place(), shared, "{endpoint} {}", octets.len());
            room.copy_from_slice(octets);
            let got = setting.store.put("abc", room.into(), 0, 0.0).unwrap();
            assert_eq!(got, wanted + 3, "{endpoint} {}", octets.len());
        }
        let local: StoreRef = setting.server.resolve(&setting.store.to_ior()).unwrap();
        let mut room = local.room(image.len()).unwrap();
        room.copy_from_slice(&image);
        assert!(!room.is_in_place());
        assert_eq!(local.put("", room.into(), 0, 0.0).unwrap(), sum);
    }
}

/// Memory that must be shared is not replaced by other memory, and each mode copies on its own side.
#[test]
fn modes_say_which_side_copies() {
    let setting = setting("shm://|blocks=64K");
    let refused = setting.store.with(LargePayloads::InPlaceOnly);
    let first = refused.room(40_000).unwrap();
    for octets in [40_000, 100, 1 << 20] {
        let error = refused.room(octets).unwrap_err();
        assert!(error.to_string().contains("NO_RESOURCES (minor OxORB 4"), "{error}");
        assert!(!setting.store.room(octets).unwrap().is_in_place());
    }
    drop(first);
    assert!(refused.room(60_000).unwrap().is_in_place());
    for mode in [LargePayloads::Copied, LargePayloads::SingleCopy] {
        let _scope = PolicyCurrent::scope(&setting.client, mode);
        assert!(!setting.store.room(40_000).unwrap().is_in_place());
        assert!(refused.room(40_000).unwrap().is_in_place(), "the object's");
    }
    let tcp = self::setting("iiop://127.0.0.1:0");
    let error = tcp.store.with(LargePayloads::InPlaceOnly).room(40_000);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("NO_RESOURCES (minor OxORB 5"), "{error}");

    let server = Orb::builder().listen("shm://").setting("LargePayloads", "copied");
    let copying = setting_of(server.build().unwrap());
    let (image, sum) = image(40_000);
    let mut room = copying.store.room(image.len()).unwrap();
    assert!(room.is_in_place());
    room.copy_from_slice(&image);
    assert_eq!(copying.store.put("", room.into(), 0, 0.0).unwrap(), sum);
    assert_eq!(copying.leased(), 0);
}

/// Servant that passes requests on, some of them too late.
struct Relay {
    first: bool,
}

impl oxorb::Servant for Relay {
    fn repository_id(&self) -> &str {
        "IDL:in_place/Store:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let orb = upcall.orb().clone();
        let before = self.first.then(|| upcall.detach());
        let taken = upcall.args_in_place(Octets::decode_from);
        assert!(taken.is_ok());
        let copy = before.unwrap_or_else(|| upcall.detach());
        let reply = copy.serve(&orb, |mut upcall| {
            let image = upcall.args(|d| Octets::decode_from(d).map(Octets::into_vec));
            match image {
                Ok(image) if image == [7; 40_000] => upcall.done(),
                _ => upcall.unknown_operation(),
            }
        });
        upcall.relay(reply)
    }
}

#[test]
fn a_request_is_copied_before_its_arguments_are_taken() {
    let setting = setting("shm://");
    for first in [true, false] {
        let relay = setting.server.root_poa().activate_servant(Arc::new(Relay { first }));
        let relay = relay.unwrap().to_string();
        let store: StoreRef = setting.client.resolve(&relay).unwrap();
        let kept = store.keep((&[7; 40_000]).into());
        match first {
            true => kept.unwrap(),
            false => {
                let error = kept.unwrap_err().to_string();
                assert!(error.contains("BAD_INV_ORDER (minor OxORB 2"), "{error}");
            }
        }
    }
}

/// Blocks that are held are unavailable to the sender, which then sends through the ring; the memory outlives the
/// connection.
#[test]
fn leases_that_are_kept_stay_as_they_are_and_nobody_waits_for_them() {
    let setting = setting("shm://|blocks=256K");
    for round in 0..20_u8 {
        setting.store.keep((&[round; 30_000]).into()).unwrap();
    }
    let leased = setting.leased();
    assert_eq!(leased, 8, "as many as there is memory");
    setting.client.shutdown(true).unwrap();
    let kept = std::mem::take(&mut *setting.servant.kept.lock().unwrap());
    for (image, round) in kept.into_iter().zip(0..) {
        assert_eq!(image.len(), 30_000);
        let kept = thread::spawn(move || image.into_vec());
        assert!(kept.join().unwrap().iter().all(|octet| *octet == round));
    }
}

/// Several threads and requests without answers: each request gets its own octets.
#[test]
fn requests_side_by_side_find_their_own_octets() {
    let setting = setting("shm://");
    let (image, sum) = image(40_000);
    thread::scope(|scope| {
        for thread in 0..4_i16 {
            let (store, image) = (&setting.store, &image);
            scope.spawn(move || {
                for round in 0..50 {
                    let octets = &image[..20_000 + 100 * usize::from(thread as u16)];
                    let wanted: i64 = octets.iter().map(|octet| i64::from(*octet)).sum();
                    let got = store.put("", octets.into(), round, 0.0).unwrap();
                    assert_eq!(got, wanted + i64::from(round));
                    store.tell(image.into()).unwrap();
                }
            });
        }
    });
    assert_eq!(setting.store.put("", (&image).into(), 0, 0.0).unwrap(), sum);
    while setting.servant.told.load(Ordering::SeqCst) < 200 * image.len() {
        thread::yield_now();
    }
    assert!(setting.leased() > 0);
}

/// A thread that serves many connections does not return to its poller before it has all of a request that was written
/// at once.
#[test]
fn a_request_that_is_lent_costs_one_trip_to_the_poller() {
    const CALLS: usize = 100;
    let name = test_name(a_request_that_is_lent_costs_one_trip_to_the_poller);
    let trace = syscalls::traced(name, || {
        let setting = setting_with("shm://", "reactive");
        let (image, sum) = image(100_000);
        let put = |count| {
            for _ in 0..count {
                let got = setting.store.put("", (&image).into(), 0, 0.0).unwrap();
                assert_eq!(got, sum);
            }
        };
        put(3);
        setting.store.tell(b"begin".into()).unwrap();
        put(CALLS);
        setting.store.tell(b"end".into()).unwrap();
        put(1);
        assert_eq!(setting.leased(), CALLS + 4);
    });
    let Some(trace) = trace else { return };
    let own = &trace.section("server").own;
    let trips = own.of("epoll_wait") + own.of("epoll_pwait2") + own.of("epoll_pwait");
    // The first and the last calls need a few more.
    assert!(trips <= CALLS + 4, "{own:?}");
}
