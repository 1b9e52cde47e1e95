use super::exceeds;
use crate::{Decoder, Encoder, ErrorKind, Result, WcharSet};

/// The byte order mark as it begins big-endian text.
const BIG: u16 = 0xFEFF;
/// The byte order mark of little-endian text, read as if it were big-endian.
const LITTLE: u16 = 0xFFFE;

/// How a GIOP version carries wide characters.
enum Form {
    /// GIOP 1.1: unsigned shorts in the byte order of the message.
    Units,
    /// GIOP 1.2: counted octets, big-endian unless a byte order mark says otherwise.
    Octets,
}

impl Encoder<'_> {
    /// Writes a wide character.
    pub fn wchar(&mut self, v: char) -> Result<()> {
        let form = form(self.dialect()).and_then(|form| self.carries(v).map(|()| form));
        let form = form.map_err(|kind| self.error(kind))?;
        let mut units = [0; 2];
        let units = v.encode_utf16(&mut units);
        match form {
            Form::Units => match *units {
                [unit] => self.ushort(unit),
                _ => return Err(self.error(ErrorKind::NotInCodeSet)),
            },
            Form::Octets => {
                let mark = usize::from(looks_like_mark(units[0]));
                self.octet(2 * (mark + units.len()) as u8);
                self.units(mark, units.iter().copied());
            }
        }
        Ok(())
    }

    /// Writes a wide string, which must have no NUL inside and only characters of the code set in use.
    pub fn wstring(&mut self, v: &str) -> Result<()> {
        let form = form(self.dialect()).map_err(|kind| self.error(kind))?;
        if v.as_bytes().contains(&0) {
            return Err(self.error(ErrorKind::BadString));
        }
        v.chars()
            .try_for_each(|c| self.carries(c))
            .map_err(|kind| self.error(kind))?;
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

    fn units(&mut self, marks: usize, units: impl Iterator<Item = u16>) {
        for unit in core::iter::repeat_n(BIG, marks).chain(units) {
            self.copy_octets(&unit.to_be_bytes());
        }
    }

    fn carries(&self, c: char) -> Result<(), ErrorKind> {
        match self.dialect().wchars {
            WcharSet::Ucs2 if c.len_utf16() > 1 => Err(ErrorKind::NotInCodeSet),
            _ => Ok(()),
        }
    }
}

impl Decoder<'_> {
    /// Reads a wide character.
    pub fn wchar(&mut self) -> Result<char> {
        let one = match form(self.dialect()).map_err(|kind| self.error(kind))? {
            Form::Units => self.ushort().map(|unit| single([unit].into_iter())),
            Form::Octets => self
                .octet()
                .and_then(|n| self.octets(n.into()))
                .map(|octets| match octets {
                    // Alone, these two octets are the character and no mark before one.
                    [a, b] => single([u16::from_be_bytes([*a, *b])].into_iter()),
                    _ => units(octets).and_then(single),
                }),
        }?;
        one.filter(|&c| self.carries(c))
            .ok_or_else(|| self.error(ErrorKind::NotInCodeSet))
    }

    /// Reads a wide string. Allocates.
    pub fn wstring(&mut self) -> Result<String> {
        let form = form(self.dialect()).map_err(|kind| self.error(kind))?;
        let start = self.position();
        let text = match form {
            Form::Units => {
                let n = self.length(None, 2)?;
                let units = self.ushorts(n)?;
                match &*units {
                    [] => return Ok(String::new()),
                    [text @ .., 0] => char::decode_utf16(text.iter().copied())
                        .collect::<Result<String, _>>()
                        .ok(),
                    _ => return Err(ErrorKind::BadString.at(start)),
                }
            }
            Form::Octets => {
                let n = self.length(None, 1)?;
                let octets = self.octets(n)?;
                let units = units(octets).ok_or(ErrorKind::BadString.at(start))?;
                char::decode_utf16(units)
                    .collect::<Result<String, _>>()
                    .ok()
            }
        };
        let text = text.filter(|text| text.chars().all(|c| self.carries(c)));
        let text = text.ok_or(ErrorKind::NotInCodeSet.at(start))?;
        if text.as_bytes().contains(&0) {
            return Err(ErrorKind::BadString.at(start));
        }
        Ok(text)
    }

    /// Reads a wide string of at most `bound` characters.
    pub fn bounded_wstring(&mut self, bound: u32) -> Result<String> {
        let text = self.wstring()?;
        exceeds(&text, bound).map_err(|kind| self.error(kind))?;
        Ok(text)
    }

    fn carries(&self, c: char) -> bool {
        self.dialect().wchars != WcharSet::Ucs2 || c.len_utf16() == 1
    }
}

fn form(dialect: crate::Dialect) -> Result<Form, ErrorKind> {
    match (dialect.giop_minor, dialect.wchars) {
        (0, _) => Err(ErrorKind::WcharForbidden),
        (_, WcharSet::None) => Err(ErrorKind::WcharUnsupported),
        (1, _) => Ok(Form::Units),
        _ => Ok(Form::Octets),
    }
}

/// Whether a reader would take this unit, coming first, for a byte order mark and drop it; a mark before it helps.
fn looks_like_mark(unit: u16) -> bool {
    matches!(unit, BIG | LITTLE)
}

/// UTF-16 units without their byte order mark; `None` when half a unit is left over.
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
    Some(pairs.iter().map(move |&pair| {
        if little {
            u16::from_le_bytes(pair)
        } else {
            u16::from_be_bytes(pair)
        }
    }))
}

/// The one character that these units are.
fn single(units: impl Iterator<Item = u16>) -> Option<char> {
    let mut chars = char::decode_utf16(units);
    let only = chars.next()?.ok()?;
    chars.next().is_none().then_some(only)
}
