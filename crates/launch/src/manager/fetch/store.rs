//! Files that a node manager has fetched for its plans, in a folder that only its user can change.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_core::Orb;
use oxorb_core::lock::Mutex;

use super::location::{FetchSource, Remote};
use super::sha256::Digest;
use super::{ABANDONED, Fetch, LATE, Limit, is_abandoned, pass, permit};
use crate::manager::owned::claim;
use crate::manager::settings::NodeSettings;
use crate::manager::together::Gate;

/// Names of the setting and of the option that list the permitted servers.
const PERMISSION: &str = "FetchSettings::from, --fetch-from";

/// Folder, servers and limits of [`FetchedArtifacts`].
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// Folder of the fetched files. It is created if it is missing. Only this user and root must be able to change it.
    pub folder: PathBuf,
    /// Servers from which plans may let the node fetch files. Default: none.
    pub from: Vec<FetchSource>,
    /// Time limit for fetching all files of a plan. Default 60 s. Beyond it: PlanError.
    pub timeout: Duration,
    /// Maximum size in octets of a file, and of the archive of the package that contains it. Default 256 MiB. The node
    /// reads one file at a time into memory. Beyond it: PlanError.
    pub max_file_octets: u64,
    /// Maximum size in octets of all files in the folder. Default 1 GiB. Beyond it: PlanError.
    pub max_octets: u64,
}

impl FetchSettings {
    /// Default of [`timeout`](Self::timeout).
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// Default of [`max_file_octets`](Self::max_file_octets).
    pub const MAX_FILE_OCTETS: u64 = 256 << 20;

    /// Default of [`max_octets`](Self::max_octets).
    pub const MAX_OCTETS: u64 = 1 << 30;

    /// Returns the default settings for a folder of fetched files.
    pub fn new(folder: impl Into<PathBuf>) -> FetchSettings {
        FetchSettings {
            folder: folder.into(),
            from: Vec::new(),
            timeout: Self::TIMEOUT,
            max_file_octets: Self::MAX_FILE_OCTETS,
            max_octets: Self::MAX_OCTETS,
        }
    }
}

/// Files that a node manager fetches, because plans name them as locations of artifacts.
///
/// Each file is kept as long as a plan uses it. Its name is the SHA-256 of its content, so that no plan chooses a path.
/// While the folder is open, no other process can open it.
#[derive(Debug)]
pub struct FetchedArtifacts {
    settings: FetchSettings,
    /// Folder of the files, without links.
    folder: PathBuf,
    /// The open folder, which is locked.
    _handle: File,
    /// Gate that admits one fetch at a time, so that one file is in memory.
    gate: Gate,
    files: Arc<Mutex<Files>>,
}

/// Files in the folder.
#[derive(Debug, Default)]
struct Files {
    by_content: BTreeMap<Content, Weak<Fetched>>,
    octets: u64,
    /// Number of files that were written. Files with equal contents have different names, because the older one may
    /// still be about to be removed.
    written: u64,
}

/// Content of a file, and whether it is a shared library.
type Content = (Digest, bool);

/// A fetched file. Dropping it removes the file.
#[derive(Debug)]
pub(in crate::manager) struct Fetched {
    path: PathBuf,
    octets: u64,
    content: Content,
    files: Arc<Mutex<Files>>,
}

impl PartialEq for Fetched {
    fn eq(&self, other: &Fetched) -> bool {
        self.path == other.path
    }
}

impl Eq for Fetched {}

impl Fetched {
    pub(in crate::manager) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        let mut files = self.files.lock();
        // A file that cannot be removed still counts. The next manager of the folder removes it.
        let is_removed = match fs::remove_file(&self.path) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_removed {
            files.octets = files.octets.saturating_sub(self.octets);
        }
        if files.by_content.get(&self.content).is_some_and(|file| file.strong_count() == 0) {
            files.by_content.remove(&self.content);
        }
    }
}

impl FetchedArtifacts {
    /// Opens a folder of fetched files, and removes those that an earlier manager has left.
    ///
    /// # Errors
    /// A folder that cannot be read or that other users may change, or another process that has opened the folder.
    pub fn open(settings: FetchSettings) -> Result<FetchedArtifacts, String> {
        let what = "the folder of fetched files";
        let (folder, handle) = claim(&settings.folder, what)?;
        let cleared = clear(&folder);
        cleared.map_err(|error| format!("{what} {}: {error}", settings.folder.display()))?;
        Ok(FetchedArtifacts {
            settings,
            folder,
            _handle: handle,
            gate: Gate::default(),
            files: Arc::default(),
        })
    }

