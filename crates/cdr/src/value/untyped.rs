//! Values whose types are known only as type codes: reading and writing of headers, sharing and
//! chunks.

use crate::prelude::*;
use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::read::{Start, TypeInfo};
use super::{ValueBase, Valuetype};
use crate::{Decoder, ErrorKind, Result, Shape, TcKind, TypeCode, TypeRef, ValueModifier};

/// Identity of a [`DynamicValue`](crate::DynamicValue), regardless of its state.
///
/// A clone is the same key. Cloning costs one atomic increment, creating a key one allocation.
#[derive(Clone)]
pub struct ValueKey(Arc<u32>);

impl ValueKey {
    /// Creates a key that differs from all others.
    pub fn new() -> Self {
        Self::numbered(0)
    }

    /// Creates a key as [`new`](Self::new), with the number of the value in its message, for
    /// `Debug` output.
    pub(super) fn numbered(number: u32) -> Self {
        Self(Arc::new(number))
    }
}

impl Default for ValueKey {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for ValueKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ValueKey {}

impl Ord for ValueKey {
    /// Compares addresses, in arbitrary order.
    fn cmp(&self, other: &Self) -> Ordering {
        Arc::as_ptr(&self.0).cmp(&Arc::as_ptr(&other.0))
    }
}

impl PartialOrd for ValueKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for ValueKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Debug for ValueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Value read by its type code.
#[derive(Clone, Debug)]
pub(crate) struct Untyped {
    pub(crate) key: ValueKey,
    pub(crate) ty: TypeCode,
}

/// Start of a value, or of what a message contains in its place: null or an indirection.
pub(crate) enum Found<'de> {
    Null,
    /// Value read before.
    Again(Untyped),
    /// Value that was skipped before: read it, and [return](Decoder::come_back).
    Elsewhere(Detour<'de>),
    /// Value that starts here.
    Value(Head<'de>),
}

/// Detour to a value that was skipped before: its start, and the position at which reading
/// continues afterwards.
pub(crate) struct Detour<'de> {
    back: super::chunks::Back<'de>,
    started: usize,
    pub(crate) head: Head<'de>,
}

/// Header of a value.
pub(crate) struct Head<'de> {
    /// Position of the value's tag.
    pub(crate) at: usize,
    pub(crate) chunked: bool,
    ids: TypeInfo<'de>,
}

/// Result of matching a value's header against known types.
pub(crate) enum Known {
    /// Known type, and the id of the sent type if the value is truncated.
    As(TypeCode, Option<Arc<str>>),
    /// Neither the type nor any type that the value can be truncated to is known.
    Not,
}

/// State of an outer any, saved while another one is skipped.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    any_start: usize,
    leads_out: bool,
}

/// Maximum number of types in a graph that are searched for a repository id, because each value of
/// a message causes a search.
const SEARCHED: usize = 256;

/// Number of octets that may be re-read or re-encoded for anys that depend on octets outside them,
/// in addition to twice the size of the message.
const REPEATED: usize = 64 << 10;

