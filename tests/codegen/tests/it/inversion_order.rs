//! Order of service: an urgent request never waits for requests of a lower lane, however many there are. The test
//! checks order, not time.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bank::{Account, AccountRef, Statement};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{
    Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolId, ThreadpoolLane,
};
use oxorb::{Interface as _, Orb};

include!("../../golden/bank.rs");

type Result<T> = std::result::Result<T, oxorb::SystemException>;

const LOW_REQUESTS: i64 = 40;

/// State shared by several objects: the order of their requests, and a gate at which those of low priority wait.
#[derive(Default)]
struct Log {
    served: Mutex<Vec<&'static str>>,
    began: Mutex<usize>,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Log {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

struct Teller {
    log: Arc<Log>,
    name: &'static str,
    waits: bool,
}

impl Account for Teller {
    fn balance(&self) -> Result<i64> {
        *self.log.began.lock().unwrap() += 1;
        let open = self.log.open.lock().unwrap();
        let open = self
            .log
            .opened
            .wait_timeout_while(open, Duration::from_secs(30), |open| self.waits && !*open);
        drop(open.unwrap());
        self.log.served.lock().unwrap().push(self.name);
        Ok(1)
    }

    fn owner(&self) -> Result<String> {
        Ok(String::new())
    }

    fn set_owner(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn withdraw(&self, _: u32) -> std::result::Result<i64, bank::account::WithdrawError> {
        Ok(0)
    }

    fn bookings(&self, _: u32) -> Result<(Statement, u32)> {
        Ok((Vec::new(), 0))
    }
}

fn object(orb: &Orb, pool: ThreadpoolId, priority: i16, teller: Teller) -> AccountRef {
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority: priority,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa(teller.name, policies).unwrap();
    poa.activate(teller).unwrap()
}

/// Serves one urgent request together with many of low priority; returns the order of service, and whether the urgent
/// one was answered before all others.
fn served(lanes: &[i16], urgent: i16) -> (Vec<&'static str>, bool) {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let client = Orb::builder().build().unwrap();
    let lanes = lanes.iter().map(|lane| ThreadpoolLane::new(Priority::new(*lane).unwrap(), 1));
    let pool = Threadpool::with_lanes(lanes.collect::<Vec<_>>());
    let pool = server.create_threadpool(pool).unwrap();
    let log = Arc::new(Log::default());
    let teller = |name, waits| Teller { log: Arc::clone(&log), name, waits };
    let seen = |object: AccountRef| -> AccountRef {
        let object = client.string_to_object(&object.to_ior()).unwrap();
        object.unchecked_narrow()
    };
    let low = seen(object(&server, pool, 10, teller("low", true)));
    let high = seen(object(&server, pool, urgent, teller("urgent", false)));
    let waiting: Vec<_> = (0..LOW_REQUESTS).map(|_| low.balance_async()).collect();
    while *log.began.lock().unwrap() == 0 {
        std::thread::yield_now();
    }
    let at_once = high.with_timeout(Duration::from_secs(30)).balance_async();
    let first = match lanes_apart(urgent) {
        true => at_once.wait().is_ok() && *log.served.lock().unwrap() == ["urgent"],
        // The urgent request waits behind the others, so the gate must open before its answer.
        false => {
            log.open();
            at_once.wait().unwrap();
            log.served.lock().unwrap().first() == Some(&"urgent")
        }
    };
    log.open();
    for answer in waiting {
        answer.wait().unwrap();
    }
    let order = log.served.lock().unwrap().clone();
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    (order, first)
}

fn lanes_apart(urgent: i16) -> bool {
    urgent != 10
}

#[test]
fn an_urgent_request_is_served_before_all_that_wait_for_a_lower_lane() {
    let (order, first) = served(&[10, 20], 20);
    assert!(first, "{order:?}");
    assert_eq!(order.len() as i64, LOW_REQUESTS + 1);
    assert_eq!(order.iter().filter(|name| **name == "low").count() as i64, LOW_REQUESTS);
}

/// Without lanes, the test detects the inversion.
#[test]
fn on_one_lane_the_inversion_is_seen() {
    let (order, first) = served(&[10], 10);
    assert!(!first, "{order:?}");
    assert_eq!(order[0], "low");
}
