//! Octets as text (RFC 4648, section 4).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for chunk in octets.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &octet| bits << 8 | u32::from(octet))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            if at <= chunk.len() {
                let digit = bits >> (18 - 6 * at) & 63;
                text.push(char::from(ALPHABET[digit as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Decodes base64, with or without padding; `None` if the text is invalid.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if digits.len() % 4 == 1 || padding > 2 || padding > 0 && !text.len().is_multiple_of(4) {
        return None;
    }
    let mut octets = Vec::with_capacity(digits.len() * 3 / 4);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &digit in chunk {
            let value = ALPHABET.iter().position(|&known| known == digit)?;
            bits = bits << 6 | value as u32;
        }
        bits <<= 6 * (4 - chunk.len());
        let [_, whole @ ..] = bits.to_be_bytes();
        octets.extend_from_slice(&whole[..chunk.len() - 1]);
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_rfc_says() {
        let plain = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (octets, text) in plain {
            assert_eq!(encode(octets.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(octets.as_bytes()));
        }
        assert_eq!(decode("Zg"), Some(b"f".to_vec()));
        assert_eq!(decode(&encode(&[0, 255, 128])), Some(vec![0, 255, 128]));
    }

    #[test]
    fn what_is_no_base64() {
        for text in ["Z", "Zg=", "Zg===", "Z*==", "Zm9v=", "hell\u{f6}"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
