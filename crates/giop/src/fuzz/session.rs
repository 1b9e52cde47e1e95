//! Two ends of a connection, driven by arbitrary events in arbitrary order.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::prelude::rust_2024::*;
use std::{format, vec};

use oxorb_cdr::{ByteOrder, Encoded, Encoder};

use super::examine;
use crate::{
    Alias, Fragments, Frame, Inbox, LocateStatus, MessageLimits, MessageType, Reading, Reply,
    ReplyStatus, Request, RequestHeader, Response, TargetAddress, Wire,
};

/// Drives a client and a server of `wire` by the events in `data`: they write messages of any kind,
/// whole or in fragments, move any number of octets, peek, take, split off, hand over to another
/// inbox, cancel, and send invalid octets. While no invalid octets were sent, each message must
/// arrive once, in order, as it was written.
pub fn session(wire: Wire, data: &[u8]) {
    let mut session = Session::new(wire);
    for event in data.chunks_exact(2) {
        let [event, detail] = *event else { return };
        if !session.step(event, detail) {
            return;
        }
    }
    session.settle();
}

/// State of one direction of the connection.
struct Way {
    inbox: Inbox,
    reading: Option<Reading>,
    limits: MessageLimits,
    /// Octets written and not yet delivered.
    under_way: VecDeque<u8>,
    /// Messages written and not yet announced.
    expected: VecDeque<Written>,
    /// Numbers of octets written, delivered, and announced.
    written: usize,
    arrived: usize,
    announced: usize,
    /// Whether an announced message is still in the inbox.
    holds: bool,
    /// Whether only valid messages have been written so far.
    sound: bool,
}

struct Written {
    octets: Vec<u8>,
    /// End offset of the message among all octets written.
    end: usize,
    /// Id of the request that the message cancels.
    cancels: Option<u32>,
}

struct Session {
    wire: Wire,
    up: Way,
    down: Way,
    next_id: u32,
    /// Ids of requests that the server has read and not answered.
    unanswered: VecDeque<u32>,
    /// Whether each alias is defined.
    defined: [bool; ALIASES],
}

const ALIASES: usize = 4;
/// Maximum number of undelivered octets: a peer stops writing when it is not read.
const WINDOW: usize = 64 << 10;

impl Session {
    fn new(wire: Wire) -> Self {
        Self {
            wire,
            up: Way::new(wire),
            down: Way::new(wire),
            next_id: 1,
            unanswered: VecDeque::new(),
            defined: [false; ALIASES],
        }
    }

    /// Executes one event; `false` at the end of the connection.
    fn step(&mut self, event: u8, detail: u8) -> bool {
        let size = usize::from(detail);
        match event % 16 {
            0 | 1 => self.request(detail, None),
            2 => self.request(detail, Some(32 + size)),
            3 => self.cancel(u32::from(detail % 8)),
            4 => self.locate(detail),
            5 | 6 => self.answer(detail),
            7 => self.last(detail),
            8 | 9 => self.up.transfer(size + 1),
            10 | 11 => self.down.transfer(size + 1),
            12 => return self.serve(detail),
            13 => return self.receive(detail),
            14 => {
                self.up.look(detail);
                self.down.look(detail);
            }
            _ => match detail % 8 {
                0 => self.up.nonsense(detail),
                1 => self.down.nonsense(detail),
                2 => self.up.hand_on(),
                _ => self.up.inbox.shrink_to(size << 6),
            },
        }
        true
    }

