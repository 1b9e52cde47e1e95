//! Reading CDR from a message.

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
use crate::{ByteOrder, Dialect, Error, ErrorKind, Limits, Result, Scope, ValueRegistry};

/// Reads CDR from a message, borrowing from it what need not be converted.
///
/// Whatever the octets are, reading them ends with a value or an [`Error`] that says where; lengths are checked against
/// the octets that are there before anything is allocated for them.
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
    /// Starts at the alignment origin. Ends with the chunk, inside the state of a value that comes in chunks, and with the
    /// piece, of a message that came in pieces.
    octets: &'de [u8],
    /// Position of the next octet, from the alignment origin.
    at: usize,
    /// Octets of the message before the alignment origin.
    base: usize,
    swap: bool,
    order: ByteOrder,
    dialect: Dialect,
    depth: u16,
    /// Large octets that lie nowhere else than in the message are an error.
    in_place_only: bool,
    limits: Limits,
    budget: Budget,
    scope: Option<&'de dyn Scope>,
    registry: Option<&'de ValueRegistry>,
    /// Octets of the message that lie elsewhere; none in most messages.
    gap: Option<&'de Gap>,
    /// Values that were read; `None` in most messages.
    pub(crate) values: Option<Box<Incoming<'de>>>,
}

impl<'de> Decoder<'de> {
    /// Reads a message from its first octet, where alignment starts too.
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
            limits: Limits::default(),
            budget: Budget::START,
            scope: None,
            registry: None,
            gap: None,
            values: None,
        }
    }

    /// Reads the octets of an encapsulation, without a length: the data of a profile, component or context.
    ///
    /// The first octet says the byte order.
    #[inline]
    pub fn encapsulated(data: &'de [u8], dialect: Dialect) -> Result<Self> {
        Self::new(data, ByteOrder::Big, dialect).announced()
    }

    /// Goes to this many octets after the alignment origin. Beyond the end, whatever is read next is an error.
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

    /// Refuses what exceeds these limits.
    #[inline]
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Carries something to whoever decodes values that octets alone do not make, such as object references.
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

    /// Returns the scope that [`with_scope`](Self::with_scope) was given, if it is a `T`.
    #[inline]
    pub fn scope<T: 'static>(&self) -> Option<&'de T> {
        (self.scope? as &dyn Any).downcast_ref()
    }

    /// Returns the scope that [`with_scope`](Self::with_scope) was given, to outlive the message.
    pub(crate) fn kept_scope(&self) -> Option<Arc<dyn Scope>> {
        self.scope.map(Scope::keep)
    }

    /// Knows the valuetypes in a registry besides those that the IDL compiler saw at each place.
    #[inline]
    #[must_use]
    pub fn with_values(mut self, registry: &'de ValueRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Returns the registry that [`with_values`](Self::with_values) was given, else that of the
    /// scope.
    #[inline]
    pub fn registry(&self) -> Option<&'de ValueRegistry> {
        self.registry.or_else(|| self.scope?.values())
    }

    /// Octets from the start of the message to what is read next.
    #[inline]
    pub fn position(&self) -> usize {
        self.base + self.at
    }

    /// Octets left to read; inside the state of a value that comes in chunks, octets left in the chunk.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.octets.len() - self.at
    }

    /// The order numbers are read in.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The rules in force for characters.
    #[inline]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Changes the rules for the characters that follow.
    #[inline]
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Enters an encapsulation: a reader of its octets alone, with its own byte order and alignment, one level deeper.
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

    /// A decoder of octets that were just read, aligned anew.
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

    /// Reads a value that may contain values of its own type, one level deeper, so that nesting stays within the limit.
    #[inline]
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth = self.deeper()?;
        let value = f(self);
        self.depth -= 1;
        value
    }

    /// Ends reading; octets that are left are an error.
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

    /// Ends reading the arguments of a request: octets that are left are an error if [`Limits::strict`]. Other ORBs send some.
    #[inline]
    pub fn finish_arguments(self) -> Result<()> {
        if self.limits.strict {
            return self.finish();
        }
        self.end();
        Ok(())
    }

    /// Ends reading, whatever is left, in fewer instructions than dropping takes.
    #[inline]
    pub fn end(self) {
        drop_rare(self.values);
    }

    /// An error about what is read next.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.position())
    }

    /// An error about what was just read, which took so many octets.
    #[cold]
    pub fn error_back(&self, octets: usize, kind: ErrorKind) -> Error {
        kind.at(self.position() - octets)
    }

    /// Octets from the alignment origin.
    #[inline]
    pub(crate) fn phase(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn limits(&self) -> Limits {
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

    /// Reads ahead: reading goes on where it is.
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

    /// Octets from the alignment origin to what is read next.
    pub(crate) fn cursor(&self) -> usize {
        self.at
    }

    /// Goes to this many octets after the alignment origin.
    pub(crate) fn jump(&mut self, cursor: usize) {
        self.at = cursor;
    }

    /// Goes to a position in the message that lies in these octets.
    pub(crate) fn jump_to(&mut self, position: usize) {
        self.at = position - self.base;
    }
}
