//! The decoder reads the same as its model, octet by octet, for any octets and any truncation: the same values, the same
//! errors at the same positions, and it continues at the same position. Under Miri, these tests also check the soundness
//! of the code below the decoder.

use std::fmt::Debug;

use oxorb_cdr::{
    ByteOrder, CharSet, CodeSet, Decode, Decoder, DecoderLimits, Dialect, Error, ErrorKind, Fixed,
    FixedReader, FixedWriter, Found, Layout, OutsideCodeSet, Result,
};

/// An octet, a number with padding before it, a type with invalid octets, an enumeration.
#[derive(Clone, Debug, PartialEq)]
struct Mixed {
    tag: u8,
    number: i32,
    level: i16,
    valid: bool,
    colour: Colour,
}

#[derive(Clone, Debug, PartialEq)]
struct Colour(u32);

const COLOURS: u32 = 3;

impl Fixed for Colour {
    const LAYOUT: Layout = Layout::EMPTY.then::<u32>();

    fn put(&self, w: &mut FixedWriter<'_>) {
        self.0.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        match u32::take(r)? {
            ordinal if ordinal < COLOURS => Ok(Self(ordinal)),
            other => Err(r.bad_enumerator(other)),
        }
    }
}

impl Fixed for Mixed {
    const LAYOUT: Layout =
        Layout::EMPTY.then::<u8>().then::<i32>().then::<i16>().then::<bool>().then::<Colour>();

    fn put(&self, w: &mut FixedWriter<'_>) {
        self.tag.put(w);
        self.number.put(w);
        self.level.put(w);
        self.valid.put(w);
        self.colour.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self {
            tag: Fixed::take(r)?,
            number: Fixed::take(r)?,
            level: Fixed::take(r)?,
            valid: Fixed::take(r)?,
            colour: Fixed::take(r)?,
        })
    }
}

oxorb_cdr::fixed!(Mixed);

/// Model that reads octet by octet.
#[derive(Clone)]
struct Model<'m> {
    octets: &'m [u8],
    at: usize,
    big: bool,
    latin: bool,
    strict: bool,
}

impl Model<'_> {
    /// Returns the octets of an aligned item, or an error at its position.
    fn take(&mut self, align: usize, size: usize) -> Result<Vec<u8>> {
        let mut start = self.at;
        while !start.is_multiple_of(align) {
            start += 1;
        }
        if start + size > self.octets.len() {
            return Err(self.truncated(start + size - self.at));
        }
        self.at = start + size;
        Ok(self.octets[start..self.at].to_vec())
    }

    fn truncated(&self, needed: usize) -> Error {
        let left = self.octets.len() - self.at;
        ErrorKind::Truncated { needed, left }.at(self.at)
    }

    /// Returns a number of `size` octets.
    fn number(&mut self, size: usize) -> Result<u64> {
        let octets = self.take(size, size)?;
        Ok(self.value(&octets))
    }

    fn value(&self, octets: &[u8]) -> u64 {
        let mut value = 0;
        for index in 0..octets.len() {
            let index = if self.big { index } else { octets.len() - 1 - index };
            value = value << 8 | u64::from(octets[index]);
        }
        value
    }

    fn boolean(&mut self) -> Result<bool> {
        match self.number(1)? {
            0 => Ok(false),
            1 => Ok(true),
            other if self.strict => Err(ErrorKind::BadBoolean(other as u8).at(self.at - 1)),
            _ => Ok(true),
        }
    }

    /// Returns a count of elements that take at least `least` octets each.
    fn count(&mut self, least: usize) -> Result<usize> {
        let length = self.number(4)? as usize;
        let left = self.octets.len() - self.at;
        if length.checked_mul(least).is_none_or(|octets| octets > left) {
            return Err(ErrorKind::LengthImplausible { length, left }.at(self.at - 4));
        }
        Ok(length)
    }

    fn numbers(&mut self, size: usize) -> Result<Vec<u64>> {
        let count = self.count(size)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let octets = self.take(size, count * size)?;
        Ok(octets.chunks(size).map(|octets| self.value(octets)).collect())
    }

    fn booleans(&mut self) -> Result<Vec<bool>> {
        let count = self.count(1)?;
        let octets = self.take(1, count)?;
        match octets.iter().position(|octet| *octet > 1 && self.strict) {
            None => Ok(octets.iter().map(|octet| *octet != 0).collect()),
            Some(bad) => Err(ErrorKind::BadBoolean(octets[bad]).at(self.at - count + bad)),
        }
    }

    fn string(&mut self) -> Result<String> {
        let count = self.count(1)?;
        let octets = self.take(1, count)?;
        let Some((last, text)) = octets.split_last() else {
            return Ok(String::new());
        };
        let start = self.at - count;
        if *last != 0 || text.contains(&0) {
            return Err(ErrorKind::BadString.at(start));
        }
        if self.latin {
            return Ok(text.iter().copied().map(char::from).collect());
        }
        String::from_utf8(text.to_vec()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let outside = OutsideCodeSet {
                code_set: CodeSet::Char(CharSet::Utf8),
                found: Found::Octet(text[at]),
                position: at as u32,
            };
            ErrorKind::NotInCodeSet(outside).at(start + at)
        })
    }

    fn strings(&mut self) -> Result<Vec<String>> {
        let count = self.count(4)?;
        (0..count).map(|_| self.string()).collect()
    }

    /// Reads a value; a truncated one is an error as a whole.
    fn mixed(&mut self) -> Result<Mixed> {
        let plenty = Model { octets: &[0; 24], at: self.at % 8, ..*self };
        let mut end = plenty.clone();
        end.members().expect("all zeros, and there are enough");
        let size = end.at - plenty.at;
        if self.at + size > self.octets.len() {
            return Err(self.truncated(size));
        }
        self.members()
    }

    fn members(&mut self) -> Result<Mixed> {
        Ok(Mixed {
            tag: self.number(1)? as u8,
            number: self.number(4)? as i32,
            level: self.number(2)? as i16,
            valid: self.boolean()?,
            colour: match self.number(4)? as u32 {
                ordinal if ordinal < COLOURS => Colour(ordinal),
                other => return Err(ErrorKind::BadEnumerator(other).at(self.at - 4)),
            },
        })
    }

    /// Reads values; after the first one, truncated ones are an error as a whole.
    fn all_mixed(&mut self) -> Result<Vec<Mixed>> {
        let count = self.count(13)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut items = vec![self.mixed()?];
        let rest = (count - 1) * 16;
        if self.at + rest > self.octets.len() {
            return Err(self.truncated(rest));
        }
        for _ in 1..count {
            items.push(self.members()?);
        }
        Ok(items)
    }
}

