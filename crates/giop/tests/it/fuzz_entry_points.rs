//! Entry points of the fuzz targets, with seeds that reach most of their code. These tests show when
//! a change breaks an entry point between two fuzz runs.

use oxorb_giop::{Wire, fuzz};
use oxorb_object::Version;

use crate::common::{ORDERS, VERSIONS, every_kind, split};

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

#[test]
fn first_messages_take_seeds_and_every_change_of_one_octet() {
    for (version, order) in VERSIONS.into_iter().flat_map(|it| ORDERS.map(|order| (it, order))) {
        for mut seed in every_kind(version, order, 3, b"body") {
            fuzz::first_message(&seed);
            for at in 0..seed.len() {
                for change in [0x01, 0x02, 0x80, 0xff] {
                    seed[at] ^= change;
                    fuzz::first_message(&seed);
                    seed[at] ^= change;
                }
            }
        }
    }
}

#[test]
fn sessions_take_any_events_in_any_order() {
    for version in VERSIONS {
        sessions(Wire::Giop(version));
    }
}

fn sessions(wire: Wire) {
    let mut state = 7_u64;
    for round in 0..300 {
        let events: Vec<u8> = (0..200 + round)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        fuzz::session(wire, &events);
        // These events send no invalid octets, so every message must arrive.
        let sound: Vec<u8> =
            events.chunks_exact(2).flat_map(|event| [event[0] % 15, event[1]]).collect();
        fuzz::session(wire, &sound);
    }
}
