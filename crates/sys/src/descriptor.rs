//! Number of descriptors that this process may have open, and has.

use std::fs::File;
use std::io;

use rustix::process::{Resource, getrlimit};

/// The soft limit of this process (`ulimit -n`); `None`: there is none.
pub fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Whether not one more descriptor can be had now, because this process, or the whole system, has as many open as it
/// may. Opens one to find out: a few microseconds.
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

/// Whether a call failed because this process, or the whole system, has no descriptor or no memory left.
pub fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let shortage = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS];
    Errno::from_io_error(error).is_some_and(|errno| shortage.contains(&errno))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_runs_has_descriptors_left() {
        assert!(super::limit().is_none_or(|limit| limit > 3));
        assert!(!super::exhausted());
    }
}
