//! One connection that many asynchronous calls share, and the thread that reads it.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use oxorb_cdr::Dialect;
use oxorb_giop::{
    CodeSetContext, CompletionStatus, Inbox, MessageType, SystemException, SystemExceptionKind,
};
use oxorb_transport::Link;

use super::call::{Request, exception_of, write_request};
use super::link::dialect;
use super::{Args, Peer, Timing};
use crate::failure::Attempt;
use crate::raise;
use crate::server::write_message;

/// How late a time-out may be noticed, at most.
const TICK: Duration = Duration::from_millis(50);

/// An idle connection is closed after so many ticks.
const IDLE_TICKS: u32 = 200;

/// Most calls outstanding on one connection; one more is TRANSIENT.
const MAX_OUTSTANDING: usize = 1024;

/// A connection shared by asynchronous calls.
pub(crate) struct Multiplexed {
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
        let mut current = peer.multiplexed.lock().expect(UNPOISONED);
        if let Some(open) = current.as_ref()
            && open.waiting().is_some()
        {
            return Ok(Arc::clone(open));
        }
        let link = peer.connect(timing, attempts)?;
        let opened = Arc::new(Multiplexed {
            link,
            writer: Mutex::new(Writer {
                out: Vec::with_capacity(512),
                next_id: 0,
                code_sets: None,
            }),
            waiting: Mutex::new(Some(HashMap::new())),
        });
        let reader = Arc::clone(&opened);
        let inbox = Inbox::new(&peer.options().limits);
        std::thread::Builder::new()
            .name("oxorb-reader".to_owned())
            .spawn(move || reader.read(inbox))
            .map_err(|_| raise::NO_THREAD)?;
        *current = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Sends a request; its slot is completed by the reader thread.
    pub(crate) fn send<'a>(
        &self,
        peer: &Peer,
        request: &Request<'_>,
        args: Args<'_, 'a>,
        timing: Timing,
    ) -> Result<Arc<Slot>, SystemException> {
        let slot = Arc::new(Slot {
            deadline: timing.limit.map(|limit| timing.start + limit),
            state: Mutex::new(State::Waiting(None)),
        });
        let mut writer = self.writer.lock().expect(UNPOISONED);
        let tell = request.code_sets.filter(|_| writer.code_sets.is_none());
        let code_sets = writer.code_sets.or(tell);
        let dialect = dialect(code_sets, request.version.minor);
        let id = writer.next_id;
        let options = peer.options();
        let mut e = options.encoder(mem::take(&mut writer.out), dialect);
        let written = write_request(&mut e, id, request, tell, args, &options.limits);
        let encoded = e.finish();
        let sent = written.and_then(|()| {
            self.register(id, &slot)?;
            let _ = self.link.set_write_timeout(timing.limit);
            write_message(
                &*self.link,
                &encoded,
                request.version,
                options.fragment_size,
            )
            .map_err(|failed| {
                self.fail_all(CompletionStatus::Maybe);
                let completed = if failed.written == 0 {
                    CompletionStatus::No
                } else {
                    CompletionStatus::Maybe
                };
                exception_of(&failed.error, completed)
            })
        });
        writer.out = encoded.into_buffer();
        sent?;
        writer.code_sets = code_sets;
        writer.next_id = id.wrapping_add(2);
        Ok(slot)
    }

    fn register(&self, id: u32, slot: &Arc<Slot>) -> Result<(), SystemException> {
        match &mut *self.waiting() {
            None => Err(raise::CONNECTION_CLOSED),
            Some(waiting) if waiting.len() >= MAX_OUTSTANDING => Err(raise::TOO_MANY_OUTSTANDING),
            Some(waiting) => {
                // Slots nobody awaits any more make room for new ones.
                waiting.retain(|_, slot| Arc::strong_count(slot) > 1);
                waiting.insert(id, Arc::clone(slot));
                Ok(())
            }
        }
    }

    /// The reader thread: completes slots until the connection ends.
    fn read(self: Arc<Self>, mut inbox: Inbox) {
        let mut idle_ticks = 0;
        let completed = loop {
            match inbox.poll() {
                Ok(Some(header)) => match header.kind {
                    MessageType::REPLY => {
                        self.complete(&mut inbox);
                        continue;
                    }
                    MessageType::CLOSE_CONNECTION => break CompletionStatus::No,
                    _ => break CompletionStatus::Maybe,
                },
                Ok(None) => {}
                Err(_) => break CompletionStatus::Maybe,
            }
            let _ = self.link.set_read_timeout(Some(TICK));
            let (buffer, room) = inbox.room();
            match self.link.read(buffer, room) {
                Ok(0) => break CompletionStatus::Maybe,
                Ok(_) => idle_ticks = 0,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        idle_ticks += 1;
                        if self.expire() {
                            idle_ticks = 0;
                        } else if idle_ticks >= IDLE_TICKS {
                            break CompletionStatus::No;
                        }
                    }
                    _ => break CompletionStatus::Maybe,
                },
            }
        };
        self.fail_all(completed);
        self.link.close();
    }

    fn complete(&self, inbox: &mut Inbox) {
        let (id, minor) = {
            let frame = inbox.frame();
            match oxorb_giop::Reply::parse(&frame) {
                Ok(reply) => (reply.id, frame.header.version.minor),
                Err(_) => return,
            }
        };
        let slot = self
            .waiting()
            .as_mut()
            .and_then(|waiting| waiting.remove(&id));
        if let Some(slot) = slot {
            let code_sets = self.writer.lock().expect(UNPOISONED).code_sets;
            slot.finish(Ok(Answer {
                message: inbox.take(),
                dialect: dialect(code_sets, minor),
            }));
        }
    }

    /// Fails the calls whose time is over; whether any call is left.
    fn expire(&self) -> bool {
        let now = Instant::now();
        let mut expired = Vec::new();
        let left = {
            let mut waiting = self.waiting();
            let Some(waiting) = waiting.as_mut() else {
                return false;
            };
            waiting.retain(|_, slot| {
                let late = slot.deadline.is_some_and(|deadline| deadline <= now);
                if late {
                    expired.push(Arc::clone(slot));
                }
                !late
            });
            !waiting.is_empty()
        };
        for slot in &expired {
            slot.finish(Err(SystemException::new(
                SystemExceptionKind::Timeout,
                0,
                CompletionStatus::Maybe,
            )));
        }
        left || !expired.is_empty()
    }

    fn fail_all(&self, completed: CompletionStatus) {
        let slots = self.waiting().take();
        for slot in slots.into_iter().flatten().map(|(_, slot)| slot) {
            slot.finish(Err(SystemException::new(
                SystemExceptionKind::CommFailure,
                0,
                completed,
            )));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u32, Arc<Slot>>>> {
        self.waiting.lock().expect(UNPOISONED)
    }
}

impl Slot {
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
