//! Decoding of CDR from a message.

use crate::prelude::*;
mod beyond;
mod charge;
mod fixed;
mod items;
mod lent;
mod reuse;

use alloc::sync::Arc;
use core::any::Any;

pub(crate) use beyond::Here;

use crate::budget::Budget;
use crate::gap::Gap;
use crate::primitive::padding;
use crate::rare::drop_rare;
use crate::value::Incoming;
use crate::{ByteOrder, DecoderLimits, Dialect, Error, ErrorKind, Result, Scope, ValueRegistry};

/// Decoder of CDR, which borrows from the message whatever needs no conversion.
///
/// Reading any octets results in a value or in an [`Error`] with a position; lengths are checked
/// against the remaining octets before memory is allocated for them.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
///
/// let octets = [7, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, b'h', b'i', 0];
/// let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
/// assert_eq!(decoder.octet()?, 7);
/// assert_eq!(decoder.ulong()?, 1);
/// assert_eq!(decoder.string()?, "hi");
/// decoder.finish()?;
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'de> {
    /// Octets from the alignment origin to the end of the current chunk (in the state of a chunked
    /// value) or piece (of a message in pieces).
    octets: &'de [u8],
    /// Position of the next octet, relative to the alignment origin.
    at: usize,
    /// Number of octets in the message before the alignment origin.
    base: usize,
    swap: bool,
    order: ByteOrder,
    dialect: Dialect,
    depth: u16,
    /// Whether large octets stored in the message itself are an error.
    in_place_only: bool,
    limits: DecoderLimits,
    budget: Budget,
    scope: Option<&'de dyn Scope>,
    registry: Option<&'de ValueRegistry>,
    /// Part of the message stored elsewhere; `None` in most messages.
    gap: Option<&'de Gap>,
    /// Valuetypes read so far, and pieces of the message; `None` for most messages, which have
    /// neither.
    pub(crate) values: Option<Box<Incoming<'de>>>,
}

impl<'de> Decoder<'de> {
    /// Creates a decoder at the first octet of a message, which is also the alignment origin.
    #[inline]
    pub fn new(message: &'de [u8], order: ByteOrder, dialect: Dialect) -> Self {
        Self {
            octets: message,
            at: 0,
            base: 0,
            swap: order.is_foreign(),
            order,
            dialect,
            depth: 0,
            in_place_only: false,
            limits: DecoderLimits::default(),
            budget: Budget::START,
            scope: None,
            registry: None,
            gap: None,
            values: None,
        }
    }

    /// Creates a decoder of the octets of an encapsulation, without a length: the data of a
    /// profile, component or context.
    ///
    /// The first octet declares the byte order.
    #[inline]
    pub fn encapsulated(data: &'de [u8], dialect: Dialect) -> Result<Self> {
        Self::new(data, ByteOrder::Big, dialect).announced()
    }

