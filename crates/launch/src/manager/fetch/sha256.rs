//! SHA-256 (FIPS 180-4), by which plans name the contents of files.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// SHA-256 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    /// Returns the SHA-256 of octets. Takes time linear in their number.
    pub(super) fn of(octets: &[u8]) -> Digest {
        Digest(Sha256::digest(octets).into())
    }

    /// Returns the SHA-256 that 64 hexadecimal digits denote; `None` for other texts.
    pub(super) fn parse(digits: &str) -> Option<Digest> {
        let is_digest = digits.len() == 64 && digits.bytes().all(|one| one.is_ascii_hexdigit());
        let mut digest = [0; 32];
        for (at, octet) in digest.iter_mut().enumerate().filter(|_| is_digest) {
            *octet = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
        }
        is_digest.then_some(Digest(digest))
    }

    /// Returns the SHA-256 as 64 hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        let mut hex = String::new();
        for octet in self.0 {
            let _ = write!(hex, "{octet:02x}");
        }
        hex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        for (text, wanted) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (two_blocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        ] {
            assert_eq!(Digest::of(text.as_bytes()).hex(), wanted, "{text}");
            assert_eq!(Digest::parse(wanted), Some(Digest::of(text.as_bytes())));
        }
    }

    #[test]
    fn other_texts_are_no_digests() {
        let digits = Digest::of(b"").hex();
        assert_eq!(Digest::parse(&digits.to_uppercase()), Some(Digest::of(b"")));
        for wrong in ["", &digits[1..], &format!("{digits}0"), &digits.replace('e', "+")] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
        let wide = format!("{}é", &digits[2..]);
        assert_eq!(Digest::parse(&wide), None);
    }
}
