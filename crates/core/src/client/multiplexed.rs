//! One connection that many asynchronous calls share, and the thread that reads it.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::{Arc, MutexGuard, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use oxorb_cdr::Dialect;
use oxorb_giop::{
    CodeSetContext, CompletionStatus, Inbox, MessageType, SystemException, SystemExceptionKind,
    minor,
};
use oxorb_transport::{Link, WriteError};

use super::call::{Request, exception_of, write_request};
use super::link::dialect;
use super::{Args, Peer, Timing};
use crate::failure::Attempt;
use crate::lock::Mutex;
use crate::raise;
use crate::server::write_message;

/// How late a time-out may be noticed, at most.
const TICK: Duration = Duration::from_millis(50);

/// An idle connection is closed after so many ticks.
const IDLE_TICKS: u32 = 200;

/// Longest request, in octets, that is kept until its answer is there.
const KEPT_REQUEST: usize = 64 << 10;

/// Most calls outstanding on one connection; one more is TRANSIENT.
const MAX_OUTSTANDING: usize = 1024;

/// A connection shared by asynchronous calls.
///
/// The reader thread never waits for the writer: a server that reads nothing
/// before its replies are taken would otherwise stop both for good.
pub(crate) struct Multiplexed {
    /// Told when the connection breaks: its other ones may have, too.
    peer: Weak<Peer>,
    link: Arc<dyn Link>,
    writer: Mutex<Writer>,
    /// `None` when the connection has ended and takes no more calls.
    waiting: Mutex<Option<HashMap<u32, Arc<Slot>>>>,
}

struct Writer {
    out: Vec<u8>,
    next_id: u32,
    code_sets: Option<CodeSetContext>,
}

/// One asynchronous call that was sent.
pub(crate) struct Slot {
    deadline: Option<Instant>,
    /// What both sides had agreed on when it was sent.
    code_sets: Option<CodeSetContext>,
    /// The message, in case it has to go elsewhere; empty when it is long.
    request: Vec<u8>,
    state: Mutex<State>,
}

enum State {
    Waiting(Option<Waker>),
    Done(Result<Answer, SystemException>),
    Taken,
}

/// A whole reply message, and how its text is encoded.
pub(crate) struct Answer {
    pub(crate) message: Vec<u8>,
    pub(crate) dialect: Dialect,
}

impl Multiplexed {
    /// The connection of `peer`, opened if need be.
    pub(crate) fn of(
        peer: &Arc<Peer>,
        timing: Timing,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Arc<Multiplexed>, SystemException> {
        let usable = |current: &Option<Arc<Multiplexed>>| {
            let open = current.as_ref()?;
            open.waiting().is_some().then(|| Arc::clone(open))
        };
        if let Some(open) = usable(&peer.multiplexed.lock().expect(UNPOISONED)) {
            return Ok(open);
        }
        // Connecting may take long: nobody else shall wait for it.
        let link = peer.connect(timing, attempts)?;
        let mut current = peer.multiplexed.lock().expect(UNPOISONED);
        if let Some(open) = usable(&current) {
            link.close();
            return Ok(open);
        }
        let opened = Arc::new(Multiplexed::new(Arc::downgrade(peer), link));
        let reader = Arc::clone(&opened);
        let inbox = Inbox::new(&peer.options().limits);
        std::thread::Builder::new()
            .name("oxorb-reader".to_owned())
            .spawn(move || reader.read(inbox))
            .map_err(|_| raise::NO_THREAD)?;
        *current = Some(Arc::clone(&opened));
        Ok(opened)
    }

    fn new(peer: Weak<Peer>, link: Arc<dyn Link>) -> Multiplexed {
        Multiplexed {
            peer,
            link,
            writer: Mutex::new(Writer {
                out: Vec::with_capacity(512),
                next_id: 0,
                code_sets: None,
            }),
            waiting: Mutex::new(Some(HashMap::new())),
        }
    }

    /// Sends a request; its slot is completed by the reader thread.
    pub(crate) fn send<'a>(
        &self,
        peer: &Peer,
        request: &Request<'_>,
        args: Args<'_, 'a>,
        timing: Timing,
    ) -> Result<Arc<Slot>, SystemException> {
        let mut writer = self.writer.lock().expect(UNPOISONED);
        let tell = request.code_sets.filter(|_| writer.code_sets.is_none());
        let code_sets = writer.code_sets.or(tell);
        let dialect = dialect(code_sets, request.version.minor);
        let id = writer.next_id;
        let options = peer.options();
        let mut e = options.encoder(mem::take(&mut writer.out), dialect);
        let written = write_request(&mut e, id, request, tell, args, &options.limits);
        let encoded = e.finish();
        let slot = Arc::new(Slot {
            deadline: timing.deadline(),
            code_sets,
            request: match encoded.len() {
                0..=KEPT_REQUEST => encoded.to_vec(),
                _ => Vec::new(),
            },
            state: Mutex::new(State::Waiting(None)),
        });
        let sent = written.and_then(|()| {
            self.register(id, &slot)?;
            let _ = self.link.set_write_timeout(timing.limit);
            write_message(
                &*self.link,
                &encoded,
                request.version,
                options.fragment_size,
            )
            .map_err(|failed| self.not_sent(id, &failed))
        });
        writer.out = options.keep(encoded.into_buffer());
        sent?;
        writer.code_sets = code_sets;
        writer.next_id = id.wrapping_add(2);
        Ok(slot)
    }

