use crate::{ErrorKind, Result};

/// Writer that packs the fields of an IDL 4 `bitset` into one integer, the first one into the low
/// bits.
///
/// ```
/// use oxorb_cdr::{BitReader, BitWriter};
///
/// let mut bits = BitWriter::new();
/// bits.unsigned(5, 3);
/// bits.skip(4);
/// bits.signed(-2, 9);
/// let number = bits.finish(0)?;
/// assert_eq!(number, 0b1_1111_1110_0000_101);
///
/// let mut bits = BitReader::new(number);
/// assert_eq!(bits.unsigned(3), 5);
/// bits.skip(4);
/// assert_eq!(bits.signed(9), -2);
/// # Ok::<(), oxorb_cdr::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BitWriter {
    bits: u64,
    used: u32,
    overflow: bool,
}

/// Reader that extracts the fields of a `bitset` from an integer.
#[derive(Clone, Copy, Debug)]
pub struct BitReader {
    bits: u64,
}

impl BitWriter {
    /// Creates a writer without bits.
    pub const fn new() -> Self {
        Self { bits: 0, used: 0, overflow: false }
    }

    /// Appends a field of `width` bits, 1 to 64.
    pub fn unsigned(&mut self, value: u64, width: u32) {
        self.overflow |= value & !mask(width) != 0;
        self.put(value, width);
    }

    /// Appends a field of `width` bits, 1 to 64, in two's complement.
    pub fn signed(&mut self, value: i64, width: u32) {
        self.overflow |= extended(value.cast_unsigned(), width) != value;
        self.put(value.cast_unsigned(), width);
    }

    /// Appends unused bits, as zeros.
    pub fn skip(&mut self, width: u32) {
        self.used += width;
    }

    /// Returns the integer, to be written at offset `at` of the message; an error if a value was
    /// too large for its field.
    pub fn finish(self, at: usize) -> Result<u64> {
        match self.overflow {
            true => Err(ErrorKind::BadValue.at(at)),
            false => Ok(self.bits),
        }
    }

    fn put(&mut self, value: u64, width: u32) {
        self.bits |= (value & mask(width)).checked_shl(self.used).unwrap_or(0);
        self.used += width;
    }
}

impl BitReader {
    /// Creates a reader of all fields in `bits`.
    pub const fn new(bits: u64) -> Self {
        Self { bits }
    }

    /// Returns the next field of `width` bits, 1 to 64.
    pub fn unsigned(&mut self, width: u32) -> u64 {
        let value = self.bits & mask(width);
        self.skip(width);
        value
    }

    /// Returns the next field of `width` bits, 1 to 64, in two's complement.
    pub fn signed(&mut self, width: u32) -> i64 {
        extended(self.unsigned(width), width)
    }

    /// Skips unused bits, whatever their values.
    pub fn skip(&mut self, width: u32) {
        self.bits = self.bits.checked_shr(width).unwrap_or(0);
    }
}

const fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// Returns the low bits as a sign-extended number.
const fn extended(value: u64, width: u32) -> i64 {
    (value << (64 - width)).cast_signed() >> (64 - width)
}
