//! Calls of one shared connection that wait for their answers: a ring of entries, each found by its request id.
//!
//! One lock guards the ring. It is not held while a thread reads, writes or is woken, and is taken once for all replies
//! that came with one read. Entries are reused, so that a call whose caller waits for it costs no allocation. Its
//! answer stays in the entry until the caller takes it; the answer to an asynchronous call goes to its slot.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use oxorb_cdr::{Dialect, Gap, copies};
use oxorb_giop::{
    FrameContext, Header, Inbox, MessageType, ReplyStatus, RequestIds, Taken, Told, Wire,
};
use oxorb_object::{CompletionStatus, SystemException};

use super::slot::CallSlot;
use crate::conn::ConnectionEnd;
use crate::error::raise;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicBool, Ordering};
use crate::threads::sync::thread;

/// Maximum number of calls outstanding on one connection; a further one raises TRANSIENT.
const MAX_OUTSTANDING: usize = 1024;

/// Initial number of entries; doubled whenever half of them are taken.
const PLACES: usize = 16;

/// Maximum number of replies that are delivered before their recipients are woken.
const AT_ONCE: usize = 16;

/// Size in octets of the longest reply that is copied. A longer reply is handed over in the receive buffer itself.
const COPIED: usize = 4096;

/// Calls that wait for an answer.
pub(super) struct Replies {
    ring: Mutex<Ring>,
    /// Copy of the ring's flag, for queries without the lock.
    closed: AtomicBool,
}

struct Ring {
    /// Entries, a power of two in number; the call with request id `id` is at index `id / 2`, modulo their number.
    places: Vec<CallEntry>,
    ids: RequestIds,
    /// Number of entries that are not free.
    outstanding: usize,
    /// Whether no further call is accepted. Answers may still have to be read.
    closed: bool,
    /// Inbox with which the next caller reads, if callers read themselves and none does now.
    inbox: Option<Box<Inbox>>,
}

enum CallEntry {
    Free,
    Waiting(WaitingCall),
    Answered(u32, AnswerResult),
}

/// Outcome of a call.
pub(super) type AnswerResult = Result<Answer, SystemException>;

struct WaitingCall {
    id: u32,
    call: Outstanding,
    waiter: Waiter,
    /// Reusable buffer for the answer.
    room: Vec<u8>,
}

/// Facts about a call that are kept until it is answered.
#[derive(Clone, Copy)]
pub(super) struct Outstanding {
    pub(super) deadline: Option<Instant>,
    pub(super) wire: Wire,
    /// Whether the server is not notified when the caller no longer waits.
    pub(super) untold: bool,
    /// Code sets that had been announced to the server when the call was sent.
    pub(super) told: Told,
}

/// Recipient of an answer.
pub(super) enum Waiter {
    /// Thread that does not sleep, and checks by itself.
    Awake,
    /// Thread that sleeps, or is about to.
    Thread(thread::Thread),
    Slot(Arc<CallSlot>),
}

/// Header of a reply.
pub(crate) struct Head {
    pub(crate) status: ReplyStatus,
    /// Position at which the results begin.
    pub(crate) body: usize,
}

/// Complete reply message.
pub(crate) struct Answer {
    pub(super) message: Taken,
    /// Part of the message that is still in the server's memory.
    pub(super) gap: Option<Box<Gap>>,
    /// Context of the message, if it is not GIOP's.
    pub(super) context: Option<Arc<FrameContext>>,
    pub(super) header: Head,
    /// Encoding of the message's text.
    pub(super) dialect: Dialect,
}

/// Situation of a caller that may read itself.
pub(super) enum CallerTurn {
    Answered(AnswerResult),
    /// The caller must read, because no thread does.
    Lead(Box<Inbox>),
    /// A thread reads, and will wake this one.
    Follow,
}

