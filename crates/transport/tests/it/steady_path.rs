//! Cost of a call over TCP after warm-up: counts, not times.

use std::io::IoSlice;
use std::thread;
use std::time::Duration;

use oxorb_testkit::alloc::allocations;
use oxorb_testkit::process::test_name;
use oxorb_testkit::{syscalls, watchdog};
use oxorb_transport::tcp::{Place, Tcp, connect};
use oxorb_transport::{Link, Transport as _};

const LIMIT: Duration = Duration::from_secs(120);
const PINGS: usize = 10;

fn pair() -> (Box<dyn Link>, Box<dyn Link>) {
    let acceptor = Tcp.listen(&Place::new("127.0.0.1", 0).into()).unwrap();
    let client = connect("127.0.0.1", Place::of(acceptor.endpoint()).port, LIMIT).unwrap();
    (client, acceptor.accept().unwrap())
}

/// Makes one request and reads its answer, as a client with deadlines does.
fn ping(link: &dyn Link, buffer: &mut Vec<u8>) {
    buffer.clear();
    link.set_write_timeout(Some(LIMIT)).unwrap();
    link.write(&mut [IoSlice::new(&[1; 64])]).unwrap();
    link.set_read_timeout(Some(LIMIT)).unwrap();
    link.read(buffer, 4096).unwrap();
}

/// Server's side of the exchange.
fn pong(link: &dyn Link, buffer: &mut Vec<u8>) {
    buffer.clear();
    link.set_read_timeout(Some(LIMIT)).unwrap();
    link.read(buffer, 4096).unwrap();
    link.set_write_timeout(Some(LIMIT)).unwrap();
    link.write(&mut [IoSlice::new(buffer)]).unwrap();
}

/// Runs both sides: first to warm up, then measured by `around`.
fn run(around: impl Fn(&'static str, &mut dyn FnMut()) + Sync) {
    let (client, server) = pair();
    let side = |name, turn: &dyn Fn(&mut Vec<u8>)| {
        let mut buffer = Vec::with_capacity(4096);
        turn(&mut buffer);
        around(name, &mut || (0..PINGS).for_each(|_| turn(&mut buffer)));
    };
    thread::scope(|scope| {
        scope.spawn(|| side("server", &|buffer| pong(&*server, buffer)));
        side("client", &|buffer| ping(&*client, buffer));
    });
}

#[test]
fn a_ping_is_one_write_and_one_read_on_each_side() {
    let _guard = watchdog(LIMIT);
    let trace = syscalls::traced(test_name(a_ping_is_one_write_and_one_read_on_each_side), || {
        run(|name, work| syscalls::section(name, work));
    });
    if let Some(trace) = trace {
        for side in ["client", "server"] {
            assert_eq!(trace.section(side).own, [("recvfrom", PINGS), ("sendto", PINGS)], "{side}");
        }
    }
}

#[test]
fn several_slices_are_one_write_and_timeouts_cost_only_when_changed() {
    let _guard = watchdog(LIMIT);
    let name = test_name(several_slices_are_one_write_and_timeouts_cost_only_when_changed);
    let trace = syscalls::traced(name, || {
        let (client, _server) = pair();
        syscalls::section("gathered", || {
            client.write(&mut [b"GI", b"OP"].map(|part| IoSlice::new(part))).unwrap();
        });
        syscalls::section("as it was", || client.set_read_timeout(None).unwrap());
        syscalls::section("changed", || {
            for _ in 0..3 {
                client.set_read_timeout(Some(LIMIT)).unwrap();
                client.set_write_timeout(Some(LIMIT)).unwrap();
            }
        });
        syscalls::section("looking", || {
            assert!(!client.is_dead() && !client.has_input().unwrap());
        });
    });
    if let Some(trace) = trace {
        assert_eq!(trace.section("gathered").own, [("sendmsg", 1)]);
        assert_eq!(trace.section("as it was").own, []);
        assert_eq!(trace.section("changed").own, [("setsockopt", 2)]);
        assert_eq!(trace.section("looking").own, [(syscalls::PEEK, 2)]);
    }
}

#[test]
fn a_ping_allocates_nothing() {
    let _guard = watchdog(LIMIT);
    run(|side, work| {
        let ((), made) = allocations(work);
        assert_eq!(made.count, 0, "{side}");
    });
}

/// A write in parts takes another code path.
#[test]
fn a_write_in_parts_allocates_nothing() {
    let _guard = watchdog(LIMIT);
    let (client, server) = pair();
    client.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let octets = vec![7; 32 << 20];
    let mut slices = [IoSlice::new(&octets), IoSlice::new(&octets)];
    let (result, made) = allocations(|| client.write(&mut slices));
    assert!(result.unwrap_err().written > 0);
    assert_eq!(made.count, 0);
    drop(server);
}
