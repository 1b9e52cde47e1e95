//! Full disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::missing;

/// File system in memory of a chosen size; unmounted on drop.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a tmpfs of `octets` in a new folder; calls [`missing`] without the privilege to do so.
    ///
    /// # Panics
    /// If `OXORB_REQUIRE_TOOLS` requires the disk and it cannot be mounted, or if no temporary folder can be made.
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

    /// Fills the disk completely with a file, and returns its path: removing the file frees space.
    ///
    /// # Panics
    /// If the file cannot be made.
    pub fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.file("ballast");
        let mut ballast = fs::File::create(&path).expect("a file on the small disk");
        for octets in [64 << 10, 4096, 1] {
            while ballast.write_all(&vec![1; octets]).is_ok() {}
        }
        path
    }

    /// Returns the mount point of the disk.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a failed test may still have a store open.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}
