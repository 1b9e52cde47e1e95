//! Packages in a folder: one archive for each, under the name of the package.
//!
//! ```text
//! install: archive below the folder of sources --+
//! create: struct, artifacts below that folder ---+-> read, within the limits -> temporary file -> NAME.cpk
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use oxorb_core::lock::Mutex;
use oxorb_deploy::package::{
    ComponentPackageDescription, Link, NamedArtifact, PackageConfiguration,
};
use oxorb_deploy::{Archive, ArchiveLimits, AssemblyLimits, Document, Format, Limits};
use oxorb_object::{Url, parse_reference};

use super::package_name::{file_name, name_of};
use super::trusted::{self, leads_below, stays_within};
use crate::idl::deployment as d;
use crate::wire::{package_from_wire, package_to_wire};

/// Limits of a package once its links are replaced by copies. A reply with such a package is smaller than the default
/// limit of messages, and less deeply nested than the default limit of values.
const LIMITS: AssemblyLimits = AssemblyLimits { elements: 100_000, octets: 16 << 20, depth: 12 };

/// Maximum number of types of a package.
const MOST_TYPES: usize = 1_000;

/// Maximum size in octets of the UUID of a package and of the names of its types.
const MOST_NAMES: usize = 64 << 10;

/// Descriptor of a package that a client creates.
const DESCRIPTOR: &str = "package.pcd";

/// Ending of the name of a file that is being written.
const TEMPORARY: &str = ".new";

/// Maximum length in octets of a location, as of a path in Linux.
const MOST_LOCATION: usize = 4_096;

/// Folder and limits of a [`Repository`].
#[derive(Clone, Debug)]
pub struct RepositorySettings {
    /// Folder of the packages. It is created if it is missing. Only this user and root must be able to change it.
    pub folder: PathBuf,
    /// Folder of the archives that clients may install, and of the artifacts of packages that clients create. Clients
    /// can read no other files through the repository. Only this user and root must be able to change it. Default:
    /// none, so that no archives can be installed.
    pub sources: Option<PathBuf>,
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

    /// Returns the default settings for a folder of packages.
    pub fn new(folder: impl Into<PathBuf>) -> RepositorySettings {
        RepositorySettings {
            folder: folder.into(),
            sources: None,
            max_packages: Self::MAX_PACKAGES,
            max_package_octets: Self::MAX_PACKAGE_OCTETS,
        }
    }
}

/// Packages of an execution manager (`Deployment::RepositoryManager`), each in one file of a folder.
///
/// A package is on disk before its installation is acknowledged, and is replaced as a whole. While a repository is
/// open, no other process can open its folder.
#[derive(Debug)]
pub struct Repository {
    settings: RepositorySettings,
    /// Folder of the packages, without links.
    folder: PathBuf,
    /// The open folder, which is locked.
    handle: File,
    packages: Mutex<Packages>,
    unreadable: Vec<String>,
    /// Mutex that is held while a package is read, written or deleted, so that one at a time is in memory.
    work: Mutex<()>,
}

/// Packages by name; `None` for one that cannot be read.
type Packages = BTreeMap<String, Option<Summary>>;

/// Properties by which clients find a package.
#[derive(Debug)]
struct Summary {
    uuid: String,
    types: BTreeSet<String>,
}

/// Reason why a package is not installed.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A package of this name is installed.
    NameExists,
    /// The package, its name or its location is not accepted.
    Package(String),
    /// The folder of packages could not be written, or the manager may not use one of its folders.
    Store(String),
    /// The package is written or deleted, but a failure of the computer may still undo that.
    Unsure(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal::Package(reason)
    }
}

