//! Runs the fuzz target `filter` with its seeds, and with each seed after single octets have been changed.

#[test]
fn the_entry_point_takes_its_seeds() {
    let folder = format!("{}/../../fuzz/seeds/filter", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for seed in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}")) {
        let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
        oxorb_notify::etcl::fuzz::filter(&seed);
        count += 1;
        for at in (0..seed.len()).step_by(3) {
            for change in [1, 0x80] {
                seed[at] ^= change;
                oxorb_notify::etcl::fuzz::filter(&seed);
                seed[at] ^= change;
            }
        }
    }
    assert!(count > 0, "no seeds in {folder}");
}