    /// Returns a file, which is fetched unless the folder has a file with its checksum.
    fn get(&self, remote: &Remote<'_>, orb: &Orb, end: Instant) -> Result<Arc<Fetched>, String> {
        // What needs no connection does not wait for others.
        permit(&self.settings.from, PERMISSION, remote)?;
        if let Some(known) = self.checked(remote) {
            return Ok(known);
        }
        let waiting = || {
            format!(
                "{:?} cannot be fetched: {LATE}, because other files are being fetched",
                remote.text
            )
        };
        let _pass = pass(&self.gate, orb, end).ok_or_else(waiting)?;
        let used = self.files.lock().octets;
        let (file, rest) =
            (self.settings.max_file_octets, self.settings.max_octets.saturating_sub(used));
        let limit = match file <= rest {
            true => Limit {
                octets: file,
                name: "FetchSettings::max_file_octets, --max-artifact-octets",
            },
            false => Limit {
                octets: rest,
                name: "of what FetchSettings::max_octets, --max-fetched-octets, leaves beside the files of other plans",
            },
        };
        let fetch = Fetch { from: &self.settings.from, permission: PERMISSION, orb, limit, end };
        // Another plan may have fetched the file meanwhile.
        if let Some(known) = self.checked(remote) {
            return Ok(known);
        }
        let octets = fetch.file(remote)?;
        let content = (Digest::of(&octets), remote.is_library());
        match self.known(content) {
            Some(known) => Ok(known),
            // Clients need not know the path of the folder.
            None => self.write(content, &octets).map_err(|error| {
                format!(
                    "{:?} cannot be stored in the folder of fetched files (FetchSettings::folder, --fetched): {error}",
                    remote.text
                )
            }),
        }
    }

    /// Returns the file with the checksum that a location states, if the folder has it.
    fn checked(&self, remote: &Remote<'_>) -> Option<Arc<Fetched>> {
        self.known((remote.checksum?, remote.is_library()))
    }

    fn known(&self, content: Content) -> Option<Arc<Fetched>> {
        self.files.lock().by_content.get(&content)?.upgrade()
    }

    /// Writes a file that this user can run.
    fn write(&self, content: Content, octets: &[u8]) -> io::Result<Arc<Fetched>> {
        let number = {
            let mut files = self.files.lock();
            files.written += 1;
            files.written
        };
        let path = self.folder.join(name(content, number));
        // `create_new` fails if the file exists, and follows no link.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(&path)?;
        if let Err(error) = file.write_all(octets) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let octets = octets.len() as u64;
        let fetched = Arc::new(Fetched { path, octets, content, files: Arc::clone(&self.files) });
        let mut files = self.files.lock();
        files.octets += octets;
        files.by_content.insert(content, Arc::downgrade(&fetched));
        Ok(fetched)
    }
}

/// Returns the name of a file.
fn name((digest, is_library): Content, number: u64) -> String {
    let ending = if is_library { ".so" } else { "" };
    format!("{}-{number}{ending}", digest.hex())
}

/// Removes the files of an earlier manager from a folder. Other files stay.
fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_fetched = entry.file_name().to_str().is_some_and(|file| {
            let (digest, number) = file.split_once('-').unwrap_or_default();
            let number = number.strip_suffix(".so").unwrap_or(number);
            Digest::parse(digest).is_some() && number.parse::<u64>().is_ok()
        });
        if is_fetched && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Files that are fetched for one plan. Each location is tried once.
pub(in crate::manager) struct Fetching {
    store: Option<Arc<FetchedArtifacts>>,
    orb: Orb,
    end: Instant,
    /// Files and reasons of failures by location.
    tried: HashMap<String, Result<Arc<Fetched>, String>>,
}

impl Fetching {
    pub(in crate::manager) fn new(settings: &NodeSettings, orb: Orb) -> Fetching {
        let store = settings.fetched.clone();
        let limit = store.as_ref().map_or(Duration::ZERO, |store| store.settings.timeout);
        let now = Instant::now();
        let end = now.checked_add(limit).unwrap_or(now);
        Fetching { store, orb, end, tried: HashMap::new() }
    }

    /// Returns the file at a location. The artifact has this number of untried locations, including this one. Each of
    /// them gets an equal part of the time that is left for the plan, so that a server that does not answer leaves time
    /// for the others.
    pub(in crate::manager) fn file(
        &mut self,
        location: &str,
        remote: &Remote<'_>,
        untried: usize,
    ) -> Result<Arc<Fetched>, String> {
        if remote.is_archive() {
            return Err(format!(
                "{location:?} is the archive of a package; append / and the path of a file in it"
            ));
        }
        let Some(store) = &self.store else {
            return Err(format!(
                "{location:?} is on another machine, but this node fetches no files: start it with --fetched DIR and \
                 --fetch-from URL (NodeSettings::fetched), or copy the file to the node, and specify its path"
            ));
        };
        if let Some(known) = self.tried.get(location) {
            return known.clone();
        }
        if is_abandoned(&self.orb) {
            return Err(format!("{location:?} is not fetched: {ABANDONED}"));
        }
        let end = part_of(Instant::now(), self.end, untried);
        let fetched = store.get(remote, &self.orb, end);
        self.tried.insert(location.to_owned(), fetched.clone());
        fetched
    }
}

