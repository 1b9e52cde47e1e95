//! Paths that only this user and root can change.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use oxorb_sys::unix::own_credentials;

/// Maximum number of symbolic links on the path to one file, as in Linux.
const MOST_LINKS: usize = 40;

/// Write permission of the group and of others.
const WRITABLE: u32 = 0o022;

/// Sticky bit: files in such a folder can be replaced only by their owners.
const STICKY: u32 = 0o1000;

/// Resolves a path from the root, links included. A user who can replace a folder, a link or the file on the path
/// controls the result, so each must belong to this user or to root, without write permission for group or others.
/// Folders with the sticky bit, such as `/tmp`, are permitted.
///
/// # Errors
/// A missing file, or one that others may change, with the command that prevents it.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, String> {
    resolve_for(path, own_credentials().uid)
}

fn resolve_for(path: &Path, own: u32) -> Result<PathBuf, String> {
    let failed = |at: &Path, error: io::Error| format!("{}: {error}", at.display());
    let absolute = std::path::absolute(path).map_err(|error| failed(path, error))?;
    let mut at = PathBuf::from("/");
    let root = fs::symlink_metadata(&at).map_err(|error| failed(&at, error))?;
    check(&at, &root, own)?;
    let mut ahead = reversed(&absolute);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        let there = fs::symlink_metadata(&next).map_err(|error| failed(&next, error))?;
        check(&next, &there, own)?;
        if !there.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(format!("{}: more than {MOST_LINKS} links on the way", path.display()));
        }
        let target = fs::read_link(&next).map_err(|error| failed(&next, error))?;
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        ahead.extend(reversed(&target));
    }
    Ok(at)
}

/// Returns the components of a path in reverse order.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|one| match one {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}

/// Refuses a file, folder or link that others than root and `own` may change.
fn check(path: &Path, there: &Metadata, own: u32) -> Result<(), String> {
    let shown = path.display();
    let (owner, mode) = (there.uid(), there.mode());
    if owner != 0 && owner != own {
        return Err(format!(
            "{shown} belongs to user {owner}, who may change what it is; give it to this user (chown {own} {shown}) or to root"
        ));
    }
    // The permissions of a link are irrelevant; those of its folder determine who may replace it.
    let may_write = !there.is_symlink() && mode & WRITABLE != 0;
    let is_shared = there.is_dir() && mode & STICKY != 0;
    match may_write && !is_shared {
        false => Ok(()),
        true => Err(format!(
            "other users may write to {shown} (its rights are {:03o}), and so decide what runs; chmod go-w {shown}",
            mode & 0o7777
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder of one test, with a program in `bin`.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let path =
                std::env::temp_dir().join(format!("oxorb-trusted-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("bin")).unwrap();
            fs::write(path.join("bin/p"), "").unwrap();
            let folder = Folder(path);
            for name in ["", "bin", "bin/p"] {
                folder.allow(name, 0o755);
            }
            folder
        }

        fn allow(&self, name: &str, mode: u32) {
            fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }

        fn resolve(&self, name: &str) -> Result<PathBuf, String> {
            resolve(&self.0.join(name))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_others_may_write_to_is_refused() {
        let folder = Folder::new("rights");
        assert!(folder.resolve("bin/p").unwrap().ends_with("bin/p"));
        for name in ["", "bin", "bin/p"] {
            for mode in [0o775, 0o757] {
                folder.allow(name, mode);
                let refused = folder.resolve("bin/p").unwrap_err();
                let wanted = format!("(its rights are {mode:o})");
                assert!(refused.contains(&wanted), "{name}: {refused}");
                assert!(refused.contains("chmod go-w"), "{refused}");
            }
            folder.allow(name, 0o755);
        }
        // In a sticky folder other users cannot replace the files.
        folder.allow("bin", 0o1777);
        folder.resolve("bin/p").unwrap();
        folder.allow("bin/p", 0o1757);
        folder.resolve("bin/p").unwrap_err();
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let folder = Folder::new("owner");
        let owner = fs::metadata(&folder.0).unwrap().uid();
        let other = resolve_for(&folder.0.join("bin/p"), owner.wrapping_add(1));
        match owner {
            // Root's files may be executed by any user.
            0 => drop(other.unwrap()),
            _ => assert!(other.unwrap_err().contains(&format!("belongs to user {owner}"))),
        }
    }

    #[test]
    fn links_are_followed_and_their_folders_checked() {
        let folder = Folder::new("links");
        let (safe, open) = (folder.0.join("safe"), folder.0.join("open"));
        fs::create_dir(&open).unwrap();
        symlink(folder.0.join("bin"), open.join("link")).unwrap();
        symlink("open/link", &safe).unwrap();
        folder.allow("open", 0o755);
        assert_eq!(folder.resolve("safe/p"), folder.resolve("bin/p"));
        assert_eq!(folder.resolve("safe/../bin/p"), folder.resolve("bin/p"));
        // Others could redirect the second link.
        folder.allow("open", 0o777);
        let refused = folder.resolve("safe/p").unwrap_err();
        assert!(refused.contains("/open "), "{refused}");
        symlink("round", folder.0.join("round")).unwrap();
        assert!(folder.resolve("round").unwrap_err().contains("40 links"));
        assert!(folder.resolve("missing").unwrap_err().contains("No such file"));
    }
}
