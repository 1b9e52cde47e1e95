//! Archives of packages in repositories, read in parts.

use std::time::{Duration, Instant};

use oxorb_core::Interface as _;
use oxorb_object::SystemExceptionKind;

use super::{ABANDONED, Limit, is_abandoned, left};
use crate::idl::ox_deployment as ox;
use crate::idl::ox_deployment::repository_manager::ReadArchiveError;

/// Reads the archive of a package in the repository of an execution manager. The archive has at most `most` octets, and
/// is read within `timeout`.
///
/// # Errors
/// The repository does not answer in time, is none of OxORB, or has no such package; the limit; the package was replaced
/// meanwhile; or this thread serves a request whose client no longer waits.
pub fn read_archive(
    repository: &ox::RepositoryManagerRef,
    package: &str,
    most: u64,
    timeout: Duration,
) -> Result<Vec<u8>, String> {
    let end = Instant::now().checked_add(timeout);
    let end = end.ok_or("the time limit exceeds the range of the clock")?;
    let limit = Limit { octets: most, name: "of archives that are read" };
    read(repository, package, &limit, end)
}

/// Reads the archive of a package until a time.
pub(super) fn read(
    repository: &ox::RepositoryManagerRef,
    package: &str,
    limit: &Limit,
    end: Instant,
) -> Result<Vec<u8>, String> {
    let (mut octets, mut version) = (Vec::new(), String::new());
    loop {
        if is_abandoned(repository.reference().orb()) {
            return Err(ABANDONED.to_owned());
        }
        let repository = repository.with_timeout(left(end)?);
        let read = repository.read_archive(package, &version, octets.len() as u64);
        let part = read.map_err(|error| match error {
            ReadArchiveError::NoSuchName(_) => format!("the repository has no package {package:?}"),
            ReadArchiveError::PackageError(why) => why.reason,
            ReadArchiveError::System(exception) => match exception.kind {
                SystemExceptionKind::BadOperation => {
                    format!("{exception}; only repositories of OxORB provide archives")
                }
                _ => exception.to_string(),
            },
        })?;
        limit.admit(part.size.max((octets.len() + part.octets.len()) as u64))?;
        let is_empty = part.octets.is_empty();
        octets.extend_from_slice(&part.octets);
        match (octets.len() as u64).cmp(&part.size) {
            std::cmp::Ordering::Equal => return Ok(octets),
            std::cmp::Ordering::Less if !is_empty => version = part.version,
            _ => {
                return Err(format!(
                    "the repository sent {} octets of an archive of {} octets",
                    octets.len(),
                    part.size
                ));
            }
        }
    }
}
