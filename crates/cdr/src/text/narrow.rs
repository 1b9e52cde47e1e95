use crate::prelude::*;
use alloc::borrow::Cow;

use super::{CodeSet, Found, exceeds};
use crate::arena::StringOrLatin;
use crate::raw::{copied_plain, plain_copy, plain_str};
use crate::{CharSet, Decoder, Encoder, ErrorKind, Result};

impl Encoder<'_> {
    /// Writes a char, which must be one octet in the current code set.
    #[inline]
    pub fn char(&mut self, v: char) -> Result<()> {
        let octet = u8::try_from(v)
            .ok()
            .filter(|octet| self.dialect().chars == CharSet::Iso8859_1 || octet.is_ascii());
        match octet {
            Some(octet) => {
                self.octet(octet);
                Ok(())
            }
            None => Err(self.error(Found::Character(v).outside(self.narrow(), 0))),
        }
    }

    /// Writes a string, which must not contain NUL, nor characters outside the current code set.
    #[inline]
    pub fn string(&mut self, v: &str) -> Result<()> {
        let before = self.own_octets();
        let octets = v.as_bytes();
        // Checks the text while copying it, because most text is ASCII; other text is removed again
        // and converted.
        if copied_plain(octets, self.string_body(octets.len())?) {
            return Ok(());
        }
        self.take_back(before);
        self.string_of_code_set(v)
    }

    /// Writes a string that is not pure ASCII, or contains NUL.
    #[inline(never)]
    fn string_of_code_set(&mut self, v: &str) -> Result<()> {
        let octets = v.as_bytes();
        if octets.contains(&0) {
            return Err(self.error(ErrorKind::BadString));
        }
        if self.dialect().chars == CharSet::Iso8859_1 {
            return self.latin(v);
        }
        self.string_body(octets.len())?.copy_from_slice(octets);
        Ok(())
    }

    /// Writes a string of at most `bound` characters.
    #[inline]
    pub fn bounded_string(&mut self, v: &str, bound: u32) -> Result<()> {
        exceeds(v, bound).map_err(|kind| self.error(kind))?;
        self.string(v)
    }

    #[cold]
    fn latin(&mut self, v: &str) -> Result<()> {
        let mut chars = v.chars().enumerate();
        if let Some((at, c)) = chars.find(|(_, c)| u8::try_from(*c).is_err()) {
            return Err(self.error(Found::Character(c).outside(self.narrow(), at)));
        }
        let body = self.string_body(v.chars().count())?;
        for (octet, c) in body.iter_mut().zip(v.chars()) {
            *octet = c as u8;
        }
        Ok(())
    }

    fn narrow(&self) -> CodeSet {
        CodeSet::Char(self.dialect().chars)
    }

    /// Writes the length and the final NUL of a string, and returns the octets between for the
    /// caller to write.
    #[inline]
    fn string_body(&mut self, octets: usize) -> Result<&mut [u8]> {
        self.length(octets + 1, None)?;
        let room = self.claim(octets + 1);
        room[octets] = 0;
        Ok(&mut room[..octets])
    }
}

impl<'de> Decoder<'de> {
    /// Reads a char.
    #[inline]
    pub fn char(&mut self) -> Result<char> {
        let octet = self.octet()?;
        if self.dialect().chars == CharSet::Iso8859_1 || octet.is_ascii() {
            Ok(octet.into())
        } else {
            let set = CodeSet::Char(self.dialect().chars);
            Err(self.error_back(1, Found::Octet(octet).outside(set, 0)))
        }
    }

    /// Reads a string: borrowed if it is ASCII or its code set is UTF-8, else converted.
    ///
    /// Accepts an empty string of length 0, without its NUL, as some peers send it.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'de, str>> {
        let text = self.narrow_text()?;
        match plain_str(text) {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.text_of_code_set(text),
        }
    }

    /// Reads a string that can be borrowed, or returns its octets, which are ISO 8859-1 and not
    /// pure ASCII.
    #[inline]
    pub(crate) fn string_or_latin(&mut self) -> Result<StringOrLatin<'de>> {
        let text = self.narrow_text()?;
        match plain_str(text) {
            Some(text) => Ok(Ok(text)),
            None => self.latin_or_text(text),
        }
    }

    #[cold]
    fn latin_or_text(&self, text: &'de [u8]) -> Result<StringOrLatin<'de>> {
        if self.dialect().chars == CharSet::Iso8859_1 && !text.contains(&0) {
            return Ok(Err(text));
        }
        match self.text_of_code_set(text)? {
            Cow::Borrowed(text) => Ok(Ok(text)),
            Cow::Owned(_) => Ok(Err(text)),
        }
    }

    /// Reads a string into owned memory.
    ///
    /// Equivalent to a copy of [`string`](Self::string), but checks the text while copying.
    #[inline(always)]
    pub fn owned_string(&mut self) -> Result<String> {
        let text = match self.terminated() {
            Some(text) => text,
            None => self.narrow_text_in_doubt()?,
        };
        match plain_copy(text) {
            Some(text) => Ok(text.into()),
            None => self.owned_text_of_code_set(text),
        }
    }

    #[cold]
    #[inline(never)]
    fn owned_text_of_code_set(&self, text: &'de [u8]) -> Result<String> {
        self.text_of_code_set(text).map(Cow::into_owned)
    }

    /// Returns the octets of a string without the final NUL.
    #[inline(always)]
    fn narrow_text(&mut self) -> Result<&'de [u8]> {
        match self.terminated() {
            Some(text) => Ok(text),
            None => self.narrow_text_in_doubt(),
        }
    }

    /// Reads a text that continues in the next chunk, is empty without a NUL, or is invalid.
    #[cold]
    #[inline(never)]
    fn narrow_text_in_doubt(&mut self) -> Result<&'de [u8]> {
        let n = self.length(None, 1)?;
        match self.octets(n)? {
            [] => Ok(&[]),
            [text @ .., 0] => Ok(text),
            _ => Err(self.error_back(n, ErrorKind::BadString)),
        }
    }

    /// Decodes text that is not pure ASCII, from the octets just read without their final NUL.
    #[cold]
    #[inline(never)]
    fn text_of_code_set(&self, text: &'de [u8]) -> Result<Cow<'de, str>> {
        let n = text.len() + 1;
        if text.contains(&0) {
            return Err(self.error_back(n, ErrorKind::BadString));
        }
        if self.dialect().chars == CharSet::Iso8859_1 {
            return Ok(latin(text).into());
        }
        match core::str::from_utf8(text) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => {
                let at = error.valid_up_to();
                let set = CodeSet::Char(self.dialect().chars);
                Err(self.error_back(n - at, Found::Octet(text[at]).outside(set, at)))
            }
        }
    }

    /// Reads a string of at most `bound` characters.
    #[inline]
    pub fn bounded_string(&mut self, bound: u32) -> Result<Cow<'de, str>> {
        let start = self.start(4);
        let text = self.string()?;
        exceeds(&text, bound).map_err(|kind| kind.at(start))?;
        Ok(text)
    }
}

fn latin(octets: &[u8]) -> String {
    octets.iter().copied().map(char::from).collect()
}
