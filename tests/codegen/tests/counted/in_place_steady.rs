//! Cost of a warm call with a large payload over shared memory, in each mode, with a room and without: allocations,
//! locks, system calls and copied octets of both sides.
//!
//! The servant reads the counters of its serving thread: between two reads is a whole cycle of the server. Copied
//! octets are counted for the whole process, so the tests that count them run one at a time.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use in_place::{Missing, Source, SourceRef, Store, StoreRef, source};
use oxorb::policy::LargePayloads;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::values::Octets;
use oxorb::{Interface as _, Orb, Result};
use oxorb_codegen_tests::in_place;
use oxorb_core::lock;
use oxorb_testkit::alloc::{self, allocations};
use oxorb_testkit::process::{Turn, test_name, turn};
use oxorb_testkit::{syscalls, watchdog};

const OCTETS: usize = 100_000;
/// Number of octets greater than the headers and small arguments of a call and its reply.
const HEADS: u64 = 4_000;
/// Numbers of octets that begin and end a section.
const BEGIN: usize = 1;
const END: usize = 2;

const WARM_UP: usize = 50;
const CALLS: usize = 100;
const LONG: Duration = Duration::from_secs(60);

/// Modes with a bound on copies of their side.
const MODES: [LargePayloads; 4] = [
    LargePayloads::Copied,
    LargePayloads::SingleCopy,
    LargePayloads::InPlace,
    LargePayloads::InPlaceOnly,
];

/// Allocations and locks of the serving thread, as read by the servant.
type Looks = Arc<Mutex<Vec<(u64, u64)>>>;

struct Servant {
    looks: Looks,
    image: Vec<u8>,
}

impl Servant {
    fn look(&self) {
        let mut looks = self.looks.lock().unwrap();
        assert!(looks.len() < looks.capacity(), "looking must not allocate");
        let locks = lock::taken().expect("tests are debug builds");
        looks.push((alloc::local().count, locks));
    }
}

impl Store for Servant {
    fn put(&self, _: &str, image: Octets<'_>, _: i16, _: f64) -> Result<i64> {
        self.look();
        Ok(image.len() as i64 + 1_000_000 * i64::from(image.is_leased()))
    }
    fn both(&self, _: &[i64], _: Octets<'_>) -> Result<i64> {
        Ok(0)
    }
    fn copied(&self, image: &[u8]) -> Result<i64> {
        self.look();
        Ok(image.len() as i64)
    }
    /// Marks sections of the serving thread, by the number of octets.
    fn marked_false(&self, image: &[u8]) -> Result<i64> {
        match image.len() {
            BEGIN => syscalls::begin("server"),
            END => syscalls::end("server"),
            _ => {}
        }
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

impl Source for Servant {
    fn read(&self, octets: i32) -> Result<Octets<'_>> {
        self.look();
        Ok(self.image[..octets as usize].into())
    }
    fn copied(&self, octets: i32) -> Result<Cow<'_, [u8]>> {
        Ok(self.image[..octets as usize].into())
    }
    fn marked_false(&self, octets: i32) -> Result<Cow<'_, [u8]>> {
        Ok(self.image[..octets as usize].into())
    }
    fn all(&self, _: i32, _: &mut f64) -> Result<(i16, String, Octets<'_>)> {
        Ok((0, String::new(), Octets::from(&[][..])))
    }
    fn behind(&self, _: i32) -> Result<(Octets<'_>, String, Cow<'_, [i64]>)> {
        Ok((Octets::from(&[][..]), String::new(), Cow::Borrowed(&[])))
    }
    fn two(&self, _: i32) -> Result<(Cow<'_, [i64]>, Octets<'_>)> {
        Ok((Cow::Borrowed(&[]), Octets::from(&[][..])))
    }
    fn find<'a>(&'a self, _: &'a str) -> std::result::Result<Octets<'a>, source::FindError> {
        Err(Missing {}.into())
    }
    fn back<'a>(&'a self, image: Octets<'a>) -> Result<Octets<'a>> {
        Ok(image)
    }
}