impl Replies {
    /// Returns a ring for calls with ids from `ids`. `inbox` is given if the callers read themselves.
    pub(super) fn new(ids: RequestIds, inbox: Option<Box<Inbox>>) -> Replies {
        Replies {
            ring: Mutex::new(Ring {
                places: (0..PLACES).map(|_| CallEntry::Free).collect(),
                ids,
                outstanding: 0,
                closed: false,
                inbox,
            }),
            closed: AtomicBool::new(false),
        }
    }

    /// Enters a call, and returns the id of its request. `room` is the buffer for its answer.
    pub(super) fn enter(
        &self,
        call: Outstanding,
        waiter: Waiter,
        room: Vec<u8>,
    ) -> Result<u32, SystemException> {
        let ring = &mut *self.ring.lock();
        ring.make_room()?;
        let id = ring.free_id();
        *ring.place(id) = CallEntry::Waiting(WaitingCall { id, call, waiter, room });
        ring.outstanding += 1;
        Ok(id)
    }

    /// Returns an id for a request without an answer.
    pub(super) fn pass(&self) -> Result<u32, SystemException> {
        let ring = &mut *self.ring.lock();
        if ring.closed {
            return Err(raise::CONNECTION_CLOSED);
        }
        Ok(ring.free_id())
    }

    /// Takes the answer, if it has arrived.
    pub(super) fn take(&self, id: u32) -> Option<AnswerResult> {
        self.ring.lock().take(id)
    }

    /// Takes the answer, or reports whether the caller has to read.
    pub(super) fn turn(&self, id: u32) -> CallerTurn {
        let ring = &mut *self.ring.lock();
        if let Some(answer) = ring.take(id) {
            return CallerTurn::Answered(answer);
        }
        let inbox = ring.inbox.take();
        if let Some(call) = ring.waiting(id) {
            match (&inbox, &call.waiter) {
                (Some(_), _) => call.waiter = Waiter::Awake,
                (None, Waiter::Awake) => call.waiter = Waiter::Thread(thread::current()),
                (None, _) => {}
            }
        }
        inbox.map_or(CallerTurn::Follow, CallerTurn::Lead)
    }

    /// Puts the inbox back after a caller has stopped reading. That caller [forgets](Self::forget) its call next.
    pub(super) fn put_back(&self, inbox: Option<Box<Inbox>>) {
        self.ring.lock().inbox = inbox;
    }

    /// Takes the inbox for a check of the connection between calls. Returns `None` if a call is outstanding, or a
    /// thread reads.
    pub(super) fn look(&self) -> Option<Box<Inbox>> {
        let ring = &mut *self.ring.lock();
        match ring.outstanding == 0 && !ring.closed {
            true => ring.inbox.take(),
            false => None,
        }
    }

    /// Ends the check begun by [`look`](Self::look). A caller that came meanwhile reads next.
    pub(super) fn end_look(&self, inbox: Box<Inbox>) {
        let next = {
            let ring = &mut *self.ring.lock();
            ring.inbox = Some(inbox);
            ring.next_to_lead()
        };
        if let Some(next) = next {
            next.unpark();
        }
    }

    /// Forgets a call whose answer is no longer awaited; returns its facts if there is no answer yet.
    pub(super) fn forget(&self, id: u32) -> Option<Outstanding> {
        let (call, next) = {
            let ring = &mut *self.ring.lock();
            let call = ring.waiting(id).map(|waiting| waiting.call);
            if call.is_some() {
                *ring.place(id) = CallEntry::Free;
                ring.outstanding -= 1;
            } else {
                ring.take(id);
            }
            // The caller that gives up may have been woken to read, so another caller must be woken instead.
            (call, ring.next_to_lead())
        };
        if let Some(next) = next {
            next.unpark();
        }
        call
    }

    /// Forgets an asynchronous call whose answer is no longer awaited; returns its facts if there is no answer yet.
    pub(super) fn forget_slot(&self, slot: &CallSlot) -> Option<(u32, Outstanding)> {
        let id = slot.id()?;
        let ring = &mut *self.ring.lock();
        let waiting = ring.waiting(id)?;
        let ours =
            |known: &Waiter| matches!(known, Waiter::Slot(known) if std::ptr::eq(&**known, slot));
        let call = ours(&waiting.waiter).then_some(waiting.call)?;
        *ring.place(id) = CallEntry::Free;
        ring.outstanding -= 1;
        Some((id, call))
    }

