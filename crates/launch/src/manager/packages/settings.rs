//! Settings of a repository.

use std::path::PathBuf;
use std::time::Duration;

use crate::manager::fetch::FetchSource;

/// Folder and limits of a [`PackageRepository`](super::PackageRepository).
#[derive(Clone, Debug)]
pub struct RepositorySettings {
    /// Folder of the packages. It is created if it is missing. Only this user and root must be able to change it.
    pub folder: PathBuf,
    /// Folder of the archives that clients may install, and of the artifacts of packages that clients create. Clients
    /// can read no other files through the repository. Only this user and root must be able to change it. Default:
    /// none, so that no archives can be installed.
    pub sources: Option<PathBuf>,
    /// Servers from which clients may install archives. Default: none.
    pub urls: Vec<FetchSource>,
    /// Time limit for fetching an archive from a server. Default 60 s. Beyond it: PackageError.
    pub fetch_timeout: Duration,
    /// Maximum number of packages. Default 64. Beyond it: PackageError.
    pub max_packages: usize,
    /// Maximum size in octets of the archive of a package, and of all files in the archive together. Default 64 MiB.
    /// The manager reads one package at a time into memory. Beyond it: PackageError.
    pub max_package_octets: u64,
}

impl RepositorySettings {
    /// Default of [`max_packages`](Self::max_packages).
    pub const MAX_PACKAGES: usize = 64;

    /// Default of [`max_package_octets`](Self::max_package_octets).
    pub const MAX_PACKAGE_OCTETS: u64 = 64 << 20;

    /// Default of [`fetch_timeout`](Self::fetch_timeout).
    pub const FETCH_TIMEOUT: Duration = Duration::from_secs(60);

    /// Returns the default settings for a folder of packages.
    pub fn new(folder: impl Into<PathBuf>) -> RepositorySettings {
        RepositorySettings {
            folder: folder.into(),
            sources: None,
            urls: Vec::new(),
            fetch_timeout: Self::FETCH_TIMEOUT,
            max_packages: Self::MAX_PACKAGES,
            max_package_octets: Self::MAX_PACKAGE_OCTETS,
        }
    }
}
