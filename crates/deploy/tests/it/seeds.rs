//! The fuzz target on its seeds, cut off anywhere.

#[test]
fn seeds_are_read_whole_and_in_part() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/deployment");
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).expect("there are seeds") {
        let octets = std::fs::read(entry.unwrap().path()).unwrap();
        oxorb_deploy::fuzz::document(&octets);
        for end in (0..octets.len()).step_by(37) {
            oxorb_deploy::fuzz::document(&octets[..end]);
        }
        seeds += 1;
    }
    assert!(seeds >= 6, "{seeds}");
}
