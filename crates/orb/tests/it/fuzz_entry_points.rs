//! Entry point of the fuzz target for access rules, run on its seeds. This test shows when a change breaks the entry
//! point between two fuzz runs.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it makes no calls.

use oxorb::config::fuzz::access_rules;

#[test]
fn the_entry_point_takes_its_seeds_and_changes_of_one_octet() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/access_rules");
    let mut seeds = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        access_rules(&seed);
        for at in 0..seed.len() {
            for change in [0x01, 0x02, 0x10, 0x20] {
                seed[at] ^= change;
                access_rules(&seed);
                seed[at] ^= change;
            }
        }
        seeds += 1;
    }
    assert!(seeds >= 5, "{seeds} seeds in {folder}");
}
