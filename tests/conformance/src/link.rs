//! Obligations of [`Link`], with one test each.
//!
//! No test asserts a time. A watchdog ends each test after a time that no correct run takes.

use std::io::{ErrorKind, IoSlice};
use std::thread;
use std::time::Duration;

use oxorb_sys::poll::{Poller, Token};
use oxorb_transport::Link;

/// Two links that are each other's peers.
pub type Pair = (Box<dyn Link>, Box<dyn Link>);

/// Instantiates the suite of [`Link`] for one implementation, in a separate module.
///
/// `link!(name, || pair)`: the closure makes a connected [`Pair`](crate::link::Pair).
#[macro_export]
macro_rules! link {
    ($name:ident, $pair:expr) => {
        mod $name {
            #[allow(unused_imports, reason = "not every pair needs them all")]
            use super::*;

            $crate::link!(@all || true, $pair);
        }
    };
    (@all $is_there:expr, $pair:expr) => {
            $crate::link!(@each $is_there, $pair,
                octets_arrive_in_order,
                a_write_larger_than_any_buffer_arrives_whole,
                both_directions_at_once,
                a_read_appends,
                a_read_gives_no_more_than_allowed,
                a_read_of_nothing_takes_nothing,
                slices_are_gathered_in_order,
                more_slices_than_the_kernel_takes,
                a_write_of_nothing_sends_nothing,
                a_read_timeout_passes_and_leaves_the_link_usable,
                a_timeout_of_zero_is_not_for_ever,
                a_timeout_can_be_lifted,
                a_write_timeout_tells_what_went_out,
                a_slow_reader_cannot_stretch_a_write,
                close_wakes_a_reader,
                close_read_wakes_a_reader_and_keeps_writing,
                close_read_lets_the_peer_wait,
                after_close_read_nothing_is_read,
                after_close_write_the_peer_reads_what_was_under_way_and_then_0,
                a_closed_link_reads_0_and_refuses_to_write,
                the_peer_reads_what_was_under_way_and_then_0,
                dropping_closes,
                writing_to_a_peer_that_is_gone_fails,
                is_dead_notices_the_peer_closing,
                is_dead_is_no_while_octets_wait,
                has_input_tells_octets_and_the_end,
                read_now_takes_what_is_there_and_never_blocks,
                the_descriptor_is_readable_when_a_read_would_not_block,
                both_ends_agree_on_names_and_facts,
            );
    };
    (@each $is_there:expr, $pair:expr, $($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                let _guard = $crate::guard();
                if ($is_there)() {
                    $crate::link::$test(($pair)());
                }
            }
        )*
    };
}

/// Number of octets greater than all the buffers of a connection.
const LARGE: usize = 16 << 20;
const SHORT: Option<Duration> = Some(Duration::from_millis(20));
/// Time limit for events that the network delivers by itself, in milliseconds.
const PATIENCE: usize = 20_000;

/// Checks that octets arrive once and in the order written, for any sizes of writes and reads.
pub fn octets_arrive_in_order((a, b): Pair) {
    let sizes = || (0..400).map(|n| 1 + n * n % 4099);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = 0;
            for size in sizes() {
                send(&a, &pattern(next, size));
                next += size;
            }
        });
        let total = sizes().sum();
        let mut got = Vec::new();
        for max in (1..).map(|n| 1 + n * 31 % 5003) {
            if got.len() == total {
                break;
            }
            assert_ne!(b.read(&mut got, max).unwrap(), 0);
        }
        assert!(got == pattern(0, total));
    });
}

/// Checks that a write of 16 MiB blocks until the peer has read all of it.
pub fn a_write_larger_than_any_buffer_arrives_whole((a, b): Pair) {
    let octets = pattern(0, LARGE);
    thread::scope(|scope| {
        scope.spawn(|| send(&a, &octets));
        assert!(receive(&b, LARGE) == octets);
    });
}

/// Checks that both ends may read and write at the same time.
pub fn both_directions_at_once((a, b): Pair) {
    let octets = pattern(0, LARGE / 8);
    thread::scope(|scope| {
        for (from, to) in [(&a, &b), (&b, &a)] {
            scope.spawn(|| send(from, &octets));
            scope.spawn(|| assert!(receive(to, octets.len()) == octets));
        }
    });
}

/// Checks that a read preserves the octets already in the buffer.
pub fn a_read_appends((a, b): Pair) {
    let mut buffer = b"before ".to_vec();
    send(&a, b"after");
    while buffer.len() < 12 {
        b.read(&mut buffer, 100).unwrap();
    }
    assert_eq!(buffer, b"before after");
}

