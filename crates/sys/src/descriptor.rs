//! Number of descriptors that this process may open.

use std::fs::File;
use std::io;

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

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_runs_has_descriptors_left() {
        assert!(super::limit().is_none_or(|limit| limit > 3));
        assert!(!super::exhausted());
    }
}
