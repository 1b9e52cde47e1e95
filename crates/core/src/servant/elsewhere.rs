//! Requests that only a certain thread may serve, while the thread that received them waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_object::SystemException;

use crate::conn;
use crate::error::raise;
use crate::threads::sync::atomic::{AtomicU8, Ordering};
use crate::threads::sync::mpsc::{self, RecvTimeoutError::Timeout};
use crate::threads::{ThreadJob, clock};
use crate::{MainThreadQueueFull, Outcome, Upcall};

/// Time between two checks of a waiting thread whether an answer to the job has to be read from its connection.
const SOON: Duration = Duration::from_millis(10);

/// Progress of a request that was handed to another thread.
const WAITING: u8 = 0;
const STARTED: u8 = 1;
const ABANDONED: u8 = 2;

impl Upcall<'_> {
    /// Serves the request in another thread, and sends its answer. `post` hands a job to that thread, and the job calls
    /// `serve`. The calling thread waits until `until` for the job to begin, and then for its end. Copies the request.
    ///
    /// Raises `refused` if `post` fails, the job has not begun in time, or the job was dropped before it began. Raises
    /// UNKNOWN, COMPLETED_MAYBE, if the job ended without an answer.
    ///
    /// The calling thread keeps the connection of the request, so that no further request of it is read meanwhile. Every
    /// 10 ms the thread checks whether a call of this side over the connection waits for its answer, as one that the job
    /// makes may do. Another thread then reads the connection, which costs the start of a thread.
    pub fn serve_elsewhere(
        self,
        until: Instant,
        refused: SystemException,
        post: impl FnOnce(ThreadJob) -> Result<(), MainThreadQueueFull>,
        serve: impl FnOnce(Upcall<'_>) -> Outcome + Send + 'static,
    ) -> Outcome {
        let request = self.detach();
        let (answered, answer) = mpsc::sync_channel(1);
        let progress = Arc::new(AtomicU8::new(WAITING));
        let (orb, begun) = (self.orb().clone(), Arc::clone(&progress));
        let job = move || {
            let mine =
                begun.compare_exchange(WAITING, STARTED, Ordering::AcqRel, Ordering::Acquire);
            if mine.is_ok() {
                let _ = answered.send(request.serve(&orb, serve));
            }
        };
        if post(Box::new(job)).is_err() {
            return self.fail(refused);
        }
        let left = || until.saturating_duration_since(clock::now());
        let abandons = || {
            let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
            progress.compare_exchange(WAITING, ABANDONED, set, get).is_ok()
        };
        // A job that has begun is awaited without a time limit, as a servant in this thread would be.
        let mut pause = left().min(SOON);
        let mut answered = answer.recv_timeout(pause);
        while matches!(answered, Err(Timeout)) && !conn::step_aside_for_answer() {
            pause = match left() {
                Duration::ZERO if abandons() => return self.fail(refused),
                Duration::ZERO => SOON,
                left => left.min(SOON),
            };
            answered = answer.recv_timeout(pause);
        }
        if matches!(answered, Err(Timeout)) {
            answered = answer.recv_timeout(left());
        }
        if answered.is_err() && abandons() {
            return self.fail(refused);
        }
        match answered.or_else(|_| answer.recv()) {
            Ok(reply) => self.relay(reply),
            Err(_) => self.fail(raise::SERVANT_PANICKED),
        }
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use oxorb_cdr::{Decode as _, Dialect};
    use oxorb_giop::{Frame, Reply, ReplyStatus};
    use oxorb_sys::sync::Mutex;
    use oxorb_testkit::watchdog;

    use super::*;
    use crate::server::PING;
    use crate::{Adapter, DetachedRequest, Located, Options, Orb};

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(60);

    type Post = Box<dyn FnOnce(ThreadJob) -> Result<(), MainThreadQueueFull> + Send>;
    type Serve = fn(Upcall<'_>) -> Outcome;

    /// Adapter that has one request served elsewhere.
    struct Elsewhere {
        patience: Duration,
        post: Mutex<Option<Post>>,
        serve: Serve,
    }

    impl Adapter for Elsewhere {
        fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
            let post = self.post.lock().take().expect("one request");
            let until = clock::now() + self.patience;
            upcall.serve_elsewhere(until, raise::NO_SERVING_THREAD, post, self.serve)
        }

        fn locate(&self, _: &[u8]) -> Located {
            Located::Here
        }

        fn close(&self) {}
    }

    /// Serves a request through `post`, and returns the exception of its reply; `None` for a reply without one.
    fn served(
        patience: Duration,
        post: impl FnOnce(ThreadJob) -> Result<(), MainThreadQueueFull> + Send + 'static,
        serve: Serve,
    ) -> Option<SystemException> {
        let _bound = watchdog(2 * LONG);
        let orb = Orb::new(Options::default());
        let post = Mutex::new(Some(Box::new(post) as Post));
        orb.set_adapter(Arc::new(Elsewhere { patience, post, serve }));
        let request = DetachedRequest::parse(PING.to_vec(), Dialect::new(2)).unwrap();
        let reply = request.dispatch(&orb).unwrap();
        orb.shutdown(true).unwrap();
        let frame = Frame::parse(reply.message().expect("a reply")).unwrap();
        let reply = Reply::parse(&frame).unwrap();
        assert_eq!(reply.id, 6);
        (reply.status == ReplyStatus::SYSTEM_EXCEPTION).then(|| {
            let mut d = frame.decoder(Dialect::new(2)).at(reply.body);
            SystemException::decode(&mut d).unwrap()
        })
    }

    /// Runs a job in another thread, after a delay.
    fn after(delay: Duration) -> impl FnOnce(ThreadJob) -> Result<(), MainThreadQueueFull> {
        move |job| {
            thread::spawn(move || {
                thread::sleep(delay);
                job();
            });
            Ok(())
        }
    }

    #[test]
    fn a_request_is_answered_by_another_thread() {
        let done: Serve = |upcall| upcall.done();
        assert_eq!(served(LONG, after(Duration::ZERO), done), None);
        assert_eq!(served(LONG, after(3 * SOON), done), None);
        let refused: Serve = |upcall| upcall.fail(raise::TOO_EARLY);
        assert_eq!(served(LONG, after(Duration::ZERO), refused), Some(raise::TOO_EARLY));
    }

    #[test]
    fn a_request_that_has_begun_is_awaited() {
        static BEGUN: AtomicBool = AtomicBool::new(false);
        let post = |job: ThreadJob| {
            thread::spawn(job);
            while !BEGUN.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Ok(())
        };
        let slow: Serve = |upcall| {
            BEGUN.store(true, Ordering::SeqCst);
            thread::sleep(3 * SOON);
            upcall.done()
        };
        assert_eq!(served(Duration::ZERO, post, slow), None);
    }

    #[test]
    fn a_request_that_never_begins_is_refused() {
        let never: Serve = |_| unreachable!("it does not begin");
        let refused = Some(raise::NO_SERVING_THREAD);
        assert_eq!(served(LONG, |_| Err(MainThreadQueueFull), never), refused);
        let drops = |job: ThreadJob| {
            drop(job);
            Ok(())
        };
        assert_eq!(served(LONG, drops, never), refused);
        // The job is kept beyond the time limit, and then run.
        let (keep, kept) = mpsc::channel();
        let keeps = move |job: ThreadJob| {
            keep.send(job).unwrap();
            Ok(())
        };
        assert_eq!(served(2 * SOON, keeps, never), refused);
        (kept.recv().unwrap())();
    }

    /// The client must not repeat a request that may have run.
    #[test]
    fn a_job_that_ends_without_an_answer_may_have_run() {
        let panics: Serve = |_| panic!("as it should");
        let told = served(LONG, after(Duration::ZERO), panics).expect("an exception");
        assert_eq!(told, raise::SERVANT_PANICKED);
        assert_eq!(told.completed, oxorb_object::CompletionStatus::Maybe);
    }
}
