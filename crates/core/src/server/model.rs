//! Lanes whose threads are all busy: they borrow threads, or buffer requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxorb_rt::Priority;
use shuttle::thread;

use super::lane::{Lane, Plan};
use super::reserve::{self, Reserve};
use crate::Options;
use crate::error::raise;
use crate::sim::model::network::listen;
use crate::sim::model::{ModelServer, explore, run};

/// Returns a lane with one thread.
fn lane(priority: i16, reserve: Reserve, queue: Option<(usize, usize)>) -> Arc<Lane> {
    let plan = Plan {
        priority: Priority::new(priority).ok(),
        static_threads: 1,
        queue,
        ..Plan::default()
    };
    Arc::new(Lane::new(plan, reserve).unwrap())
}

/// The lower lane's thread serves the upper lane's connections, as well as its own, while the only thread of the upper
/// lane is blocked.
#[test]
fn a_lane_borrows_from_the_one_below() {
    explore(|| {
        let lanes = [10, 20].map(|priority| lane(priority, Reserve::default(), None));
        reserve::lend(&lanes).unwrap();
        let [lower, upper] = lanes;
        let server = ModelServer::start_on(Options::default(), |orb| {
            lower.start(orb).unwrap();
            upper.start(orb).unwrap();
            Some(Arc::clone(&upper))
        });
        let below = listen(&server.orb, Some(Arc::clone(&lower)));
        let client = crate::sim::model::client();
        let (above, below) = (server.object(&client), ModelServer::object_at(&below, &client));
        let gate = &server.worker.gate;
        gate.stops.store(1, Ordering::SeqCst);
        let call = |object: &crate::Ref, number| {
            let object = object.clone();
            thread::spawn(move || run(&object, number))
        };
        let stuck = call(&above, 1);
        gate.until_reached();
        let others = [(2, call(&above, 2)), (3, call(&above, 3)), (4, call(&below, 4))];
        for (number, caller) in others {
            assert_eq!(caller.join().unwrap(), Ok(number + 1));
        }
        gate.open.store(true, Ordering::SeqCst);
        assert_eq!(stuck.join().unwrap(), Ok(2));
        assert!((1..5).all(|number| server.ran(number) == 1));
        client.shutdown(true).unwrap();
        server.end();
        lower.stop();
        lower.join();
    });
}

/// Requests are queued up to the limit while the only thread is blocked; the others are refused at once.
#[test]
fn a_lane_buffers_what_it_has_room_for() {
    explore(|| {
        let only = lane(10, Reserve::buffering().unwrap(), Some((1, 1000)));
        let server = ModelServer::start_on(Options::default(), |orb| {
            only.start(orb).unwrap();
            only.start_reader(orb).unwrap();
            Some(Arc::clone(&only))
        });
        let client = crate::sim::model::client();
        let object = server.object(&client);
        let gate = &server.worker.gate;
        gate.stops.store(1, Ordering::SeqCst);
        let call = |number| {
            let (object, worker) = (object.clone(), Arc::clone(&server.worker));
            thread::spawn(move || {
                let told = run(&object, number);
                if told.is_err() {
                    // A refusal proves that the thread is blocked, so the thread may continue now.
                    worker.gate.open.store(true, Ordering::SeqCst);
                }
                told
            })
        };
        let stuck = call(1);
        gate.until_reached();
        let others = [2, 3, 4].map(|number| (number, call(number)));
        let mut refused = 0;
        for (number, caller) in others {
            match caller.join().unwrap() {
                Ok(answer) => assert_eq!((answer, server.ran(number)), (number + 1, 1)),
                Err(exception) => {
                    assert_eq!((exception, server.ran(number)), (raise::REQUESTS_BUFFERED, 0));
                    refused += 1;
                }
            }
        }
        assert!((1..=2).contains(&refused), "{refused} of 3");
        assert_eq!(stuck.join().unwrap(), Ok(2));
        client.shutdown(true).unwrap();
        server.end();
    });
}