/// Checks that a read appends at most the permitted number of octets.
pub fn a_read_gives_no_more_than_allowed((a, b): Pair) {
    send(&a, &pattern(0, 100));
    // The buffer has more capacity.
    let mut buffer = Vec::with_capacity(1000);
    while buffer.len() < 100 {
        let before = buffer.len();
        let count = b.read(&mut buffer, 7).unwrap();
        assert!((1..=7).contains(&count));
        assert_eq!(buffer.len(), before + count);
    }
    assert_eq!(buffer, pattern(0, 100));
}

/// Checks that a read of at most 0 octets returns 0 and consumes nothing.
pub fn a_read_of_nothing_takes_nothing((a, b): Pair) {
    let mut buffer = Vec::new();
    assert_eq!(b.read(&mut buffer, 0).unwrap(), 0);
    send(&a, b"x");
    assert_eq!(b.read(&mut buffer, 0).unwrap(), 0);
    assert_eq!(receive(&b, 1), b"x");
}

/// Checks that a write sends its slices in order, including empty ones.
pub fn slices_are_gathered_in_order((a, b): Pair) {
    let parts: [&[u8]; 7] = [b"", b"GI", b"", b"", b"OP", b"\x01\x02", b""];
    a.write(&mut parts.map(IoSlice::new)).unwrap();
    assert_eq!(receive(&b, 6), b"GIOP\x01\x02");
}

/// Checks that a write accepts more slices than one system call does.
pub fn more_slices_than_the_kernel_takes((a, b): Pair) {
    let octets = pattern(0, 3 * 2500);
    let mut slices: Vec<_> = octets.chunks(3).map(IoSlice::new).collect();
    thread::scope(|scope| {
        scope.spawn(|| a.write(&mut slices).unwrap());
        assert_eq!(receive(&b, octets.len()), octets);
    });
}

/// Checks that a write without octets sends none.
pub fn a_write_of_nothing_sends_nothing((a, b): Pair) {
    a.write(&mut []).unwrap();
    a.write(&mut [IoSlice::new(b""), IoSlice::new(b"")]).unwrap();
    assert!(!b.has_input().unwrap());
    send(&a, b"x");
    assert_eq!(receive(&b, 1), b"x");
}

/// Checks that a read ends after its time-out, and that the next one reads.
pub fn a_read_timeout_passes_and_leaves_the_link_usable((a, b): Pair) {
    b.set_read_timeout(SHORT).unwrap();
    for _ in 0..2 {
        assert_timed_out(&b);
    }
    send(&a, b"later");
    assert_eq!(receive(&b, 5), b"later");
}

/// Checks that a read time-out of zero is the shortest possible one, and not an unlimited one.
pub fn a_timeout_of_zero_is_not_for_ever((_a, b): Pair) {
    b.set_read_timeout(Some(Duration::ZERO)).unwrap();
    assert_timed_out(&b);
}

/// Checks that a read without a time-out waits longer than the earlier time-out.
pub fn a_timeout_can_be_lifted((a, b): Pair) {
    b.set_read_timeout(SHORT).unwrap();
    assert_timed_out(&b);
    b.set_read_timeout(None).unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(|| receive(&b, 1));
        // Waits long enough for the old time-out to take effect.
        thread::sleep(SHORT.unwrap() * 5);
        send(&a, b"x");
        assert_eq!(reader.join().unwrap(), b"x");
    });
}

/// Checks that a timed-out write reports the number of octets that the peer receives.
pub fn a_write_timeout_tells_what_went_out((a, b): Pair) {
    a.set_write_timeout(SHORT).unwrap();
    let octets = pattern(0, LARGE);
    let mut slices: Vec<_> = octets.chunks(1 << 20).map(IoSlice::new).collect();
    let failure = a.write(&mut slices).unwrap_err();
    assert!(is_timeout(failure.error.kind()), "{failure}");
    assert!(0 < failure.written && failure.written < LARGE, "{failure}");
    a.close();
    let mut got = Vec::new();
    while b.read(&mut got, 1 << 16).unwrap() != 0 {}
    assert!(got == octets[..failure.written], "{} but {failure}", got.len());
}