impl Repository {
    /// Opens a folder of packages, which is created if it is missing. Reads all packages in it, one after the other.
    ///
    /// # Errors
    /// A folder that cannot be read or that other users may change, more packages than the limit, or another process
    /// that has opened the folder.
    pub fn open(settings: RepositorySettings) -> Result<Repository, String> {
        let shown = settings.folder.display().to_string();
        let wrong = |error: io::Error| format!("the folder of packages {shown}: {error}");
        match DirBuilder::new().mode(0o700).create(&settings.folder) {
            Ok(()) => {
                let parent = settings.folder.parent().filter(|it| !it.as_os_str().is_empty());
                File::open(parent.unwrap_or(Path::new(".")))
                    .and_then(|it| it.sync_all())
                    .map_err(wrong)?;
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(wrong(error)),
        }
        let folder = owned_folder(&settings.folder, "the folder of packages")?;
        if let Some(sources) = &settings.sources {
            owned_folder(sources, "the folder from which packages are installed")?;
        }
        let handle = File::open(&folder).map_err(wrong)?;
        match handle.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "the folder of packages {shown} is in use by another process; end it, or give another folder"
                ));
            }
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
        }
        let mut repository = Repository {
            settings,
            folder,
            handle,
            packages: Mutex::default(),
            unreadable: Vec::new(),
            work: Mutex::default(),
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
                "it has {count} packages, and {most} is the limit; remove some, or raise --max-packages \
                 (RepositorySettings::max_packages)"
            )));
        }
        let mut packages = BTreeMap::new();
        for (name, entry) in found {
            // Links are not followed: they may lead to files that only the manager can read.
            let read = match entry.file_type()?.is_file() {
                true => read_file(&entry.path(), self.settings.max_package_octets),
                false => Err(io::Error::other("it is no regular file")),
            };
            let read = read.map_err(|error| error.to_string());
            let found = read.and_then(|octets| self.parse(&octets)).and_then(|it| summary(&it));
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
        let path = self.source(location)?;
        let octets = read_file(&path, self.settings.max_package_octets)
            .map_err(|error| Refusal::Package(format!("{location:?} cannot be read: {error}")))?;
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
            .map_err(|error| Refusal::Package(format!("the package cannot be kept: {error}")))?;
        let octets = self.packed(package, base)?;
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
        self.parse(&octets).map(Some)
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
                "the repository has {most} packages, the limit (RepositorySettings::max_packages, --max-packages); \
                 delete one first"
            ))),
            _ => Ok(file),
        }
    }

    /// Returns the path of a file or folder below the folder of sources.
    fn source(&self, location: &str) -> Result<PathBuf, Refusal> {
        let Some(sources) = &self.settings.sources else {
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
        // Refuse a path outside the folder without accessing it. Otherwise the error would reveal whether the file
        // exists.
        let is_inside = stays_within(&path)
            || leads_below(Path::new(&path), sources)
            || leads_below(&joined, &folder);
        if !is_inside {
            return Err(Refusal::Package(outside()));
        }
        let found = trusted::resolve(&joined)
            .map_err(|reason| below(&folder, "--install-from", &reason))?;
        match found.starts_with(&folder) {
            true => Ok(found),
            false => Err(Refusal::Package(outside())),
        }
    }

    /// Returns the archive of a package with its artifacts.
    fn packed(&self, package: PackageConfiguration, base: &str) -> Result<Vec<u8>, Refusal> {
        let mut locations = Vec::new();
        locations_of(&package, &mut locations);
        let mut paths = BTreeSet::new();
        for location in locations {
            paths.extend(relative(location)?);
        }
        let (entries, most) = (ArchiveLimits::default().entries, self.settings.max_package_octets);
        if paths.len() >= entries {
            let reason = format!("the package has more than {entries} files, the limit");
            return Err(Refusal::Package(reason));
        }
        let mut archive = Archive::default();
        if !paths.is_empty() {
            let folder = self.source(if base.is_empty() { "." } else { base })?;
            let mut left = most;
            for path in paths {
                let file = trusted::resolve(&folder.join(&path));
                let file = file.map_err(|reason| below(&folder, "baseLocation", &reason))?;
                if !file.starts_with(&folder) {
                    let reason = format!("its artifact {path:?} is not below the base location");
                    return Err(Refusal::Package(reason));
                }
                let content = read_file(&file, left)
                    .map_err(|error| format!("its artifact {path:?} cannot be read: {error}"))?;
                left -= content.len() as u64;
                archive.files.insert(path, content);
            }
        }
        let text = Document::from(package).write(Format::Xml).map_err(one_line)?;
        if archive.files.insert(DESCRIPTOR.to_owned(), text.into_bytes()).is_some() {
            return Err(Refusal::Package(format!(
                "an artifact of the package is named {DESCRIPTOR}, as its descriptor is; rename it"
            )));
        }
        let octets = archive.write().map_err(one_line)?;
        match octets.len() as u64 > most {
            true => Err(Refusal::Package(format!(
                "the package has more than {most} octets, the limit (RepositorySettings::max_package_octets, \
                 --max-package-octets)"
            ))),
            false => Ok(octets),
        }
    }

    /// Checks the archive of a package and keeps it. The package is on disk when this function returns.
    fn keep(&self, name: &str, file: &str, octets: &[u8]) -> Result<(), Refusal> {
        let found = self.parse(octets).and_then(|package| summary(&package));
        let found = found.map_err(Refusal::Package)?;
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

    /// Reads the package in an archive, within the limits.
    fn parse(&self, octets: &[u8]) -> Result<d::PackageConfiguration, String> {
        let limits =
            ArchiveLimits { octets: self.settings.max_package_octets, ..ArchiveLimits::default() };
        let archive = Archive::read(octets, &limits).map_err(one_line)?;
        // Descriptors take several times their size in memory, and an archive may have many of them.
        let most = Limits::default().octets;
        let descriptors = archive.files.iter().filter(|(path, _)| Format::of_file(path).is_some());
        let octets: usize = descriptors.map(|(_, content)| content.len()).sum();
        if octets > most {
            return Err(format!(
                "its descriptors have {octets} octets together, and {most} is the limit"
            ));
        }
        let package = archive.configuration(None, &LIMITS).map_err(one_line)?;
        package_to_wire(&package).map_err(|error| error.to_string())
    }
}

/// Returns the packages that can be read.
fn readable(packages: &Packages) -> impl Iterator<Item = (&String, &Summary)> {
    packages.iter().filter_map(|(name, summary)| Some((name, summary.as_ref()?)))
}

/// Returns the properties by which clients find a package.
fn summary(package: &d::PackageConfiguration) -> Result<Summary, String> {
    let mut configuration = package;
    while let Some(inner) = configuration.specialized_config.first() {
        configuration = inner;
    }
    let base = configuration.base_package.first();
    let uuid = match (package.uuid.as_str(), base) {
        ("", Some(base)) => base.uuid.clone(),
        (uuid, _) => uuid.to_owned(),
    };
    let interface = base.map(|base| &base.realizes);
    let names =
        interface.into_iter().flat_map(|it| it.supported_type.iter().chain([&it.specific_type]));
    let names = names.map(|name| name.trim()).filter(|name| !name.is_empty());
    let types: BTreeSet<&str> = names.collect();
    if types.len() > MOST_TYPES {
        let count = types.len();
        return Err(format!("its interface has {count} types, and {MOST_TYPES} is the limit"));
    }
    let octets = uuid.len() + types.iter().map(|name| name.len()).sum::<usize>();
    if octets > MOST_NAMES {
        return Err(format!(
            "its UUID and the types of its interface have {octets} octets, and {MOST_NAMES} is the limit"
        ));
    }
    Ok(Summary { uuid, types: types.into_iter().map(str::to_owned).collect() })
}

/// Reports whether a file has the name of one that was being written.
fn is_temporary(file: &str) -> bool {
    let number = file.strip_prefix('.').and_then(|rest| rest.strip_suffix(TEMPORARY));
    let is_digit = |octet: u8| octet.is_ascii_digit() || (b'a'..=b'f').contains(&octet);
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(is_digit))
}