impl<'de> Decoder<'de> {
    /// Reads a value, up to its state, or null, or an indirection.
    pub(crate) fn untyped(&mut self) -> Result<Found<'de>> {
        match self.value_start()? {
            Start::Null => Ok(Found::Null),
            Start::Value { tag, at } => self.head(tag, at).map(Found::Value),
            Start::Indirection { to, offset } => {
                if let Some(found) = self.incoming().untyped.find(to) {
                    return Ok(Found::Again(found.clone()));
                }
                let level = self.level_of(to);
                let level = level.ok_or_else(|| self.bad_indirection(offset))?;
                self.check_repeated(0)?;
                let back = self.go_back(to, level);
                let started = self.cursor();
                match self.value_start()? {
                    Start::Value { tag, at } => {
                        Ok(Found::Elsewhere(Detour { back, started, head: self.head(tag, at)? }))
                    }
                    _ => Err(self.bad_indirection(offset)),
                }
            }
        }
    }

    /// Returns to the position after the indirection.
    pub(crate) fn come_back(&mut self, detour: Detour<'de>) {
        let octets = self.cursor().saturating_sub(detour.started);
        self.incoming().repeated += octets;
        self.return_from(detour.back);
    }

    /// Counts octets that were re-encoded.
    pub(crate) fn check_repeated(&mut self, octets: usize) -> Result<()> {
        let most = REPEATED + 2 * self.whole().len();
        let values = self.incoming();
        values.repeated += octets;
        match values.repeated > most {
            true => Err(self.error(ErrorKind::TooMuchShared)),
            false => Ok(()),
        }
    }

    /// Skips a null, an indirection or a header, after checking it; returns the head if there is
    /// one.
    pub(crate) fn untyped_header(&mut self) -> Result<Option<Head<'de>>> {
        match self.value_start()? {
            Start::Null => Ok(None),
            Start::Value { tag, at } => self.head(tag, at).map(Some),
            Start::Indirection { to, offset } => {
                let known = self.incoming().untyped.find(to).is_some();
                match known || self.level_of(to).is_some() {
                    true => Ok(None),
                    false => Err(self.bad_indirection(offset)),
                }
            }
        }
    }

    fn head(&mut self, tag: u32, at: usize) -> Result<Head<'de>> {
        let level = self.incoming().chunking.level();
        let ids = self.value_header(tag, at)?;
        self.gone_past(at, level);
        Ok(Head { at, chunked: tag & super::tag::CHUNKED != 0, ids })
    }

    /// Returns the type of a value where `formal` is declared.
    pub(crate) fn known_type(&self, head: &Head<'_>, formal: TypeRef<'_>) -> Result<Known> {
        let TypeInfo::Ids(ids) = &head.ids else {
            return Ok(match formal.shape() {
                Shape::ValueBox(_) => Known::As(formal.to_type_code(), None),
                Shape::Value { modifier, .. }
                    if modifier != ValueModifier::Abstract && !formal.is_value_base() =>
                {
                    Known::As(formal.to_type_code(), None)
                }
                _ => Known::Not,
            });
        };
        let known = ids.iter().enumerate().find_map(|(index, id)| {
            let ty = self.type_of_id(id, formal)?;
            Some((ty, (index > 0).then(|| Arc::from(&*ids[0]))))
        });
        match known {
            None => Ok(Known::Not),
            Some((ty, _)) if !ty.as_ref().is_value_of(formal) => {
                Err(ErrorKind::ValueMismatch.at(head.at))
            }
            Some((ty, cut)) => Ok(Known::As(ty, cut)),
        }
    }

    fn type_of_id(&self, id: &str, formal: TypeRef<'_>) -> Option<TypeCode> {
        let has_state = |ty: TypeRef<'_>| match ty.shape() {
            Shape::ValueBox(_) => true,
            Shape::Value { modifier, .. } => modifier != ValueModifier::Abstract,
            _ => false,
        };
        if formal.id() == Some(id) && has_state(formal) && !formal.is_value_base() {
            return Some(formal.to_type_code());
        }
        let registered = self.registry().and_then(|registry| registry.type_code(id));
        let found = registered
            .cloned()
            .or_else(|| formal.find_among(id, SEARCHED))
            .or_else(|| self.registry()?.asked(id).cloned());
        found.filter(|ty| has_state(ty.as_ref()))
    }

    /// Enters the state of a value; returns its key, and the state for
    /// [`leave_untyped`](Self::leave_untyped).
    pub(crate) fn enter_untyped(
        &mut self,
        head: &Head<'_>,
        ty: &TypeCode,
    ) -> Result<(ValueKey, bool)> {
        self.enter_gone_past(head)?;
        let untyped = &mut self.incoming().untyped;
        let key = ValueKey::numbered(untyped.len() as u32 + 1);
        let (ty, known) = (ty.clone(), key.clone());
        untyped.insert(head.at, Untyped { key: known, ty });
        Ok((key, self.enter_value(head.chunked)))
    }

    /// Enters a value as [`enter_untyped`](Self::enter_untyped), without creating a key.
    pub(crate) fn enter_unread(&mut self, head: &Head<'_>) -> Result<bool> {
        self.enter_gone_past(head)?;
        Ok(self.enter_value(head.chunked))
    }

    fn enter_gone_past(&mut self, head: &Head<'_>) -> Result<()> {
        let limit = self.limits().max_value_depth;
        let depth = &mut self.incoming().depth;
        if *depth >= limit {
            return Err(ErrorKind::TooDeep { limit }.at(head.at));
        }
        *depth += 1;
        Ok(())
    }

    /// Leaves the state of a value. If `rest` is set, a part of the state may be unread.
    pub(crate) fn leave_untyped(&mut self, outer: bool, rest: bool) -> Result<()> {
        self.leave_value(outer, rest)?;
        self.incoming().depth -= 1;
        Ok(())
    }

    /// Starts to record whether anything refers to before the current position, which is the start
    /// of an any.
    pub(crate) fn start_any(&mut self) -> Bounds {
        let start = self.position();
        let values = self.incoming();
        let bounds = Bounds { any_start: values.any_start, leads_out: values.leads_out };
        (values.any_start, values.leads_out) = (start, false);
        bounds
    }

    /// Reports whether anything referred to before the any that ends here.
    pub(crate) fn end_any(&mut self, before: Bounds) -> bool {
        let values = self.incoming();
        let leads_out = values.leads_out;
        (values.any_start, values.leads_out) = (before.any_start, before.leads_out);
        leads_out
    }

    /// Runs `read` as if no value had been read before, so that it creates new values for all that
    /// it reads.
    pub(crate) fn afresh<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let untyped = core::mem::take(&mut self.incoming().untyped);
        let result = read(self);
        self.incoming().untyped = untyped;
        result
    }

    /// Returns all octets of the message or encapsulation, including those after the current chunk.
    pub(crate) fn whole(&mut self) -> &'de [u8] {
        match self.is_chunked() {
            true => self.incoming().chunking.whole(),
            false => self.all_octets(),
        }
    }
}

