//! Entry points of the fuzz targets, on seeds that reach their depth: tested here so that they work
//! between fuzz runs.

use oxorb_object::fuzz;

#[test]
fn the_entry_points_take_seeds_and_every_change_of_one_octet() {
    let texts = [
        "corbaloc::1.2@[::1]:1,:h/%41",
        "corbaname:rir:#a/b",
        "IOR:00000000000000010000000000000000",
    ];
    for text in texts {
        let mut text = text.as_bytes().to_vec();
        for at in 0..text.len() {
            for change in [0x01, 0x02, 0x10, 0x40] {
                text[at] ^= change;
                fuzz::corbaloc(&text);
                fuzz::ior(&text);
                text[at] ^= change;
            }
        }
    }
}
