//! Two ends of a connection with arbitrary events in arbitrary order.

use oxorb_lite::fuzz;
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_was_written_arrives_whatever_happens_between(
        protocol in 0..5_u8,
        events in prop::collection::vec((0..15_u8, any::<u8>()), 0..400),
        nonsense in prop::option::of((any::<prop::sample::Index>(), 0..2_u8)),
    ) {
        let mut data = vec![protocol];
        for (event, detail) in &events {
            data.extend([*event, *detail]);
        }
        if let Some((at, detail)) = nonsense && !events.is_empty() {
            let at = 1 + 2 * at.index(events.len());
            data[at..at + 2].copy_from_slice(&[15, detail]);
        }
        fuzz::session(&data);
    }
}

/// Runs the entry points of the fuzz targets of this crate on their seeds, and on every change of
/// one octet of each.
#[test]
fn fuzz_entry_points_take_their_seeds() {
    for (folder, run) in [("lite", fuzz::receive as fn(&[u8])), ("sessions", fuzz::session)] {
        let folder = format!("{}/../../fuzz/seeds/{folder}", env!("CARGO_MANIFEST_DIR"));
        for seed in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}")) {
            let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
            run(&seed);
            for at in 0..seed.len() {
                for change in [1, 0x10, 0x80, 0xFF] {
                    seed[at] ^= change;
                    run(&seed);
                    seed[at] ^= change;
                }
            }
        }
    }
}
