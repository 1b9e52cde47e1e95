//! Client and server, an ORB each, in one world.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind};
use oxorb_sys::sync::Mutex;

use super::network::{SimulatedNetwork, network};
use super::thread;
use crate::threads::clock;
use crate::{
    Adapter, AsyncReply, Interface as _, Located, Op, Options, Orb, Outcome, Ref, ResponseHandler,
    Upcall, request_is_cancelled,
};

pub(super) static RUN: Op = Op::twoway("run");
pub(super) static NOTE: Op = Op::oneway("note");

const KEY: &[u8] = b"worker";
const TYPE: &str = "IDL:test/Worker:1.0";

/// Work that a call requests of the servant.
#[derive(Clone, Debug, Default)]
pub(super) struct ServantWork {
    /// Number of the request; its answer is the next number.
    pub(super) number: i64,
    /// Time that the servant needs.
    pub(super) takes: Duration,
    /// Octets sent with the request, and with its answer.
    pub(super) there: usize,
    pub(super) back: usize,
    /// Whether the servant releases its thread and answers from another one.
    pub(super) later: bool,
    /// Whether the servant ends once its request is cancelled, which it checks every 100 ms.
    pub(super) stops: bool,
}

impl ServantWork {
    pub(super) fn number(number: i64) -> ServantWork {
        ServantWork { number, ..ServantWork::default() }
    }

    pub(super) fn taking(self, takes: Duration) -> ServantWork {
        ServantWork { takes, ..self }
    }

    pub(super) fn octets(self, there: usize, back: usize) -> ServantWork {
        ServantWork { there, back, ..self }
    }

    pub(super) fn later(self) -> ServantWork {
        ServantWork { later: true, ..self }
    }

    pub(super) fn stopping(self) -> ServantWork {
        ServantWork { stops: true, ..self }
    }

    pub(super) fn write(&self, e: &mut Encoder<'_>) -> CdrResult<()> {
        e.longlong(self.number);
        e.longlong(self.takes.as_nanos() as i64);
        e.ulong(self.back as u32);
        e.boolean(self.later);
        e.boolean(self.stops);
        e.ulong(self.there as u32);
        for _ in 0..self.there {
            e.octet(7);
        }
        Ok(())
    }

    fn read(d: &mut Decoder<'_>) -> CdrResult<ServantWork> {
        let (number, takes) = (d.longlong()?, d.longlong()?);
        let (back, later) = (d.ulong()? as usize, d.boolean()?);
        let (stops, there) = (d.boolean()?, d.ulong()? as usize);
        for _ in 0..there {
            d.octet()?;
        }
        Ok(ServantWork {
            number,
            takes: Duration::from_nanos(takes as u64),
            there,
            back,
            later,
            stops,
        })
    }

    fn write_answer(&self, e: &mut Encoder<'_>) -> CdrResult<()> {
        e.longlong(self.number + 1);
        e.ulong(self.back as u32);
        for _ in 0..self.back {
            e.octet(9);
        }
        Ok(())
    }
}

fn read_answer(d: &mut Decoder<'_>) -> CdrResult<i64> {
    let answer = d.longlong()?;
    for _ in 0..d.ulong()? {
        d.octet()?;
    }
    Ok(answer)
}

/// Servant that records the requests it ran, and when each began.
#[derive(Default)]
pub(super) struct RecordingServant {
    ran: Mutex<BTreeMap<i64, Vec<Duration>>>,
    forward: Mutex<Option<Ref>>,
    /// Requests that ended because they were cancelled, and when.
    stopped: Mutex<BTreeMap<i64, Duration>>,
    /// Number of threads that answered later.
    later: AtomicU64,
}

impl RecordingServant {
    /// Returns the number of times that a request ran.
    pub(super) fn ran(&self, number: i64) -> usize {
        self.ran.lock().get(&number).map_or(0, Vec::len)
    }

    /// Returns the time at which a request first began to run.
    pub(super) fn began(&self, number: i64) -> Duration {
        self.ran.lock()[&number][0]
    }

    /// Returns the time at which the cancellation of a request was detected.
    pub(super) fn stopped(&self, number: i64) -> Option<Duration> {
        let stopped = self.stopped.lock();
        stopped.get(&number).copied()
    }

    pub(super) fn forward_to(&self, object: Option<Ref>) {
        *self.forward.lock() = object;
    }
}

impl Adapter for RecordingServant {
    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let work = match upcall.args(ServantWork::read) {
            Ok(work) => work,
            Err(rejected) => return upcall.reject(rejected),
        };
        let forward = self.forward.lock();
        let forward = { forward }.clone();
        if let Some(to) = forward {
            return upcall.forward(&to);
        }
        self.ran.lock().entry(work.number).or_default().push(elapsed());
        if work.later {
            let number = self.later.fetch_add(1, Ordering::Relaxed);
            return upcall.later(move |later: ResponseHandler| {
                let answer = move || {
                    thread::sleep(work.takes);
                    later.reply(|e| work.write_answer(e));
                };
                let _ = thread::named(format!("later {number}"), answer);
            });
        }
        if work.stops {
            let until = elapsed() + work.takes;
            while elapsed() < until && !request_is_cancelled() {
                thread::sleep(ms(100));
            }
            if elapsed() < until {
                let mut stopped = self.stopped.lock();
                stopped.insert(work.number, elapsed());
            }
        } else if work.takes > Duration::ZERO {
            thread::sleep(work.takes);
        }
        match upcall.operation() {
            "run" => upcall.reply(|e| work.write_answer(e)),
            "note" => upcall.done(),
            _ => upcall.unknown_operation(),
        }
    }

    fn locate(&self, _: &[u8]) -> Located {
        Located::Here
    }

    fn close(&self) {}
}