impl TypeRef<'_> {
    /// Reports whether values of this type are valid where `formal` is declared, as far as type
    /// codes show: they do not contain abstract bases and supported interfaces.
    pub(crate) fn is_value_of(self, formal: TypeRef<'_>) -> bool {
        let is_anything = match formal.shape() {
            Shape::Value { modifier, .. } => {
                modifier == ValueModifier::Abstract || formal.is_value_base()
            }
            Shape::Named(TcKind::AbstractInterface) => true,
            _ => false,
        };
        is_anything
            || self.with_bases().any(|ty| ty.id() == formal.id() && ty.kind() == formal.kind())
    }

    /// Returns the type and its bases with a state, starting with the type itself; at most as many
    /// as repository ids are allowed.
    pub(crate) fn with_bases(self) -> impl Iterator<Item = Self> {
        let base = |ty: &Self| match ty.shape() {
            Shape::Value { base, .. } => base.map(Self::resolved),
            _ => None,
        };
        core::iter::successors(Some(self), base).take(super::read::MAX_IDS)
    }

    /// Returns the types to which values of this type can be truncated, starting with the type
    /// itself.
    pub(crate) fn truncation(self) -> impl Iterator<Item = Self> {
        let mut more = true;
        self.with_bases().take_while(move |ty| {
            let this = more;
            more = ty.is_truncatable();
            this
        })
    }

    pub(crate) fn is_truncatable(self) -> bool {
        matches!(self.shape(), Shape::Value { modifier: ValueModifier::Truncatable, .. })
    }

    /// Reports whether the type is `ValueBase`, which has only values of other types.
    pub(crate) fn is_value_base(self) -> bool {
        self.id() == Some(ValueBase::INFO.id)
    }
}

impl<'a> crate::Encoder<'a> {
    /// Writes the header of a value, or, if the value was written before, an indirection, and
    /// returns `None`. Otherwise the state must follow, and [`end_untyped`](Self::end_untyped) with
    /// the returned flag (whether the value is chunked).
    pub(crate) fn start_untyped(&mut self, key: &ValueKey, ty: &TypeCode) -> Result<Option<bool>> {
        if self.untyped_again(key)?.is_some() {
            return Ok(None);
        }
        self.enter_depth()?;
        self.end_chunk()?;
        let truncatable = ty.as_ref().is_truncatable();
        let chunked = truncatable || self.outgoing().level > 0;
        self.align(4);
        let at = self.position();
        let known = (at, ty.clone());
        self.outgoing().keys.insert(key.clone(), known);
        let id = |ty: TypeRef<'_>| Cow::Owned(ty.id().unwrap_or_default().to_owned());
        let bits = if chunked { super::tag::CHUNKED } else { 0 };
        if truncatable {
            self.ulong(super::tag::VALUE | bits | super::tag::ID_LIST);
            self.length(ty.as_ref().truncation().count(), None)?;
            for ty in ty.as_ref().truncation() {
                self.shared_text(id(ty))?;
            }
        } else {
            self.ulong(super::tag::VALUE | bits | super::tag::ONE_ID);
            self.shared_text(id(ty.as_ref()))?;
        }
        if chunked {
            self.outgoing().level += 1;
            self.start_chunk();
        }
        Ok(Some(chunked))
    }

    /// Writes an indirection to a value that was already written, and returns its type; otherwise
    /// writes nothing and returns `None`.
    pub(crate) fn untyped_again(&mut self, key: &ValueKey) -> Result<Option<TypeCode>> {
        let Some((at, ty)) = self.outgoing().keys.get(key).cloned() else {
            return Ok(None);
        };
        self.indirection(at)?;
        Ok(Some(ty))
    }

    pub(crate) fn end_untyped(&mut self, chunked: bool) -> Result<()> {
        if chunked {
            self.end_value()?;
        }
        self.outgoing().depth -= 1;
        Ok(())
    }

    /// Reports whether the state being written is chunked.
    pub(crate) fn is_chunked(&self) -> bool {
        self.values.as_ref().is_some_and(|values| values.level > 0)
    }
}
