use crate::prelude::*;
use alloc::sync::Arc;
use core::any::Any as StdAny;
use core::fmt;

use crate::dynamic::{Walk, skip_exception_id};
use crate::{
    ByteOrder, CharSet, Decode, Decoder, DecoderLimits, Dialect, Dynamic, DynamicError, Encode,
    Encoder, ErrorKind, Result, Scope, TcKind, TypeCode, Typed, WcharSet,
};

/// IDL `any`: a value of any type, with the type.
///
/// An inserted value is encoded only when it is sent, and a received one is decoded only when it is
/// requested: an `any` that is merely passed on is not decoded at all, as long as byte order and
/// code sets stay the same. Cloning costs at most two atomic increments.
///
/// Two anys are `==` when their types and their values are equal, whatever their origin.
///
/// ```
/// use oxorb_cdr::{Any, ByteOrder, Decode, Decoder, Dialect, Encode, Encoder};
///
/// let any = Any::new(vec![1i32, 2]);
/// let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
/// any.encode(&mut encoder)?;
///
/// let message = encoder.finish().to_vec();
/// let received = Any::decode(&mut Decoder::new(&message, ByteOrder::Big, Dialect::GIOP_1_2))?;
/// assert_eq!(received.type_code().to_string(), "sequence<long>");
/// assert_eq!(received.get::<Vec<i32>>()?, Some(vec![1, 2]));
/// assert_eq!(received.get::<String>()?, None);
/// assert_eq!(received, any);
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Any {
    ty: TypeCode,
    content: Content,
}

#[derive(Clone, Default)]
enum Content {
    /// Sole value of `null` and `void`.
    #[default]
    Nothing,
    Typed(Arc<dyn Held>),
    Dynamic(Arc<Dynamic>),
    Received(Arc<Received>),
}

/// Value that can be encoded, and downcast to its own type.
trait Held: Send + Sync {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()>;
    fn as_std_any(&self) -> &dyn StdAny;
}

impl<T: Encode + Send + Sync + 'static> Held for T {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        Encode::encode(self, e)
    }

    fn as_std_any(&self) -> &dyn StdAny {
        self
    }
}

/// Octets of a received value, with everything that is necessary to decode them.
struct Received {
    /// Padding of `phase` octets, so that the value keeps its alignment, followed by the value.
    octets: Box<[u8]>,
    phase: usize,
    order: ByteOrder,
    dialect: Dialect,
    limits: DecoderLimits,
    /// Scope of references and valuetypes within the value.
    scope: Option<Arc<dyn Scope>>,
}