    /// Delivers each complete reply in `inbox` to its call, the announced one first, and wakes the recipients.
    ///
    /// # Errors
    /// The reason why the connection ends.
    pub(super) fn deliver(
        &self,
        mut announced: Option<Header>,
        inbox: &mut Inbox,
    ) -> Result<(), ConnectionEnd> {
        loop {
            let mut wakes = PendingWakes::default();
            let all = wakes.fill(announced.take(), inbox, &mut self.ring.lock());
            wakes.wake();
            if all? {
                return Ok(());
            }
        }
    }

    /// Delivers answers for a caller that reads itself, whose own call is `id`; returns its answer, if that was among
    /// them. The caller then leads no more, and the inbox is taken back.
    pub(super) fn deliver_as_leader(
        &self,
        mut announced: Option<Header>,
        inbox: &mut Option<Box<Inbox>>,
        id: u32,
    ) -> Result<Option<AnswerResult>, ConnectionEnd> {
        loop {
            let mut wakes = PendingWakes::default();
            let mut ring = self.ring.lock();
            let Some(reading) = inbox else {
                return Ok(None);
            };
            let all = wakes.fill(announced.take(), reading, &mut ring);
            let own = match all {
                Ok(true) => ring.take(id),
                _ => None,
            };
            let mut next = None;
            if own.is_some() {
                ring.inbox = inbox.take();
                next = ring.next_to_lead();
            }
            drop(ring);
            wakes.wake();
            if let Some(next) = next {
                next.unpark();
            }
            if all? {
                return Ok(own);
            }
        }
    }

    /// Delivers the reply that `inbox` announces to its call, if the call is still known.
    ///
    /// # Errors
    /// The message is not readable as a reply.
    pub(super) fn deliver_one(&self, inbox: &mut Inbox) -> Result<(), ConnectionEnd> {
        let wake = self.ring.lock().deliver(inbox)?;
        if let Some(wake) = wake {
            wake.now();
        }
        Ok(())
    }

    /// Fails the calls whose time is over; returns their ids and facts.
    pub(super) fn expire(&self, now: Instant) -> Vec<(u32, Outstanding)> {
        let late = |call: &Outstanding| call.deadline.is_some_and(|deadline| deadline <= now);
        self.fail(late, raise::timeout(CompletionStatus::Maybe), false)
    }

    /// Accepts no more calls; those outstanding end with `exception`.
    pub(super) fn fail_all(&self, exception: SystemException) {
        self.fail(|_| true, exception, true);
    }

    fn fail(
        &self,
        which: impl Fn(&Outstanding) -> bool,
        exception: SystemException,
        close: bool,
    ) -> Vec<(u32, Outstanding)> {
        let (mut failed, mut wakes) = (Vec::new(), Vec::new());
        {
            let ring = &mut *self.ring.lock();
            if close {
                self.close_ring(ring);
            }
            for at in 0..ring.places.len() {
                if let CallEntry::Waiting(waiting) = &ring.places[at]
                    && which(&waiting.call)
                {
                    failed.push((waiting.id, waiting.call));
                    wakes.extend(ring.finish(at, |_| Err(exception)));
                }
            }
        }
        wakes.into_iter().for_each(Wake::now);
        failed
    }

    /// Fails these calls, if they still wait.
    pub(super) fn fail_each(&self, ids: &[u32], exception: SystemException) {
        let mut wakes = Vec::new();
        let next = {
            let ring = &mut *self.ring.lock();
            for &id in ids {
                if ring.waiting(id).is_some() {
                    let at = ring.at(id);
                    wakes.extend(ring.finish(at, |_| Err(exception)));
                }
            }
            // One of these callers may have been woken to read, so another caller must be woken instead.
            ring.next_to_lead()
        };
        wakes.into_iter().for_each(Wake::now);
        if let Some(next) = next {
            next.unpark();
        }
    }

