//! Packages in a folder: one archive for each, under the name of the package.
//!
//! ```text
//! install: archive below the folder of sources --+
//! install: archive that a server hands out ------+
//! create: struct, artifacts below that folder ---+-> read, within the limits -> temporary file -> NAME.cpk
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::Instant;

use oxorb_core::Orb;
use oxorb_core::lock::Mutex;
use oxorb_deploy::Archive;
use oxorb_sys::descriptor::open_regular;

use super::fetch::{Fetch, Limit, Remote, pass, permit};
use super::owned::{claim, owned_folder};
use super::package_name::{file_name, name_of};
use super::together::Gate;
use crate::idl::deployment as d;
use crate::idl::ox_deployment as ox;
use crate::wire::package_from_wire;

mod content;
mod created;
mod refusal;
mod settings;
mod sources;
#[cfg(test)]
mod tests;

pub(super) use refusal::Refusal;
pub use settings::RepositorySettings;

use content::{Summary, parse, summary};
use sources::read_file;

/// Maximum number of octets of a part of an archive in a reply.
const PART: u64 = 256 << 10;

/// Ending of the name of a file that is being written.
const TEMPORARY: &str = ".new";

/// Packages of an execution manager (`Deployment::RepositoryManager`), each in one file of a folder.
///
/// A package is on disk before its installation is acknowledged, and is replaced as a whole. While a repository is
/// open, no other process can open its folder.
#[derive(Debug)]
pub struct PackageRepository {
    settings: RepositorySettings,
    /// Folder of the packages, without links.
    folder: PathBuf,
    /// The open folder, which is locked.
    handle: File,
    packages: Mutex<Packages>,
    unreadable: Vec<String>,
    /// Mutex that is held while a package is read, written or deleted, so that one at a time is in memory.
    work: Mutex<()>,
    /// Gate that admits one fetch of an archive at a time.
    fetches: Gate,
}

/// Packages by name; `None` for one that cannot be read.
type Packages = BTreeMap<String, Option<Summary>>;

impl PackageRepository {
    /// Opens a folder of packages, which is created if it is missing. Reads all packages in it, one after the other.
    ///
    /// # Errors
    /// A folder that cannot be read or that other users may change, more packages than the limit, or another process
    /// that has opened the folder.
    pub fn open(settings: RepositorySettings) -> Result<PackageRepository, String> {
        let shown = settings.folder.display().to_string();
        let wrong = |error: io::Error| format!("the folder of packages {shown}: {error}");
        let (folder, handle) = claim(&settings.folder, "the folder of packages")?;
        if let Some(sources) = &settings.sources {
            owned_folder(sources, "the folder from which packages are installed")?;
        }
        let mut repository = PackageRepository {
            settings,
            folder,
            handle,
            packages: Mutex::default(),
            unreadable: Vec::new(),
            work: Mutex::default(),
            fetches: Gate::default(),
        };
        let (packages, unreadable) = repository.scan().map_err(wrong)?;
        repository.packages = Mutex::new(packages);
        repository.unreadable = unreadable;
        Ok(repository)
    }

