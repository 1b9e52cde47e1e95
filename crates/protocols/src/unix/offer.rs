//! Verification of callback addresses at UNIX sockets that clients offer (bidirectional GIOP).

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use oxorb_sys::unix;
use oxorb_transport::{Address, PeerId};

use crate::unix::known::Known;
use crate::unix::{Name, connect};

/// Result of verifying a socket that a client claims to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Socket known by its identity only.
    ByIdentity,
    /// Socket also known by its name, which means this socket here.
    ByName,
}

impl Offered {
    /// Returns the addresses of the client: the offered one, and if possible that without the
    /// identity.
    pub fn addresses(self, named: &Address) -> Vec<Address> {
        match self {
            Self::ByIdentity => vec![named.clone()],
            Self::ByName => vec![named.clone(), named.bare()],
        }
    }
}

/// Verifies that the client at the other end of a connection listens at the named socket.
///
/// The address must carry the identity of the socket, as references with other addresses do, and be
/// of this host and of the client's user. A client in a PID namespace that is invisible from here is
/// refused, because all processes there look alike (process id 0). If a process listens at the socket
/// now, it must be the client. A socket that this process cannot reach (removed, in another container,
/// without permission to connect or to look into its directory) is accepted as the client's, because
/// processes of one user are trusted alike. The verification connects to an existing socket and sends
/// nothing, so the listening process accepts a connection that has already ended.
///
/// # Errors
/// Sentence about why the address is not the client's, or about the error that prevents the
/// verification.
pub fn verify_offer(name: &Name, known: Known, client: PeerId) -> Result<Offered, String> {
    let PeerId::User { uid, pid, .. } = client else {
        return Err(format!("{client} is not a process of this host"));
    };
    if pid == 0 {
        return Err("the client's process is not visible from this PID namespace".to_owned());
    }
    let Known::By(identity) = known else {
        return Err("the address does not state the owner of the socket".to_owned());
    };
    Known::on_this_host(identity)?;
    let of_another = |what, owner| {
        Err(format!("that {what} belongs to user {owner}, but the client to user {uid}"))
    };
    if identity.uid != uid {
        return of_another("socket", identity.uid);
    }
    // The name may mean another socket here than at the client, or none, so only the identity refers to the client's
    // socket. Other errors say nothing about the name.
    match known.other_meaning(name) {
        Ok(None) => {}
        Ok(Some(_)) => return Ok(Offered::ByIdentity),
        Err(error) if nobody_is_there(&error) => return Ok(Offered::ByIdentity),
        Err(error) => return Err(not_looked_at(&error)),
    }
    let owner = match name {
        Name::Path(path) => owner(Path::new(path))?,
        _ => None,
    };
    if let Some(owner) = owner
        && owner != uid
    {
        return of_another("file", owner);
    }
    let trusted = uid == 0 || uid == unix::own_credentials().uid;
    // The owner of an abstract name becomes known only by connecting to it, and a client of another user must not make
    // this process connect to arbitrary sockets.
    if matches!(name, Name::Abstract(_)) && !trusted {
        return Err(
            "abstract names are accepted only from root and the user of this process".to_owned()
        );
    }
    match connect(name) {
        Ok(None) => Err("the socket is busy: its owner cannot be determined".to_owned()),
        Ok(Some(socket)) => {
            let listening = unix::peer_credentials(&socket).map_err(|error| error.to_string())?;
            // A listener that is invisible from here has process id 0, which differs from that of the client.
            match (listening.uid, listening.pid) == (uid, pid) {
                true => Ok(Offered::ByName),
                false => Err(format!(
                    "process {} of user {} listens there, but the client is {client}",
                    listening.pid, listening.uid
                )),
            }
        }
        // Any client can name a socket that does not exist. The name therefore counts only if its file belongs to the
        // client's user, or that user is trusted.
        Err(error) if nobody_is_there(&error) => Ok(match owner.is_some() || trusted {
            true => Offered::ByName,
            false => Offered::ByIdentity,
        }),
        Err(error) => Err(not_looked_at(&error)),
    }
}

/// Returns the owner of a file; `None` if this process cannot see it.
fn owner(path: &Path) -> Result<Option<u32>, String> {
    match std::fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_symlink() => {
            Err("the path is a symbolic link: the owner of the socket cannot be determined"
                .to_owned())
        }
        Ok(file) => Ok(Some(file.uid())),
        Err(error) if nobody_is_there(&error) => Ok(None),
        Err(error) => Err(not_looked_at(&error)),
    }
}

fn not_looked_at(error: &io::Error) -> String {
    format!("the socket cannot be inspected: {error}")
}

/// Reports whether a socket or its directory does not exist, or is not accessible to this process.
fn nobody_is_there(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), ConnectionRefused | NotADirectory | NotFound | PermissionDenied)
}

#[cfg(test)]
mod tests {
    use oxorb_object::SocketIdentity;
    use oxorb_sys::unix::Credentials;
    use oxorb_transport::{Acceptor as _, Transport as _};

    use super::*;
    use crate::unix::{Unix, UnixAcceptor};

    fn own() -> PeerId {
        let Credentials { uid, gid, pid } = unix::own_credentials();
        PeerId::User { uid, gid, pid }
    }