    fn register(&self, id: u32, slot: &Arc<Slot>) -> Result<(), SystemException> {
        match &mut *self.waiting() {
            None => Err(raise::CONNECTION_CLOSED),
            Some(waiting) => {
                if waiting.len() >= MAX_OUTSTANDING {
                    // Slots nobody awaits any more make room for new ones.
                    waiting.retain(|_, slot| Arc::strong_count(slot) > 1);
                }
                if waiting.len() >= MAX_OUTSTANDING {
                    return Err(raise::TOO_MANY_OUTSTANDING);
                }
                waiting.insert(id, Arc::clone(slot));
                Ok(())
            }
        }
    }

    /// A request that did not go out, or not whole. A stream that was cut in
    /// the middle of a message is of no use to the other calls either.
    fn not_sent(&self, id: u32, failed: &WriteError) -> SystemException {
        if let Some(waiting) = self.waiting().as_mut() {
            waiting.remove(&id);
        }
        let completed = if failed.written == 0 {
            CompletionStatus::No
        } else {
            CompletionStatus::Maybe
        };
        let exception = exception_of(&failed.error, minor::comm_failure::SEND_FAILED, completed);
        if failed.written != 0 || exception.kind != SystemExceptionKind::Timeout {
            self.fail_all(raise::CONNECTION_LOST);
            self.link.close();
        }
        exception
    }

    /// The reader thread: completes slots until the connection ends.
    fn read(self: Arc<Self>, inbox: Inbox) {
        let end = self.receive(inbox);
        if let Some(peer) = self.peer.upgrade() {
            peer.lost();
        }
        self.fail_all(end);
        self.link.close();
    }

