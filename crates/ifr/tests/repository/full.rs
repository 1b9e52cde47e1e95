//! A full disk, and one with space again; an empty file.

use oxorb_ifr::Store;
use oxorb_testkit::disk::SmallDisk;

use super::Folder;

#[test]
fn units_are_stored_again_once_a_full_disk_has_room() {
    let folder = Folder::new("full");
    let Some(disk) = SmallDisk::mount("ifr", 4 << 20) else {
        return;
    };
    let store = Store::open(disk.file("repository.redb")).unwrap();
    let member = |number| format!("struct S{number} {{ long x; }};\n");
    let small = folder.unit("small.idl", &member(0));
    let large = folder.unit("large.idl", &(1..2_000).map(member).collect::<String>());
    store.put(std::slice::from_ref(&small)).unwrap();
    let ballast = disk.fill();
    let units: Vec<_> = std::iter::repeat_n(large.clone(), 1).collect();
    let refused = (0..200).find_map(|_| store.put(&units).err());
    assert!(refused.is_some(), "the disk was never full");
    // Units that were stored before must be readable while the disk is full.
    assert!(!store.units().unwrap().is_empty());
    std::fs::remove_file(ballast).unwrap();
    let mut stored = store.put(&units);
    for _ in 0..1_000 {
        if stored.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        stored = store.put(&units);
    }
    stored.unwrap();
    assert_eq!(store.units().unwrap().len(), 2);
}

#[test]
fn a_store_of_no_octets_is_refused_with_the_cure() {
    let folder = Folder::new("empty");
    let path = folder.write("store", "");
    for refused in [Store::open(&path).err(), Store::read(&path).err()] {
        let refused = refused.expect("it is empty").to_string();
        assert!(refused.contains("0 octets"), "{refused}");
        assert!(refused.contains("backup"), "{refused}");
    }
}
