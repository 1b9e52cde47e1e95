//! Entry points of the fuzz targets, run on their seeds. These tests show when a change breaks an
//! entry point between two fuzz runs.

use oxorb_protocols::datagram::fuzz::datagrams;
use oxorb_protocols::datagram::group::fuzz::groups;

/// Runs an entry point on the seeds of its target, and on every one-octet change of each.
fn takes_its_seeds(name: &str, entry: fn(&[u8]), least: usize) {
    let folder = format!("{}/../../fuzz/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut seeds = 0;
    for seed in std::fs::read_dir(&folder).unwrap() {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        entry(&seed);
        for at in 0..seed.len() {
            for change in [0x01, 0x02, 0x10, 0x80, 0xff] {
                seed[at] ^= change;
                entry(&seed);
                seed[at] ^= change;
            }
        }
        seeds += 1;
    }
    assert!(seeds >= least, "{seeds} seeds in {folder}");
}

#[test]
fn the_entry_point_takes_its_seeds_and_every_change_of_one_octet() {
    takes_its_seeds("datagrams", datagrams, 6);
}

#[test]
fn that_of_groups_takes_its_seeds_and_every_change_of_one_octet() {
    takes_its_seeds("groups", groups, 5);
}