impl Any {
    /// Creates an any that holds a value. Encodes nothing yet; allocates once.
    pub fn new<T: Typed + Encode + Send + Sync + 'static>(value: T) -> Self {
        Self { ty: T::type_code(), content: Content::Typed(Arc::new(value)) }
    }

    /// Creates an any whose type Rust cannot express: an alias, or a struct with members of alias
    /// types. Returns `None` when `ty` is not [equivalent](TypeCode::equivalent) to the type of the
    /// value.
    ///
    /// ```
    /// use oxorb_cdr::{Any, TypeCode};
    ///
    /// let name = TypeCode::alias("IDL:Name:1.0", "Name", TypeCode::STRING);
    /// let any = Any::new_as(name, String::from("x")).unwrap();
    /// assert_eq!(any.type_code().id(), Some("IDL:Name:1.0"));
    /// assert!(Any::new_as(TypeCode::LONG, String::from("x")).is_none());
    /// ```
    pub fn new_as<T: Typed + Encode + Send + Sync + 'static>(
        ty: TypeCode,
        value: T,
    ) -> Option<Self> {
        ty.equivalent(&T::type_code()).then(|| Self { ty, ..Self::new(value) })
    }

    /// Creates an any from a value known only at run time, if it is a value of `ty`. Checking costs
    /// as much as encoding.
    pub fn with_type(ty: TypeCode, value: Dynamic) -> Result<Self, DynamicError> {
        value.check(&ty)?;
        Ok(Self { ty, content: Content::Dynamic(Arc::new(value)) })
    }

    /// Returns the size in octets of a received value; `None` for an inserted value, which is
    /// encoded only when it is sent.
    pub fn received_octets(&self) -> Option<usize> {
        match &self.content {
            Content::Received(received) => Some(received.octets.len()),
            _ => None,
        }
    }

    /// Returns the type of the value; [`TypeCode::NULL`] when there is none.
    #[inline]
    pub fn type_code(&self) -> &TypeCode {
        &self.ty
    }

    /// Returns the value as a `T`, or `None` if its type is not [equivalent](TypeCode::equivalent)
    /// to that of `T`. Every object reference can also be extracted as an `Object`, and every
    /// valuetype as a `ValueBase` (like `Any::to_object` and `Any::to_value` of the C++ mapping,
    /// 4.16), because omniORB declares the type of the interface even for an `Object` that was
    /// inserted.
    ///
    /// Clones an inserted `T`, decodes a received one. Fails if received octets turn out to be
    /// invalid. Received object references belong to the ORB that received them.
    pub fn get<T>(&self) -> Result<Option<T>>
    where
        T: Typed + Clone + for<'de> Decode<'de> + 'static,
    {
        self.extract(None)
    }

    /// Returns the value as [`get`](Self::get), for an any that no ORB received: `scope` is passed
    /// to [`Decoder::with_scope`] to make object references usable.
    pub fn get_in<T>(&self, scope: &dyn Scope) -> Result<Option<T>>
    where
        T: Typed + Clone + for<'de> Decode<'de> + 'static,
    {
        self.extract(Some(scope))
    }

    /// Returns the value if it was inserted as a `T`. Does not decode, and costs nothing.
    pub fn downcast_ref<T: 'static>(&self) -> Option<&T> {
        match &self.content {
            Content::Typed(value) => value.as_std_any().downcast_ref(),
            _ => None,
        }
    }

    /// Returns a decoder of the octets of a received value, to read parts of it in place. `None`
    /// for an inserted value. The value of an exception begins with its repository id.
    ///
    /// ```
    /// use oxorb_cdr::{Any, ByteOrder, Decode, Decoder, Dialect};
    ///
    /// let message = [0, 0, 0, 3, 0, 0, 0, 7]; // tk_long 7
    /// let any = Any::decode(&mut Decoder::new(&message, ByteOrder::Big, Dialect::GIOP_1_2))?;
    /// assert_eq!(any.decoder().unwrap().long()?, 7);
    /// assert!(Any::new(7).decoder().is_none());
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    pub fn decoder(&self) -> Option<Decoder<'_>> {
        match &self.content {
            Content::Received(received) => Some(received.decoder()),
            _ => None,
        }
    }

    /// Returns the tree of a value that was inserted as one, without a copy.
    pub fn as_dynamic(&self) -> Option<&Dynamic> {
        match &self.content {
            Content::Dynamic(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value as a tree.
    pub fn dynamic(&self) -> Result<Dynamic, DynamicError> {
        match &self.content {
            Content::Nothing => Ok(Dynamic::Null),
            Content::Dynamic(value) => Ok((**value).clone()),
            Content::Received(received) => Dynamic::decode(&self.ty, &mut received.decoder()),
            Content::Typed(_) => Dynamic::decode(&self.ty, &mut self.received()?.decoder()),
        }
    }

    /// Writes the type and the value. Unlike [`Encode::encode`], gathers nothing but copies
    /// everything.
    pub(crate) fn write(&self, e: &mut Encoder<'_>) -> Result<()> {
        self.ty.as_ref().encode(e)?;
        match &self.content {
            Content::Nothing => Ok(()),
            Content::Dynamic(value) => self.write_dynamic(value, e),
            Content::Received(received) => self.write_received(received, e, Encoder::copy_octets),
            // Within chunks, valuetypes are encoded differently than in a separate buffer, so the
            // octets of `encoded` cannot be copied.
            Content::Typed(_) if e.is_chunked() && self.ty.as_ref().is_bound() => {
                let at = e.position();
                let value = self.dynamic();
                value.and_then(|value| value.encode(&self.ty, e)).map_err(|error| error.to_cdr(at))
            }
            Content::Typed(_) => {
                let scratch = self.encoded(e.order(), e.dialect(), e.phase() & 7)?;
                e.copy_octets(scratch.value());
                Ok(())
            }
        }
    }

    fn extract<T>(&self, scope: Option<&dyn Scope>) -> Result<Option<T>>
    where
        T: Typed + Clone + for<'de> Decode<'de> + 'static,
    {
        if let Some(value) = self.downcast_ref::<T>() {
            return Ok(Some(value.clone()));
        }
        if !self.is_a(&T::type_code()) {
            return Ok(None);
        }
        let read = |received: &Received| {
            let mut decoder = received.decoder();
            if let Some(scope) = scope {
                decoder = decoder.with_scope(scope);
            }
            if self.is_exception() {
                skip_exception_id(self.ty.as_ref().resolved().id(), &mut decoder)?;
            }
            let value = T::decode(&mut decoder)?;
            decoder.finish()?;
            Ok(Some(value))
        };
        match &self.content {
            Content::Received(received) => read(received),
            _ => read(&self.received()?),
        }
    }

    /// Reports whether the value can be read as `wanted`. Any object reference can also be read as
    /// an `Object`, and any valuetype as a `ValueBase`.
    fn is_a(&self, wanted: &TypeCode) -> bool {
        let kind = self.ty.as_ref().resolved().kind();
        self.ty.equivalent(wanted)
            || kind == TcKind::Objref && *wanted == TypeCode::OBJECT
            || kind == TcKind::Value && *wanted == TypeCode::VALUE_BASE
    }

    /// Encodes an inserted value, as if it had been received.
    fn received(&self) -> Result<Received> {
        let dialect = |chars| Dialect { giop_minor: 2, chars, wchars: WcharSet::Utf16 };
        match self.encoded(ByteOrder::NATIVE, dialect(CharSet::Utf8), 0) {
            // A `char` such as `é` is one octet in ISO 8859-1 but not in UTF-8, so the other code
            // set may succeed.
            Err(error) if matches!(error.kind, ErrorKind::NotInCodeSet(_)) => {
                self.encoded(ByteOrder::NATIVE, dialect(CharSet::Iso8859_1), 0)
            }
            result => result,
        }
    }

    fn encoded(&self, order: ByteOrder, dialect: Dialect, phase: usize) -> Result<Received> {
        let mut encoder = Encoder::new(Vec::new(), order, dialect);
        encoder.copy_octets(&[0; 8][..phase]);
        self.encode_value(&mut encoder)?;
        Ok(Received {
            octets: encoder.finish().to_vec().into(),
            phase,
            order,
            dialect,
            limits: DecoderLimits::default(),
            scope: None,
        })
    }

    /// Writes the value without its type.
    pub(crate) fn encode_value<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        match &self.content {
            Content::Nothing => Ok(()),
            Content::Dynamic(value) => self.write_dynamic(value, e),
            Content::Received(received) => self.write_received(received, e, Encoder::octets),
            Content::Typed(value) => {
                if self.is_exception() {
                    // An exception in an any begins with its repository id, but the type's own
                    // `encode` writes only the members.
                    let id = self.ty.as_ref().resolved().id().unwrap_or_default();
                    e.ulong(id.len() as u32 + 1);
                    e.copy_octets(id.as_bytes());
                    e.octet(0);
                }
                value.encode(e)
            }
        }
    }

    fn write_dynamic(&self, value: &Dynamic, e: &mut Encoder<'_>) -> Result<()> {
        let at = e.position();
        value.encode(&self.ty, e).map_err(|error| error.to_cdr(at))
    }

    /// Writes received octets unchanged if they have the same meaning here, else decodes and
    /// re-encodes them.
    fn write_received<'r, 'a>(
        &self,
        received: &'r Received,
        e: &mut Encoder<'a>,
        copy: impl FnOnce(&mut Encoder<'a>, &'r [u8]),
    ) -> Result<()> {
        let ty = self.ty.as_ref();
        let same_text = received.dialect == e.dialect() || !ty.holds_text();
        let shift = received.phase.wrapping_sub(e.phase());
        let same_places = shift & (ty.largest_alignment() - 1) == 0;
        let alone = !(e.is_chunked() && ty.is_bound());
        if same_text && same_places && alone && received.order == e.order() {
            copy(e, received.value());
            return Ok(());
        }
        let at = e.position();
        let value = Dynamic::decode(&self.ty, &mut received.decoder());
        value.and_then(|value| value.encode(&self.ty, e)).map_err(|error| error.to_cdr(at))
    }

    fn is_exception(&self) -> bool {
        self.ty.as_ref().resolved().kind() == TcKind::Except
    }
}

impl Received {
    fn value(&self) -> &[u8] {
        &self.octets[self.phase..]
    }

    fn decoder(&self) -> Decoder<'_> {
        let decoder = Decoder::new(&self.octets, self.order, self.dialect)
            .at(self.phase)
            .with_limits(self.limits);
        match &self.scope {
            Some(scope) => decoder.with_scope(&**scope),
            None => decoder,
        }
    }
}