/// Checks that a peer that reads very slowly cannot prolong a write: it reads continuously, but would need seconds for
/// all octets.
pub fn a_slow_reader_cannot_stretch_a_write((a, b): Pair) {
    let octets = vec![0; 4 * LARGE];
    a.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| a.write(&mut [IoSlice::new(&octets)]));
        // A timed-out writer may leave nothing to be read.
        b.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut buffer = Vec::new();
        while !writer.is_finished() {
            thread::sleep(Duration::from_millis(1));
            buffer.clear();
            match b.read(&mut buffer, 16 * 1024) {
                Ok(octets) => assert_ne!(octets, 0),
                Err(error) => assert!(is_timeout(error.kind()), "{error}"),
            }
        }
        let failure = writer.join().unwrap().unwrap_err();
        assert!(is_timeout(failure.error.kind()), "{failure}");
    });
}

/// Checks that `close` wakes a blocked reader.
pub fn close_wakes_a_reader((_a, b): Pair) {
    wakes_a_reader(&b, || b.close());
}

/// Checks that `close_read` wakes a blocked reader and does not affect writing.
pub fn close_read_wakes_a_reader_and_keeps_writing((a, b): Pair) {
    wakes_a_reader(&b, || b.close_read());
    send(&b, b"goodbye");
    assert_eq!(receive(&a, 7), b"goodbye");
}

/// Checks that a reader which waits while the peer calls `close_read` is woken by the peer's next write.
pub fn close_read_lets_the_peer_wait((a, b): Pair) {
    thread::scope(|scope| {
        let reader = scope.spawn(|| receive(&a, 7));
        // Waits long enough for the reader to reach its final way of waiting.
        thread::sleep(Duration::from_millis(50));
        b.close_read();
        thread::sleep(Duration::from_millis(20));
        send(&b, b"goodbye");
        assert_eq!(reader.join().unwrap(), b"goodbye");
    });
}

/// Checks that reads after `close_read` return 0 even if octets have arrived.
pub fn after_close_read_nothing_is_read((a, b): Pair) {
    send(&a, b"too late");
    wait_until(|| b.has_input().unwrap());
    b.close_read();
    b.close_read();
    // The peer may be notified that no reader is left.
    let _ = a.write(&mut [IoSlice::new(b"even later")]);
    let mut buffer = Vec::new();
    assert_eq!(b.read(&mut buffer, 100).unwrap(), 0);
    assert!(buffer.is_empty());
}

/// Checks that `close_write` loses none of the octets written, and that nothing can be written after it.
pub fn after_close_write_the_peer_reads_what_was_under_way_and_then_0((a, b): Pair) {
    send(&b, b"goodbye");
    b.close_write();
    b.close_write();
    assert_eq!(receive(&a, 7), b"goodbye");
    assert_eq!(a.read(&mut Vec::new(), 100).unwrap(), 0);
    assert!(b.write(&mut [IoSlice::new(b"x")]).is_err());
}

/// Checks that a closed link reads 0 and refuses to write.
pub fn a_closed_link_reads_0_and_refuses_to_write((_a, b): Pair) {
    b.close();
    b.close();
    assert_eq!(b.read(&mut Vec::new(), 100).unwrap(), 0);
    let failure = b.write(&mut [IoSlice::new(b"x")]).unwrap_err();
    assert_eq!(failure.written, 0);
    assert!(!is_timeout(failure.error.kind()));
}

/// Checks that the peer of a closed link reads the octets sent before, then 0.
pub fn the_peer_reads_what_was_under_way_and_then_0((a, b): Pair) {
    send(&a, b"last words");
    a.close();
    assert_eq!(receive(&b, 10), b"last words");
    for _ in 0..2 {
        assert_eq!(b.read(&mut Vec::new(), 100).unwrap(), 0);
    }
}

/// Checks that dropping a link closes it.
pub fn dropping_closes((a, b): Pair) {
    drop(a);
    assert_eq!(b.read(&mut Vec::new(), 100).unwrap(), 0);
}

/// Checks that writes to a peer that no longer exists fail, and raise no signal.
pub fn writing_to_a_peer_that_is_gone_fails((a, b): Pair) {
    drop(b);
    let octets = pattern(0, 10_000);
    let failure = (0..PATIENCE).find_map(|_| {
        thread::sleep(Duration::from_millis(1));
        a.write(&mut [IoSlice::new(&octets[..10]), IoSlice::new(&octets[10..])]).err()
    });
    let failure = failure.expect("the peer is gone");
    assert!(failure.written < octets.len(), "{failure}");
    assert!(!is_timeout(failure.error.kind()), "{failure}");
    // After the failure, nothing more is sent.
    assert_eq!(a.write(&mut [IoSlice::new(b"x")]).unwrap_err().written, 0);
}