/// Returns the path of a folder, without links, that only this user and root can change. Other users must not be able
/// to add files either, so the folder is refused even if it has the sticky bit.
fn owned_folder(folder: &Path, what: &str) -> Result<PathBuf, String> {
    let found = trusted::resolve(folder).map_err(|reason| format!("{what}: {reason}"))?;
    let there = fs::metadata(&found).map_err(|error| format!("{what}: {error}"))?;
    let shown = found.display();
    match (there.is_dir(), there.mode() & 0o022) {
        (true, 0) => Ok(found),
        (true, _) => Err(format!(
            "{what}: other users may write to {shown}; give another folder, or correct its rights (chmod go-w {shown})"
        )),
        (false, _) => Err(format!("{what}: {} is no folder", folder.display())),
    }
}

/// Returns the reason for a client why a file below a folder cannot be used. It has a name instead of the path of the
/// folder, which clients do not know.
fn below(folder: &Path, name: &str, reason: &str) -> Refusal {
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
            "the location {location:?} is no file of this machine, and nothing is downloaded; copy the archive below \
             the folder of --install-from, and give its path"
        )),
        _ if location.is_empty() => {
            Err("the location is empty; give the path of an archive".to_owned())
        }
        _ => Ok(location.to_owned()),
    }
}

/// Refuses a location that is too long for a path, and for an error.
fn check_length(location: &str) -> Result<(), String> {
    match location.len() {
        0..=MOST_LOCATION => Ok(()),
        count => Err(format!("a location has {count} octets, and {MOST_LOCATION} is the limit")),
    }
}

