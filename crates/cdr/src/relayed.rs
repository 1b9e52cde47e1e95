//! Values passed from one message to another without decoding.

use crate::{ByteOrder, Decoder, Dialect, Encode, Encoder, ErrorKind, Result, WcharSet};

/// Encoded values of a message, with the byte order, code sets and offset on which their meaning
/// depends.
///
/// A gateway reads the rest of a message in this form, and writes it into another message without
/// knowing the types. Writing is rejected if the octets would have another meaning there
/// ([`ErrorKind::NotAlike`]):
///
/// * the messages differ in byte order,
/// * they encode text differently: in other code sets, or wide characters by the rules of another
///   GIOP version ([`allowing_no_wide_set`](Self::allowing_no_wide_set) permits an exception),
/// * the offsets of the octets differ modulo eight, and there are enough octets for a value that is
///   aligned to eight. (Values in requests of GIOP 1.0 and 1.1 begin at any offset. A sender of such a request can
///   choose it: [`offset`](Self::offset).)
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect, Encode, Encoder, Relayed};
///
/// let came = [0, 0, 0, 1, 0, 0, 0, 2];
/// let mut d = Decoder::new(&came, ByteOrder::Big, Dialect::GIOP_1_2);
/// let values = Relayed::rest(&mut d)?;
/// let mut e = Encoder::new(Vec::new(), values.order(), Dialect::GIOP_1_2);
/// values.encode(&mut e)?;
/// assert_eq!(e.finish().contiguous(), came);
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Relayed<'de> {
    octets: &'de [u8],
    order: ByteOrder,
    dialect: Dialect,
    /// Offset of the octets modulo eight.
    begin: usize,
    /// Whether the octets may go into a message without a code set for wide text.
    allows_no_wide_set: bool,
}

/// Size and alignment, in octets, of the smallest value that is aligned to eight.
const EIGHT: usize = 8;

impl<'de> Relayed<'de> {
    /// Reads all that is left of a message.
    ///
    /// # Errors
    /// The octets are not contiguous.
    pub fn rest(d: &mut Decoder<'de>) -> Result<Self> {
        let (order, dialect, begin) = (d.order(), d.dialect(), d.position() % EIGHT);
        let octets = d.octets(d.remaining())?;
        Ok(Relayed { octets, order, dialect, begin, allows_no_wide_set: false })
    }

    /// Allows the octets in a message without a code set for wide text, although the values were read with one, and in
    /// a message of GIOP 1.0, which cannot contain wide text.
    ///
    /// This changes no meaning if the values contain no wide text. Some receivers reject wide text in such a message,
    /// as OxORB does; no specification requires that, and others may misread it.
    #[must_use]
    pub fn allowing_no_wide_set(self) -> Self {
        Relayed { allows_no_wide_set: true, ..self }
    }

    /// Returns the byte order that the destination message must have.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the offset modulo eight, from 0 to 7, at which the octets have the same meaning whatever their number.
    pub fn offset(&self) -> u8 {
        self.begin as u8
    }

    /// Returns the octets.
    pub fn octets(&self) -> &'de [u8] {
        self.octets
    }

    /// Reports whether the octets would have the same meaning at the current position of an
    /// encoder.
    pub fn is_alike(&self, e: &Encoder<'_>) -> bool {
        self.octets.is_empty()
            || self.order == e.order()
                && self.text_is_alike(e.dialect())
                && self.place_is_alike(e.position())
    }

    /// Reports whether text has the same meaning in both dialects.
    fn text_is_alike(&self, to: Dialect) -> bool {
        let from = self.dialect;
        let has_no_wide = |it: Dialect| it.giop_minor == 0 || it.wchars == WcharSet::None;
        let is_allowed = self.allows_no_wide_set && has_no_wide(to);
        let is_same = from.wchars == to.wchars && (from.giop_minor >= 2) == (to.giop_minor >= 2);
        from.chars == to.chars && (has_no_wide(from) || is_allowed || is_same)
    }

    /// Reports whether all numbers stay aligned when the octets are moved to the offset `to`.
    fn place_is_alike(&self, to: usize) -> bool {
        let to = to % EIGHT;
        if to == self.begin {
            return true;
        }
        // Number of octets before the first offset at which a value that is aligned to eight can
        // begin.
        let before = |begin: usize| (EIGHT - begin) % EIGHT;
        let first = before(self.begin).min(before(to));
        to % 4 == self.begin % 4 && self.octets.len() < first + EIGHT
    }
}