struct Bench {
    server: Orb,
    client: Orb,
    store: StoreRef,
    source: SourceRef,
    looks: Looks,
    image: Vec<u8>,
    _turn: Turn,
}

impl Bench {
    /// Makes both sides in a mode, with threads that spin for `spin`.
    fn new(mode: LargePayloads, spin: Duration) -> Bench {
        let turn = turn();
        // With this setting, the connection counts as busy even on a loaded machine.
        let server = Orb::builder().listen("shm://");
        let server = server.concurrency(Concurrency::ThreadPerConnection);
        let server = server.configure(|options| {
            options.worker_stay = LONG;
            options.large_payloads = mode;
            options.spin = spin;
        });
        let server = server.build().unwrap();
        let client = Orb::builder().client_connections(ClientConnections::Private);
        let client = client.configure(|options| {
            options.trust_idle = LONG;
            options.spin = spin;
        });
        let client = client.build().unwrap();
        let looks = Arc::new(Mutex::new(Vec::with_capacity(10 * (WARM_UP + CALLS))));
        let servant = || Servant { looks: Arc::clone(&looks), image: vec![9; OCTETS] };
        let (poa, servants) = (server.root_poa(), [servant(), servant()]);
        let [first, second] = servants;
        let store: StoreRef = poa.activate(first).unwrap();
        let source: SourceRef = poa.activate(second).unwrap();
        Bench {
            store: client.resolve(&store.to_ior()).unwrap(),
            source: client.resolve(&source.to_ior()).unwrap(),
            server,
            client,
            looks,
            image: vec![7; OCTETS],
            _turn: turn,
        }
    }

    /// Passes octets from ordinary memory.
    fn put(&self) -> bool {
        let sum = self.store.put("", (&self.image).into(), 0, 0.0).unwrap();
        assert_eq!(sum % 1_000_000, OCTETS as i64);
        sum > 1_000_000
    }

    /// Passes octets written where they are sent from.
    fn put_room(&self) -> bool {
        let mut room = self.store.room(OCTETS).unwrap();
        assert!(room.is_in_place());
        room[0] = 7;
        self.store.put("", room.into(), 0, 0.0).unwrap() > 1_000_000
    }

    fn put_rooms(&self, count: usize) {
        for _ in 0..count {
            assert!(self.put_room());
        }
    }

    /// Returns whether a result was read where the server wrote it.
    fn read(&self) -> bool {
        let image = self.source.read(OCTETS as i32).unwrap();
        assert_eq!(image.len(), OCTETS);
        image.is_leased()
    }

    fn end(self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
    }
}

/// Cost of one call.
#[derive(Debug, PartialEq)]
struct Cost {
    /// Allocations and locks of [`CALLS`] calls.
    client: (u64, u64),
    server: (u64, u64),
    /// Number of copies of the payload in each call, on both sides.
    copies: u64,
    in_place: bool,
}

fn cost(bench: &Bench, call: impl Fn(&Bench) -> bool) -> Cost {
    let mut in_place = false;
    for _ in 0..WARM_UP {
        in_place = call(bench);
    }
    bench.looks.lock().unwrap().clear();
    let (locks, copied) = (lock::taken().unwrap(), oxorb_sys::shared::copied());
    let ((), client) = allocations(|| {
        for _ in 0..CALLS {
            assert_eq!(call(bench), in_place);
        }
    });
    let locks = lock::taken().unwrap() - locks;
    // The server may still be recording that it has sent the last reply.
    let copied = (oxorb_sys::shared::copied() - copied) / CALLS as u64;
    let copies = copied / OCTETS as u64;
    assert!(copied - copies * OCTETS as u64 <= HEADS, "{copied} octets");
    let looks = bench.looks.lock().unwrap();
    assert_eq!(looks.len(), CALLS);
    let (first, last) = (looks[0], looks[CALLS - 1]);
    Cost {
        client: (client.count, locks),
        server: (last.0 - first.0, last.1 - first.1),
        copies,
        in_place,
    }
}

