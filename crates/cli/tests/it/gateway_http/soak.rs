//! Clients that come and go for a time, orderly and not: every answer is right, and memory, descriptors and threads of
//! the gateway end as they began.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_testkit::resources::{Growth, Resources, length_of_a_soak};
use oxorb_testkit::watchdog;
use serde_json::json;

use super::client::{Reply, ask, connect, exchange};
use super::{Bank, LIMIT};

/// Permitted growth of memory after the first quarter, in KiB: memory retained by the allocator.
const SLACK: u64 = 16 << 10;

/// Permitted growth of the gateway at rest: threads and their connections wait for further calls for a while.
const KEPT: Growth = Growth { descriptors: 32, threads: 32 };

const JSON: &str = "Content-Type: application/json\r\n";

/// Clients that come and go.
struct Guests {
    /// Address of the gateway.
    address: String,
    stop: AtomicBool,
    visits: AtomicU64,
}

impl Guests {
    /// Comes and goes until stopped, in each of seven ways.
    fn come_and_go(&self, seed: u64) {
        for visit in seed.. {
            if self.stop.load(SeqCst) {
                return;
            }
            match visit % 7 {
                0 => self.call_many(visit),
                1 => {
                    let tree = json!({ "v": 1, "kids": [{ "v": visit % 1_000, "kids": [] }] });
                    let reply = self.post("grow", &json!([tree]).to_string());
                    assert_eq!((reply.status, reply.json()), (200, tree));
                }
                2 => {
                    self.post("withdraw", "[1000]").problem(422);
                    self.post("withdraw", "{\"amount\": ").problem(400);
                    ask(&self.address, "GET", "/objects/Nobody/balance", "", "").problem(404);
                }
                // Leaves in the middle of a body.
                3 => self.leave(900, "["),
                // Leaves without waiting for the answer.
                4 => self.leave(4, "[50]"),
                5 => {
                    let any = json!({ "type": "string", "value": "x".repeat(300 << 10) });
                    let reply = self.post("echo", &json!([any]).to_string());
                    assert_eq!(reply.status, 200);
                    assert_eq!(reply.json(), any);
                }
                _ => {
                    let answer = exchange(&self.address, b"\x16\x03\x01 no HTTP\r\n\r\n");
                    assert!(!answer.contains(" 200 "), "{answer}");
                }
            }
            self.visits.fetch_add(1, SeqCst);
        }
    }

    /// Makes several calls.
    fn call_many(&self, visit: u64) {
        for number in 0..10 {
            let amount = 10_000 + (visit + number) % 1_000;
            let reply = self.post("withdraw", &format!("[{amount}]"));
            assert_eq!((reply.status, reply.json()), (200, json!(amount)));
        }
    }

    fn post(&self, operation: &str, body: &str) -> Reply {
        ask(&self.address, "POST", &format!("/objects/Account/{operation}"), JSON, body)
    }

    /// Sends a request with the beginning of a body of this length, and closes the connection.
    fn leave(&self, length: usize, body: &str) {
        let path = "/objects/Account/withdraw";
        let head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\n{JSON}", self.address);
        let request = format!("{head}Content-Length: {length}\r\n\r\n{body}");
        // The gateway may be short of connections, and close this one.
        let _ = connect(&self.address).write_all(request.as_bytes());
    }
}

/// Lets guests come and go for a time.
fn soak(guests: &Guests, length: Duration) {
    guests.stop.store(false, SeqCst);
    thread::scope(|scope| {
        for at in 0..4 {
            scope.spawn(move || guests.come_and_go(at * 5));
        }
        let end = Instant::now() + length;
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
        guests.stop.store(true, SeqCst);
    });
}

#[test]
#[ignore = "45 s, or OXORB_SOAK_SECONDS"]
fn an_http_gateway_whose_clients_come_and_go_ends_as_it_began() {
    let length = length_of_a_soak(45);
    let _guard = watchdog(length + 6 * LIMIT);
    let bank = Bank::open("http-soak", &[]);
    let guests = Guests {
        address: bank.address.clone(),
        stop: AtomicBool::new(false),
        visits: AtomicU64::new(0),
    };
    soak(&guests, Duration::from_secs(2));
    let process = bank.gateway.id();
    let beginning = Resources::at_rest(process, Resources::of(process), KEPT, LIMIT);
    soak(&guests, length / 4);
    let first = Resources::at_rest(process, beginning, KEPT, LIMIT);
    soak(&guests, length * 3 / 4);
    let last = Resources::at_rest(process, beginning, KEPT, LIMIT);
    let visits = guests.visits.load(SeqCst);
    println!(
        "{visits} visits; at the beginning {beginning:?}, after a quarter {first:?}, at the end {last:?}"
    );
    assert!(visits > 20);
    assert!(last.memory <= first.memory + SLACK, "{first:?} -> {last:?}");
}