impl Encode for Any {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.ty.as_ref().encode(e)?;
        self.encode_value(e)
    }
}

impl<'de> Decode<'de> for Any {
    const MIN_SIZE: usize = 4;

    /// Finds the end of the value, and copies its octets. Anys may be nested up to `max_depth`
    /// levels.
    ///
    /// Valuetype instances that the any shares with the rest of the message are duplicated.
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let ty = TypeCode::decode(d)?;
        if ty.kind() == TcKind::Null {
            return Ok(Self::default());
        }
        Self::read_value(ty, &mut Walk::within(d), d)
    }
}

impl Any {
    pub(crate) fn read(walk: &mut Walk, d: &mut Decoder<'_>) -> Result<Self> {
        let ty = TypeCode::decode(d)?;
        Self::read_value(ty, walk, d)
    }

    /// Reads a value of a known type.
    pub(crate) fn read_value(ty: TypeCode, walk: &mut Walk, d: &mut Decoder<'_>) -> Result<Self> {
        if !ty.is_complete() {
            return Err(d.error(ErrorKind::BadTypeCode));
        }
        let bound = ty.as_ref().is_bound();
        // A value without valuetypes and references contains no indirections, and outside
        // valuetypes there are no chunks. Its octets are then contiguous and can be decoded later
        // without the rest of the message.
        let Some(octets) = (match bound || d.values.is_some() {
            false => {
                let start = d.cursor();
                d.nested(|d| walk.skip(ty.as_ref(), d))?;
                d.all_octets().get(start..d.cursor())
            }
            true => Self::read_bound(&ty, walk, d)?,
        }) else {
            return Self::read_apart(ty, walk, d);
        };
        if !octets.is_empty() {
            d.charge(1, size_of::<Received>() + octets.len())?;
        }
        Ok(Self::of_octets(ty, octets, d))
    }

