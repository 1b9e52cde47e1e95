//! The fuzz target's entry point, on seeds that reach its inside: kept here so it cannot rot between fuzz runs.

mod common;

use common::{ORDERS, VERSIONS, every_kind, split};
use oxorb_giop::fuzz;
use oxorb_object::Version;

#[test]
fn the_entry_point_takes_seeds_and_every_change_of_one_octet() {
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
}