/// Reads the given items and compares each with the model, up to the first error.
fn read_as_modelled(steps: &[u8], octets: &[u8], start: usize, [big, latin, strict]: [bool; 3]) {
    let (order, chars) = (
        if big { ByteOrder::Big } else { ByteOrder::Little },
        if latin { CharSet::Iso8859_1 } else { CharSet::Utf8 },
    );
    let dialect = Dialect { chars, ..Dialect::GIOP_1_2 };
    let at = start.min(octets.len());
    let limits = DecoderLimits { strict, ..DecoderLimits::default() };
    let mut decoder = Decoder::new(octets, order, dialect).with_limits(limits).at(at);
    let mut model = Model { octets, at, big, latin, strict };
    for step in steps {
        let (d, m) = (&mut decoder, &mut model);
        let went_on = match step % 15 {
            0 => same(d.octet(), m.number(1).map(|n| n as u8)),
            1 => same(d.boolean(), m.boolean()),
            2 => same(d.short(), m.number(2).map(|n| n as i16)),
            3 => same(d.ulong(), m.number(4).map(|n| n as u32)),
            4 => same(d.longlong(), m.number(8).map(|n| n as i64)),
            5 => same(d.double().map(f64::to_bits), m.number(8)),
            6 => same(d.string().map(|text| text.into_owned()), m.string()),
            7 => same(d.owned_string(), m.string()),
            8 => same(Vec::<String>::decode(d), m.strings()),
            9 => same(
                Vec::<u16>::decode(d).map(|all| all.into_iter().map(u64::from).collect()),
                m.numbers(2),
            ),
            10 => same(
                Vec::<u32>::decode(d).map(|all| all.into_iter().map(u64::from).collect()),
                m.numbers(4),
            ),
            11 => same(Vec::<u64>::decode(d), m.numbers(8)),
            12 => same(Vec::<bool>::decode(d), m.booleans()),
            13 => same(Mixed::decode(d), m.mixed()),
            _ => same(Vec::<Mixed>::decode(d), m.all_mixed()),
        };
        if !went_on {
            return;
        }
        assert_eq!(decoder.position(), model.at);
    }
}

/// Reports whether both succeeded.
#[track_caller]
fn same<T: Debug + PartialEq>(read: Result<T>, expected: Result<T>) -> bool {
    assert_eq!(read, expected);
    read.is_ok()
}

/// Random number generator small enough for Miri.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % n
    }

    /// Returns mostly zeros and small numbers, which yield plausible lengths and valid members;
    /// also runs of text, and any octets.
    fn octets(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        for _ in 0..self.below(60) {
            match self.below(8) {
                0..4 => octets.extend([0, 0, 0, self.below(3) as u8]),
                4 => octets.extend([self.below(40) as u8, 0, 0, 0]),
                5 => octets.push(self.below(256) as u8),
                6 => octets.extend("some text\0".bytes().take(self.below(11))),
                _ => octets.extend("Grüße".bytes().take(self.below(8))),
            }
        }
        octets
    }
}

#[test]
fn any_octets_are_read_as_modelled() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..if cfg!(miri) { 150 } else { 100_000 } {
        let octets = random.octets();
        let steps: Vec<u8> = (0..12).map(|_| random.below(15) as u8).collect();
        let (start, bits) = (random.below(9), random.below(8));
        read_as_modelled(&steps, &octets, start, [1, 2, 4].map(|bit| bits & bit == 0));
    }
}

/// Valid messages, whole and truncated at every position, from every offset.
#[test]
fn sequences_and_strings_are_read_as_modelled_wherever_they_end() {
    let counts = if cfg!(miri) { vec![2, 9] } else { (0..40).chain([130, 200]).collect() };
    for big in [false, true] {
        for &count in &counts {
            for (step, element) in [(7, 1), (9, 2), (10, 4), (11, 8), (12, 1), (14, 16)] {
                for start in if cfg!(miri) { 3..4usize } else { 0..8 } {
                    let mut octets = vec![0; start.next_multiple_of(4)];
                    octets.extend(match big {
                        true => u32::to_be_bytes(count),
                        false => u32::to_le_bytes(count),
                    });
                    let filler = |index: usize| match step {
                        7 => b'a' + (index % 26) as u8,
                        9..=11 => (index * 37) as u8,
                        _ => 0,
                    };
                    octets.extend((0..8 + count as usize * element).map(filler));
                    if step == 7 && count > 0 {
                        let end = start.next_multiple_of(4) + 4 + count as usize;
                        octets[end - 1] = 0;
                    }
                    let ends = (octets.len().saturating_sub(20)..=octets.len()).chain(0..8);
                    for end in ends {
                        let octets = &octets[..end.min(octets.len())];
                        read_as_modelled(&[step, 0], octets, start, [big, false, false]);
                    }
                }
            }
        }
    }
}