/// Returns the time since the world began.
pub(super) fn elapsed() -> Duration {
    Duration::from_nanos(clock::monotonic_nanoseconds())
}

pub(super) struct SimulatedServer {
    pub(super) orb: Orb,
    pub(super) worker: Arc<RecordingServant>,
    object: Ref,
}

impl SimulatedServer {
    pub(super) fn start(net: &SimulatedNetwork, name: &str, options: Options) -> SimulatedServer {
        SimulatedServer::start_with(net, name, options, Arc::default())
    }

    /// Starts a server with a given servant, such as that of an earlier server.
    pub(super) fn start_with(
        net: &SimulatedNetwork,
        name: &str,
        options: Options,
        worker: Arc<RecordingServant>,
    ) -> SimulatedServer {
        let mut options = Options { protocols: net.protocols(), ..options };
        options.listen_on(&format!("mem://{name}")).expect("a place");
        let orb = Orb::new(options);
        orb.set_adapter(Arc::clone(&worker) as Arc<dyn Adapter>);
        let object = orb.create_reference(TYPE, KEY).expect("an endpoint");
        SimulatedServer { orb, worker, object }
    }

    /// Returns the server's object, for calls of `client`.
    pub(super) fn object(&self, client: &Orb) -> Ref {
        let text = self.object.ior().to_string();
        let object = client.string_to_object(&text).expect("a reference");
        let object = object.reference().clone();
        // The reference is parsed in advance. Otherwise the first caller would parse it, while others wait for a lock
        // outside of the world.
        object.route().expect("a reference that can be used");
        object
    }
}

/// A client and a server.
pub(super) struct SimulatedPair {
    pub(super) net: SimulatedNetwork,
    pub(super) server: SimulatedServer,
    pub(super) client: Orb,
    /// Reference to the server's object, for calls of the client.
    pub(super) object: Ref,
}

impl SimulatedPair {
    pub(super) fn new() -> SimulatedPair {
        SimulatedPair::with(Options::default(), Options::default())
    }

    pub(super) fn with(client: Options, server: Options) -> SimulatedPair {
        let net = network();
        let server = SimulatedServer::start(&net, "server", server);
        let client = Orb::new(Options { protocols: net.protocols(), ..client });
        let object = server.object(&client);
        SimulatedPair { net, server, client, object }
    }

    /// Shuts both ORBs down. The world checks that no link and no thread is left.
    pub(super) fn end(self) {
        self.client.shutdown(true).expect("not within a request");
        self.server.orb.shutdown(true).expect("not within a request");
        // Servants that continued after the shutdown end during this time.
        thread::sleep(secs(1000));
        assert!(self.server.orb.registry().has_ended(), "connections are left");
    }
}

pub(super) fn run(object: &Ref, work: &ServantWork) -> Result<i64, SystemException> {
    object.invoke(&RUN, |e| work.write(e), read_answer)
}

pub(super) fn run_async(object: &Ref, work: &ServantWork) -> AsyncReply<i64, SystemException> {
    let work = work.clone();
    object.invoke_async(&RUN, |e| work.write(e), read_answer)
}

pub(super) fn note(object: &Ref, number: i64) -> Result<(), SystemException> {
    object.send(&NOTE, |e| ServantWork::number(number).write(e))
}

/// Runs `act`, and returns its result and duration.
pub(super) fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let before = elapsed();
    let result = act();
    (result, elapsed() - before)
}

/// Returns kind and completion of the exception that a call ended with.
#[track_caller]
pub(super) fn failed<T: std::fmt::Debug>(
    told: Result<T, SystemException>,
) -> (SystemExceptionKind, CompletionStatus, u32) {
    let exception = told.expect_err("an exception");
    (exception.kind, exception.completed, exception.minor)
}

pub(super) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Asserts that a caller's result is consistent with the number of times that the request ran.
#[track_caller]
pub(super) fn assert_true(told: Result<i64, SystemException>, number: i64, ran: usize) {
    let possible = match told {
        Ok(answer) => answer == number + 1 && ran == 1,
        Err(exception) => match exception.completed {
            CompletionStatus::No => ran == 0,
            CompletionStatus::Yes => ran == 1,
            CompletionStatus::Maybe => ran <= 1,
        },
    };
    assert!(possible, "request {number} ran {ran} times, and its caller was told {told:?}");
}

/// Asserts that a time is about as long as expected, with a tolerance for some steps of threads, round trips of the
/// network, and the 64th to which reads are bounded.
#[track_caller]
pub(super) fn assert_about(time: Duration, expected: Duration) {
    assert!(
        time >= expected.saturating_sub(ms(1)) && time <= expected + expected / 64 + ms(60),
        "{time:?} instead of {expected:?}"
    );
}
