//! Number of descriptors that this process may open, and regular files that are opened without a wait.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};

/// Returns the soft limit of this process (`ulimit -n`); `None` if unlimited.
pub fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Reports whether no further descriptor can be opened, because this process or the whole system
/// has reached its limit. Opens one to find out: a few microseconds.
pub fn exhausted() -> bool {
    let shortage = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    match File::open("/dev/null") {
        Ok(_) => false,
        Err(error) => shortage
            .map(io::Error::from)
            .iter()
            .any(|one| one.raw_os_error() == error.raw_os_error()),
    }
}

/// Reports whether a call failed for lack of descriptors or memory, in this process or the whole
/// system.
pub fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let shortage = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS];
    Errno::from_io_error(error).is_some_and(|errno| shortage.contains(&errno))
}

/// Opens a regular file for reading. Does not wait, as the opening of a FIFO without a writer would, and opens no
/// device.
///
/// # Errors
/// The system refuses the file, or it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // The opening of a device may have effects, so the type is checked before.
    check_regular(&fs::metadata(path)?)?;
    open_at_once(path)
}

/// Opens a file without a wait. Refuses it afterwards if it is no regular file: another file may have got its name
/// since the first check.
fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    check_regular(&file.metadata()?)?;
    Ok(file)
}

fn check_regular(there: &Metadata) -> io::Result<()> {
    match there.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Duration;

    use oxorb_testkit::watchdog;
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn a_fifo_is_refused_without_a_wait() {
        let _guard = watchdog(Duration::from_secs(60));
        let folder = std::env::temp_dir().join(format!("oxorb-descriptor-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let (fifo, file) = (folder.join("fifo"), folder.join("file"));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::write(&file, "text").unwrap();
        for open in [open_regular, open_at_once] {
            for refused in [&fifo, &folder] {
                let told = open(refused).unwrap_err().to_string();
                assert_eq!(told, "it is not a regular file", "{}", refused.display());
            }
            let mut text = String::new();
            open(&file).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "text");
        }
        assert_eq!(
            open_regular(&folder.join("missing")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_process_that_runs_has_descriptors_left() {
        assert!(super::limit().is_none_or(|limit| limit > 3));
        assert!(!super::exhausted());
    }
}
