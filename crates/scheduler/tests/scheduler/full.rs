//! A full disk that has space again later, and an empty state file.

use std::time::{Duration, Instant};

use oxorb_scheduler::{Limits, Refusal, Scheduling};
use oxorb_testkit::disk::SmallDisk;

use super::{Folder, rms};

#[test]
fn changes_are_kept_again_once_a_full_disk_has_room() {
    let Some(disk) = SmallDisk::mount("scheduler", 4 << 20) else {
        return;
    };
    let file = disk.file("schedule.redb");
    let scheduling = Scheduling::open(&file, rms(), Limits::default()).unwrap();
    let create = |name: String| scheduling.change(|service| service.create(&name));
    create("first".to_owned()).unwrap();
    let ballast = disk.fill();
    let refused = (0..20_000).find_map(|number| {
        let name = format!("{number}-{}", "x".repeat(4_000));
        create(name).err()
    });
    assert!(
        matches!(refused, Some(Refusal::NotWritten(_))),
        "the disk was never full: {refused:?}"
    );
    let before = scheduling.look(|service| service.repository().len());
    std::fs::remove_file(ballast).unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while let Err(error) = create("second".to_owned()) {
        assert!(Instant::now() < patience, "there is room: {error:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = scheduling.look(|service| service.repository().len());
    assert_eq!(after, before.map(|count| count + 1));
    drop(scheduling);
    let again = Scheduling::open(&file, rms(), Limits::default()).unwrap();
    assert_eq!(again.look(|service| service.repository().len()), after);
}

#[test]
fn a_state_of_no_octets_is_refused_with_the_cure() {
    let folder = Folder::new("empty");
    std::fs::write(folder.state(), "").unwrap();
    let refused = Scheduling::open(folder.state(), rms(), Limits::default());
    let refused = refused.expect_err("it is empty").to_string();
    assert!(refused.contains("0 octets"), "{refused}");
    assert!(refused.contains("backup"), "{refused}");
}