impl Encode for Relayed<'_> {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        if !self.is_alike(e) {
            return Err(ErrorKind::NotAlike.at(e.position()));
        }
        e.octets(self.octets);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CharSet;
    use crate::prelude::*;

    fn relay(octets: usize, from: usize, to: usize) -> bool {
        let message = vec![7; from + octets];
        let mut d = Decoder::new(&message, ByteOrder::Big, Dialect::GIOP_1_2);
        d.octets(from).unwrap();
        let values = Relayed::rest(&mut d).unwrap();
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        e.copy_octets(&vec![0; to]);
        values.encode(&mut e).is_ok()
    }

    #[test]
    fn values_go_where_they_lie_alike() {
        for begin in 0..8 {
            assert!(relay(1000, begin, begin + 16), "{begin}");
            assert!(relay(0, begin, begin + 1), "nothing lies anywhere");
        }
        // Seven octets cannot contain a value of eight octets, so an offset that is equal modulo
        // four suffices.
        assert!(relay(7, 16, 20) && relay(7, 20, 16));
        // At offset 20 a double needs four octets of padding, whereas at offset 16 the first eight
        // octets may be a double.
        assert!(!relay(8, 16, 20) && !relay(8, 20, 16) && !relay(12, 20, 16));
        assert!(!relay(4, 16, 18), "longs lie elsewhere");
    }

    #[test]
    fn text_goes_where_it_is_read_alike() {
        let latin = Dialect { chars: CharSet::Iso8859_1, ..Dialect::GIOP_1_2 };
        let utf_8 = Dialect { chars: CharSet::Utf8, ..latin };
        let older = Dialect { giop_minor: 1, ..latin };
        let oldest = Dialect::new(0);
        let goes = |from, to, change: fn(Relayed<'static>) -> Relayed<'static>| {
            let mut d = Decoder::new(&[0; 8], ByteOrder::Big, from);
            let values = change(Relayed::rest(&mut d).unwrap());
            values.encode(&mut Encoder::new(Vec::new(), ByteOrder::Big, to)).is_ok()
        };
        let alike = |from, to| goes(from, to, |values| values);
        assert!(alike(latin, latin) && alike(utf_8, utf_8) && alike(oldest, latin));
        assert!(!alike(latin, utf_8) && !alike(utf_8, latin));
        let narrow = Dialect { wchars: WcharSet::None, ..latin };
        let wide = Dialect { wchars: WcharSet::Utf16, ..latin };
        assert!(alike(narrow, wide), "there is no wide text");
        assert!(!alike(wide, narrow), "the receiver may misread wide text");
        assert!(goes(wide, narrow, Relayed::allowing_no_wide_set));
        let ucs_2 = Dialect { wchars: WcharSet::Ucs2, ..latin };
        assert!(!goes(wide, ucs_2, Relayed::allowing_no_wide_set));
        assert!(goes(wide, oldest, Relayed::allowing_no_wide_set), "GIOP 1.0 has no wide text");
        assert!(goes(wide, Dialect::new(1), Relayed::allowing_no_wide_set));
        assert!(!goes(wide, Dialect { giop_minor: 1, ..wide }, Relayed::allowing_no_wide_set));
        assert!(!goes(utf_8, oldest, Relayed::allowing_no_wide_set), "narrow text differs");
        assert!(!alike(older, latin) && !alike(latin, oldest));
    }

    #[test]
    fn another_byte_order_is_refused() {
        let mut d = Decoder::new(&[0; 4], ByteOrder::Big, Dialect::GIOP_1_2);
        let values = Relayed::rest(&mut d).unwrap();
        let mut e = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::GIOP_1_2);
        let error = values.encode(&mut e).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotAlike);
    }
}
