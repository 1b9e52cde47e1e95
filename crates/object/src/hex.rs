//! Hexadecimal digits, for `IOR:` and `%HH`.

use crate::prelude::*;
/// Appends two lower-case digits per octet.
pub(crate) fn push(text: &mut String, octets: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    text.reserve(octets.len() * 2);
    for octet in octets {
        text.push(char::from(DIGITS[usize::from(octet >> 4)]));
        text.push(char::from(DIGITS[usize::from(octet & 15)]));
    }
}

/// Returns the value of one digit in either case.
pub(crate) fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        b'A'..=b'F' => Some(character - b'A' + 10),
        _ => None,
    }
}

/// Returns the octets of hexadecimal digits; otherwise the offset of the invalid character (the
/// end, if the count is odd).
pub(crate) fn parse(text: &str) -> Result<Vec<u8>, usize> {
    let digits = text.as_bytes();
    if let Some(at) = digits.iter().position(|&c| digit(c).is_none()) {
        return Err(at);
    }
    if !digits.len().is_multiple_of(2) {
        return Err(digits.len());
    }
    Ok(digits
        .chunks_exact(2)
        .map(|pair| digit(pair[0]).unwrap_or(0) << 4 | digit(pair[1]).unwrap_or(0))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cases_are_read_and_lower_case_is_written() {
        assert_eq!(parse("00fFA9"), Ok(vec![0x00, 0xff, 0xa9]));
        let mut text = String::new();
        push(&mut text, &[0x00, 0xff, 0xa9]);
        assert_eq!(text, "00ffa9");
    }

    #[test]
    fn the_offending_character_is_located() {
        assert_eq!(parse("00g0"), Err(2));
        assert_eq!(parse("000"), Err(3));
        assert_eq!(parse("é0"), Err(0));
    }
}
