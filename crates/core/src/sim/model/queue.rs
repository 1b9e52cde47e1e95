//! Queue of a lane: each accepted request is taken out once, the limits hold, and waiting threads are notified of the
//! end.

use std::sync::Arc;
use std::time::Duration;

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;

use super::explore;
use crate::server::Queue;

/// Time that never expires in the model.
const LONG: Duration = Duration::from_secs(3600);

#[test]
fn what_is_let_in_comes_out_once() {
    explore(|| {
        const ROOM: usize = 2;
        let queue = Arc::new(Queue::new(ROOM, 100));
        let inside = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (queue, inside) = (Arc::clone(&queue), Arc::clone(&inside));
                thread::spawn(move || {
                    let mut served = Vec::new();
                    while let Some(number) = queue.wait(LONG) {
                        inside.fetch_sub(1, Ordering::SeqCst);
                        served.push(number);
                    }
                    assert!(queue.has_ended());
                    served
                })
            })
            .collect();
        let readers: Vec<_> = [10, 20]
            .into_iter()
            .map(|first| {
                let (queue, inside) = (Arc::clone(&queue), Arc::clone(&inside));
                thread::spawn(move || {
                    let mut taken = Vec::new();
                    for number in first..first + 3 {
                        if queue.reserve(10) {
                            // Each worker may have taken a request out of the queue and not counted it yet.
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < ROOM + 2);
                            queue.push(number, 10, None);
                            taken.push(number);
                        }
                    }
                    taken
                })
            })
            .collect();
        let let_in = readers.into_iter().flat_map(|it| it.join().unwrap());
        let mut let_in: Vec<i32> = let_in.collect();
        queue.close();
        assert!(!queue.reserve(1), "it is closed");
        let served = workers.into_iter().flat_map(|it| it.join().unwrap());
        let mut served: Vec<i32> = served.collect();
        let_in.sort_unstable();
        served.sort_unstable();
        assert_eq!(let_in, served);
    });
}

/// Checks a queue that is closed between the reservation of a request and its push: the request is served nevertheless,
/// whichever thread waits.
#[test]
fn the_last_request_of_a_closed_queue_is_served() {
    explore(|| {
        let queue = Arc::new(Queue::new(4, 100));
        assert!(queue.reserve(1));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let served = std::iter::from_fn(|| queue.wait(LONG));
                    served.collect::<Vec<_>>()
                })
            })
            .collect();
        let closing = Arc::clone(&queue);
        let closed = thread::spawn(move || closing.close());
        queue.push(7, 1, None);
        closed.join().unwrap();
        let served = workers.into_iter().flat_map(|it| it.join().unwrap());
        assert_eq!(served.collect::<Vec<_>>(), [7]);
    });
}