    /// Fails a call, if it still waits; returns its facts.
    pub(super) fn fail_one(&self, id: u32, exception: SystemException) -> Option<Outstanding> {
        let (call, wake, next) = {
            let ring = &mut *self.ring.lock();
            let call = ring.waiting(id)?.call;
            let at = ring.at(id);
            let wake = ring.finish(at, |_| Err(exception));
            // The caller may have been woken to read, so another caller must be woken instead.
            (call, wake, ring.next_to_lead())
        };
        if let Some(wake) = wake {
            wake.now();
        }
        if let Some(next) = next {
            next.unpark();
        }
        Some(call)
    }

    /// Accepts no more calls.
    pub(super) fn close(&self) {
        self.close_ring(&mut self.ring.lock());
    }

    fn close_ring(&self, ring: &mut Ring) {
        ring.closed = true;
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Accepts no more calls if none is outstanding; reports whether that is so.
    pub(super) fn retire(&self) -> bool {
        let ring = &mut *self.ring.lock();
        let idle = ring.outstanding == 0;
        if idle {
            self.close_ring(ring);
        }
        idle
    }

    /// Reports whether a call waits for its answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.ring.lock().outstanding > 0
    }

    /// Reports whether callers read themselves, and none does.
    #[cfg(all(test, feature = "model"))]
    pub(super) fn is_unread(&self) -> bool {
        self.ring.lock().inbox.is_some()
    }
}