/// Returns the path of an artifact in the archive; `None` for an address outside, which stays as it is.
fn relative(location: &str) -> Result<Option<String>, String> {
    check_length(location)?;
    let path = location.trim();
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.starts_with('/') || path.contains("://") {
        return Ok(None);
    }
    let mut names: Vec<&str> = Vec::new();
    for one in Path::new(path).components() {
        match one {
            Component::Normal(name) => names.extend(name.to_str()),
            Component::CurDir => {}
            _ => return Err(format!("its artifact {location:?} is not below the base location")),
        }
    }
    match names.is_empty() {
        true => Err("an artifact of the package has an empty location".to_owned()),
        false => Ok(Some(names.join("/"))),
    }
}

/// Adds the locations of all artifacts of a package without links.
fn locations_of<'p>(package: &'p PackageConfiguration, into: &mut Vec<&'p str>) {
    here(&package.specialized_config).for_each(|one| locations_of(one, into));
    here(&package.base_package).for_each(|one| locations_in(one, into));
}

fn locations_in<'p>(package: &'p ComponentPackageDescription, into: &mut Vec<&'p str>) {
    let links = package.implementation.iter().map(|one| &one.referenced_implementation);
    for implementation in here(links) {
        for one in &implementation.monolithic_impl {
            one.primary_artifact.iter().for_each(|one| locations_at(one, into));
        }
        for part in implementation.assembly_impl.iter().flat_map(|one| &one.instance) {
            here(&part.specialized_config).for_each(|one| locations_of(one, into));
            here(&part.base_package).for_each(|one| locations_in(one, into));
        }
    }
}

fn locations_at<'p>(artifact: &'p NamedArtifact, into: &mut Vec<&'p str>) {
    for one in here([&artifact.referenced_artifact]) {
        into.extend(one.location.iter().map(String::as_str));
        one.depends_on.iter().for_each(|one| locations_at(one, into));
    }
}

