//! Identification by a client of a server's socket among others of the same name.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;

use oxorb_object::SocketIdentity;
use oxorb_sys::unix::{self, Credentials};
use oxorb_transport::{Address, Scheme};

use crate::unix::{Name, SCHEME};

/// Identification of a socket, after the `|` of an address. Transports over UNIX sockets verify by
/// it whom they have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Any socket with the name.
    ByName,
    /// Any socket of this process's user, or of root: omniORB's references contain no identity.
    Trusted,
    /// Socket with this identity.
    By(SocketIdentity),
}

/// Text of [`Known::Trusted`].
const TRUSTED: &str = "trusted";

impl Known {
    /// Parses the name and the identification of an address.
    ///
    /// # Errors
    /// Sentence about an address that is not of a UNIX socket.
    pub(crate) fn read(address: &Address) -> Result<(Name, Known), String> {
        if address.of(SCHEME).is_none() {
            return Err(format!("{address} is not an address of a UNIX socket"));
        }
        Ok((Name::read(address.name())?, Self::of(address)?))
    }

    /// Parses the identification in an address of any transport.
    ///
    /// # Errors
    /// Sentence about an invalid one.
    pub fn of(address: &Address) -> Result<Known, String> {
        Ok(match address.verified() {
            None => Known::ByName,
            Some(TRUSTED) => Known::Trusted,
            Some(text) => Known::By(text.parse().map_err(|error| format!("{text:?}: {error}"))?),
        })
    }

    /// Returns the identification of a socket of this process: its identity if the system reports
    /// it.
    pub fn own(name: &Name) -> Known {
        own(name).map_or(Known::ByName, Known::By)
    }