    /// Moves to an offset from the alignment origin. After a move past the end, the next read
    /// fails.
    #[inline]
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        if position > self.octets.len() {
            self.at_a_distance(position);
        } else {
            self.at = position;
        }
        self
    }

    /// Sets the limits.
    #[inline]
    #[must_use]
    pub fn with_limits(mut self, limits: DecoderLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets a scope for decoding values that octets alone do not define, such as object references.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// # use std::sync::Arc;
    /// # use oxorb_cdr::Scope;
    /// #[derive(Clone)]
    /// struct Orb(&'static str);
    ///
    /// impl Scope for Orb {
    ///     fn keep(&self) -> Arc<dyn Scope> {
    ///         Arc::new(self.clone())
    ///     }
    /// }
    ///
    /// let orb = Orb("mine");
    /// let decoder = Decoder::new(&[], ByteOrder::Big, Dialect::new(2)).with_scope(&orb);
    /// assert_eq!(decoder.scope::<Orb>().map(|orb| orb.0), Some("mine"));
    /// ```
    #[inline]
    #[must_use]
    pub fn with_scope(mut self, scope: &'de dyn Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Returns the scope set by [`with_scope`](Self::with_scope), if it is a `T`.
    #[inline]
    pub fn scope<T: 'static>(&self) -> Option<&'de T> {
        (self.scope? as &dyn Any).downcast_ref()
    }

    /// Returns the scope set by [`with_scope`](Self::with_scope), in a form that outlives the
    /// message.
    pub(crate) fn kept_scope(&self) -> Option<Arc<dyn Scope>> {
        self.scope.map(Scope::keep)
    }

    /// Sets a registry of valuetypes, in addition to those that the IDL compiler knew at each
    /// declaration.
    #[inline]
    #[must_use]
    pub fn with_values(mut self, registry: &'de ValueRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Returns the registry set by [`with_values`](Self::with_values), else that of the scope.
    #[inline]
    pub fn registry(&self) -> Option<&'de ValueRegistry> {
        self.registry.or_else(|| self.scope?.values())
    }

    /// Returns the offset of the next item from the start of the message.
    #[inline]
    pub fn position(&self) -> usize {
        self.base + self.at
    }

    /// Returns the number of octets left; inside the state of a chunked value, those left in the
    /// chunk.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.octets.len() - self.at
    }

    /// Returns the byte order in which numbers are read.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the current rules for characters.
    #[inline]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Changes the rules for subsequent characters.
    #[inline]
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Enters an encapsulation: returns a decoder of its octets, with its own byte order and
    /// alignment, one nesting level deeper.
    ///
    /// ```
    /// use oxorb_cdr::{ByteOrder, Decoder, Dialect};
    ///
    /// // In a big-endian message, eight octets whose own order is little-endian; then an octet.
    /// let octets = [0, 0, 0, 8, 1, 0, 0, 0, 5, 0, 0, 0, 9];
    /// let mut outer = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
    /// let mut inner = outer.encapsulation()?;
    /// assert_eq!(inner.ulong()?, 5);
    /// assert_eq!(outer.octet()?, 9);
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    pub fn encapsulation(&mut self) -> Result<Decoder<'de>> {
        let n = self.length(None, 1)?;
        let depth = self.deeper()?;
        let octets = self.octets(n)?;
        let inner = self.inside(octets);
        Decoder { depth, ..inner }.announced()
    }

    /// Returns a decoder of octets just read, whose start is the alignment origin.
    pub(crate) fn inside(&self, octets: &'de [u8]) -> Self {
        Decoder {
            octets,
            at: 0,
            base: self.position() - octets.len(),
            gap: None,
            values: None, // those inside are on their own
            ..*self
        }
    }

    /// Reads a value that may contain values of its own type, one nesting level deeper, so that
    /// nesting stays within the limit.
    #[inline]
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth = self.deeper()?;
        let value = f(self);
        self.depth -= 1;
        value
    }

    /// Finishes reading; remaining octets are an error.
    #[inline]
    pub fn finish(self) -> Result<()> {
        let left = match &self.values {
            None => self.remaining(),
            Some(_) => self.remaining_in_all(),
        };
        let ended = match left {
            0 => Ok(()),
            left => Err(self.error(ErrorKind::TrailingOctets(left))),
        };
        self.end();
        ended
    }

    /// Finishes reading the arguments of a request: remaining octets are an error with
    /// [`DecoderLimits::strict`]. Some ORBs send them.
    #[inline]
    pub fn finish_arguments(self) -> Result<()> {
        if self.limits.strict {
            return self.finish();
        }
        self.end();
        Ok(())
    }

    /// Finishes reading regardless of remaining octets, in fewer instructions than a drop takes.
    #[inline]
    pub fn end(self) {
        drop_rare(self.values);
    }

    /// Returns an error at the next item.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.position())
    }

    /// Returns an error at the item just read, which took `octets` octets.
    #[cold]
    pub fn error_back(&self, octets: usize, kind: ErrorKind) -> Error {
        kind.at(self.position() - octets)
    }

    /// Returns the offset from the alignment origin.
    #[inline]
    pub(crate) fn phase(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn limits(&self) -> DecoderLimits {
        self.limits
    }

    /// Returns the position in the message at which an item of this alignment will start.
    #[inline]
    pub(crate) fn start(&self, align: usize) -> usize {
        self.position() + padding(self.at, align)
    }

    fn announced(mut self) -> Result<Self> {
        self.order = match self.octet()? {
            0 => ByteOrder::Big,
            1 => ByteOrder::Little,
            other => return Err(self.error_back(1, ErrorKind::BadByteOrder(other))),
        };
        self.swap = self.order.is_foreign();
        Ok(self)
    }

    #[inline]
    fn deeper(&self) -> Result<u16> {
        if self.depth >= self.limits.max_depth {
            return Err(self.error(ErrorKind::TooDeep { limit: self.limits.max_depth }));
        }
        Ok(self.depth + 1)
    }

    #[cold]
    #[inline(never)]
    fn truncated(&self, needed: usize) -> Error {
        self.error(ErrorKind::Truncated { needed, left: self.remaining() })
    }

    /// Reads ahead, without moving the position.
    pub(crate) fn peek<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let back = self.values.is_some().then(|| self.place());
        let at = self.at;
        let result = read(self);
        match back {
            Some(back) => self.return_from(back),
            None => self.at = at,
        }
        result
    }

    pub(crate) fn all_octets(&self) -> &'de [u8] {
        self.octets
    }

    pub(crate) fn set_octets(&mut self, octets: &'de [u8]) {
        self.octets = octets;
    }

    /// Returns the offset of the next item from the alignment origin.
    pub(crate) fn cursor(&self) -> usize {
        self.at
    }

    /// Moves to an offset from the alignment origin.
    pub(crate) fn jump(&mut self, cursor: usize) {
        self.at = cursor;
    }

    /// Moves to a position in the message that is within the current octets.
    pub(crate) fn jump_to(&mut self, position: usize) {
        self.at = position - self.base;
    }
}