    fn encoder(&self, detail: u8) -> Encoder<'static> {
        let order = match self.wire.needs().same_order {
            true => ByteOrder::NATIVE,
            false => ByteOrder::from_flag(detail & 1 != 0),
        };
        Encoder::new(Vec::new(), order, self.wire.dialect())
    }

    fn request(&mut self, detail: u8, pieces: Option<usize>) {
        let mut e = self.encoder(detail);
        let number = usize::from(detail) % ALIASES;
        let alias = (self.wire.needs().aliases > 0 && detail & 0x80 != 0)
            .then(|| Alias { number: number as u16, known: self.defined[number] });
        let key = [number as u8; 11];
        let header = RequestHeader {
            id: self.next_id,
            response: Response::from_flags(detail & 3),
            key: TargetAddress::Key(&key),
            operation: "operation",
            contexts: &[],
            terms: None,
            alias,
        };
        self.next_id += 1;
        let begun = self.wire.begin_request(&mut e, &header);
        e.copy_octets(&vec![detail; usize::from(detail) * 3]);
        self.wire.finish(&mut e, begun).expect("a small message");
        let pieces = pieces.filter(|_| !self.wire.needs().no_fragments);
        if self.up.write(&e.finish(), pieces, None) && alias.is_some() {
            self.defined[number] = true;
        }
    }

    fn cancel(&mut self, back: u32) {
        let id = self.next_id.saturating_sub(back);
        if let Some(octets) = self.wire.cancel(ByteOrder::NATIVE, id) {
            self.up.push(&octets, Some(id));
        }
    }

    fn locate(&mut self, detail: u8) {
        let mut e = self.encoder(detail);
        let key = vec![detail; usize::from(detail) % 40];
        let written = self.wire.locate_request(&mut e, self.next_id, TargetAddress::Key(&key));
        written.expect("a small message");
        self.next_id += 1;
        self.up.write(&e.finish(), None, None);
    }

    fn answer(&mut self, detail: u8) {
        let mut e = self.encoder(detail);
        let id = self.unanswered.pop_front().unwrap_or(self.next_id);
        let begun = if detail & 0x40 == 0 {
            let status = ReplyStatus(u32::from(detail % 6));
            let begun = self.wire.begin_reply(&mut e, id, status, &[]);
            e.copy_octets(&vec![detail; usize::from(detail)]);
            begun
        } else {
            let status = LocateStatus(u32::from(detail % 3));
            self.wire.begin_locate_reply(&mut e, id, status)
        };
        self.wire.finish(&mut e, begun).expect("a small message");
        self.down.write(&e.finish(), None, None);
    }

    fn last(&mut self, detail: u8) {
        let octets = match detail & 1 {
            0 => self.wire.close(ByteOrder::NATIVE),
            _ => self.wire.error(),
        };
        if let Some(octets) = octets {
            self.down.push(&octets, None);
        }
    }

    fn serve(&mut self, detail: u8) -> bool {
        let unanswered = &mut self.unanswered;
        self.up.receive(detail, |frame| {
            if frame.header.kind == MessageType::REQUEST
                && let Ok(request) = Request::parse(frame)
                && request.response.expected()
                && unanswered.len() < 64
            {
                unanswered.push_back(request.id);
            }
        })
    }

    fn receive(&mut self, detail: u8) -> bool {
        self.down.receive(detail, |frame| {
            let _ = Reply::parse(frame);
        })
    }

    /// Delivers all written octets.
    fn settle(&mut self) {
        for way in [&mut self.up, &mut self.down] {
            way.transfer(usize::MAX);
            while way.receive(7, |_| {}) && way.holds {}
            assert!(!way.sound || way.expected.is_empty());
        }
    }
}

impl Way {
    fn new(wire: Wire) -> Self {
        let limits = MessageLimits {
            max_message: 16 << 10,
            max_partial_octets: 16 << 10,
            ..MessageLimits::default()
        };
        let reading = Reading::of(wire);
        Self {
            inbox: Inbox::new(&limits).continuing(reading.as_ref()),
            reading,
            limits,
            under_way: VecDeque::new(),
            expected: VecDeque::new(),
            written: 0,
            arrived: 0,
            announced: 0,
            holds: false,
            sound: true,
        }
    }

    /// Writes a message, in pieces of `pieces` octets if given; `false` if the window is full.
    fn write(&mut self, e: &Encoded<'_>, pieces: Option<usize>, cancels: Option<u32>) -> bool {
        let whole = e.to_vec();
        if self.under_way.len() + 2 * whole.len() > WINDOW {
            return false;
        }
        let mut slices = [IoSlice::new(&[]); Encoded::MAX_SLICES];
        let slices = e.io_slices(&mut slices);
        let Some(fragments) = pieces.and_then(|size| Fragments::new(slices, size).ok()) else {
            return self.push(&whole, cancels);
        };
        for piece in fragments {
            let mut slots = [IoSlice::new(&[]); Fragments::MAX_SLICES];
            for slice in piece.slices(slices, &mut slots) {
                self.under_way.extend(slice.iter());
                self.written += slice.len();
            }
        }
        self.expect(whole, cancels);
        true
    }