    /// Receives until the connection ends, and says what that means for the
    /// calls that are still outstanding.
    fn receive(&self, mut inbox: Inbox) -> SystemException {
        // Without it deadlines would go unnoticed.
        if self.link.set_read_timeout(Some(TICK)).is_err() {
            return raise::CONNECTION_LOST;
        }
        let mut idle_ticks = 0;
        let mut last_look = Instant::now();
        loop {
            match inbox.poll() {
                Ok(Some(header)) => match header.kind {
                    MessageType::REPLY if self.complete(&mut inbox) => continue,
                    MessageType::REPLY => return raise::BAD_REPLY,
                    MessageType::CLOSE_CONNECTION => return raise::CONNECTION_CLOSED,
                    MessageType::MESSAGE_ERROR => return raise::MESSAGE_ERROR,
                    _ => return raise::CONNECTION_LOST,
                },
                Ok(None) => {}
                Err(_) => return raise::BAD_REPLY,
            }
            // On a busy connection, too, time passes.
            let now = Instant::now();
            if now.saturating_duration_since(last_look) >= TICK {
                last_look = now;
                self.expire(now);
            }
            let (buffer, room) = inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => return raise::CONNECTION_LOST,
                Ok(_) => idle_ticks = 0,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        idle_ticks += 1;
                        if idle_ticks >= IDLE_TICKS && self.retire() {
                            return raise::CONNECTION_CLOSED;
                        }
                    }
                    _ => return raise::CONNECTION_LOST,
                },
            }
        }
    }

    /// Gives the reply just received to its call, if that is still known;
    /// false when it is not readable as a reply.
    fn complete(&self, inbox: &mut Inbox) -> bool {
        let (id, minor) = {
            let frame = inbox.frame();
            match oxorb_giop::Reply::parse(&frame) {
                Ok(reply) => (reply.id, frame.header.version.minor),
                Err(_) => return false,
            }
        };
        let slot = self
            .waiting()
            .as_mut()
            .and_then(|waiting| waiting.remove(&id));
        if let Some(slot) = slot {
            slot.finish(Ok(Answer {
                message: inbox.take(),
                dialect: dialect(slot.code_sets, minor),
            }));
        }
        true
    }

    /// Takes no more calls if none is outstanding.
    fn retire(&self) -> bool {
        let mut waiting = self.waiting();
        let idle = waiting.as_ref().is_none_or(HashMap::is_empty);
        if idle {
            *waiting = None;
        }
        idle
    }

    /// Fails the calls whose time is over.
    fn expire(&self, now: Instant) {
        let mut expired = Vec::new();
        if let Some(waiting) = self.waiting().as_mut() {
            waiting.retain(|_, slot| {
                let late = slot.deadline.is_some_and(|deadline| deadline <= now);
                if late {
                    expired.push(Arc::clone(slot));
                }
                !late
            });
        }
        for slot in expired {
            slot.finish(Err(raise::timeout(CompletionStatus::Maybe)));
        }
    }

    /// Takes no more calls; those outstanding end with `exception`.
    fn fail_all(&self, exception: SystemException) {
        let slots = self.waiting().take();
        for slot in slots.into_iter().flatten().map(|(_, slot)| slot) {
            slot.finish(Err(exception));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u32, Arc<Slot>>>> {
        self.waiting.lock().expect(UNPOISONED)
    }
}

impl Slot {
    /// The request as it was sent, unless it was too long to keep.
    pub(crate) fn request(&self) -> &[u8] {
        &self.request
    }

    /// The answer, if it is there; otherwise `waker` is woken when it is.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Result<Answer, SystemException>> {
        let mut state = self.state.lock().expect(UNPOISONED);
        match mem::replace(&mut *state, State::Taken) {
            State::Done(answer) => Poll::Ready(answer),
            State::Waiting(_) => {
                *state = State::Waiting(Some(waker.clone()));
                Poll::Pending
            }
            State::Taken => panic!("an AsyncReply was polled after it had completed"),
        }
    }

    fn finish(&self, answer: Result<Answer, SystemException>) {
        let before = mem::replace(
            &mut *self.state.lock().expect(UNPOISONED),
            State::Done(answer),
        );
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Arc<Slot> {
        Arc::new(Slot {
            deadline: None,
            code_sets: None,
            request: Vec::new(),
            state: Mutex::new(State::Waiting(None)),
        })
    }

    #[test]
    fn a_connection_with_a_call_outstanding_does_not_retire() {
        let (link, _other) = oxorb_transport::mem::pair(64);
        let shared = Multiplexed::new(Weak::new(), Arc::new(link));
        let outstanding = slot();
        shared.register(0, &outstanding).unwrap();
        assert!(!shared.retire());
        shared.waiting().as_mut().unwrap().remove(&0);
        assert!(shared.retire());
        // Who comes too late has certainly sent nothing, and takes a new connection.
        assert_eq!(shared.register(2, &slot()), Err(raise::CONNECTION_CLOSED));
    }
}
