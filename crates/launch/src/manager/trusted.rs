//! Check that only this user and root can change a path.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use oxorb_sys::unix::own_credentials;

/// Maximum number of symbolic links in one path, as in Linux.
const MOST_LINKS: usize = 40;

/// Write permission of the group and of others.
const WRITABLE: u32 = 0o022;

/// Sticky bit. In a folder with this bit, only the owner of a file can replace the file.
const STICKY: u32 = 0o1000;

/// Resolves a path from the root, including links. A user who can replace a folder, a link or the file in the path
/// controls the result. Each of them must therefore belong to this user or to root, and must not be writable by group
/// or others. Folders with the sticky bit, such as `/tmp`, may be writable.
///
/// # Errors
/// A missing file, or one that other users may change, with the command that corrects the permissions.
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
            return Err(format!(
                "{}: the path contains more than {MOST_LINKS} links",
                path.display()
            ));
        }
        let target = fs::read_link(&next).map_err(|error| failed(&next, error))?;
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        ahead.extend(reversed(&target));
    }
    Ok(at)
}

/// Reports whether a location is relative and stays within the folder in which it starts.
pub(super) fn stays_within(location: &str) -> bool {
    let mut components = Path::new(location).components();
    components.all(|one| matches!(one, Component::Normal(_) | Component::CurDir))
}

/// Reports whether a path without `..` is below a folder.
pub(super) fn leads_below(path: &Path, folder: &Path) -> bool {
    path.strip_prefix(folder).is_ok_and(|rest| rest.to_str().is_some_and(stays_within))
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

/// Returns an error if users other than root and `own` may change a file, folder or link.
fn check(path: &Path, there: &Metadata, own: u32) -> Result<(), String> {
    let shown = path.display();
    let (owner, mode) = (there.uid(), there.mode());
    if owner != 0 && owner != own {
        return Err(format!(
            "{shown} belongs to user {owner}, who may replace it; change the owner to this user (chown {own} {shown}) \
             or to root"
        ));
    }
    // Ignore the mode of a link: permission to replace it depends on its folder, which is checked too.
    let may_write = !there.is_symlink() && mode & WRITABLE != 0;
    let is_shared = there.is_dir() && mode & STICKY != 0;
    match may_write && !is_shared {
        false => Ok(()),
        true => Err(format!(
            "other users may write to {shown} (its permissions are {:03o}), and so choose the program to run; chmod \
             go-w {shown}",
            mode & 0o7777
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder for one test, with a program in `bin`.
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
                let wanted = format!("(its permissions are {mode:o})");
                assert!(refused.contains(&wanted), "{name}: {refused}");
                assert!(refused.contains("chmod go-w"), "{refused}");
            }
            folder.allow(name, 0o755);
        }
        // In a folder with the sticky bit, other users cannot replace the file.
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
            // Every user accepts files that belong to root.
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
        // In a writable folder, other users could replace the second link.
        folder.allow("open", 0o777);
        let refused = folder.resolve("safe/p").unwrap_err();
        assert!(refused.contains("/open "), "{refused}");
        symlink("round", folder.0.join("round")).unwrap();
        assert!(folder.resolve("round").unwrap_err().contains("40 links"));
        assert!(folder.resolve("missing").unwrap_err().contains("No such file"));
    }
}
