//! SHA-256 (FIPS 180-4), by which plans name the contents of files.

use std::fmt::Write as _;

/// First 32 bits of the fractional parts of the square roots of the first 8 primes.
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// Size in octets of a block.
const BLOCK: usize = 64;

/// SHA-256 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    /// Returns the SHA-256 of octets. Takes time linear in their number.
    pub(super) fn of(octets: &[u8]) -> Digest {
        let mut state = START;
        let blocks = octets.chunks_exact(BLOCK);
        let rest = blocks.remainder();
        blocks.for_each(|block| mix(&mut state, block));
        // The end of the octets, a bit that is set, zeros, and the number of bits.
        let mut last = [0; 2 * BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = 0x80;
        let length = match rest.len() < BLOCK - 8 {
            true => BLOCK,
            false => 2 * BLOCK,
        };
        let bits = (octets.len() as u64).wrapping_mul(8);
        last[length - 8..length].copy_from_slice(&bits.to_be_bytes());
        last[..length].chunks_exact(BLOCK).for_each(|block| mix(&mut state, block));
        let mut digest = [0; 32];
        for (octets, word) in digest.chunks_exact_mut(4).zip(state) {
            octets.copy_from_slice(&word.to_be_bytes());
        }
        Digest(digest)
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

/// Mixes a block into the state.
fn mix(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0_u32; 64];
    for (word, octets) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = octets.iter().fold(0, |word, octet| (word << 8) | u32::from(*octet));
    }
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        words[at] =
            words[at - 16].wrapping_add(early).wrapping_add(words[at - 7]).wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, round) in words.into_iter().zip(ROUNDS) {
        let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first =
            h.wrapping_add(high).wrapping_add(choice).wrapping_add(round).wrapping_add(word);
        let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = low.wrapping_add(majority);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
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
        let million = "a".repeat(1_000_000);
        let wanted = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(Digest::of(million.as_bytes()).hex(), wanted);
    }

    #[test]
    fn the_end_of_a_block_is_filled_at_every_length() {
        // 55 octets are the most that share their block with the number of bits.
        for (count, wanted) in [
            (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ] {
            assert_eq!(Digest::of("a".repeat(count).as_bytes()).hex(), wanted, "{count}");
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