    fn other(change: impl FnOnce(&mut u32, &mut u32)) -> PeerId {
        let Credentials { mut uid, gid, mut pid } = unix::own_credentials();
        change(&mut uid, &mut pid);
        PeerId::User { uid, gid, pid }
    }

    /// A client names the socket of another live process, of its own user or of another one.
    #[test]
    fn the_socket_of_another_process_cannot_be_claimed() {
        let refused = |acceptor: &UnixAcceptor, client: PeerId| {
            let address = Unix.published(acceptor.endpoint(), &[]).unwrap().remove(0);
            let verified = Unix.verify_offer(&address, client.clone());
            Unix.verify_offer(&address.bare(), client).unwrap_err();
            verified.err()
        };
        for text in ["", "@"] {
            let endpoint = crate::unix::place::url(oxorb_transport::Part::new(text)).unwrap();
            let acceptor = UnixAcceptor::listen(&endpoint[0]).unwrap();
            assert_eq!(refused(&acceptor, own()), None, "its own");
            let why = refused(&acceptor, other(|_, pid| *pid += 1)).unwrap();
            assert!(why.contains("listens there"), "{why}");
            let why = refused(&acceptor, other(|uid, _| *uid += 1)).unwrap();
            assert!(why.contains("belongs to user"), "{why}");
            // This client is in another PID namespace, all of whose processes appear as process 0.
            let why = refused(&acceptor, other(|_, pid| *pid = 0)).unwrap();
            assert!(why.contains("PID namespace"), "{why}");
            for stranger in [PeerId::Process, PeerId::Unknown, PeerId::Ip([127, 0, 0, 1].into())] {
                let why = refused(&acceptor, stranger).unwrap();
                assert!(why.contains("not a process of this host"), "{why}");
            }
        }
    }

    /// A client cannot make this process connect to other users' sockets.
    #[test]
    fn an_abstract_name_of_another_user_is_not_looked_at() {
        let endpoint = crate::unix::place::url(oxorb_transport::Part::new("@")).unwrap();
        let acceptor = UnixAcceptor::listen(&endpoint[0]).unwrap();
        let address = Unix.published(acceptor.endpoint(), &[]).unwrap().remove(0);
        let name = Name::read(address.name()).unwrap();
        let Known::By(mut identity) = Known::of(&address).unwrap() else {
            panic!("{address}");
        };
        identity.uid += 1;
        let why = verify_offer(&name, Known::By(identity), other(|uid, _| *uid += 1)).unwrap_err();
        assert!(why.contains("abstract names"), "{why}");
    }

    /// A client to which this process cannot connect may offer its socket: this is the purpose of offers.
    #[test]
    fn a_socket_that_cannot_be_reached_is_the_clients_if_the_user_is() {
        let path =
            oxorb_testkit::net::socket_folder().join(format!("oxorb-offer-{}", std::process::id()));
        let name = Name::read(path.to_str().unwrap()).unwrap();
        let known = Known::own(&name);
        let stranger = other(|_, pid| *pid += 1);
        assert_eq!(verify_offer(&name, known, stranger.clone()), Ok(Offered::ByName));
        verify_offer(&name, known, other(|uid, _| *uid += 1)).unwrap_err();
        let mut elsewhere = match known {
            Known::By(identity) => identity,
            known => panic!("{known:?}"),
        };
        // A client of another user than this process's names a socket that does not exist.
        let theirs = SocketIdentity { uid: elsewhere.uid + 1, ..elsewhere };
        let another_user = other(|uid, _| *uid += 1);
        let offered = verify_offer(&name, Known::By(theirs), another_user);
        assert_eq!(offered, Ok(Offered::ByIdentity));
        elsewhere.inode += 1;
        let offered = verify_offer(&name, Known::By(elsewhere), stranger);
        assert_eq!(offered, Ok(Offered::ByIdentity));
        verify_offer(&name, Known::By(elsewhere), other(|_, pid| *pid = 0)).unwrap_err();
        elsewhere.host[0] ^= 1;
        verify_offer(&name, Known::By(elsewhere), own()).unwrap_err();
        // A symbolic link in a directory that all users may write to could lead to another user's socket.
        std::os::unix::fs::symlink("/nowhere", &path).unwrap();
        let why = verify_offer(&name, known, own()).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(why.contains("symbolic link"), "{why}");
    }

    /// Only a name with another meaning makes a socket known by its identity alone. An error that prevents the
    /// verification refuses the offer.
    #[test]
    fn an_error_of_the_verification_is_no_other_socket() {
        let path = oxorb_testkit::net::socket_folder()
            .join(format!("oxorb-offer-loop-{}", std::process::id()));
        let named = |path: &Path| Name::read(path.to_str().unwrap()).unwrap();
        let known = Known::own(&named(&path));
        for absent in ["/no/such/directory/socket", "/dev/null/directory/socket"] {
            let offered = verify_offer(&named(Path::new(absent)), known, own());
            assert_eq!(offered, Ok(Offered::ByIdentity), "{absent}");
        }
        // The directory is a link to itself.
        std::os::unix::fs::symlink(&path, &path).unwrap();
        let offered = verify_offer(&named(&path.join("socket")), known, own());
        std::fs::remove_file(&path).unwrap();
        let why = offered.unwrap_err();
        assert!(why.contains("cannot be inspected"), "{why}");
    }
}
