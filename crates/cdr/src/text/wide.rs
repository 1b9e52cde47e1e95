use super::{CodeSet, Found, exceeds};
use crate::prelude::*;
use crate::{Decoder, Dialect, Encoder, ErrorKind, Result, WcharSet};

/// Byte order mark of big-endian text.
const BIG: u16 = 0xFEFF;
/// Byte order mark of little-endian text, read as big-endian.
const LITTLE: u16 = 0xFFFE;

/// Encoding of wide characters in a GIOP version.
enum Form {
    /// GIOP 1.1: unsigned shorts in the byte order of the message.
    Units,
    /// GIOP 1.2: counted octets, big-endian unless a byte order mark indicates otherwise.
    Octets,
}

impl Encoder<'_> {
    /// Writes a wide character.
    pub fn wchar(&mut self, v: char) -> Result<()> {
        let form = form(self.dialect()).map_err(|kind| self.error(kind))?;
        let mut units = [0; 2];
        let units = v.encode_utf16(&mut units);
        match (form, &*units) {
            _ if !carries(self.dialect(), v) => return Err(self.lacks(v, 0)),
            (Form::Units, [unit]) => self.ushort(*unit),
            (Form::Units, _) => return Err(self.lacks(v, 0)),
            (Form::Octets, units) => {
                let mark = usize::from(looks_like_mark(units[0]));
                self.octet(2 * (mark + units.len()) as u8);
                self.units(mark, units.iter().copied());
            }
        }
        Ok(())
    }

    /// Writes a wide string, which must not contain NUL, nor characters outside the current code
    /// set.
    pub fn wstring(&mut self, v: &str) -> Result<()> {
        let form = form(self.dialect()).map_err(|kind| self.error(kind))?;
        if v.as_bytes().contains(&0) {
            return Err(self.error(ErrorKind::BadString));
        }
        let mut chars = v.chars().enumerate();
        if let Some((at, c)) = chars.find(|(_, c)| !carries(self.dialect(), *c)) {
            return Err(self.lacks(c, at));
        }
        let count = v.encode_utf16().count();
        match form {
            Form::Units => {
                self.length(count + 1, None)?;
                self.reserve(2 * (count + 1));
                v.encode_utf16().for_each(|unit| self.ushort(unit));
                self.ushort(0);
            }
            Form::Octets => {
                let mark = usize::from(v.encode_utf16().next().is_some_and(looks_like_mark));
                self.length(2 * (mark + count), None)?;
                self.units(mark, v.encode_utf16());
            }
        }
        Ok(())
    }

    /// Writes a wide string of at most `bound` characters.
    pub fn bounded_wstring(&mut self, v: &str, bound: u32) -> Result<()> {
        exceeds(v, bound).map_err(|kind| self.error(kind))?;
        self.wstring(v)
    }

    #[cold]
    fn lacks(&self, c: char, at: usize) -> crate::Error {
        let set = CodeSet::Wchar(self.dialect().wchars);
        self.error(Found::Character(c).outside(set, at))
    }

    fn units(&mut self, marks: usize, units: impl Iterator<Item = u16>) {
        for unit in core::iter::repeat_n(BIG, marks).chain(units) {
            self.copy_octets(&unit.to_be_bytes());
        }
    }
}

