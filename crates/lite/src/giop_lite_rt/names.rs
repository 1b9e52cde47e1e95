//! Numbers for object keys and operations, as one connection's server remembers them.

use std::mem;
use std::sync::Arc;

use oxorb_giop::{
    Frame, FrameContext, Limits, MessageType, Messaging, Misbehaviour, Side, Table, Violation,
};

use super::header::NAME;
use super::request;

/// Numbers that a connection has: 0 to 1,023.
pub(crate) const NUMBERS: u16 = 1024;

/// Most octets that object key and operation of a number have together.
pub(crate) const PAIR_OCTETS: usize = 256;

/// Object key and operation that a number stands for.
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

/// What the numbers of a connection stand for. A number never changes its meaning.
pub(crate) struct Names {
    messaging: &'static dyn Messaging,
    /// By number.
    known: Vec<Option<Arc<FrameContext>>>,
    /// Octets of all names.
    octets: usize,
}

impl Names {
    /// Returns the numbers of a new connection: none.
    pub(crate) fn new(messaging: &'static dyn Messaging, _: &Limits) -> Names {
        Names {
            messaging,
            known: Vec::new(),
            octets: 0,
        }
    }

    fn get(&self, number: u16) -> Option<&Arc<FrameContext>> {
        self.known.get(usize::from(number))?.as_ref()
    }

    /// Has `number` stand for this object key and operation. Allocates when it is new.
    #[cold]
    fn define(&mut self, number: u16, key: &[u8], operation: &str) -> Result<(), Violation> {
        if number >= NUMBERS {
            return Err(Violation::Limit {
                what: "number of an object key and operation",
                size: u64::from(number),
                limit: u64::from(NUMBERS - 1),
                setting: "fixed",
                side: Side::Received,
            });
        }
        let octets = key.len() + operation.len();
        if octets > PAIR_OCTETS {
            return Err(Violation::Limit {
                what: "octets of an object key and operation that get a number",
                size: octets as u64,
                limit: PAIR_OCTETS as u64,
                setting: "fixed",
                side: Side::Received,
            });
        }
        if let Some(known) = self.get(number) {
            let same = known
                .known::<Pair>()
                .is_some_and(|pair| pair.key() == key && pair.operation() == operation);
            return match same {
                true => Ok(()),
                false => Err(Violation::Peer(Misbehaviour::Undefined {
                    protocol: NAME,
                    what: "second meaning of number",
                    value: u32::from(number),
                })),
            };
        }
        let place = usize::from(number);
        if self.known.len() <= place {
            self.known.resize(place + 1, None);
        }
        let pair = Pair {
            key: key.into(),
            operation: operation.into(),
        };
        self.known[place] = Some(Arc::new(FrameContext::knowing(self.messaging, pair)));
        self.octets += octets;
        Ok(())
    }
}

impl Table for Names {
    #[inline]
    fn arrived(&mut self, frame: &Frame<'_>) -> Result<Option<Arc<FrameContext>>, Violation> {
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
            Some(known) => Ok(Some(Arc::clone(known))),
            None => Err(Violation::Peer(Misbehaviour::UnknownAlias { number })),
        }
    }

    fn memory(&self) -> usize {
        let each = mem::size_of::<Option<Arc<FrameContext>>>();
        let defined = mem::size_of::<FrameContext>() + mem::size_of::<Pair>();
        self.octets + self.known.capacity() * (each + defined)
    }
}
