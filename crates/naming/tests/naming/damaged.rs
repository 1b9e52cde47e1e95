//! Stores whose file is damaged.

use oxorb_naming::Store;

use super::{Folder, Served, n};

#[test]
fn a_damaged_store_is_an_error() {
    let folder = Folder::new("damaged");
    let served =
        Served::of(Store::open(folder.store()).unwrap(), oxorb_naming::Limits::default(), 0);
    let object = served.object("o");
    for number in 0..40 {
        let name = format!("name{number}");
        served.root.bind(&n(&name), Some(&object)).unwrap();
    }
    drop(served);
    let whole = std::fs::read(folder.store()).unwrap();
    let mut refused = 0;
    // Damage a copy of the file at each of 48 positions: truncate it there, or zero or invert 64 octets.
    for step in 0..48 {
        let mut octets = whole.clone();
        let at = whole.len() / 48 * step;
        let damaged = octets[at..].iter_mut().take(64);
        match step % 3 {
            0 => octets.truncate(at),
            1 => damaged.for_each(|octet| *octet = 0),
            _ => damaged.for_each(|octet| *octet ^= 0xFF),
        }
        let copy = folder.store().with_file_name(format!("copy{step}"));
        std::fs::write(&copy, octets).unwrap();
        let counted = Store::open(&copy).and_then(|store| {
            store.contexts()?;
            store.bindings()
        });
        if let Err(error) = counted {
            refused += 1;
            assert!(error.to_string().contains("copy"), "{error}");
        }
    }
    assert!(refused > 0);
}