/// Checks that `is_dead` becomes true once the peer has closed.
pub fn is_dead_notices_the_peer_closing((a, b): Pair) {
    assert!(!a.is_dead() && !b.is_dead());
    a.close();
    wait_until(|| b.is_dead());
}

/// Checks that `is_dead` is false, and consumes nothing, while octets wait.
pub fn is_dead_is_no_while_octets_wait((a, b): Pair) {
    send(&a, b"x");
    wait_until(|| b.has_input().unwrap());
    assert!(!b.is_dead());
    assert_eq!(receive(&b, 1), b"x", "looking takes nothing");
    assert!(!b.is_dead());
}

/// Checks that `has_input` is true for octets and at the end.
pub fn has_input_tells_octets_and_the_end((a, b): Pair) {
    assert!(!b.has_input().unwrap());
    send(&a, b"x");
    wait_until(|| b.has_input().unwrap());
    assert_eq!(receive(&b, 1), b"x");
    assert!(!b.has_input().unwrap());
    a.close();
    wait_until(|| b.has_input().unwrap());
}

/// Checks that `read_now` returns the available octets and never blocks.
pub fn read_now_takes_what_is_there_and_never_blocks((a, b): Pair) {
    let mut buffer = b"before".to_vec();
    let nothing = b.read_now(&mut buffer, 9).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    send(&a, b"xyz");
    wait_until(|| b.has_input().unwrap());
    assert_eq!(b.read_now(&mut buffer, 2).unwrap(), 2);
    assert_eq!(b.read_now(&mut buffer, 9).unwrap(), 1);
    assert_eq!(buffer, b"beforexyz");
    a.close();
    wait_until(|| b.has_input().unwrap());
    assert_eq!(b.read_now(&mut buffer, 9).unwrap(), 0);
}

/// Checks that the descriptor, if there is one, polls as readable exactly when a read would not block.
pub fn the_descriptor_is_readable_when_a_read_would_not_block((a, b): Pair) {
    let Some(fd) = b.poll_fd() else {
        return; // a link without a descriptor has nothing to prove
    };
    let poller = Poller::new().unwrap();
    poller.add(fd, Token(1)).unwrap();
    assert_eq!(poller.wait_one(Some(Duration::ZERO)).unwrap(), None);
    send(&a, b"x");
    assert_eq!(poller.wait_one(None).unwrap(), Some(Token(1)));
    assert_eq!(receive(&b, 1), b"x");
    poller.rearm(fd, Token(1)).unwrap();
    assert_eq!(poller.wait_one(Some(Duration::ZERO)).unwrap(), None);
    a.close();
    assert_eq!(poller.wait_one(None).unwrap(), Some(Token(1)));
}

/// Checks that the two ends name each other and have the same facts.
pub fn both_ends_agree_on_names_and_facts((a, b): Pair) {
    assert_eq!(a.peer(), b.local());
    assert_eq!(b.peer(), a.local());
    assert_eq!(a.facts(), b.facts());
    assert!(!a.peer().is_empty());
}

/// Returns octets from `start` of an endless sequence in which all neighbourhoods differ.
fn pattern(start: usize, length: usize) -> Vec<u8> {
    (start..start + length).map(|n| (n ^ (n >> 8) ^ (n >> 16)) as u8).collect()
}

fn send(link: &dyn Link, octets: &[u8]) {
    link.write(&mut [IoSlice::new(octets)]).unwrap();
}

fn receive(link: &dyn Link, length: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(length);
    while buffer.len() < length {
        let max = (length - buffer.len()).min(1 << 16);
        assert_ne!(link.read(&mut buffer, max).unwrap(), 0, "after {}", buffer.len());
    }
    buffer
}

fn assert_timed_out(link: &dyn Link) {
    let mut buffer = Vec::new();
    let error = link.read(&mut buffer, 100).unwrap_err();
    assert!(is_timeout(error.kind()), "{error}");
    assert!(buffer.is_empty());
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn wakes_a_reader(link: &dyn Link, wake: impl FnOnce()) {
    thread::scope(|scope| {
        let reader = scope.spawn(|| link.read(&mut Vec::new(), 100));
        // The reader is probably blocked by then. If it is not, it must return 0 nevertheless.
        thread::sleep(Duration::from_millis(20));
        assert!(!reader.is_finished());
        wake();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    });
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..PATIENCE {
        if condition() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("this never came");
}
