//! Requests whose arguments are marshalled once and sent many times.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem;

use oxorb_cdr::{
    ByteOrder, CharSet, Decoder, Dialect, Encoder, Fixed, Result as CdrResult, WcharSet,
};
use oxorb_object::{CompletionStatus, SystemException};

use super::fast_call::{invoke, send_dynamic};
use crate::Ref;
use crate::reference::{Op, OperationError};

/// Request that can be sent again and again, with small changes in between.
///
/// Made by [`Ref::prepare`]. Each sending copies the marshalled arguments as one block. They are marshalled again only
/// for a peer that needs another form (GIOP 1.0 and 1.1, which do not align arguments, or text in another code set).
pub struct PreparedRequest<'a, F> {
    reference: Ref,
    op: &'static Op,
    write: F,
    /// Arguments, marshalled for a position that is a multiple of eight.
    body: Vec<u8>,
    order: ByteOrder,
    /// Rules for characters, if any octets depend on them.
    dialect: Option<Dialect>,
    values: Vec<Box<dyn PreparedValue>>,
    /// Position of each value in `body`, before its padding.
    places: Vec<usize>,
    scratch: Vec<u8>,
    lent: PhantomData<fn(&mut Encoder<'a>)>,
}

/// Positions in a prepared request of values that will change, in the order of [`put`](Self::put).
#[derive(Default)]
pub struct PreparedSlots<'s> {
    known: &'s [Box<dyn PreparedValue>],
    new: Vec<Box<dyn PreparedValue>>,
    places: Vec<usize>,
}

/// Value that can replace another one of its type.
trait PreparedValue: Any + Send + Sync {
    fn put(&self, e: &mut Encoder<'_>);
}

impl<T: Fixed + Send + Sync + 'static> PreparedValue for T {
    fn put(&self, e: &mut Encoder<'_>) {
        e.fixed(self);
    }
}

impl PreparedSlots<'_> {
    /// Writes an argument, or a part of one, that [`PreparedRequest::set`] may change: a number, an enum, or a struct
    /// or array of these. `initial` is its value until then.
    pub fn put<T: Fixed + Send + Sync + 'static>(&mut self, e: &mut Encoder<'_>, initial: T) {
        let slot = self.places.len();
        self.places.push(e.position());
        match self.known.get(slot) {
            Some(value) => value.put(e),
            None => {
                e.fixed(&initial);
                self.new.push(Box::new(initial));
            }
        }
    }
}

impl<'a, F> PreparedRequest<'a, F>
where
    F: Fn(&mut Encoder<'a>, &mut PreparedSlots<'_>) -> CdrResult<()>,
{
    pub(crate) fn new(reference: &Ref, op: &'static Op, write: F) -> Result<Self, SystemException> {
        let order = reference.orb().options().byte_order;
        let dialect = |giop_minor, chars, wchars| Dialect { giop_minor, chars, wchars };
        let marshal = |dialect| {
            let (mut e, mut slots) =
                (Encoder::new(Vec::new(), order, dialect), PreparedSlots::default());
            write(&mut e, &mut slots)?;
            Ok((e.finish().to_vec(), slots.new, slots.places))
        };
        let usual = dialect(2, CharSet::Utf8, WcharSet::Utf16);
        let (body, values, places) = marshal(usual)
            .map_err(|error| SystemException::from_cdr(error, CompletionStatus::No))?;
        let other: CdrResult<_> = marshal(dialect(0, CharSet::Iso8859_1, WcharSet::None));
        let plain = other.is_ok_and(|(other, ..)| other == body);
        Ok(PreparedRequest {
            reference: reference.clone(),
            op,
            write,
            body,
            order,
            dialect: (!plain).then_some(usual),
            values,
            places,
            scratch: Vec::new(),
            lent: PhantomData,
        })
    }

    /// Changes the value that call number `slot` of [`put`](PreparedSlots::put) wrote, counted from 0. Overwrites its
    /// octets only; allocates once for the value, and the first time for a buffer.
    ///
    /// # Panics
    /// If there is no such slot, or its value is of another type.
    pub fn set<T: Fixed + Send + Sync + 'static>(&mut self, slot: usize, value: T) {
        let before: &dyn Any = &*self.values[slot];
        assert!(before.is::<T>(), "slot {slot} of `{}` has another type", self.op.name);
        let place = self.places[slot];
        let padding = &[0; 8][..place & 7];
        let dialect = Dialect::GIOP_1_2; // Values of fixed layout have no characters.
        let mut e = Encoder::new(mem::take(&mut self.scratch), self.order, dialect);
        e.copy_octets(padding);
        e.fixed(&value);
        let encoded = e.finish();
        let octets = &encoded.contiguous()[padding.len()..];
        self.body[place..][..octets.len()].copy_from_slice(octets);
        self.scratch = encoded.into_buffer();
        self.values[slot] = Box::new(value);
    }

    /// Calls a two-way operation, as [`Ref::invoke`] does.
    pub fn invoke<R, E: OperationError>(
        &self,
        result: impl FnOnce(&mut Decoder<'_>) -> CdrResult<R>,
    ) -> Result<R, E> {
        invoke(&self.reference, self.op, &|e| self.arguments(e))?.results(result)
    }

    /// Sends a oneway request, as [`Ref::send`] does.
    pub fn send(&self) -> Result<(), SystemException> {
        send_dynamic(&self.reference, self.op.into(), &|e| self.arguments(e))
    }

    fn arguments(&self, e: &mut Encoder<'a>) -> CdrResult<()> {
        let same_text = self.dialect.is_none_or(|dialect| dialect == e.dialect());
        if same_text && e.order() == self.order && e.position() & 7 == 0 {
            e.copy_octets(&self.body);
            return Ok(());
        }
        let mut slots = PreparedSlots { known: &self.values, ..PreparedSlots::default() };
        (self.write)(e, &mut slots)
    }
}

impl<F> fmt::Debug for PreparedRequest<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedRequest")
            .field("reference", &self.reference)
            .field("operation", &self.op.name)
            .field("octets", &self.body.len())
            .field("slots", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PreparedSlots<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedSlots").field("put", &self.places.len()).finish_non_exhaustive()
    }
}