/// Returns the end of the first of `count` equal parts of the time from `now` to `end`.
fn part_of(now: Instant, end: Instant, count: usize) -> Instant {
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    now + end.saturating_duration_since(now) / count
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Folder of one test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let name = format!("oxorb-fetched-{test}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            Folder(path)
        }

        fn open(&self) -> Result<FetchedArtifacts, String> {
            FetchedArtifacts::open(FetchSettings::new(&self.0))
        }

        fn files(&self) -> usize {
            fs::read_dir(&self.0).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_stays_as_long_as_it_is_used() {
        let folder = Folder::new("used");
        let store = folder.open().unwrap();
        let content = (Digest::of(b"#!/bin/sh\n"), false);
        let first = store.write(content, b"#!/bin/sh\n").unwrap();
        let mode = fs::metadata(first.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o177, 0o100, "{mode:o}");
        assert_eq!(store.known(content).as_ref(), Some(&first));
        assert_eq!(store.known((content.0, true)), None);
        let library = store.write((content.0, true), b"#!/bin/sh\n").unwrap();
        assert!(library.path().extension().is_some_and(|ending| ending == "so"));
        assert_eq!((folder.files(), store.files.lock().octets), (2, 20));
        let same = store.known(content).unwrap();
        drop(first);
        assert_eq!(folder.files(), 2);
        drop(same);
        assert_eq!((folder.files(), store.files.lock().octets), (1, 10));
        assert_eq!(store.known(content), None);
        drop(library);
        assert_eq!(folder.files(), 0);
    }

    #[test]
    fn a_file_that_is_known_or_not_permitted_does_not_wait_for_others() {
        let folder = Folder::new("waiting");
        let mut settings = FetchSettings::new(&folder.0);
        settings.from = vec!["http://h/a/".parse().unwrap()];
        let store = FetchedArtifacts::open(settings).unwrap();
        let content = (Digest::of(b"#!/bin/sh\n"), false);
        let kept = store.write(content, b"#!/bin/sh\n").unwrap();
        let orb = oxorb::Orb::builder().listen_late().build().unwrap();
        // Another file is being fetched, and no time is left to wait for it.
        let _pass = store.gate.pass(Duration::from_secs(1)).unwrap();
        let get = |place: &str, digest: Digest| {
            let location = format!("http://h/{place}/gps#sha256={}", digest.hex());
            let remote = Remote::parse(&location).unwrap().unwrap();
            store.get(&remote, &orb, Instant::now())
        };
        assert_eq!(get("a", content.0), Ok(Arc::clone(&kept)));
        let told = get("b", content.0).unwrap_err();
        assert!(told.contains("--fetch-from"), "{told}");
        let told = get("a", Digest::of(b"")).unwrap_err();
        assert!(told.contains("because other files are being fetched"), "{told}");
    }

    #[test]
    fn each_location_gets_an_equal_part_of_the_time() {
        let now = Instant::now();
        let end = now + Duration::from_secs(12);
        for (count, seconds) in [(0, 12), (1, 12), (3, 4)] {
            assert_eq!(part_of(now, end, count), now + Duration::from_secs(seconds), "{count}");
        }
        assert_eq!(part_of(end, now, 2), end, "no time is left");
    }

    #[test]
    fn octets_count_until_their_file_is_removed() {
        let folder = Folder::new("hidden");
        let store = folder.open().unwrap();
        let content = (Digest::of(b"x"), false);
        let kept = store.write(content, b"x").unwrap();
        let path = kept.path().to_owned();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        drop(kept);
        assert_eq!(store.files.lock().octets, 1, "a folder is there, which is not removed");
        fs::remove_dir(&path).unwrap();
        let kept = store.write(content, b"x").unwrap();
        fs::remove_file(kept.path()).unwrap();
        drop(kept);
        assert_eq!(store.files.lock().octets, 1, "a file that is gone takes no space");
    }

    #[test]
    fn a_folder_has_one_manager_which_removes_old_files() {
        let folder = Folder::new("claimed");
        let store = folder.open().unwrap();
        let told = folder.open().unwrap_err();
        assert!(told.contains("the folder of fetched files"), "{told}");
        assert!(told.contains("in use by another process"), "{told}");
        drop(store);
        let old = name((Digest::of(b""), true), 7);
        fs::write(folder.0.join(&old), "").unwrap();
        fs::write(folder.0.join("read-me"), "").unwrap();
        drop(folder.open().unwrap());
        assert!(!folder.0.join(&old).exists() && folder.0.join("read-me").exists());
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
        let told = folder.open().unwrap_err();
        assert!(told.contains("other users may write to"), "{told}");
    }
}