/// Cost of a call in steady state according to docs/shared-memory.md: no allocations, and no locks.
fn free(copies: u64, in_place: bool) -> Cost {
    Cost { client: (0, 0), server: (0, 0), copies, in_place }
}

#[test]
fn a_warm_call_allocates_nothing_and_takes_no_lock_in_any_mode() {
    let _guard = watchdog(LONG);
    for mode in MODES {
        let bench = Bench::new(mode, Duration::ZERO);
        let copies = u64::from(mode == LargePayloads::Copied);
        let in_place = copies == 0;
        let room = cost(&bench, Bench::put_room);
        assert_eq!(room, free(copies, in_place), "a room, {mode:?}");
        let put = cost(&bench, Bench::put);
        assert_eq!(put, free(1 + copies, in_place), "octets, {mode:?}");
        bench.end();
    }
}

#[test]
fn a_result_that_is_read_in_place_allocates_nothing_and_takes_no_lock() {
    let _guard = watchdog(LONG);
    let bench = Bench::new(LargePayloads::InPlace, Duration::ZERO);
    assert_eq!(cost(&bench, Bench::read), free(1, true));
    bench.end();
}

/// Spinning threads make no system call while both run. But the scheduler may stop a thread, at a mark of the trace for
/// example, for longer than its partner spins. The partner then sleeps, and must be woken. Not every call is therefore
/// free of system calls, but some must be: in some rounds, all threads together make fewer system calls than there are
/// calls. An interrupted call makes several system calls, so a round has few calls.
#[test]
fn a_warm_call_with_a_room_makes_no_system_call_while_both_spin() {
    const AT_ONCE: usize = 5;
    let test = test_name(a_warm_call_with_a_room_makes_no_system_call_while_both_spin);
    let names: Vec<String> = (0..400).map(|round| format!("round{round}")).collect();
    let trace = syscalls::traced(test, || {
        let _guard = watchdog(LONG);
        let bench = Bench::new(LargePayloads::InPlace, Duration::from_millis(5));
        bench.put_rooms(WARM_UP);
        for name in &names {
            syscalls::section(name, || bench.put_rooms(AT_ONCE));
            bench.looks.lock().unwrap().clear();
        }
        bench.end();
    });
    let Some(trace) = trace else { return };
    // The counts include the threads of the server.
    let made = names.iter().map(|name| trace.section(name).all.total());
    let free: usize = made.map(|calls| AT_ONCE.saturating_sub(calls)).sum();
    println!("at least {free} of {} calls without a system call", AT_ONCE * names.len());
    assert!(free > 0, "{:?}", trace.section(&names[0]).all);
}

/// Sleeping threads make system calls to wake the other one, to wait on the word and, after 5 ms, at the socket.
#[test]
fn a_warm_call_with_a_room_only_wakes_and_waits() {
    let trace = syscalls::traced(test_name(a_warm_call_with_a_room_only_wakes_and_waits), || {
        let _guard = watchdog(LONG);
        let bench = Bench::new(LargePayloads::InPlace, Duration::ZERO);
        bench.put_rooms(WARM_UP);
        // One-time work of the first call of its kind is not counted.
        bench.store.marked_false(&[]).unwrap();
        bench.store.marked_false(&[0; BEGIN]).unwrap();
        syscalls::section("client", || bench.put_rooms(CALLS));
        bench.store.marked_false(&[0; END]).unwrap();
        bench.end();
    });
    let Some(trace) = trace else { return };
    for side in ["client", "server"] {
        let own = &trace.section(side).own;
        println!("{side}: {own:?}");
        let known = ["futex", "poll", "ppoll", "sendto", "recvfrom"].map(|call| own.of(call));
        assert_eq!(known.iter().sum::<usize>(), own.total(), "{side}: {own:?}");
        assert!(own.total() <= 8 * (CALLS + 1), "{side}: {own:?}");
    }
}
