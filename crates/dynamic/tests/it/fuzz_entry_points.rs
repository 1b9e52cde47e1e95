//! Entry points of the fuzz targets, run on their seeds. These tests show when a change breaks an entry point between
//! two fuzz runs.

use oxorb_dynamic::fuzz;

#[test]
fn the_entry_points_take_their_seeds_and_changes_of_one_octet() {
    let targets = [("json", fuzz::json as fn(&[u8])), ("json_arguments", fuzz::json_arguments)];
    for (name, run) in targets {
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
        assert!(seeds >= 4, "{seeds} seeds in {folder}");
    }
}
