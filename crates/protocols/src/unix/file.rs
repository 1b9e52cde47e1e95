//! Files of listening sockets: creation, takeover from ended processes, and removal.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oxorb_sys::unix::{self, MAX_PATH, Name};

/// Maximum number of clients that wait to be accepted: Linux's default (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Longest wait for other processes that create or take over files in the same directory.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Time between two attempts to lock a directory.
const LOCK_TICK: Duration = Duration::from_millis(2);

/// Number of attempts to listen on a file, each of which another process may thwart by removing its
/// own file meanwhile.
const MAX_ATTEMPTS: usize = 4;

/// File of a listening socket, removed when dropped.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode: another process's file at this path has others.
    identity: (u64, u64),
}

/// Permissions of clients at a listening socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rights {
    /// Permissions of the file; `None`: set by the umask.
    pub(crate) mode: Option<u32>,
    /// Whether clients may send descriptors.
    pub(crate) descriptors: bool,
}

impl Rights {
    /// Starts listening; to be called after the file mode was set.
    pub(crate) fn listen(self, socket: &OwnedFd) -> io::Result<()> {
        if !self.descriptors {
            // An error is ignored: if the system cannot refuse descriptors, it closes them when the octets that they
            // accompany are read.
            let _ = unix::refuse_descriptors(socket);
        }
        unix::listen(socket, BACKLOG)
    }
}

impl From<Option<u32>> for Rights {
    fn from(mode: Option<u32>) -> Self {
        Self { mode, ..Self::default() }
    }
}

/// Listens on a file with these permissions, and first removes a file without a listener. No client
/// can connect before the permissions are set.
///
/// # Errors
/// [`io::ErrorKind::AddrInUse`] if a process listens at the socket; other errors with a text.
pub(crate) fn listen(path: &Path, rights: impl Into<Rights>) -> io::Result<(OwnedFd, SocketFile)> {
    let rights = rights.into();
    let directory = directory_of(path);
    check(directory)?;
    let _guard = Guard::of(directory)?;
    for _ in 0..MAX_ATTEMPTS {
        match unix::bind(Name::Path(path)) {
            Ok(socket) => {
                let file = SocketFile { path: path.to_owned(), identity: identity(path)? };
                if let Some(mode) = rights.mode {
                    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
                }
                rights.listen(&socket)?;
                return Ok((socket, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => remove_stale(path)?,
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        "other processes keep creating and removing the file",
    ))
}

/// Returns the directory for temporary sockets: that for temporary files, or `/tmp` if its path
/// leaves too few octets for the name of a socket.
fn temporary_directory(temporary: PathBuf) -> PathBuf {
    match temporary.join(temporary_name()).as_os_str().len() > MAX_PATH {
        true => PathBuf::from("/tmp"),
        false => temporary,
    }
}

/// Listens on a new file in the directory for temporary ones, and removes those that processes of
/// this user have left behind.
///
/// # Errors
/// As for [`listen`].
pub(crate) fn listen_temporary(rights: Rights) -> io::Result<(OwnedFd, SocketFile)> {
    let directory = temporary_directory(std::env::temp_dir());
    check(&directory)?;
    sweep(&directory);
    for _ in 1..MAX_ATTEMPTS {
        let path = directory.join(temporary_name());
        match listen(&path, rights) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            done => return done,
        }
    }
    listen(&directory.join(temporary_name()), rights)
}

impl SocketFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, unless it belongs to another socket by now. To be called while the socket
    /// still listens: until then no process takes the file over.
    pub(crate) fn remove(&self) {
        if identity(&self.path).is_ok_and(|it| it == self.identity) {
            // If this process no longer has the permission, the file stays, and the next server takes it over.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the file of a socket without a listener.
fn remove_stale(path: &Path) -> io::Result<()> {
    let before = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !before.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the existing file is not a socket",
        ));
    }
    match unix::is_bound(path) {
        Ok(false) => fs::remove_file(path).map_err(|error| {
            let text = format!(
                "no process listens on the file any more, but it cannot be removed: {error}"
            );
            io::Error::new(error.kind(), text)
        }),
        Ok(true) => Err(io::Error::new(io::ErrorKind::AddrInUse, "a process listens there")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("checking whether a process listens on the existing socket failed: {error}"),
        )),
    }
}

/// Refuses a directory in which all users may replace the files of others.
fn check(directory: &Path) -> io::Result<()> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let there = fs::metadata(directory).map_err(|error| {
        let text = format!("the directory {}: {error}", directory.display());
        io::Error::new(error.kind(), text)
    })?;
    if there.mode() & WRITABLE_BY_ALL != 0 && there.mode() & STICKY == 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "every user may replace the socket in the directory {}, whose permissions are {:o}",
                directory.display(),
                there.mode() & 0o7777
            ),
        ));
    }
    Ok(())
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let there = fs::symlink_metadata(path)?;
    Ok((there.dev(), there.ino()))
}

/// Lock on a directory. It prevents that two processes find the same stale file, and the slower one
/// then removes the new file of the other. The system releases it when its process ends.
struct Guard {
    _directory: Option<File>,
}

impl Guard {
    fn of(directory: &Path) -> io::Result<Self> {
        // If this process may not read the directory, or the file system has no locks, it continues without a lock, and
        // two processes may race.
        let Ok(file) = File::open(directory) else {
            return Ok(Self { _directory: None });
        };
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Self { _directory: Some(file) });
                }
                Err(TryLockError::Error(_)) => return Ok(Self { _directory: None }),
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_LIMIT => {
                    std::thread::sleep(LOCK_TICK);
                }
                Err(TryLockError::WouldBlock) => {
                    let text = format!(
                        "another process has held a lock (flock) on the directory {} for {} s",
                        directory.display(),
                        LOCK_LIMIT.as_secs()
                    );
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
            }
        }
    }
}

