//! Aliases of object keys and operations, as the server of one connection resolves them.

use crate::prelude::*;
use alloc::sync::Arc;
use core::fmt;
use core::mem;
use core::sync::atomic::{AtomicUsize, Ordering};

use oxorb_cdr::once::OnceLock;

use crate::{BareRequest, Frame, FrameContext, Messaging, Misbehaviour, Side, Violation};

/// Maximum number of aliases per connection, in any protocol.
pub(crate) const MOST: u16 = 1024;

/// Number of aliases for which memory is allocated at a time.
const AT_ONCE: usize = 32;

/// Object key and operation that an alias denotes, with lookup results that the server caches for all
/// requests with this alias.
#[derive(Debug)]
pub struct Aliased {
    key: Box<[u8]>,
    operation: Box<str>,
    bare: BareRequest,
    target: OnceLock<PreparedTarget>,
    listed: OnceLock<Listed>,
}

/// Address of an object that an adapter parsed from a key: words that only the adapter interprets.
pub type PreparedTarget = [u64; 3];

/// Index of an operation in a list of names.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// Address of the list, which lives as long as the process.
    list: usize,
    place: usize,
}

impl Aliased {
    fn new(key: &[u8], operation: &str, bare: BareRequest) -> Self {
        Self {
            key: key.into(),
            operation: operation.into(),
            bare,
            target: OnceLock::new(),
            listed: OnceLock::new(),
        }
    }

    /// Returns the object key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the operation.
    #[inline]
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Returns the form of Requests that contain the alias and no other header data.
    #[inline(always)]
    pub(crate) fn bare(&self) -> &BareRequest {
        &self.bare
    }

    /// Returns the address that an adapter [parsed](Self::prepare) from the key.
    #[inline]
    pub fn target(&self) -> Option<&PreparedTarget> {
        self.target.get()
    }

    /// Caches the address that an adapter parsed from the key; it depends only on the octets of the
    /// key. The first call wins.
    #[cold]
    pub fn prepare(&self, target: PreparedTarget) {
        let _ = self.target.set(target);
    }

    /// Returns the index of the operation in a list of names, if [`list`](Self::list) cached it for
    /// this list.
    #[inline]
    pub fn place_in(&self, list: &'static [&'static str]) -> Option<usize> {
        let listed = self.listed.get()?;
        // If two lists begin at the same address, the shorter one is a prefix of the longer one. The cached index is
        // then valid for this list if it is within its length.
        let same = listed.list == list.as_ptr().addr() && listed.place < list.len();
        same.then_some(listed.place)
    }

    /// Caches the index of the operation in a list of names. The first call wins.
    #[cold]
    pub fn list(&self, list: &'static [&'static str], place: usize) {
        let list = list.as_ptr().addr();
        let _ = self.listed.set(Listed { list, place });
    }
}

/// Two values are equal if they stand for the same key and operation.
impl PartialEq for Aliased {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.operation == other.operation
    }
}

impl Eq for Aliased {}

/// Names and alias that a Request contains.
#[derive(Clone, Copy, Default, Debug)]
pub struct Numbered<'a> {
    /// Alias that the Request uses or defines; `None` if it contains names only.
    pub number: Option<u16>,
    /// Object key and operation, if the Request contains them in full.
    pub names: Option<(&'a [u8], &'a str)>,
}

/// Contexts of some consecutive aliases; each is set once.
type Some32 = [OnceLock<Arc<FrameContext>>; AT_ONCE];

/// Contexts of the aliases of a connection. An alias never changes its meaning, so readers take no
/// lock.
///
/// Shared by the inboxes of the connection, which pass it each complete Request in order of arrival.
/// Several threads may read a connection one after another, never concurrently.
pub(crate) struct AliasTable {
    messaging: &'static dyn Messaging,
    bare: BareRequest,
    /// Number of aliases that may be defined.
    most: u16,
    /// Maximum length of key and operation together, in octets.
    longest: u16,
    known: [OnceLock<Box<Some32>>; MOST as usize / AT_ONCE],
    /// Memory in octets held in addition to this struct.
    octets: AtomicUsize,
}

impl AliasTable {
    /// Returns the table of a new connection, without aliases. Returns `None` for a protocol that
    /// has no aliases, or whose framing does not locate them.
    pub(crate) fn of(messaging: &'static dyn Messaging) -> Option<Self> {
        let needs = messaging.needs();
        let at = messaging.framing()?.alias?;
        (needs.aliases > 0).then(|| Self {
            messaging,
            bare: at.bare,
            most: needs.aliases.min(MOST),
            longest: needs.alias_octets,
            known: [const { OnceLock::new() }; MOST as usize / AT_ONCE],
            octets: AtomicUsize::new(0),
        })
    }

    /// Returns the context of requests that use this alias, if the alias was defined.
    #[inline(always)]
    pub(crate) fn get(&self, number: u16) -> Option<&Arc<FrameContext>> {
        let number = usize::from(number);
        let some = self.known.get(number / AT_ONCE)?.get()?;
        some[number % AT_ONCE].get()
    }

    /// Processes a complete Request: stores the alias that it defines, and returns the context of the
    /// alias that it refers to. The same Request may be passed again.
    ///
    /// # Errors
    /// A [`Violation`] when the Request refers to an undefined alias, or defines more than the
    /// limits allow.
    #[inline(never)]
    pub(crate) fn learn(&self, frame: &Frame<'_>) -> Result<Option<&Arc<FrameContext>>, Violation> {
        let said = self.messaging.numbered(frame)?;
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

    /// Defines an alias for this object key and operation. Allocates if the alias is new.
    #[cold]
    fn define(&self, number: u16, key: &[u8], operation: &str) -> Result<(), Violation> {
        let octets = key.len() + operation.len();
        if number >= self.most {
            return Err(beyond(
                "alias of an object key and operation",
                number.into(),
                u64::from(self.most) - 1,
            ));
        }
        if octets > usize::from(self.longest) {
            let what = "octets of an object key and operation that get an alias";
            return Err(beyond(what, octets as u64, self.longest.into()));
        }
        let place = usize::from(number);
        let some = self.known[place / AT_ONCE].get_or_init(|| {
            self.octets.fetch_add(mem::size_of::<Some32>(), Ordering::Relaxed);
            Box::new([const { OnceLock::new() }; AT_ONCE])
        });
        let known = some[place % AT_ONCE].get_or_init(|| {
            let held = octets + mem::size_of::<FrameContext>();
            self.octets.fetch_add(held, Ordering::Relaxed);
            let meaning = Aliased::new(key, operation, self.bare);
            Arc::new(FrameContext::of_alias(self.messaging, meaning))
        });
        let same = known
            .aliased()
            .is_some_and(|known| known.key() == key && known.operation() == operation);
        match same {
            true => Ok(()),
            false => Err(Violation::Peer(Misbehaviour::Undefined {
                protocol: self.messaging.name(),
                what: "second meaning of alias",
                value: u32::from(number),
            })),
        }
    }

    /// Returns the number of octets held.
    pub(crate) fn memory(&self) -> usize {
        mem::size_of::<Self>() + self.octets.load(Ordering::Relaxed)
    }
}

fn beyond(what: &'static str, size: u64, limit: u64) -> Violation {
    Violation::Limit { what, size, limit, setting: "fixed", side: Side::Received }
}

impl fmt::Debug for AliasTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AliasTable").field("memory", &self.memory()).finish_non_exhaustive()
    }
}
