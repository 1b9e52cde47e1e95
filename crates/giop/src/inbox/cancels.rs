//! CancelRequests that have arrived after the announced message.

#[cfg(not(feature = "std"))]
use alloc::collections::BTreeMap as Map;
use core::cell::{Cell, RefCell};
#[cfg(feature = "std")]
use std::collections::HashMap as Map;

use super::{header_at, other::Other};
use crate::{CancelRequest, Frame, MessageType};

/// Ids of the requests that are cancelled by messages not yet announced.
///
/// Each message is examined once, regardless of the number of queries: with `n` messages in the
/// buffer, serving all of them takes `n` examinations. The results are stored by request id, so the
/// cost of a query does not depend on their number either.
#[derive(Default)]
pub(super) struct Cancels {
    /// Position in the buffer up to which messages were examined; at most the buffer's length.
    seen: Cell<usize>,
    /// Number of octets removed from the front of the buffer since `found` was empty.
    gone: u64,
    /// End of the last CancelRequest for each id, as an offset that includes `gone`.
    found: RefCell<Map<u32, u64>>,
}

impl Cancels {
    /// Reports whether a message of `buffer`, starting at position `from`, cancels request `id`.
    /// Examines complete messages only.
    #[cold]
    pub(super) fn names(&self, buffer: &[u8], from: usize, id: u32, other: Option<&Other>) -> bool {
        self.look(buffer, from, other);
        let found = self.found.borrow();
        found.get(&id).is_some_and(|end| *end > self.gone + from as u64)
    }

    fn look(&self, buffer: &[u8], from: usize, other: Option<&Other>) {
        let context = other.map(Other::alone);
        let mut at = self.seen.get().max(from);
        while let Some(header) = header_at(&buffer[at..], other) {
            count_look();
            let Ok(header) = header else {
                break;
            };
            let Some(bytes) = buffer[at..].get(..header.total()) else {
                break;
            };
            at += header.total();
            if header.kind == MessageType::CANCEL_REQUEST
                && let Ok(cancel) =
                    CancelRequest::parse(&Frame { header, bytes, context, gap: None })
            {
                let end = self.gone + at as u64;
                self.found.borrow_mut().insert(cancel.id, end);
            }
        }
        self.seen.set(at);
    }

    /// Removes a CancelRequest that is announced and ends at this position of the buffer.
    pub(super) fn announced(&mut self, id: u32, end: usize) {
        let found = self.found.get_mut();
        if found.get(&id) == Some(&(self.gone + end as u64)) {
            found.remove(&id);
        }
    }

    /// Adjusts positions after the first `octets` of the buffer were removed.
    #[inline]
    pub(super) fn shift(&mut self, octets: usize) {
        self.seen.set(self.seen.get().saturating_sub(octets));
        self.gone += octets as u64;
    }

    /// Resets the state for an empty buffer.
    #[inline]
    pub(super) fn clear(&mut self) {
        if self.seen.replace(0) != 0 {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.gone = 0;
        let found = self.found.get_mut();
        found.clear();
        #[cfg(feature = "std")]
        found.shrink_to(KEPT);
    }

    /// Returns the memory held, in octets.
    pub(super) fn memory(&self) -> usize {
        let found = self.found.borrow();
        #[cfg(feature = "std")]
        let places = found.capacity();
        // This is an upper bound, because the nodes of the tree are at least half full.
        #[cfg(not(feature = "std"))]
        let places = found.len() * 2;
        places * size_of::<(u32, u64)>()
    }
}

/// Number of ids for which memory is retained after a buffer with more was served.
#[cfg(feature = "std")]
const KEPT: usize = 64;

#[cfg(test)]
std::thread_local! {
    static LOOKS: Cell<usize> = const { Cell::new(0) };
}

#[cfg(test)]
fn count_look() {
    LOOKS.set(LOOKS.get() + 1);
}

#[cfg(not(test))]
#[inline(always)]
fn count_look() {}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use oxorb_cdr::ByteOrder;
    use oxorb_object::Version;

    use super::LOOKS;
    use crate::{Inbox, MessageLimits, cancel_request, message_error};

    fn arrive(inbox: &mut Inbox, octets: &[u8]) {
        let (buffer, _at_most) = inbox.room();
        buffer.extend_from_slice(octets);
    }

    fn cancel(id: u32) -> Vec<u8> {
        cancel_request(Version::V1_2, ByteOrder::NATIVE, id).to_vec()
    }

    /// Returns a message that represents a request. Its kind does not matter, because the inbox does not parse
    /// requests.
    fn request() -> Vec<u8> {
        message_error(Version::V1_2).to_vec()
    }

