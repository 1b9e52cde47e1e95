//! Files that clients name: those below the folder of sources, which only this user and root can change.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use oxorb_object::{Url, parse_reference};
use oxorb_sys::descriptor::open_regular;

use super::refusal::Refusal;
use crate::manager::fetch::MOST_LOCATION;
use crate::manager::owned::owned_folder;
use crate::manager::trusted::{self, leads_below, stays_within};

/// Returns the path of a file or folder that a client names, below the folder of sources.
pub(super) fn find(sources: Option<&Path>, location: &str) -> Result<PathBuf, Refusal> {
    let Some(sources) = sources else {
        return Err(Refusal::Package(
            "this repository reads no files that its clients name: start the manager with --install-from DIR \
             (RepositorySettings::sources), the folder of the archives that clients may install"
                .to_owned(),
        ));
    };
    let path = path_of(location)?;
    // A wrong folder is no fault of the client, and the reason contains its path and owner.
    let folder = owned_folder(sources, "the folder from which packages are installed")
        .map_err(Refusal::Store)?;
    let joined = folder.join(&path);
    let outside = || {
        format!(
            "{location:?} is not below the folder from which packages are installed (RepositorySettings::sources, \
             --install-from)"
        )
    };
    // Refuse a path outside the folder without accessing it. Otherwise the error would reveal whether the file exists.
    let is_inside = stays_within(&path)
        || leads_below(Path::new(&path), sources)
        || leads_below(&joined, &folder);
    if !is_inside {
        return Err(Refusal::Package(outside()));
    }
    let found =
        trusted::resolve(&joined).map_err(|reason| below(&folder, "--install-from", &reason))?;
    match found.starts_with(&folder) {
        true => Ok(found),
        false => Err(Refusal::Package(outside())),
    }
}

/// Returns the reason for a client why a file below a folder cannot be used. It has a name instead of the path of the
/// folder, which clients do not know.
pub(super) fn below(folder: &Path, name: &str, reason: &str) -> Refusal {
    let shown = folder.display().to_string();
    Refusal::Package(match shown.as_str() {
        "/" => reason.to_owned(),
        shown => reason.replace(shown, name),
    })
}

/// Returns the path of a location: a path, or a `file:` URL.
fn path_of(location: &str) -> Result<String, String> {
    check_length(location)?;
    let location = location.trim();
    let scheme = location.split_once(':').map(|(scheme, _)| scheme);
    match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => match parse_reference(location) {
            Ok(Url::File(path)) if !path.is_empty() => Ok(path),
            _ => Err(format!("the location {location:?} contains no path")),
        },
        _ if location.contains("://") => Err(format!(
            "the location {location:?} is not a file of this machine; copy the files into the folder of \
             --install-from, and specify their path"
        )),
        _ if location.is_empty() => {
            Err("the location is empty; specify the path of an archive".to_owned())
        }
        _ => Ok(location.to_owned()),
    }
}

/// Refuses a location that is too long for a path, and for an error.
pub(super) fn check_length(location: &str) -> Result<(), String> {
    match location.len() {
        0..=MOST_LOCATION => Ok(()),
        count => Err(format!("a location has {count} octets, but the limit is {MOST_LOCATION}")),
    }
}

/// Reads a regular file of at most `most` octets.
pub(super) fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    open_regular(path)?.take(most.saturating_add(1)).read_to_end(&mut octets)?;
    match octets.len() as u64 > most {
        true => Err(io::Error::other(format!(
            "it has more than {most} octets, the limit (RepositorySettings::max_package_octets, --max-package-octets)"
        ))),
        false => Ok(octets),
    }
}