    /// Returns a description of each archive in the folder that was no package when the folder was opened. Clients do
    /// not find these archives, but can replace and delete those that have the name of a package.
    pub fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// Reads all packages of the folder, and removes files whose writing was interrupted.
    fn scan(&self) -> io::Result<(Packages, Vec<String>)> {
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let file = entry.file_name();
            let Some(file) = file.to_str() else {
                continue;
            };
            if is_temporary(file) && entry.file_type()?.is_file() {
                // Ignore the error: the file is no package, and does no harm.
                let _ = fs::remove_file(entry.path());
                continue;
            }
            match name_of(file) {
                Ok(name) => found.push((name, entry)),
                Err(None) => {}
                Err(Some(right)) => unreadable.push(format!(
                    "the file {file} does not have the name of a package; rename it to {right}"
                )),
            }
        }
        let (count, most) = (found.len(), self.settings.max_packages);
        if count > most {
            return Err(io::Error::other(format!(
                "it has {count} packages, but the limit is {most}; remove some, or raise --max-packages \
                 (RepositorySettings::max_packages)"
            )));
        }
        let mut packages = BTreeMap::new();
        for (name, entry) in found {
            // Links are not followed: they may lead to files that only the manager can read.
            let read = match entry.file_type()?.is_file() {
                true => read_file(&entry.path(), self.settings.max_package_octets),
                false => Err(io::Error::other("it is not a regular file")),
            };
            let read = read.map_err(|error| error.to_string());
            let found = read.and_then(|octets| self.check(&octets));
            if let Err(reason) = &found {
                unreadable.push(format!("the package {name:?} cannot be read: {reason}"));
            }
            packages.insert(name, found.ok());
        }
        Ok((packages, unreadable))
    }

    /// Installs a package from an archive below the folder of sources.
    pub(super) fn install(&self, name: &str, location: &str, replace: bool) -> Result<(), Refusal> {
        let _work = self.work.lock();
        let file = self.admit(name, replace)?;
        let path = sources::find(self.settings.sources.as_deref(), location)?;
        let octets = read_file(&path, self.settings.max_package_octets)
            .map_err(|error| Refusal::Package(format!("{location:?} cannot be read: {error}")))?;
        self.keep(name, &file, &octets)
    }

    /// Installs a package from an archive that a server hands out.
    pub(super) fn install_fetched(
        &self,
        name: &str,
        remote: &Remote<'_>,
        replace: bool,
        orb: &Orb,
    ) -> Result<(), Refusal> {
        if remote.is_packaged() {
            let reason = "the location is a file of a package; omit / and the path after the name of the package";
            return Err(Refusal::Package(reason.to_owned()));
        }
        // Refuse what can be refused without the archive.
        self.admit(name, replace)?;
        let permission = "RepositorySettings::urls, --install-url";
        permit(&self.settings.urls, permission, remote)?;
        let late = || "other archives are being fetched; try again later".to_owned();
        let now = Instant::now();
        let end = now.checked_add(self.settings.fetch_timeout).unwrap_or(now);
        // One archive at a time is in memory, until it is kept.
        let _pass = pass(&self.fetches, orb, end).ok_or_else(late)?;
        let fetch = Fetch {
            from: &self.settings.urls,
            permission,
            orb,
            limit: Limit {
                octets: self.settings.max_package_octets,
                name: "RepositorySettings::max_package_octets, --max-package-octets",
            },
            end,
        };
        let octets = fetch.file(remote)?;
        let _work = self.work.lock();
        let file = self.admit(name, replace)?;
        self.keep(name, &file, &octets)
    }

    /// Installs a package from a struct. Relative locations of artifacts begin at a folder below that of the sources.
    pub(super) fn create(
        &self,
        name: &str,
        package: &d::PackageConfiguration,
        base: &str,
        replace: bool,
    ) -> Result<(), Refusal> {
        let _work = self.work.lock();
        let file = self.admit(name, replace)?;
        let package = package_from_wire(package)
            .map_err(|error| Refusal::Package(format!("the package cannot be stored: {error}")))?;
        let octets = created::packed(package, base, &self.settings)?;
        self.keep(name, &file, &octets)
    }

    /// Returns a package by its name; `None` if no package has this name.
    ///
    /// # Errors
    /// A description of the failure if the package was installed but cannot be read any more.
    pub(super) fn find(&self, name: &str) -> Result<Option<d::PackageConfiguration>, String> {
        let is_known = || self.packages.lock().get(name).is_some_and(Option::is_some);
        // A search for a missing package does not wait for an installation.
        if !is_known() {
            return Ok(None);
        }
        let _work = self.work.lock();
        let Some(file) = file_name(name).ok().filter(|_| is_known()) else {
            return Ok(None);
        };
        let read = read_file(&self.folder.join(file), self.settings.max_package_octets);
        let octets = read.map_err(|error| error.to_string())?;
        // The artifacts were checked at the installation. Their contents are not needed.
        parse(&octets, self.settings.max_package_octets, Archive::read_descriptors).map(Some)
    }

    /// Returns the next part of the archive of a package, from an offset; `None` if no package has this name. The first
    /// part has no version, and the others have the version of the first one.
    ///
    /// # Errors
    /// The package was replaced since the first part, or cannot be read.
    pub(super) fn read_part(
        &self,
        name: &str,
        version: &str,
        offset: u64,
    ) -> Result<Option<ox::ArchivePart>, Refusal> {
        let is_known = self.packages.lock().get(name).is_some_and(Option::is_some);
        let Some(file) = file_name(name).ok().filter(|_| is_known) else {
            return Ok(None);
        };
        let store = |error: io::Error| Refusal::Store(error.to_string());
        // The archive is replaced as a whole, so an open file does not change.
        let archive = open_regular(&self.folder.join(file)).map_err(store)?;
        let there = archive.metadata().map_err(store)?;
        let size = there.len();
        let own =
            format!("{:x}-{size:x}-{:x}.{:x}", there.ino(), there.mtime(), there.mtime_nsec());
        if !version.is_empty() && version != own {
            let reason =
                format!("the package {name:?} was replaced while it was read; read it again");
            return Err(Refusal::Package(reason));
        }
        let count = size.saturating_sub(offset).min(PART);
        let mut octets = vec![0; usize::try_from(count).unwrap_or_default()];
        archive.read_exact_at(&mut octets, offset).map_err(store)?;
        Ok(Some(ox::ArchivePart { size, version: own, octets }))
    }

    /// Returns a package by its UUID. If several packages have the UUID, returns the first one in the order of names.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub(super) fn find_by_uuid(
        &self,
        uuid: &str,
    ) -> Result<Option<d::PackageConfiguration>, String> {
        let found = {
            let packages = self.packages.lock();
            let mut readable = readable(&packages);
            let found = readable.find(|(_, summary)| !uuid.is_empty() && summary.uuid == uuid);
            found.map(|(name, _)| name.clone())
        };
        match found {
            Some(name) => self.find(&name),
            None => Ok(None),
        }
    }

    /// Returns the names of the packages whose interface has this type.
    pub(super) fn names_by_type(&self, of: &str) -> Vec<String> {
        let packages = self.packages.lock();
        let found = readable(&packages).filter(|(_, summary)| summary.types.contains(of));
        found.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the names of all packages.
    pub(super) fn names(&self) -> Vec<String> {
        let packages = self.packages.lock();
        readable(&packages).map(|(name, _)| name.clone()).collect()
    }

    /// Returns the types of the interfaces of all packages.
    pub(super) fn types(&self) -> Vec<String> {
        let packages = self.packages.lock();
        let types = readable(&packages).flat_map(|(_, summary)| &summary.types);
        let types: BTreeSet<&String> = types.collect();
        types.into_iter().cloned().collect()
    }

    /// Deletes a package. Returns whether there was a package of this name.
    ///
    /// # Errors
    /// The file cannot be deleted, or a failure of the computer may still undo the deletion.
    pub(super) fn delete(&self, name: &str) -> Result<bool, Refusal> {
        let _work = self.work.lock();
        let is_known = self.packages.lock().contains_key(name);
        let Some(file) = file_name(name).ok().filter(|_| is_known) else {
            return Ok(false);
        };
        match fs::remove_file(self.folder.join(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Refusal::Store(error.to_string()));
            }
            _ => {}
        }
        self.packages.lock().remove(name);
        self.handle.sync_all().map_err(|error| Refusal::Unsure(error.to_string()))?;
        Ok(true)
    }

    /// Checks that a package of this name may be installed, and returns the name of its file.
    fn admit(&self, name: &str, replace: bool) -> Result<String, Refusal> {
        let file = file_name(name).map_err(Refusal::Package)?;
        let packages = self.packages.lock();
        let most = self.settings.max_packages;
        match packages.contains_key(name) {
            true if !replace => Err(Refusal::NameExists),
            false if packages.len() >= most => Err(Refusal::Package(format!(
                "the repository has the maximum of {most} packages (RepositorySettings::max_packages, --max-packages); \
                 delete one first"
            ))),
            _ => Ok(file),
        }
    }

    /// Checks the archive of a package and keeps it. The package is on disk when this function returns.
    fn keep(&self, name: &str, file: &str, octets: &[u8]) -> Result<(), Refusal> {
        let found = self.check(octets).map_err(Refusal::Package)?;
        let store = |error: io::Error| Refusal::Store(error.to_string());
        let random = oxorb_sys::random::octets::<8>().map_err(store)?;
        let random = u64::from_ne_bytes(random);
        let temporary = self.folder.join(format!(".{random:016x}{TEMPORARY}"));
        // `create_new` fails if the file exists, and follows no link.
        let mut created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&temporary)
            .map_err(store)?;
        let written = created
            .write_all(octets)
            .and_then(|()| created.sync_all())
            .and_then(|()| fs::rename(&temporary, self.folder.join(file)));
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            return Err(store(error));
        }
        self.packages.lock().insert(name.to_owned(), Some(found));
        // The name is on disk only after the folder is written, too.
        self.handle.sync_all().map_err(|error| Refusal::Unsure(error.to_string()))
    }

    /// Checks that an archive contains a package, and that all its files can be read.
    fn check(&self, octets: &[u8]) -> Result<Summary, String> {
        let package = parse(octets, self.settings.max_package_octets, Archive::read)?;
        summary(&package)
    }
}

/// Returns the packages that can be read.
fn readable(packages: &Packages) -> impl Iterator<Item = (&String, &Summary)> {
    packages.iter().filter_map(|(name, summary)| Some((name, summary.as_ref()?)))
}

/// Reports whether a file has the name of one that was being written.
fn is_temporary(file: &str) -> bool {
    let number = file.strip_prefix('.').and_then(|rest| rest.strip_suffix(TEMPORARY));
    let is_digit = |octet: u8| octet.is_ascii_digit() || (b'a'..=b'f').contains(&octet);
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(is_digit))
}