    fn push(&mut self, octets: &[u8], cancels: Option<u32>) -> bool {
        if self.under_way.len() + octets.len() > WINDOW {
            return false;
        }
        self.under_way.extend(octets);
        self.written += octets.len();
        self.expect(octets.to_vec(), cancels);
        true
    }

    fn expect(&mut self, octets: Vec<u8>, cancels: Option<u32>) {
        self.expected.push_back(Written { octets, end: self.written, cancels });
    }

    fn nonsense(&mut self, detail: u8) {
        self.sound = false;
        self.under_way.push_back(detail);
        self.written += 1;
    }

    /// Delivers some octets. The receiver processes messages when more arrive than it should hold.
    fn transfer(&mut self, octets: usize) {
        let mut octets = octets.min(self.under_way.len());
        while octets > 0 {
            let (buffer, most) = self.inbox.room();
            assert!(most > 0, "an inbox always has room for one octet");
            let now = octets.min(most);
            buffer.extend(self.under_way.drain(..now));
            octets -= now;
            self.arrived += now;
        }
    }

    /// Announces the next message, if it is complete, and processes it; `false` at the end of the
    /// connection.
    fn receive(&mut self, detail: u8, mut see: impl FnMut(&Frame<'_>)) -> bool {
        self.holds = false;
        match self.inbox.poll() {
            Err(violation) => {
                assert!(!self.sound, "{violation}");
                assert!(!violation.to_string().is_empty());
                violation.answer();
                return false;
            }
            Ok(None) => {
                let next = self.expected.front();
                let whole = next.is_some_and(|next| next.end <= self.arrived);
                assert!(!self.sound || !whole, "a whole message is announced");
                self.check_memory();
                return true;
            }
            Ok(Some(_)) => {}
        }
        self.holds = true;
        examine(self.inbox.frame());
        see(&self.inbox.frame());
        if self.sound {
            let written = self.expected.pop_front().expect("a message that was written");
            self.announced = written.end;
            assert_eq!(self.inbox.frame().bytes, written.octets);
        }
        self.check_memory();
        match detail % 8 {
            0 => self.take(),
            1 => self.split(),
            2 => {
                self.inbox.discard();
                self.holds = false;
            }
            _ => {}
        }
        true
    }

    fn take(&mut self) {
        let said = format!("{:?}", self.inbox.frame().message());
        let context = self.inbox.context().cloned();
        let in_pieces = self.inbox.frame().in_pieces();
        let taken = self.inbox.take();
        self.holds = false;
        if let Ok(frame) = Frame::parse_in(&taken, context.as_ref()) {
            assert_eq!(format!("{:?}", frame.message()), said);
        } else {
            assert!(in_pieces || !self.sound);
        }
    }

    fn split(&mut self) {
        let said = format!("{:?}", self.inbox.frame().message());
        let mut other = Inbox::new(&self.limits);
        self.inbox.split_to(&mut other);
        self.holds = false;
        assert_eq!(format!("{:?}", other.frame().message()), said);
    }

    /// Peeks at the next message, or checks for cancellations.
    fn look(&mut self, detail: u8) {
        if detail & 1 == 0 {
            self.holds = false;
            let ahead = self.inbox.peek_frame();
            if let Some(frame) = ahead {
                examine(frame);
            }
            return;
        }
        for id in 0..u32::from(detail) {
            let cancelled = self.inbox.is_cancelled(id);
            if self.sound {
                let names = |one: &Written| one.cancels == Some(id) && one.end <= self.arrived;
                assert_eq!(cancelled, self.expected.iter().any(names), "request {id}");
            }
        }
    }

    /// Continues with another inbox, as happens when another thread takes over the connection between
    /// two messages.
    fn hand_on(&mut self) {
        if !self.holds && !self.inbox.mid_message() {
            self.inbox = Inbox::new(&self.limits).continuing(self.reading.as_ref());
        }
    }

    fn check_memory(&self) {
        let most = (256 << 10) + 4 * WINDOW;
        assert!(self.inbox.memory() <= most, "{}", self.inbox.memory());
    }
}
