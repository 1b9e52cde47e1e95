//! Requests that another thread serves, while the thread that received them waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxorb_cdr::Dialect;
use oxorb_giop::{Frame, Reply, ReplyStatus};
use oxorb_sys::sync::Mutex;
use shuttle::thread::{self, JoinHandle};

use super::{client, explore};
use crate::error::raise;
use crate::server::PING;
use crate::threads::{ThreadJob, clock};
use crate::{Adapter, DetachedRequest, Located, Outcome, Upcall};

/// Adapter that has each request served by a thread of its own.
struct Elsewhere {
    /// Time for which a request waits to begin.
    patience: Duration,
    served: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Adapter for Elsewhere {
    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let served = Arc::clone(&self.served);
        upcall.serve_elsewhere(
            clock::now() + self.patience,
            raise::NO_SERVING_THREAD,
            |job: ThreadJob| {
                *self.thread.lock() = Some(thread::spawn(job));
                Ok(())
            },
            move |upcall| {
                served.store(true, Ordering::SeqCst);
                upcall.done()
            },
        )
    }

    fn locate(&self, _: &[u8]) -> Located {
        Located::Here
    }

    fn close(&self) {}
}

/// Checks that a request is either served and answered, or refused and never served. In a model, each wait with a time
/// limit may end at any point.
#[test]
fn a_request_is_served_elsewhere_or_refused() {
    for patience in [Duration::ZERO, Duration::from_secs(3600)] {
        explore(move || {
            let served = Arc::new(AtomicBool::new(false));
            let adapter = Arc::new(Elsewhere {
                patience,
                served: Arc::clone(&served),
                thread: Mutex::default(),
            });
            let orb = client();
            orb.set_adapter(Arc::clone(&adapter) as Arc<dyn Adapter>);
            let request = DetachedRequest::parse(PING.to_vec(), Dialect::new(2)).unwrap();
            let reply = request.dispatch(&orb).unwrap();
            let thread = adapter.thread.lock().take();
            thread.expect("the request was passed on").join().unwrap();
            let frame = Frame::parse(reply.message().expect("a reply")).unwrap();
            let status = Reply::parse(&frame).unwrap().status;
            let is_answered = status == ReplyStatus::NO_EXCEPTION;
            assert_eq!(is_answered, served.load(Ordering::SeqCst), "{status:?}");
            orb.shutdown(true).unwrap();
        });
    }
}