impl Ring {
    fn at(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.places.len() - 1)
    }

    fn place(&mut self, id: u32) -> &mut CallEntry {
        let at = self.at(id);
        &mut self.places[at]
    }

    fn waiting(&mut self, id: u32) -> Option<&mut WaitingCall> {
        match self.place(id) {
            CallEntry::Waiting(waiting) if waiting.id == id => Some(waiting),
            _ => None,
        }
    }

    fn take(&mut self, id: u32) -> Option<AnswerResult> {
        let place = self.place(id);
        match mem::replace(place, CallEntry::Free) {
            CallEntry::Answered(it, outcome) if it == id => {
                self.outstanding -= 1;
                Some(outcome)
            }
            other => {
                *place = other;
                None
            }
        }
    }

    /// Ensures that at least half of the entries are free.
    fn make_room(&mut self) -> Result<(), SystemException> {
        if self.closed {
            return Err(raise::CONNECTION_CLOSED);
        }
        if self.outstanding >= MAX_OUTSTANDING {
            self.forget_abandoned();
        }
        if self.outstanding >= MAX_OUTSTANDING {
            return Err(raise::TOO_MANY_OUTSTANDING);
        }
        if self.outstanding * 2 >= self.places.len() {
            // Ids that differ modulo the old number of entries also differ modulo twice that number, so no two calls
            // collide.
            let twice = (0..self.places.len() * 2).map(|_| CallEntry::Free).collect();
            for place in mem::replace(&mut self.places, twice) {
                let id = match &place {
                    CallEntry::Free => continue,
                    CallEntry::Waiting(WaitingCall { id, .. }) | CallEntry::Answered(id, _) => *id,
                };
                *self.place(id) = place;
            }
        }
        Ok(())
    }

    /// Frees the entries of calls whose slots have no other owner.
    fn forget_abandoned(&mut self) {
        for place in &mut self.places {
            if let CallEntry::Waiting(WaitingCall { waiter: Waiter::Slot(slot), .. }) = place
                && Arc::strong_count(slot) == 1
            {
                *place = CallEntry::Free;
                self.outstanding -= 1;
            }
        }
    }

    /// Returns the next id whose entry is free; there is one.
    fn free_id(&mut self) -> u32 {
        loop {
            let id = self.ids.next_id();
            if matches!(self.place(id), CallEntry::Free) {
                return id;
            }
        }
    }

    /// Delivers the reply that `inbox` announces to its call, if the call is still known; returns the recipient to be
    /// woken.
    fn deliver(&mut self, inbox: &mut Inbox) -> Result<Option<Wake>, ConnectionEnd> {
        let frame = inbox.frame();
        let parsed = oxorb_giop::Reply::parse(&frame).map_err(ConnectionEnd::Malformed)?;
        let (id, minor, octets) = (parsed.id, frame.header.version.minor, frame.bytes.len());
        let lent = frame.gap.is_some();
        let header = Head { status: parsed.status, body: parsed.body };
        let at = self.at(id);
        if self.waiting(id).is_none() {
            return Ok(None);
        }
        Ok(self.finish(at, |waiting| {
            let (message, gap) = match octets {
                0..=COPIED if !lent => {
                    let mut room = mem::take(&mut waiting.room);
                    room.clear();
                    copies::append(&mut room, inbox.frame().bytes);
                    (Taken::from(room), None)
                }
                _ => inbox.take_apart(),
            };
            Ok(Answer {
                message,
                gap,
                context: inbox.context().cloned(),
                header,
                dialect: waiting.call.told.dialect(minor),
            })
        }))
    }

    /// Completes the call at an index; returns the recipient to be woken.
    fn finish(
        &mut self,
        at: usize,
        outcome: impl FnOnce(&mut WaitingCall) -> AnswerResult,
    ) -> Option<Wake> {
        let place = &mut self.places[at];
        let CallEntry::Waiting(mut waiting) = mem::replace(place, CallEntry::Free) else {
            return None;
        };
        let outcome = outcome(&mut waiting);
        match waiting.waiter {
            Waiter::Slot(slot) => {
                self.outstanding -= 1;
                Some(Wake::Slot(slot, outcome))
            }
            Waiter::Thread(thread) => {
                *place = CallEntry::Answered(waiting.id, outcome);
                Some(Wake::Thread(thread))
            }
            Waiter::Awake => {
                *place = CallEntry::Answered(waiting.id, outcome);
                None
            }
        }
    }

    /// Returns a sleeping thread that has to read next, if no thread reads.
    fn next_to_lead(&self) -> Option<thread::Thread> {
        self.inbox.as_ref()?;
        self.places.iter().find_map(|place| match place {
            CallEntry::Waiting(WaitingCall { waiter: Waiter::Thread(thread), .. }) => {
                Some(thread.clone())
            }
            _ => None,
        })
    }
}

/// Recipient to be woken.
enum Wake {
    Thread(thread::Thread),
    Slot(Arc<CallSlot>, AnswerResult),
}

impl Wake {
    fn now(self) {
        match self {
            Wake::Thread(thread) => thread.unpark(),
            Wake::Slot(slot, outcome) => slot.finish(outcome),
        }
    }
}

/// Recipients to be woken when the lock is free again.
#[derive(Default)]
struct PendingWakes {
    several: [Option<Wake>; AT_ONCE],
    count: usize,
}

impl PendingWakes {
    /// Delivers the messages in `inbox`, the announced one first; returns whether these were all.
    fn fill(
        &mut self,
        mut announced: Option<Header>,
        inbox: &mut Inbox,
        ring: &mut Ring,
    ) -> Result<bool, ConnectionEnd> {
        while self.count < AT_ONCE {
            let next = match announced.take() {
                None => inbox.poll().map_err(ConnectionEnd::Malformed)?,
                announced => announced,
            };
            let Some(header) = next else {
                return Ok(true);
            };
            if header.kind != MessageType::REPLY {
                return Err(ConnectionEnd::by(header.kind));
            }
            if let Some(wake) = ring.deliver(inbox)? {
                self.several[self.count] = Some(wake);
                self.count += 1;
            }
        }
        Ok(false)
    }

    fn wake(self) {
        self.several.into_iter().take(self.count).flatten().for_each(Wake::now);
    }
}

#[cfg(test)]
mod tests;