/// Prefix of temporary names.
const TEMPORARY: &str = "oxorb-";

/// Returns an unused name.
pub(crate) fn temporary_name() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(Instant::now());
    format!("{TEMPORARY}{}-{random:016x}", std::process::id())
}

/// Reports whether a name was made by [`temporary_name`]: users may have chosen others with the
/// same prefix.
fn is_temporary(name: &str) -> bool {
    let Some((process, random)) = name.strip_prefix(TEMPORARY).and_then(|it| it.split_once('-'))
    else {
        return false;
    };
    process.parse::<u32>().is_ok() && random.len() == 16 && u64::from_str_radix(random, 16).is_ok()
}

/// Maximum number of directory entries checked.
const MAX_SWEPT: usize = 10_000;

/// Removes temporary files without a listening process of this user.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let Ok(_guard) = Guard::of(directory) else {
        return;
    };
    let own = unix::own_credentials().uid;
    for entry in entries.take(MAX_SWEPT).flatten() {
        let named = entry.file_name();
        let ours = named.to_str().is_some_and(is_temporary)
            && entry.metadata().is_ok_and(|it| it.file_type().is_socket() && it.uid() == own);
        if ours {
            // The error is ignored: if the socket is in use, its file stays.
            let _ = remove_stale(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process;

    use super::*;

    /// Temporary directory of one test, removed with its contents.
    struct Directory(PathBuf);

    impl Directory {
        fn new(test: &str) -> Self {
            let path = oxorb_testkit::net::socket_folder()
                .join(format!("oxorb-file-{test}-{}", process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn temporary_sockets_have_paths_that_fit() {
        let long = PathBuf::from("/").join("x".repeat(150));
        assert_eq!(temporary_directory(long), Path::new("/tmp"));
        let short = PathBuf::from("/run/user/1000");
        assert_eq!(temporary_directory(short.clone()), short);
    }

    #[test]
    fn a_file_that_nobody_listens_on_is_taken_over() {
        let directory = Directory::new("stale");
        let path = directory.file("s");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the system leaves it");
        let (_socket, file) = listen(&path, None).unwrap();
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_somebody_listens_on_is_refused() {
        let directory = Directory::new("alive");
        let path = directory.file("s");
        let _alive = UnixListener::bind(&path).unwrap();
        let error = listen(&path, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(error.to_string(), "a process listens there");
        assert!(path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let directory = Directory::new("other");
        let path = directory.file("s");
        fs::write(&path, "precious").unwrap();
        assert_eq!(listen(&path, None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn the_file_of_somebody_else_is_not_removed() {
        let directory = Directory::new("replaced");
        let path = directory.file("s");
        let (socket, file) = listen(&path, None).unwrap();
        fs::rename(&path, directory.file("aside")).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        drop((socket, file));
        assert!(path.exists());
    }

    #[test]
    fn rights_are_those_asked_for() {
        let directory = Directory::new("mode");
        for mode in [0o600, 0o660, 0o777] {
            let path = directory.file("s");
            let (_socket, _file) = listen(&path, Some(mode)).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
        }
    }

    #[test]
    fn a_directory_in_which_all_may_replace_it_is_refused() {
        let directory = Directory::new("rights");
        let rights = |mode| fs::set_permissions(&directory.0, fs::Permissions::from_mode(mode));
        rights(0o777).unwrap();
        let error = listen(&directory.file("s"), None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("777"), "{error}");
        for fine in [0o1777, 0o775, 0o700] {
            rights(fine).unwrap();
            listen(&directory.file("s"), None).unwrap();
        }
        let missing = listen(&directory.file("no/s"), None).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(missing.to_string().contains("/no: "), "{missing}");
    }

    #[test]
    fn of_several_that_find_a_stale_file_one_gets_it() {
        let directory = Directory::new("race");
        let path = directory.file("s");
        for _ in 0..50 {
            drop(UnixListener::bind(&path).unwrap());
            let one = || listen(&path, None).ok();
            let got: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
                threads.into_iter().filter_map(|it| it.join().unwrap()).collect()
            });
            assert_eq!(got.len(), 1);
            unix::connect(Name::Path(&path)).unwrap();
        }
    }

    #[test]
    fn files_whose_names_somebody_chose_stay() {
        let directory = Directory::new("chosen");
        let temporary = directory.file(&temporary_name());
        let chosen = ["oxorb-naming", "oxorb-17", "oxorb-radar-0123456789abcdef", "oxorb-17-0123"]
            .map(|name| directory.file(name));
        chosen.iter().chain([&temporary]).for_each(|path| drop(UnixListener::bind(path).unwrap()));
        sweep(&directory.0);
        assert!(!temporary.exists());
        chosen.iter().for_each(|path| assert!(path.exists(), "{}", path.display()));
    }

    #[test]
    fn temporary_files_left_behind_are_swept() {
        let (socket, file) = listen_temporary(Rights::default()).unwrap();
        let left = file.path().to_owned();
        let (_socket, other) = listen_temporary(Rights::default()).unwrap();
        assert!(left.exists(), "in use");
        assert_ne!(other.path(), left);
        std::mem::forget(file);
        drop(socket);
        let (_socket, _file) = listen_temporary(Rights::default()).unwrap();
        assert!(!left.exists());
    }
}
