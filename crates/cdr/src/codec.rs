//! Encapsulation of values outside messages.

use crate::dynamic::Walk;
use crate::prelude::*;
use crate::{
    Any, ByteOrder, Decode as _, Decoder, DecoderLimits, Dialect, Encoder, Result, Scope, TypeCode,
};

/// Codec that converts values to the octets of an encapsulation and back: the data of a service
/// context or of a component in a reference (`IOP::Codec` for `ENCODING_CDR_ENCAPS`; CORBA 3.4,
/// 16.8).
///
/// `encode` writes the type before the value; `encode_value` omits it, for receivers that know it.
/// The dialect determines the GIOP version and code sets inside (`create_codec_with_codesets`).
/// Allocates the result; no lock.
///
/// ```
/// use oxorb_cdr::{Any, Codec, TypeCode};
///
/// let codec = Codec::default();
/// let octets = codec.encode_value(&Any::new(7_u32))?;
/// assert_eq!(octets.len(), 8); // byte order, padding, the value
/// let back = codec.decode_value(&octets, &TypeCode::ULONG)?;
/// assert_eq!(back.get::<u32>()?, Some(7));
///
/// // With the type:
/// let back = codec.decode(&codec.encode(&Any::new(String::from("blue")))?)?;
/// assert_eq!(back.get::<String>()?.as_deref(), Some("blue"));
///
/// // Octets that are no such value are an error (`FormatMismatch`, `TypeMismatch`).
/// assert!(codec.decode_value(&octets, &TypeCode::STRING).is_err());
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    dialect: Dialect,
    order: ByteOrder,
    limits: DecoderLimits,
}

impl Codec {
    /// Creates a codec for these rules (`CodecFactory::create_codec`), which writes in native byte
    /// order.
    pub fn new(dialect: Dialect) -> Codec {
        Codec { dialect, order: ByteOrder::NATIVE, limits: DecoderLimits::default() }
    }

    /// Returns this codec with another byte order for writing. Both orders can always be read.
    #[must_use]
    pub fn with_byte_order(self, order: ByteOrder) -> Codec {
        Codec { order, ..self }
    }

    /// Returns this codec with other limits for reading.
    #[must_use]
    pub fn with_limits(self, limits: DecoderLimits) -> Codec {
        Codec { limits, ..self }
    }

    /// Encodes type and value (`encode`).
    ///
    /// # Errors
    /// The value cannot be encoded (`InvalidTypeForEncoding`), for example because of text outside
    /// the code set.
    pub fn encode(&self, value: &Any) -> Result<Vec<u8>> {
        Encoder::encapsulated(self.order, self.dialect, |e| value.write(e))
    }

    /// Encodes the value without its type (`encode_value`).
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    pub fn encode_value(&self, value: &Any) -> Result<Vec<u8>> {
        let mut e = Encoder::new(Vec::new(), self.order, self.dialect);
        e.octet(u8::from(self.order.flag()));
        value.encode_value(&mut e)?;
        Ok(e.finish().to_vec())
    }

    /// Decodes type and value (`decode`).
    ///
    /// # Errors
    /// The octets are not exactly one type and its value (`FormatMismatch`).
    pub fn decode(&self, octets: &[u8]) -> Result<Any> {
        self.read(octets, None, typed)
    }

    /// Decodes a value of this type (`decode_value`).
    ///
    /// # Errors
    /// The octets are not exactly one value of the type (`FormatMismatch`, `TypeMismatch`).
    pub fn decode_value(&self, octets: &[u8], ty: &TypeCode) -> Result<Any> {
        self.read(octets, None, |d| Any::read_value(ty.clone(), &mut Walk::within(d), d))
    }

    /// Decodes as [`decode`](Self::decode), for values with object references, which `scope` (an
    /// ORB) makes usable.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    pub fn decode_in(&self, octets: &[u8], scope: &dyn Scope) -> Result<Any> {
        self.read(octets, Some(scope), typed)
    }

    fn read(
        &self,
        octets: &[u8],
        scope: Option<&dyn Scope>,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<Any>,
    ) -> Result<Any> {
        let mut d = Decoder::encapsulated(octets, self.dialect)?.with_limits(self.limits);
        if let Some(scope) = scope {
            d = d.with_scope(scope);
        }
        let value = read(&mut d)?;
        d.finish()?;
        Ok(value)
    }
}

fn typed(d: &mut Decoder<'_>) -> Result<Any> {
    Any::decode(d)
}

impl Default for Codec {
    /// Returns a codec for GIOP 1.2 with ISO 8859-1 and UTF-16, which peers expect by default.
    fn default() -> Codec {
        Codec::new(Dialect::GIOP_1_2)
    }
}
