//! Entry points of the fuzz targets for gateways, run on their seeds. These tests show when a change breaks an entry
//! point between two fuzz runs.

use oxorb::{bridge, gateway};

/// Runs an entry point on the seeds of its target, and on changes of each octet of a seed.
fn takes_its_seeds(name: &str, run: fn(&[u8]), least: usize) {
    let folder = format!("{}/../../fuzz/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut seeds = 0;
    for seed in std::fs::read_dir(&folder).unwrap() {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        run(&seed);
        for at in 0..seed.len() {
            for change in [0x01, 0x02, 0x10, 0x80] {
                seed[at] ^= change;
                run(&seed);
                seed[at] ^= change;
            }
        }
        seeds += 1;
    }
    assert!(seeds >= least, "{seeds} seeds in {folder}");
}

#[test]
fn octets_that_are_searched_for_references() {
    takes_its_seeds("references", bridge::fuzz::references, 5);
}

#[test]
fn values_whose_references_are_replaced() {
    takes_its_seeds("reference_values", bridge::fuzz::values, 6);
}

#[test]
fn ids_and_references_that_a_gateway_receives() {
    takes_its_seeds("gateway_ids", gateway::fuzz::ids, 6);
}