    /// Returns the number of messages examined while `requests` requests, followed by as many
    /// cancellations, are served.
    fn looks_for(requests: usize) -> usize {
        let mut inbox = Inbox::new(&MessageLimits::default());
        let mut octets = request().repeat(requests);
        for id in 0..requests {
            octets.extend(cancel(id as u32));
        }
        arrive(&mut inbox, &octets);
        let before = LOOKS.get();
        for id in 0..requests {
            assert!(inbox.poll().unwrap().is_some());
            assert!(inbox.is_cancelled(id as u32));
        }
        LOOKS.get() - before
    }

    #[test]
    fn messages_behind_a_request_are_looked_at_once_however_many_requests_ask() {
        for requests in [100, 200, 400, 800] {
            let looks = looks_for(requests);
            assert!(
                (requests..=2 * requests).contains(&looks),
                "{requests} requests: {looks} looks"
            );
        }
    }

    #[test]
    fn a_message_in_pieces_at_the_end_is_looked_at_once_for_each_request_before_it() {
        let mut inbox = Inbox::new(&MessageLimits::default());
        let mut octets = request().repeat(10);
        octets.extend(&cancel(3)[..15]);
        arrive(&mut inbox, &octets);
        for _ in 0..9 {
            inbox.poll().unwrap().unwrap();
            assert!(!inbox.is_cancelled(3));
        }
        inbox.poll().unwrap().unwrap();
        assert_eq!(inbox.poll(), Ok(None));
        arrive(&mut inbox, &cancel(3)[15..]);
        assert!(inbox.is_cancelled(3));
    }

    /// A reused id is cancelled by messages after its request, not by earlier ones.
    #[test]
    fn a_cancellation_counts_for_what_lies_before_it_only() {
        let mut inbox = Inbox::new(&MessageLimits::default());
        let octets = [request(), cancel(7), request(), cancel(8), request()].concat();
        arrive(&mut inbox, &octets);
        let mut cancelled = Vec::new();
        while inbox.poll().unwrap().is_some() {
            cancelled.push((inbox.is_cancelled(7), inbox.is_cancelled(8)));
        }
        assert_eq!(
            cancelled,
            [(true, true), (false, true), (false, true), (false, false), (false, false)]
        );
        arrive(&mut inbox, &[request(), cancel(8)].concat());
        inbox.poll().unwrap().unwrap();
        assert!(!inbox.is_cancelled(7) && inbox.is_cancelled(8));
    }

    /// Cancellations remain known when the octets move to the front of the buffer.
    #[test]
    fn positions_follow_the_octets() {
        let mut inbox = Inbox::new(&MessageLimits::default());
        let end = cancel(2);
        arrive(&mut inbox, &[request(), cancel(1), request(), end[..13].to_vec()].concat());
        inbox.poll().unwrap().unwrap();
        assert!(inbox.is_cancelled(1));
        inbox.poll().unwrap().unwrap();
        inbox.poll().unwrap().unwrap();
        assert!(!inbox.is_cancelled(2));
        assert_eq!(inbox.poll(), Ok(None));
        arrive(&mut inbox, &[&end[13..], &request(), &cancel(1)].concat());
        assert!(inbox.is_cancelled(2) && inbox.is_cancelled(1));
        inbox.poll().unwrap().unwrap();
        assert!(!inbox.is_cancelled(2) && inbox.is_cancelled(1));
    }

    #[test]
    fn a_message_that_is_split_off_leaves_what_follows_to_the_reader() {
        let mut inbox = Inbox::new(&MessageLimits::default());
        let mut other = Inbox::new(&MessageLimits::default());
        arrive(&mut inbox, &[request(), request(), cancel(5)].concat());
        for _ in 0..2 {
            inbox.poll().unwrap().unwrap();
            assert!(inbox.is_cancelled(5));
            let message = inbox.frame().bytes.to_vec();
            inbox.split_to(&mut other);
            assert_eq!(other.frame().bytes, message);
            assert!(!other.is_cancelled(5) && !other.mid_message());
        }
        assert!(inbox.poll().unwrap().is_some() && !inbox.is_cancelled(5));
        assert_eq!(inbox.poll(), Ok(None));
    }

    #[test]
    fn a_peer_that_only_cancels_leaves_nothing_behind() {
        let mut inbox = Inbox::new(&MessageLimits::default());
        for round in 0..100u32 {
            let octets: Vec<u8> = (0..100).flat_map(|id| cancel(round * 100 + id)).collect();
            arrive(&mut inbox, &[&request()[..], &octets, &request()[..5]].concat());
            inbox.poll().unwrap().unwrap();
            assert!(inbox.is_cancelled(round * 100));
            while inbox.poll().unwrap().is_some() {}
            arrive(&mut inbox, &request()[5..]);
            inbox.poll().unwrap().unwrap();
            assert!(inbox.memory() < 64 << 10, "{}", inbox.memory());
        }
    }
}