impl Decoder<'_> {
    /// Reads a wide character.
    pub fn wchar(&mut self) -> Result<char> {
        let set = CodeSet::Wchar(self.dialect().wchars);
        let (start, one, found) = match form(self.dialect()).map_err(|kind| self.error(kind))? {
            Form::Units => {
                let start = self.start(2);
                let unit = self.ushort()?;
                (start, single([unit].into_iter()), Found::Unit(unit))
            }
            Form::Octets => {
                let start = self.start(1);
                let n = self.octet()?;
                let (one, found) = match self.octets(n.into())? {
                    // A byte order mark needs a character after it, so two octets alone are a
                    // character.
                    [a, b] => {
                        let unit = u16::from_be_bytes([*a, *b]);
                        (single([unit].into_iter()), Found::Unit(unit))
                    }
                    octets => (units(octets).and_then(single), Found::Octets(n)),
                };
                (start, one, found)
            }
        };
        one.filter(|&c| carries(self.dialect(), c)).ok_or_else(|| found.outside(set, 0).at(start))
    }

    /// Reads a wide string. Allocates.
    pub fn wstring(&mut self) -> Result<String> {
        let mut text = String::new();
        self.wstring_into(&mut text)?;
        Ok(text)
    }

    /// Reads a wide string, and appends it to `into`.
    pub(crate) fn wstring_into(&mut self, into: &mut String) -> Result<()> {
        let form = form(self.dialect()).map_err(|kind| self.error(kind))?;
        let start = self.start(4);
        let text = match form {
            Form::Units => {
                let n = self.length(None, 2)?;
                match &*self.ushorts(n)? {
                    [] => return Ok(()), // no NUL: tolerated as in a narrow string
                    [text @ .., 0] => self.text(text.iter().copied(), into),
                    _ => Err(ErrorKind::BadString),
                }
            }
            Form::Octets => {
                let n = self.length(None, 1)?;
                let octets = self.octets(n)?;
                units(octets).ok_or(ErrorKind::BadString).and_then(|units| self.text(units, into))
            }
        };
        text.map_err(|kind| kind.at(start))
    }

    /// Reads a wide string of at most `bound` characters.
    pub fn bounded_wstring(&mut self, bound: u32) -> Result<String> {
        let start = self.start(4);
        let text = self.wstring()?;
        exceeds(&text, bound).map_err(|kind| kind.at(start))?;
        Ok(text)
    }

    fn text(&self, units: impl Iterator<Item = u16>, text: &mut String) -> Result<(), ErrorKind> {
        text.reserve(units.size_hint().0);
        let mut at = 0;
        for c in char::decode_utf16(units) {
            let unit = match c {
                Ok('\0') => return Err(ErrorKind::BadString),
                Ok(c) if carries(self.dialect(), c) => {
                    text.push(c);
                    at += c.len_utf16();
                    continue;
                }
                Ok(c) => c.encode_utf16(&mut [0; 2])[0],
                Err(lone) => lone.unpaired_surrogate(),
            };
            let set = CodeSet::Wchar(self.dialect().wchars);
            return Err(Found::Unit(unit).outside(set, at));
        }
        Ok(())
    }
}

fn form(dialect: Dialect) -> Result<Form, ErrorKind> {
    match (dialect.giop_minor, dialect.wchars) {
        (0, _) => Err(ErrorKind::WcharForbidden),
        (_, WcharSet::None) => Err(ErrorKind::WcharUnsupported),
        (1, _) => Ok(Form::Units),
        _ => Ok(Form::Octets),
    }
}

/// Reports whether the code set contains this character.
fn carries(dialect: Dialect, c: char) -> bool {
    dialect.wchars != WcharSet::Ucs2 || c.len_utf16() == 1
}

/// Reports whether a reader would mistake this unit at the start for a byte order mark and drop it;
/// a preceding mark prevents that.
fn looks_like_mark(unit: u16) -> bool {
    matches!(unit, BIG | LITTLE)
}

/// Returns UTF-16 units without their byte order mark; `None` for an odd number of octets.
fn units(octets: &[u8]) -> Option<impl Iterator<Item = u16> + '_> {
    let (pairs, rest) = octets.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let (pairs, little) = match pairs {
        [first, pairs @ ..] if looks_like_mark(u16::from_be_bytes(*first)) => {
            (pairs, u16::from_be_bytes(*first) == LITTLE)
        }
        pairs => (pairs, false),
    };
    Some(pairs.iter().map(
        move |&pair| {
            if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
        },
    ))
}

/// Returns the character that these units encode, if it is exactly one.
fn single(units: impl Iterator<Item = u16>) -> Option<char> {
    let mut chars = char::decode_utf16(units);
    let only = chars.next()?.ok()?;
    chars.next().is_none().then_some(only)
}