    /// Returns the identification of a socket with this identity, if it is of this host.
    ///
    /// # Errors
    /// Sentence about the difference between the server's host and this one.
    pub fn on_this_host(identity: SocketIdentity) -> Result<Known, String> {
        match other_host(&identity) {
            Ok(None) => Ok(Known::By(identity)),
            Ok(Some(difference)) => Err(difference.to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the address of a socket with this name and identification.
    pub(crate) fn address(&self, name: &Name) -> Address {
        self.address_at(SCHEME, &name.to_string())
    }

    /// Returns the address of a place of another transport over a socket with this identification.
    pub fn address_at(&self, scheme: Scheme, place: &str) -> Address {
        match self {
            Known::ByName => Address::new(scheme, place),
            Known::Trusted => Address::new(scheme, &format!("{place}|{TRUSTED}")),
            Known::By(identity) => Address::new(scheme, &format!("{place}|{identity}")),
        }
    }

    /// Verifies, before connecting, that the name has the same meaning here as for the server.
    ///
    /// # Errors
    /// Description of the difference, or the error of the system that prevents the verification.
    pub fn verify_name(&self, name: &Name) -> io::Result<()> {
        match self.other_meaning(name)? {
            None => Ok(()),
            Some(difference) => Err(io::Error::other(difference)),
        }
    }

    /// Returns the reason why the name has another meaning here than for the server; `None` if it has the same.
    ///
    /// # Errors
    /// Error of the system that prevents the verification. The error says nothing about the name.
    pub(crate) fn other_meaning(&self, name: &Name) -> io::Result<Option<&'static str>> {
        let Known::By(identity) = self else {
            return Ok(None);
        };
        if let Some(difference) = other_host(identity)? {
            return Ok(Some(difference));
        }
        if within(name)? == (identity.device, identity.inode) {
            return Ok(None);
        }
        Ok(Some(match name {
            Name::Abstract(_) => "this process and the server have different network namespaces",
            _ => {
                "the path leads to a directory other than the server's: this process is in another container, or the \
                 directory was replaced after the server started; get a new reference of the server"
            }
        }))
    }

    /// Verifies on the connection that the user at its other end is the server's.
    ///
    /// # Errors
    /// Description of the difference.
    pub fn verify_user(&self, listening: Credentials) -> io::Result<()> {
        let uid = listening.uid;
        let refused = |text| Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        match self {
            Known::By(identity) if identity.uid != uid => refused(format!(
                "user {uid} listens there, but the server belongs to user {}",
                identity.uid
            )),
            Known::Trusted if uid != 0 && uid != unix::own_credentials().uid => refused(format!(
                "user {uid} listens there, which is neither root nor the user of this process, and the reference does \
                 not state the server's user"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the identity of this process's socket of this name; `None` if the system does not report
/// it.
fn own(name: &Name) -> Option<SocketIdentity> {
    let (host, users) = here().ok()?;
    let (device, inode) = within(name).ok()?;
    Some(SocketIdentity { host, users, uid: unix::own_credentials().uid, device, inode })
}

/// Returns the difference between a server's host and user namespace and those of this process; `None` if both are the
/// same.
///
/// # Errors
/// Error of the system if it does not report the identity of this host.
fn other_host(server: &SocketIdentity) -> io::Result<Option<&'static str>> {
    let (host, users) = here().map_err(|error| {
        let text =
            format!("the system does not report the identity of this host (boot_id): {error}");
        io::Error::new(error.kind(), text)
    })?;
    Ok(match (server.host == host, server.users == users) {
        (true, true) => None,
        (false, _) => Some(
            "the server is on another host, or this host was restarted after the server started (boot_id)",
        ),
        (true, false) => {
            Some("the server is in another user namespace: its user ids denote other users here")
        }
    })
}

/// Returns the boot id of the host and the number of this process's user namespace. The result of the first successful
/// read is kept. An error, such as that of a process at its limit of descriptors, is not kept.
fn here() -> io::Result<([u8; 16], u64)> {
    static HERE: OnceLock<([u8; 16], u64)> = OnceLock::new();
    if let Some(here) = HERE.get() {
        return Ok(*here);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits: String = boot.trim().split('-').collect();
    let host = u128::from_str_radix(&digits, 16).map_err(io::Error::other)?;
    let users = fs::metadata("/proc/self/ns/user")?.ino();
    Ok(*HERE.get_or_init(|| (host.to_be_bytes(), users)))
}

/// Returns device and inode of the scope of a name: a directory, or the network namespace.
fn within(name: &Name) -> io::Result<(u64, u64)> {
    let there = match name {
        Name::Path(path) => {
            let directory = crate::unix::file::directory_of(Path::new(path));
            fs::metadata(directory).map_err(|error| {
                let text = format!("the directory {}: {error}", directory.display());
                io::Error::new(error.kind(), text)
            })?
        }
        Name::Abstract(_) | Name::Temporary => fs::metadata("/proc/self/ns/net")?,
    };
    Ok((there.dev(), there.ino()))
}

#[cfg(test)]
mod tests {
    use oxorb_testkit::process::alone;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    fn path(text: &str) -> Name {
        Name::read(text).unwrap()
    }

    #[test]
    fn each_difference_is_named() {
        let name = path("/tmp/oxorb-known");
        let good = own(&name).unwrap();
        Known::By(good).verify_name(&name).unwrap();
        Known::ByName.verify_name(&path("/no/such/socket")).unwrap();
        let said = |change: &dyn Fn(&mut SocketIdentity)| {
            let mut other = good;
            change(&mut other);
            Known::By(other).verify_name(&name).unwrap_err().to_string()
        };
        assert!(said(&|it| it.host[3] ^= 1).contains("another host"));
        assert!(said(&|it| it.users += 1).contains("user namespace"));
        assert!(said(&|it| it.inode += 1).contains("another container"));
        assert!(said(&|it| it.device += 1).contains("another container"));
        let gone = Known::By(good).verify_name(&path("/no/such/directory/s"));
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);

        let name = path("@oxorb-known");
        let mut abstracted = own(&name).unwrap();
        Known::By(abstracted).verify_name(&name).unwrap();
        abstracted.inode += 1;
        let error = Known::By(abstracted).verify_name(&name).unwrap_err();
        assert!(error.to_string().contains("network namespace"), "{error}");
    }

    #[test]
    fn a_lack_of_descriptors_is_not_remembered() {
        // The limit applies to the whole process.
        if !alone(a_lack_of_descriptors_is_not_remembered) {
            return;
        }
        let name = path("/tmp/oxorb-known");
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
        let lacking = Known::own(&name);
        setrlimit(Resource::Nofile, limit).unwrap();
        assert_eq!(lacking, Known::ByName);
        assert!(matches!(Known::own(&name), Known::By(_)));
    }

    #[test]
    fn the_user_who_listens_is_held_against_the_servers() {
        let identity = own(&path("/tmp/s")).unwrap();
        let by = |uid| Credentials { uid, gid: 0, pid: 1 };
        let known = Known::By(identity);
        known.verify_user(by(identity.uid)).unwrap();
        let error = known.verify_user(by(identity.uid + 1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("listens there"), "{error}");
        for fine in [0, identity.uid] {
            Known::Trusted.verify_user(by(fine)).unwrap();
        }
        Known::Trusted.verify_user(by(identity.uid + 1)).unwrap_err();
        Known::ByName.verify_user(by(identity.uid + 1)).unwrap();
    }

    #[test]
    fn addresses_carry_it() {
        let name = path("/run/bank");
        for known in [Known::ByName, Known::Trusted, Known::By(own(&path("/tmp/s")).unwrap())] {
            let address = known.address(&name);
            assert_eq!(Known::read(&address), Ok((name.clone(), known)));
            assert_eq!(address.for_people(), "unix:/run/bank");
        }
        let wrong = Address::new(SCHEME, "/run/bank|who knows");
        Known::read(&wrong).unwrap_err();
    }
}
