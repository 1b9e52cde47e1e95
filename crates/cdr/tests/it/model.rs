//! The encoder writes the same octets as its model, for any sequence of writes into a buffer of any size. Under
//! Miri (`.ci/full miri`), these tests also check the soundness of the room below the encoder.

use oxorb_cdr::fuzz::encode_as_modelled;
#[cfg(not(miri))]
use proptest::{collection::vec, prelude::*};

/// Scripts that contain every step and grow the buffer from every size, without proptest, since
/// Miri takes 100 times as long for everything.
#[test]
fn every_step_is_taken_from_many_sizes() {
    let (scripts, length) = if cfg!(miri) { (24, 60) } else { (3000, 300) };
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    for _ in 0..scripts {
        let script: Vec<u8> = (0..length).map(|_| random()).collect();
        encode_as_modelled(&script);
    }
}

/// A buffer one octet too short, just long enough, and up to two numbers longer than what is written.
#[test]
fn numbers_end_where_the_buffer_ends() {
    let (each, far) = if cfg!(miri) { (8, 4) } else { (1, 24) };
    for length in (0..=48).step_by(each) {
        for before in 0..=far {
            for (number, _) in NUMBERS {
                let mut script = vec![0, 0xff, length, 0, length, 0];
                script.extend([7, before, 0]);
                script.extend([number, 0x5a].repeat(3));
                encode_as_modelled(&script);
            }
        }
    }
}

/// Steps of the script.
const NUMBERS: [(u8, &str); 6] = [
    (0, "octet"),
    (1, "short"),
    (2, "unsigned long"),
    (3, "long long"),
    (5, "long double"),
    (9, "a struct"),
];

#[cfg(not(miri))]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn scripts_are_done_as_modelled(script in vec(any::<u8>(), 0..400)) {
        encode_as_modelled(&script);
    }
}