/// Returns the contents of links that have their contents in place.
fn here<'p, T: 'p>(links: impl IntoIterator<Item = &'p Link<T>>) -> impl Iterator<Item = &'p T> {
    links.into_iter().filter_map(|link| match link {
        Link::Here(value) => Some(&**value),
        Link::At { .. } => None,
    })
}

/// Reads a regular file of at most `most` octets.
fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Check the type first: opening a FIFO would block until it has a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut octets = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut octets)?;
    match octets.len() as u64 > most {
        true => Err(io::Error::other(format!(
            "it has more than {most} octets, the limit (RepositorySettings::max_package_octets, --max-package-octets)"
        ))),
        false => Ok(octets),
    }
}

fn one_line(error: oxorb_deploy::Error) -> String {
    error.to_string().replace('\n', "; ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Folder of one test, with a folder of sources and one of packages.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let path =
                std::env::temp_dir().join(format!("oxorb-packages-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            let folder = Folder(path);
            for name in ["", "sources", "sources/base", "sources/base/bin"] {
                fs::create_dir(folder.0.join(name)).unwrap();
                folder.allow(name, 0o755);
            }
            folder.source("gps.cpk", &archive(GPS));
            folder.source("base/bin/gps", b"#!/bin/sh\n");
            folder
        }

        fn allow(&self, name: &str, mode: u32) {
            fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }

        /// Writes a file that clients may install.
        fn source(&self, name: &str, octets: &[u8]) {
            let name = format!("sources/{name}");
            fs::write(self.0.join(&name), octets).unwrap();
            self.allow(&name, 0o644);
        }

        fn settings(&self) -> RepositorySettings {
            RepositorySettings {
                sources: Some(self.0.join("sources")),
                ..RepositorySettings::new(self.0.join("packages"))
            }
        }

        fn open(&self) -> Repository {
            Repository::open(self.settings()).unwrap()
        }

        /// Returns the names of the files in the folder of packages.
        fn files(&self) -> Vec<String> {
            let files = fs::read_dir(self.0.join("packages")).unwrap();
            let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            let mut files: Vec<String> = files.collect();
            files.sort();
            files
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const TYPE: &str = "IDL:Avionics/Sensor:1.0";

    /// Package of one implementation, whose executable is `bin/gps`.
    const GPS: &[(&str, &str)] = &[
        (
            "gps.toml",
            "document = \"ComponentPackageDescription\"\nlabel = \"Gps\"\nUUID = \"gps-1\"\n\
             realizes = { href = \"Sensor.ccd\" }\n[[implementation]]\nname = \"gps\"\n\
             [[implementation.referencedImplementation.monolithicImpl]]\n\
             primaryArtifact = [{ name = \"gps\", referencedArtifact = { location = \"bin/gps\" } }]\n\
             componentExecParameter = { \"component factory\" = \"create_Avionics_Gps_Impl\" }\n",
        ),
        (
            "Sensor.ccd",
            "<Deployment:ComponentInterfaceDescription><specificType>IDL:Avionics/Sensor:1.0</specificType>\
             </Deployment:ComponentInterfaceDescription>",
        ),
        ("bin/gps", "#!/bin/sh\n"),
    ];

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Archive { files: files.collect() }.write().unwrap()
    }

    #[track_caller]
    fn refused(result: Result<(), Refusal>) -> String {
        match result {
            Err(Refusal::Package(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_package_is_kept_until_it_is_deleted() {
        let folder = Folder::new("kept");
        let repository = folder.open();
        repository.install("port side/gps", "gps.cpk", false).unwrap();
        assert_eq!(folder.files(), ["port%20side%2Fgps.cpk"]);
        let check = |repository: &Repository| {
            assert_eq!(repository.names(), ["port side/gps"]);
            assert_eq!(repository.types(), [TYPE]);
            assert_eq!(repository.names_by_type(TYPE), ["port side/gps"]);
            assert!(repository.names_by_type("IDL:Avionics/Display:1.0").is_empty());
            let found = repository.find("port side/gps").unwrap().unwrap();
            assert_eq!((&*found.label, &*found.uuid), ("Gps", "gps-1"));
            let implementation = &found.base_package[0].implementation[0].referenced_implementation;
            let artifact = &implementation.monolithic_impl[0].primary_artifact[0];
            assert_eq!(artifact.referenced_artifact.location, ["bin/gps"]);
            assert_eq!(repository.find_by_uuid("gps-1").unwrap(), Some(found));
            for missing in ["", "gps", "gps-2"] {
                assert_eq!(repository.find(missing).unwrap(), None);
                assert_eq!(repository.find_by_uuid(missing).unwrap(), None);
            }
        };
        check(&repository);
        drop(repository);
        // A file whose writing was interrupted is no package. Files of others stay.
        fs::write(folder.0.join("packages/.0123456789abcdef.new"), "PK").unwrap();
        fs::write(folder.0.join("packages/.mine.new"), "").unwrap();
        let repository = folder.open();
        assert!(repository.unreadable().is_empty(), "{:?}", repository.unreadable());
        check(&repository);
        assert_eq!(folder.files(), [".mine.new", "port%20side%2Fgps.cpk"]);
        fs::remove_file(folder.0.join("packages/.mine.new")).unwrap();
        assert!(repository.delete("port side/gps").unwrap());
        assert!(!repository.delete("port side/gps").unwrap());
        assert!(repository.names().is_empty() && folder.files().is_empty());
        assert_eq!(repository.find("port side/gps").unwrap(), None);
    }

    #[test]
    fn a_name_is_used_once_and_packages_are_limited() {
        let folder = Folder::new("limits");
        let settings = RepositorySettings { max_packages: 1, ..folder.settings() };
        let repository = Repository::open(settings.clone()).unwrap();
        repository.install("gps", "gps.cpk", false).unwrap();
        let again = repository.install("gps", "gps.cpk", false);
        assert!(matches!(again, Err(Refusal::NameExists)), "{again:?}");
        let text = GPS[0].1.replace("gps-1", "gps-2");
        folder.source("second.cpk", &archive(&[("gps.toml", &text), GPS[1], GPS[2]]));
        repository.install("gps", "second.cpk", true).unwrap();
        assert_eq!(repository.find_by_uuid("gps-1").unwrap(), None);
        assert!(repository.find_by_uuid("gps-2").unwrap().is_some());
        let told = refused(repository.install("other", "gps.cpk", false));
        assert!(told.contains("has 1 packages, the limit"), "{told}");
        let told = refused(repository.install("", "gps.cpk", false));
        assert!(told.contains("is empty"), "{told}");

        // The folder has one user at a time.
        let other = Repository::open(settings.clone()).unwrap_err();
        assert!(other.contains("in use by another process"), "{other}");
        drop(repository);
        let none = RepositorySettings { max_packages: 0, ..settings.clone() };
        let told = Repository::open(none).unwrap_err();
        assert!(told.contains("has 1 packages, and 0 is the limit"), "{told}");
        let small = RepositorySettings { max_package_octets: 100, ..settings };
        let repository = Repository::open(small).unwrap();
        let told = refused(repository.install("gps", "gps.cpk", true));
        assert!(told.contains("more than 100 octets, the limit"), "{told}");
    }

    #[test]
    fn what_is_no_package_is_refused_and_leaves_nothing() {
        let folder = Folder::new("refused");
        let repository = folder.open();
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[("read.me", "")], "has no package"),
            (&GPS[..2], "its artifact \"bin/gps\" is not in the archive"),
            (&[GPS[0], GPS[2]], "\"Sensor.ccd\" is not in the archive"),
            (&[("gps.toml", "document = \"Package\""), GPS[1]], "is no document"),
        ];
        for (files, wanted) in cases {
            folder.source("case.cpk", &archive(files));
            let told = refused(repository.install("case", "case.cpk", true));
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
        folder.source("case.cpk", b"PK and nothing");
        let told = refused(repository.install("case", "case.cpk", true));
        assert!(told.contains("no archive that can be read"), "{told}");
        let types = "<supportedType>x</supportedType>".repeat(MOST_TYPES);
        let types: String = (0..=MOST_TYPES)
            .map(|at| format!("<supportedType>{at}</supportedType>"))
            .chain([types])
            .collect();
        let interface = GPS[1].1.replace("<specificType>", &format!("{types}<specificType>"));
        folder.source("case.cpk", &archive(&[GPS[0], ("Sensor.ccd", &interface), GPS[2]]));
        let told = refused(repository.install("case", "case.cpk", true));
        assert!(told.contains("types, and 1000 is the limit"), "{told}");
        assert!(folder.files().is_empty() && repository.names().is_empty());
    }

    #[test]
    fn only_files_below_the_folder_of_sources_are_read() {
        let folder = Folder::new("outside");
        let repository = folder.open();
        let install = |location: &str| repository.install("gps", location, true);
        let whole = folder.0.canonicalize().unwrap().join("sources/gps.cpk");
        let whole = whole.to_str().unwrap();
        for location in ["gps.cpk", "./base/../gps.cpk", whole, &format!("file://{whole}")] {
            match location.contains("..") {
                true => drop(refused(install(location))),
                false => install(location).unwrap(),
            }
        }
        symlink("/etc/passwd", folder.0.join("sources/link.cpk")).unwrap();
        let outside = "is not below the folder from which packages are installed";
        for location in ["/etc/passwd", "../packages/gps.cpk", "file:///etc/passwd", "link.cpk"] {
            let told = refused(install(location));
            assert!(told.contains(outside), "{location}: {told}");
        }
        // The error for a missing file equals that for an existing one, and thus reveals nothing.
        let (existing, missing) = ("/etc/passwd", "/nonexistent/passwd");
        let told = refused(install(missing)).replace(missing, existing);
        assert_eq!(told, refused(install(existing)));
        for (location, wanted) in [
            ("http://host/gps.cpk", "nothing is downloaded"),
            ("file:", "contains no path"),
            (" ", "the location is empty"),
            ("base", "it is no regular file"),
            ("missing.cpk", "No such file"),
        ] {
            let told = refused(install(location));
            assert!(told.contains(wanted), "{location}: {told}");
        }
        let long = "x".repeat(MOST_LOCATION + 1);
        assert_eq!(refused(install(&long)), "a location has 4097 octets, and 4096 is the limit");
        folder.allow("sources/gps.cpk", 0o666);
        let told = refused(install("gps.cpk"));
        assert!(told.contains("chmod go-w --install-from/gps.cpk"), "{told}");
        let told = refused(install("missing.cpk"));
        assert!(told.starts_with("--install-from/missing.cpk: No such file"), "{told}");
        // The client does not learn the path and the rights of the folder, even if only its own user can replace files.
        folder.allow("sources", 0o1777);
        let wrong = install("gps.cpk");
        let told = matches!(&wrong, Err(Refusal::Store(told)) if told.contains("chmod go-w"));
        assert!(told, "{wrong:?}");
        folder.allow("sources", 0o755);
        drop(repository);
        // By default, clients name no files.
        let settings = RepositorySettings { sources: None, ..folder.settings() };
        let repository = Repository::open(settings).unwrap();
        let told = refused(repository.install("other", "gps.cpk", false));
        assert!(told.contains("--install-from"), "{told}");
    }

    #[test]
    fn a_package_is_created_from_a_struct_and_the_files_of_its_artifacts() {
        let folder = Folder::new("created");
        let repository = folder.open();
        repository.install("gps", "gps.cpk", false).unwrap();
        let gps = repository.find("gps").unwrap().unwrap();
        repository.create("copy", &gps, "base", false).unwrap();
        assert_eq!(repository.find("copy").unwrap().as_ref(), Some(&gps));
        let again = repository.create("copy", &gps, "base", false);
        assert!(matches!(again, Err(Refusal::NameExists)), "{again:?}");
        let octets = fs::read(folder.0.join("packages/copy.cpk")).unwrap();
        let archive = Archive::read(&octets, &ArchiveLimits::default()).unwrap();
        assert_eq!(archive.files["bin/gps"], b"#!/bin/sh\n");

        let with = |location: &str| {
            let mut package = gps.clone();
            let implementation =
                &mut package.base_package[0].implementation[0].referenced_implementation;
            let artifact = &mut implementation.monolithic_impl[0].primary_artifact[0];
            artifact.referenced_artifact.location = vec![location.to_owned()];
            package
        };
        let long = "x".repeat(MOST_LOCATION + 1);
        // An absolute path is that of the node, so no file is read here.
        repository.create("absolute", &with("/opt/gps"), "", false).unwrap();
        for (location, base, wanted) in [
            ("bin/gps", "", "No such file"),
            ("bin/gps", "/etc", "is not below the folder from which packages are installed"),
            ("../bin/gps", "base", "is not below the base location"),
            ("package.pcd", "base", "No such file"),
            ("", "base", "an empty location"),
            (long.as_str(), "base", "has 4097 octets, and 4096 is the limit"),
        ] {
            let told = refused(repository.create("other", &with(location), base, false));
            assert!(told.contains(wanted), "{location} {base}: {told}");
        }
        // An empty struct is no package.
        let empty = d::PackageConfiguration::default();
        let told = refused(repository.create("empty", &empty, "", false));
        assert!(told.contains("give it a basePackage"), "{told}");
        assert_eq!(repository.names(), ["absolute", "copy", "gps"]);
    }

    #[test]
    fn a_folder_in_which_others_may_write_is_refused() {
        let folder = Folder::new("shared");
        drop(folder.open());
        folder.allow("packages", 0o1777);
        let told = Repository::open(folder.settings()).unwrap_err();
        assert!(told.contains("other users may write to"), "{told}");
    }

    #[test]
    fn a_package_that_cannot_be_renamed_leaves_no_file() {
        let folder = Folder::new("rename");
        let repository = folder.open();
        fs::create_dir(folder.0.join("packages/gps.cpk")).unwrap();
        let wrong = repository.install("gps", "gps.cpk", false);
        assert!(matches!(wrong, Err(Refusal::Store(_))), "{wrong:?}");
        assert_eq!(folder.files(), ["gps.cpk"]);
        assert!(repository.names().is_empty());
    }

    #[test]
    fn archives_that_are_no_packages_are_reported_and_can_be_replaced() {
        let folder = Folder::new("damaged");
        drop(folder.open());
        fs::write(folder.0.join("packages/gps.cpk"), "PK and nothing").unwrap();
        fs::write(folder.0.join("packages/my gps.cpk"), archive(GPS)).unwrap();
        fs::write(folder.0.join("packages/read.me"), "").unwrap();
        symlink(folder.0.join("sources/gps.cpk"), folder.0.join("packages/link.cpk")).unwrap();
        let repository = folder.open();
        let mut told = repository.unreadable().to_vec();
        told.sort();
        let [name, damaged, link] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(link, "the package \"link\" cannot be read: it is no regular file");
        assert!(name.ends_with("rename it to my%20gps.cpk"), "{name}");
        assert!(damaged.starts_with("the package \"gps\" cannot be read: "), "{damaged}");
        assert!(repository.names().is_empty());
        assert_eq!(repository.find("gps").unwrap(), None);
        let again = repository.install("gps", "gps.cpk", false);
        assert!(matches!(again, Err(Refusal::NameExists)), "{again:?}");
        repository.install("gps", "gps.cpk", true).unwrap();
        assert_eq!(repository.names(), ["gps"]);
        // A package that is damaged afterwards is an error, and not a missing one.
        fs::write(folder.0.join("packages/gps.cpk"), "PK and nothing").unwrap();
        let told = repository.find("gps").unwrap_err();
        assert!(told.contains("no archive that can be read"), "{told}");
    }
}
