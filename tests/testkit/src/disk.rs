//! Disks that are full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::missing;

/// A file system in memory of a size of one's own; unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a tmpfs of `octets` in a new folder; [`missing`] without the privilege to do so.
    ///
    /// # Panics
    /// Where `OXORB_REQUIRE_TOOLS` asks for it and the disk cannot be mounted; also when no temporary folder can be made.
    pub fn mount(test: &str, octets: u64) -> Option<SmallDisk> {
        let name = format!("oxorb-disk-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a temporary folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={octets}"), "oxorb-disk"])
            .arg(&folder)
            .output();
        let why = match mounted {
            Ok(output) if output.status.success() => return Some(SmallDisk(folder)),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let _ = fs::remove_dir(&folder);
        missing("the privilege to mount a small disk", &why);
        None
    }

    /// Returns the path of a file on the disk.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Fills the disk to its last octet with a file, and returns its path: removing it makes room again.
    ///
    /// # Panics
    /// When the file cannot be made.
    pub fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.file("ballast");
        let mut ballast = fs::File::create(&path).expect("a file on the small disk");
        for octets in [64 << 10, 4096, 1] {
            while ballast.write_all(&vec![1; octets]).is_ok() {}
        }
        path
    }

    /// Returns the folder where the disk is mounted.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a store of a test that failed may be open still.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}
