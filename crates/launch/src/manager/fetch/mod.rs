//! Files that managers fetch from HTTP servers and from repositories, if an operator permits that.
//!
//! ```text
//! plan: location of an artifact -> Fetching -> FetchedArtifacts (files of a node) -+
//! client: installPackage -> Repository ---------------------------------------------+-> Fetch -> HTTP, readArchive
//! ```

mod archive;
mod http;
mod location;
mod sha256;
mod store;

use std::time::{Duration, Instant};

use oxorb_core::{Interface as _, Orb, request_is_cancelled};
use oxorb_deploy::{Archive, ArchiveLimits};

pub use archive::read_archive;
pub use location::{FetchSource, artifact_location};
pub(super) use location::{MOST_LOCATION, Remote};
pub use store::{FetchSettings, FetchedArtifacts};
pub(super) use store::{Fetched, Fetching};

use super::together::{Gate, Pass};
use location::Server;
use sha256::Digest;

/// Error for a fetch that takes too long.
const LATE: &str = "the file did not arrive in time";

/// Error for a fetch that is abandoned.
const ABANDONED: &str =
    "the client that needs the file no longer waits for it, or this process ends";

/// Time between two checks whether a client still waits.
const LOOK: Duration = Duration::from_millis(500);

/// Maximum size of a file.
pub(super) struct Limit {
    pub(super) octets: u64,
    /// Names of the setting and of the option.
    pub(super) name: &'static str,
}

impl Limit {
    /// Refuses a size beyond the limit.
    fn admit(&self, octets: u64) -> Result<(), String> {
        match octets > self.octets {
            false => Ok(()),
            true => Err(self.exceeded()),
        }
    }

    /// Returns the error for a size beyond the limit.
    fn exceeded(&self) -> String {
        format!("it has more than {} octets, the limit ({})", self.octets, self.name)
    }
}

/// Permitted servers and limits of a fetch.
pub(super) struct Fetch<'f> {
    pub(super) from: &'f [FetchSource],
    /// Names of the setting and of the option that list the permitted servers.
    pub(super) permission: &'static str,
    /// ORB that calls repositories, and whose certificates `https:` uses.
    pub(super) orb: &'f Orb,
    pub(super) limit: Limit,
    /// Time at which the fetch is abandoned.
    pub(super) end: Instant,
}

/// Refuses a file from a server that is not among those of `from`. `permission` names the setting and the option that
/// list them.
pub(super) fn permit(
    from: &[FetchSource],
    permission: &str,
    remote: &Remote<'_>,
) -> Result<(), String> {
    match from.iter().any(|source| source.permits(remote)) {
        true => Ok(()),
        false => Err(format!(
            "{:?} is fetched from a server that is not permitted here ({permission})",
            remote.text
        )),
    }
}

impl Fetch<'_> {
    /// Fetches a file, and compares it with its checksum. Takes memory for the file and, if it is in a package, for the
    /// archive of the package.
    ///
    /// # Errors
    /// The location, and why the file is not fetched: its server is not permitted or does not hand it out, a limit,
    /// another checksum, or a client that no longer waits.
    pub(super) fn file(&self, remote: &Remote<'_>) -> Result<Vec<u8>, String> {
        permit(self.from, self.permission, remote)?;
        let content = match &remote.server {
            Server::Http(url) => http::get(url, self.orb, &self.limit, self.end),
            Server::Repository { url, package, path } => self.packaged(url, package, *path),
        };
        let content = content.and_then(|content| match (remote.checksum, Digest::of(&content)) {
            (Some(wanted), found) if wanted != found => Err(format!(
                "its SHA-256 is {}, but the location states {}",
                found.hex(),
                wanted.hex()
            )),
            _ => Ok(content),
        });
        content.map_err(|why| format!("{:?} cannot be fetched: {why}", remote.text))
    }

    /// Returns the archive of a package in a repository, or a file in it.
    fn packaged(&self, url: &str, package: &str, path: Option<&str>) -> Result<Vec<u8>, String> {
        let repository = self.orb.string_to_object(url).map_err(|error| error.to_string())?;
        // `narrow` would call the object without a time limit.
        let repository = repository.unchecked_narrow();
        let octets = archive::read(&repository, package, &self.limit, self.end)?;
        let Some(path) = path else {
            return Ok(octets);
        };
        let limits = ArchiveLimits { octets: self.limit.octets, ..ArchiveLimits::default() };
        let file = Archive::read_file(&octets, path, &limits);
        let file = file.map_err(|error| error.to_string().replace('\n', "; "))?;
        file.ok_or_else(|| format!("the package {package:?} has no file {path:?}"))
    }
}

/// Reports whether a fetch is useless: the client of the request that this thread serves no longer waits, or the ORB
/// ends.
fn is_abandoned(orb: &Orb) -> bool {
    request_is_cancelled() || orb.is_closing()
}

/// Waits until no other fetch is in a gate. Returns `None` at `end`, or soon after the client of the request that this
/// thread serves has stopped waiting, or the ORB was shut down.
pub(super) fn pass<'g>(gate: &'g Gate, orb: &Orb, end: Instant) -> Option<Pass<'g>> {
    loop {
        let left = left(end).ok()?;
        if let Some(pass) = gate.pass(left.min(LOOK)) {
            return Some(pass);
        }
        if is_abandoned(orb) {
            return None;
        }
    }
}

/// Returns the time until `end`.
fn left(end: Instant) -> Result<Duration, String> {
    match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(LATE.to_owned()),
        left => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use oxorb_core::Options;
    use oxorb_testkit::watchdog;

    use super::*;
    use location::HttpUrl;

    /// Bound of a test.
    const BOUND: Duration = Duration::from_secs(60);

    const LIMIT: Limit = Limit { octets: 5, name: "max, --max" };

    /// Returns a time after the end of the test.
    fn later() -> Instant {
        Instant::now() + 60 * BOUND
    }

    #[test]
    fn a_fetch_from_a_server_that_falls_silent_ends_with_its_orb() {
        let _bound = watchdog(BOUND);
        let orb = Orb::new(Options::default());
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        thread::scope(|scope| {
            let fetching = scope.spawn(|| {
                let host = "127.0.0.1";
                let path = "/gps";
                let url = HttpUrl { is_protected: false, authority: host, host, port, path };
                http::get(&url, &orb, &LIMIT, later())
            });
            let (mut stream, _) = server.accept().unwrap();
            assert_ne!(stream.read(&mut [0; 16]).unwrap(), 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12").unwrap();
            orb.shutdown(true).unwrap();
            assert_eq!(fetching.join().unwrap().unwrap_err(), ABANDONED);
        });
    }

    #[test]
    fn a_fetch_that_waits_for_another_one_ends_with_its_orb() {
        let _bound = watchdog(BOUND);
        let orb = Orb::new(Options::default());
        let gate = Gate::default();
        let other = pass(&gate, &orb, later()).expect("a free gate");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| pass(&gate, &orb, later()).is_none());
            orb.shutdown(true).unwrap();
            assert!(waiting.join().unwrap());
        });
        drop(other);
        assert!(pass(&gate, &orb, later()).is_some(), "a free gate needs no check");
    }

    #[test]
    fn no_archive_is_read_after_the_end_of_the_orb() {
        let _bound = watchdog(BOUND);
        let orb = Orb::new(Options::default());
        let repository = orb.string_to_object("corbaloc::127.0.0.1:1/x").unwrap();
        let repository = repository.unchecked_narrow();
        orb.shutdown(true).unwrap();
        let read = archive::read(&repository, "gps", &LIMIT, later());
        assert_eq!(read.unwrap_err(), ABANDONED);
    }
}
