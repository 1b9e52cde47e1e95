//! Sockets that only this user reaches: managers listen on them by default, and their clients look for them.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use oxorb_terminal::output::{Failed, because};

/// Longest path of a socket (`sun_path`), in octets.
const MOST_PATH: usize = 107;

/// Longest name of a socket, in octets.
const MOST_NAME: usize = 48;

/// Permissions of the group and of others.
const OF_OTHERS: u32 = 0o077;

/// Creates the folder for sockets of this user, if missing, and returns the endpoint of a socket in it.
///
/// # Errors
/// A folder that others may change, a folder that cannot be created, an invalid file name.
pub(crate) fn endpoint(name: &str) -> Result<String, Failed> {
    let folder = folders().into_iter().next().expect("the last is always there");
    let failed = |why: String| {
        because(format!(
            "{why}\nthere is no folder for a socket that only this user can reach; specify an endpoint with --listen \
             ENDPOINT"
        ))
    };
    if !is_plain(name) {
        return Err(failed(format!(
            "{name:?} is not the name of a socket: expected 1 to {MOST_NAME} ASCII letters, digits, '.', '_' and '-'"
        )));
    }
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(failed(format!("the folder {}: {error}", folder.display())));
        }
        _ => {}
    }
    check(&folder).map_err(failed)?;
    Ok(format!("uiop://{}|mode=0600", folder.join(name).display()))
}

/// Returns the URL of an object at a socket of this user, if the socket exists.
pub(crate) fn url(name: &str, key: &str) -> Option<String> {
    let mut sockets =
        folders().into_iter().filter(|folder| check(folder).is_ok()).map(|it| it.join(name));
    let found = sockets.find(|socket| socket.exists())?;
    Some(format!("corbaloc:uiop:{}|{key}", found.display()))
}

/// Returns the possible folders of sockets, the preferred one first: the runtime folder of this login, if no other user
/// may change it, or else one in `/tmp` whose name is the same for every process of this user.
fn folders() -> Vec<PathBuf> {
    let login = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let login = login.filter(|login| login.is_absolute() && check(login).is_ok());
    let login = login.map(|login| login.join("oxorb"));
    let fits = |folder: &PathBuf| {
        let text = folder.to_str();
        text.is_some_and(|text| {
            text.len() + 1 + MOST_NAME <= MOST_PATH && !text.contains(['|', ',', ';', '@'])
        })
    };
    let shared = PathBuf::from(format!("/tmp/oxorb-{}", own()));
    login.into_iter().filter(fits).chain([shared]).collect()
}

/// Refuses a folder of another user, or one that others may read or write.
fn check(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    // Do not follow a symbolic link, because its target may belong to another user.
    let there: Metadata =
        fs::symlink_metadata(folder).map_err(|error| format!("the folder {shown}: {error}"))?;
    if !there.is_dir() {
        return Err(format!("{shown} is not a folder"));
    }
    if there.uid() != own() {
        return Err(format!("the folder {shown} belongs to user {}", there.uid()));
    }
    match there.mode() & OF_OTHERS {
        0 => Ok(()),
        _ => Err(format!(
            "the rights of the folder {shown} are {:03o}, which gives other users access; chmod go= {shown}",
            there.mode() & 0o7777
        )),
    }
}

fn own() -> u32 {
    oxorb_sys::unix::own_credentials().uid
}

fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=MOST_NAME).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sockets_are_names_of_files() {
        for good in ["cockpit.NodeManager", "ExecutionManager", "a-b_c9"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", ".", "..", ".x", "a/b", "a|b", "a b", "ä", &"x".repeat(49)] {
            assert!(!is_plain(bad), "{bad}");
        }
    }

    #[test]
    fn folders_that_others_may_look_into_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("oxorb-own-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let with = |mode| {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            check(&folder)
        };
        assert_eq!(with(0o700), Ok(()));
        for mode in [0o701, 0o710, 0o755, 0o777] {
            let refused = with(mode).unwrap_err();
            assert!(refused.contains("chmod go="), "{refused}");
        }
        let link = folder.with_extension("link");
        with(0o700).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(check(&link).unwrap_err().contains("not a folder"));
        fs::remove_file(link).unwrap();
        fs::remove_dir(folder).unwrap();
    }
}
