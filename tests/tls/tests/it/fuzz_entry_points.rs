//! Entry point of the fuzz target, on its seeds: tested here so that it keeps working between fuzz runs.

use oxorb::tls::fuzz::handshakes;

#[test]
fn the_entry_point_takes_its_seeds_and_changes_of_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/tls");
    let mut seeds = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        handshakes(&seed);
        for at in 0..seed.len() {
            for change in [0x01, 0x80, 0xff] {
                seed[at] ^= change;
                handshakes(&seed);
                seed[at] ^= change;
            }
        }
        seeds += 1;
    }
    assert!(seeds >= 4, "{seeds} seeds in {folder}");
}
