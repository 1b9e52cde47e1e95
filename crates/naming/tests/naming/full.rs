//! A full disk that has space again later, and the permissions of new files.

use std::time::{Duration, Instant};

use oxorb::SystemExceptionKind;
use oxorb_naming::cos_naming::naming_context::BindError;
use oxorb_naming::{Limits, Store};
use oxorb_testkit::disk::SmallDisk;

use super::{Folder, Served, n};

#[test]
fn binds_succeed_again_once_a_full_disk_has_room() {
    let Some(disk) = SmallDisk::mount("naming", 4 << 20) else {
        return;
    };
    let store = Store::open(disk.file("names.redb")).unwrap();
    let served = Served::of(store, Limits::default(), 0);
    let object = served.object("o");
    let bind = |name: String| served.root.bind(&n(&name), Some(&object));
    bind("first".to_owned()).unwrap();
    let ballast = disk.fill();
    // Bind long names, so that the file must grow.
    let mut bound = Vec::new();
    let refused = (0..2_000).find_map(|number| {
        let name = format!("{number}-{}", "x".repeat(4_000));
        match bind(name.clone()) {
            Ok(()) => {
                bound.push(name);
                None
            }
            Err(error) => Some(error),
        }
    });
    match refused {
        Some(BindError::System(error)) => {
            assert_eq!(error.kind, SystemExceptionKind::PersistStore);
        }
        other => panic!("the disk was never full: {other:?}"),
    }
    // Reading works while the disk is full.
    served.root.resolve(&n("first")).unwrap();
    std::fs::remove_file(ballast).unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while let Err(error) = bind("second".to_owned()) {
        assert!(Instant::now() < patience, "there is room: {error:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    for name in bound.iter().map(String::as_str).chain(["first", "second"]) {
        served.root.resolve(&n(name)).unwrap();
    }
}

#[test]
fn a_store_of_no_octets_is_refused_with_the_cure() {
    let folder = Folder::new("empty");
    std::fs::write(folder.store(), "").unwrap();
    let refused = Store::open(folder.store()).unwrap_err().to_string();
    assert!(refused.contains("names.redb"), "{refused}");
    assert!(refused.contains("0 octets"), "{refused}");
    assert!(refused.contains("backup"), "{refused}");
    // The file must stay as it is, so that the damage can be analysed.
    assert_eq!(std::fs::metadata(folder.store()).unwrap().len(), 0);
}

#[cfg(unix)]
#[test]
fn others_cannot_read_a_store() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("mode");
    drop(Store::open(folder.store()).unwrap());
    let mode = std::fs::metadata(folder.store()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let left: Vec<_> = std::fs::read_dir(folder.store().parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
