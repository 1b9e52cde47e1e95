//! The fuzz targets' entry points, on seeds that reach their insides: kept here so they cannot rot between fuzz runs.

mod common;

use common::{ORDERS, VERSIONS, every_kind, split};
use oxorb_giop::{Version, fuzz};

#[test]
fn the_entry_points_take_seeds_and_every_change_of_one_octet() {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for version in VERSIONS {
        for order in ORDERS {
            for message in every_kind(version, order, 3, b"body") {
                let mut seed = vec![16];
                if version >= Version::V1_2 && message.len() > 16 {
                    seed.extend(split(&message, &[5, 9]).concat());
                } else {
                    seed.extend(message);
                }
                seeds.push(seed);
            }
        }
    }
    for seed in &mut seeds {
        fuzz::receive(seed);
        for at in 0..seed.len() {
            for change in [0x01, 0x02, 0x80, 0xff] {
                seed[at] ^= change;
                fuzz::receive(seed);
                seed[at] ^= change;
            }
        }
    }
    let texts = [
        "corbaloc::1.2@[::1]:1,:h/%41",
        "corbaname:rir:#a/b",
        "IOR:00000000000000010000000000000000",
    ];
    for text in texts {
        let mut text = text.as_bytes().to_vec();
        for at in 0..text.len() {
            for change in [0x01, 0x02, 0x10, 0x40] {
                text[at] ^= change;
                fuzz::corbaloc(&text);
                fuzz::ior(&text);
                text[at] ^= change;
            }
        }
    }
}
