//! Message buffers that lanes allocate before clients connect.

use std::sync::{Arc, Mutex};

use oxorb::__gen::Op;
use oxorb::rt::{LaneMemory, MessageBuffers, Threadpool, ThreadpoolError, ThreadpoolId};
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::alloc;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::elsewhere;
use crate::common::worker::{client, lane, lane_poa, server};

static WEIGH: Op = Op::twoway("weigh");

const BUFFERS: MessageBuffers = MessageBuffers { connections: 1, octets: 64 << 10 };

/// Servant that answers with the length of its argument and as many octets; records the allocations of its thread.
struct Scales(Mutex<Vec<u64>>);

impl Servant for Scales {
    fn repository_id(&self) -> &str {
        "IDL:test/Scales:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        self.0.lock().unwrap().push(alloc::local().count);
        match upcall.args(|d| {
            let length = d.ulong()?;
            d.octets(length as usize).map(<[u8]>::len)
        }) {
            Ok(length) => upcall.reply(|e| {
                for _ in 0..length / 4 {
                    e.ulong(length as u32);
                }
                Ok(())
            }),
            Err(rejected) => upcall.reject(rejected),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Returns the server's allocations from a connection's first, small request to the last of some large ones.
fn allocations_of_first_messages(buffers: Option<MessageBuffers>) -> u64 {
    let (server, client) = (server(), client());
    let pool = Threadpool::with_lanes([lane(10, 1)]);
    let pool = match buffers {
        Some(buffers) => pool.message_buffers(buffers),
        None => pool,
    };
    let pool = server.create_threadpool(pool).unwrap();
    let scales = Arc::new(Scales(Mutex::new(Vec::with_capacity(9))));
    let poa = lane_poa(&server, pool, 10);
    let object = elsewhere(&client, &poa.activate_servant(scales.clone()).unwrap());
    for octets in [4, 20_000, 60_000, 4, 60_000, 4] {
        weigh(&object, octets);
    }
    let seen = scales.0.lock().unwrap();
    let spent = seen[seen.len() - 1] - seen[0];
    drop(seen);
    end(&[&client, &server]);
    spent
}

#[test]
fn with_buffers_of_the_lane_not_even_the_first_large_message_allocates() {
    common::only_over!(CLEAR, "rustls allocates for each record");
    let _guard = watchdog(common::LONG);
    assert_eq!(allocations_of_first_messages(Some(BUFFERS)), 0);
    assert_ne!(allocations_of_first_messages(None), 0, "or this shows nothing");
}

#[test]
fn buffers_go_from_connection_to_connection_and_the_report_tells() {
    let _guard = watchdog(common::LONG);
    let server = server();
    let pool = Threadpool::with_lanes([lane(10, 1)]).message_buffers(BUFFERS);
    let pool = server.create_threadpool(pool).unwrap();
    assert_eq!(memory(&server, pool), (2, 0));
    let scales = Arc::new(Scales(Mutex::default()));
    let object = lane_poa(&server, pool, 10).activate_servant(scales).unwrap();
    let first = client();
    weigh(&elsewhere(&first, &object), 100_000);
    assert_eq!(memory(&server, pool), (0, 0), "lent");
    let second = client();
    weigh(&elsewhere(&second, &object), 100);
    assert_eq!(memory(&server, pool), (0, 1), "the second has its own");
    first.shutdown(true).unwrap();
    // Wait, because the server detects the close asynchronously.
    while memory(&server, pool) != (2, 1) {
        std::thread::yield_now();
    }
    let third = client();
    weigh(&elsewhere(&third, &object), 100);
    assert_eq!(memory(&server, pool), (0, 1), "lent again");
    end(&[&second, &third, &server]);
}

#[test]
fn buffers_larger_than_a_connection_keeps_are_refused() {
    let server = server();
    let too_large = MessageBuffers { octets: 10 << 20, ..BUFFERS };
    let too_many = MessageBuffers { connections: 1001, ..BUFFERS };
    for (buffers, setting) in [(too_large, "-ORBKeptCapacity"), (too_many, "-ORBMaxConnections")] {
        let pool = Threadpool::with_lanes([lane(10, 1)]).message_buffers(buffers);
        let refused = server.create_threadpool(pool).unwrap_err();
        assert!(matches!(refused, ThreadpoolError::BadParameter(_)));
        assert!(refused.to_string().contains(setting), "{refused}");
    }
    end(&[&server]);
}

fn weigh(object: &ObjectRef, octets: usize) {
    let octets = vec![1; octets];
    let weighed: Result<u32, SystemException> = object.reference().invoke(
        &WEIGH,
        |e| {
            e.ulong(octets.len() as u32);
            e.octets(&octets);
            Ok(())
        },
        |d| d.ulong(),
    );
    assert_eq!(weighed, Ok(octets.len() as u32));
}

/// Returns the number of free buffers, and of connections that got none.
fn memory(server: &Orb, pool: ThreadpoolId) -> (usize, u64) {
    let lanes = server.threadpool(pool).unwrap();
    let [LaneMemory { planned, free, without, .. }] = lanes.memory[..] else {
        panic!("one lane: {lanes:?}");
    };
    assert_eq!(planned, BUFFERS);
    (free, without)
}

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}