    /// Skips a value that may contain valuetypes, and returns its octets if they can be decoded
    /// without the octets before them. Otherwise moves back to the start of the value and returns
    /// `None`.
    fn read_bound<'de>(
        ty: &TypeCode,
        walk: &mut Walk,
        d: &mut Decoder<'de>,
    ) -> Result<Option<&'de [u8]>> {
        let (start, chunked) = (d.place(), d.is_chunked());
        let (from, chunk) = (d.cursor(), d.all_octets());
        let around = core::mem::take(&mut walk.met_value);
        let bounds = d.start_any();
        d.nested(|d| walk.skip(ty.as_ref(), d))?;
        let leads_out = d.end_any(bounds);
        let met_value = core::mem::replace(&mut walk.met_value, around);
        let in_one_chunk = !chunked || (!met_value && core::ptr::eq(chunk, d.all_octets()));
        if leads_out || !in_one_chunk {
            d.return_from(start);
            return Ok(None);
        }
        Ok(d.whole().get(from..d.cursor()))
    }

    /// Decodes a value that depends on other octets of the message, and re-encodes it so that it
    /// can be decoded alone.
    fn read_apart(ty: TypeCode, walk: &mut Walk, d: &mut Decoder<'_>) -> Result<Self> {
        let at = d.position();
        let value = d.nested(|d| Ok(d.afresh(|d| walk.read(ty.as_ref(), d))))?;
        let mut encoder = Encoder::new(Vec::new(), d.order(), d.dialect());
        value
            .and_then(|value| value.encode(&ty, &mut encoder))
            .map_err(|error| error.to_cdr(at))?;
        let octets = encoder.finish().to_vec();
        d.check_repeated(octets.len())?;
        d.charge(1, size_of::<Received>() + octets.len())?;
        let scope = d.kept_scope();
        let received = Received {
            octets: octets.into(),
            phase: 0,
            order: d.order(),
            dialect: d.dialect(),
            limits: d.limits(),
            scope,
        };
        let content = Content::Received(Arc::new(received));
        Ok(Self { ty, content })
    }

    fn of_octets(ty: TypeCode, value: &[u8], d: &Decoder<'_>) -> Self {
        let content = if value.is_empty() && matches!(ty.kind(), TcKind::Null | TcKind::Void) {
            Content::Nothing
        } else {
            let phase = d.phase().wrapping_sub(value.len()) & 7;
            let bound = ty.as_ref().is_bound();
            Content::Received(Arc::new(Received {
                octets: [&[0; 8][..phase], value].concat().into(),
                phase,
                order: d.order(),
                dialect: d.dialect(),
                limits: d.limits(),
                scope: if bound { d.kept_scope() } else { None },
            }))
        };
        Self { ty, content }
    }
}

impl PartialEq for Any {
    /// Compares the types, and if they are equal, decodes and compares both values.
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty
            && match (self.dynamic(), other.dynamic()) {
                (Ok(left), Ok(right)) => left == right,
                _ => false,
            }
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Any<{}>(", self.ty.as_ref().mention())?;
        match self.dynamic() {
            Ok(value) => value.fmt(f)?,
            Err(error) => write!(f, "{error}")?,
        }
        f.write_str(")")
    }
}
