//! Entry point of the fuzz target, run on its seeds. This test shows when a change breaks the entry
//! point between two fuzz runs.

use oxorb_protocols::unix::fuzz::profiles;

#[test]
fn the_entry_point_takes_its_seeds_and_every_change_of_one_octet() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/profiles");
    let mut seeds = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        profiles(&seed);
        for at in 0..seed.len() {
            for change in [0x01, 0x02, 0x10, 0x80, 0xff] {
                seed[at] ^= change;
                profiles(&seed);
                seed[at] ^= change;
            }
        }
        seeds += 1;
    }
    assert!(seeds >= 8, "{seeds} seeds in {folder}");
}
