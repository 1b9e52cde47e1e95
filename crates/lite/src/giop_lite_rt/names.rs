//! Aliases for object keys and operations, as one connection's server remembers them.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use oxorb_cdr::ByteOrder;
use oxorb_giop::{
    Frame, FrameContext, MessageType, Messaging, Misbehaviour, Side, Table, Violation,
};

use super::header::NAME;
use super::request;

/// Aliases that a connection has: 0 to 1,023.
pub(crate) const NUMBERS: u16 = 1024;

/// Most octets that object key and operation of an alias have together.
pub(crate) const PAIR_OCTETS: usize = 256;

/// Aliases that memory is made for at a time.
const AT_ONCE: usize = 32;

/// Object key and operation that an alias stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    key: Box<[u8]>,
    operation: Box<str>,
}

impl Pair {
    /// Returns the object key.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the operation.
    #[inline]
    pub(crate) fn operation(&self) -> &str {
        &self.operation
    }
}

/// Meanings of some aliases that follow each other: each is set once.
type Some32 = [OnceLock<Arc<FrameContext>>; AT_ONCE];

/// What the aliases of a connection stand for. An alias never changes its meaning, so that readers take no lock.
pub(crate) struct Names {
    messaging: &'static dyn Messaging,
    known: [OnceLock<Box<Some32>>; NUMBERS as usize / AT_ONCE],
    /// Octets held besides those of this struct.
    octets: AtomicUsize,
}

impl Names {
    /// Returns the aliases of a new connection: none.
    pub(crate) fn new(messaging: &'static dyn Messaging) -> Names {
        Names {
            messaging,
            known: [const { OnceLock::new() }; NUMBERS as usize / AT_ONCE],
            octets: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn get(&self, number: u16) -> Option<&Arc<FrameContext>> {
        let number = usize::from(number);
        let some = self.known.get(number / AT_ONCE)?.get()?;
        some[number % AT_ONCE].get()
    }

    /// Has an alias stand for this object key and operation. Allocates when it is new.
    #[cold]
    fn define(&self, number: u16, key: &[u8], operation: &str) -> Result<(), Violation> {
        let octets = key.len() + operation.len();
        if number >= NUMBERS {
            return Err(beyond(
                "alias of an object key and operation",
                number.into(),
                u64::from(NUMBERS) - 1,
            ));
        }
        if octets > PAIR_OCTETS {
            let what = "octets of an object key and operation that get an alias";
            return Err(beyond(what, octets as u64, PAIR_OCTETS as u64));
        }
        let place = usize::from(number);
        let some = self.known[place / AT_ONCE].get_or_init(|| {
            self.octets
                .fetch_add(mem::size_of::<Some32>(), Ordering::Relaxed);
            Box::new([const { OnceLock::new() }; AT_ONCE])
        });
        let known = some[place % AT_ONCE].get_or_init(|| {
            let held = octets + mem::size_of::<FrameContext>() + mem::size_of::<Pair>();
            self.octets.fetch_add(held, Ordering::Relaxed);
            let pair = Pair {
                key: key.into(),
                operation: operation.into(),
            };
            Arc::new(FrameContext::knowing(self.messaging, pair))
        });
        let same = known
            .known::<Pair>()
            .is_some_and(|pair| pair.key() == key && pair.operation() == operation);
        match same {
            true => Ok(()),
            false => Err(Violation::Peer(Misbehaviour::Undefined {
                protocol: NAME,
                what: "second meaning of alias",
                value: u32::from(number),
            })),
        }
    }
}

fn beyond(what: &'static str, size: u64, limit: u64) -> Violation {
    Violation::Limit {
        what,
        size,
        limit,
        setting: "fixed",
        side: Side::Received,
    }
}

impl Table for Names {
    #[inline]
    fn arrived(&self, frame: &Frame<'_>) -> Result<Option<&Arc<FrameContext>>, Violation> {
        match self.known(frame.bytes, frame.header.order) {
            Some(known) => Ok(Some(known)),
            None => self.learn(frame),
        }
    }

    #[inline]
    fn known(&self, request: &[u8], order: ByteOrder) -> Option<&Arc<FrameContext>> {
        self.get(request::known(request, order)?)
    }

    fn memory(&self) -> usize {
        mem::size_of::<Self>() + self.octets.load(Ordering::Relaxed)
    }
}

impl Names {
    /// Takes in a request that says more than a number, or a number that nobody knows.
    #[inline(never)]
    fn learn(&self, frame: &Frame<'_>) -> Result<Option<&Arc<FrameContext>>, Violation> {
        if frame.header.kind != MessageType::REQUEST {
            return Ok(None);
        }
        let said = request::numbered(frame.bytes, frame.header.order)?;
        let Some(number) = said.number else {
            return Ok(None);
        };
        if let Some((key, operation)) = said.names {
            self.define(number, key, operation)?;
        }
        match self.get(number) {
            Some(known) => Ok(Some(known)),
            None => Err(Violation::Peer(Misbehaviour::UnknownAlias { number })),
        }
    }
}
