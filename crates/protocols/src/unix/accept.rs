//! Acceptor of UNIX sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::unix;
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError, Scheme};

use crate::unix::file::{self, Rights, SocketFile};
use crate::unix::{Name, Place, SCHEME, UnixLink};

/// Listening UNIX socket for any protocol. Its file is removed when it is closed or dropped.
#[derive(Debug)]
pub struct Listening {
    /// Dropped before the socket: if the socket were closed first, another process could take over the file.
    file: Option<SocketFile>,
    socket: OwnedFd,
    endpoint: Endpoint,
    /// Address, for users.
    address: Arc<str>,
    closed: AtomicBool,
}

impl Listening {
    /// Listens on the place of `endpoint`. First removes a file without a listener. `scheme` is
    /// that of the addresses. Clients of UNIX sockets cannot send descriptors if the system can
    /// refuse them (Linux 6.16); those of other schemes can.
    ///
    /// # Errors
    /// [`ListenError`] with advice.
    pub fn new(endpoint: &Endpoint, scheme: Scheme) -> Result<Self, ListenError> {
        let mut place = Place::of(endpoint);
        if let Name::Abstract(name) = &mut place.name
            && name.is_empty()
        {
            *name = file::temporary_name();
        }
        let rights = Rights { mode: place.mode, descriptors: scheme != SCHEME };
        let listened = match &place.name {
            Name::Temporary => file::listen_temporary(rights).map(with_file),
            Name::Path(path) => file::listen(Path::new(path), rights).map(with_file),
            Name::Abstract(name) => abstract_socket(name, rights).map(|socket| (socket, None)),
        };
        let (socket, file) = listened.map_err(|error| ListenError {
            endpoint: Box::new(endpoint.clone()),
            address: place.name.to_string(),
            advice: advice(&error, &place.name),
            error,
        })?;
        let name = match &file {
            Some(file) => Name::Path(file.path().to_string_lossy().into_owned()),
            None => place.name,
        };
        Ok(Self {
            file,
            socket,
            address: name.address(scheme).for_people().into(),
            endpoint: Place { name, ..place }.endpoint(endpoint),
            closed: AtomicBool::new(false),
        })
    }

    /// Waits for a client, as [`Acceptor::accept`] does. Returns [`io::ErrorKind::WouldBlock`] for
    /// a non-blocking socket without clients.
    ///
    /// # Errors
    /// Those of [`Acceptor::accept`].
    pub fn accept(&self) -> io::Result<OwnedFd> {
        loop {
            // This is called even after closing, because clients that connected before are still returned, so that they
            // can be notified that their requests did not run. After the last of them, the kernel returns an error and
            // does not wait.
            match socket::accept(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.is_closed() => return Err(io::ErrorKind::NotConnected.into()),
                done => return done,
            }
        }
    }

    /// Closes the socket as [`Acceptor::close`] does.
    pub fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(file) = &self.file {
            file.remove();
        }
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    /// Reports whether the socket was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns the endpoint as [`Acceptor::endpoint`] does.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the address, for users.
    pub fn address(&self) -> &Arc<str> {
        &self.address
    }
}

/// Listening socket, readable when a client waits.
impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Acceptor of links over a listening UNIX socket.
#[derive(Debug)]
pub struct UnixAcceptor(Listening);

impl UnixAcceptor {
    /// Listens as [`Listening::new`] does.
    ///
    /// # Errors
    /// [`ListenError`] with advice.
    pub fn listen(endpoint: &Endpoint) -> Result<Self, ListenError> {
        Listening::new(endpoint, SCHEME).map(Self)
    }
}

fn with_file((socket, file): (OwnedFd, SocketFile)) -> (OwnedFd, Option<SocketFile>) {
    (socket, Some(file))
}

fn abstract_socket(name: &str, rights: Rights) -> io::Result<OwnedFd> {
    let socket = unix::bind(unix::Name::Abstract(name.as_bytes()))?;
    rights.listen(&socket)?;
    Ok(socket)
}

impl Acceptor for UnixAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let link = UnixLink::accepted(self.0.accept()?, self.0.address().clone())?;
        Ok(Box::new(link))
    }

    fn close(&self) {
        self.0.close();
    }

    fn endpoint(&self) -> &Endpoint {
        self.0.endpoint()
    }
}

fn advice(error: &io::Error, name: &Name) -> Option<&'static str> {
    Some(match (error.kind(), name) {
        (io::ErrorKind::AddrInUse, Name::Abstract(_)) => {
            "another process has that name: stop it, or choose another name"
        }
        (io::ErrorKind::AddrInUse, _) => "stop that process, or choose another path",
        (io::ErrorKind::AlreadyExists, _) => "remove it, or choose another path",
        (io::ErrorKind::NotFound, _) => "create the directory, or choose another path",
        (io::ErrorKind::PermissionDenied, _) => {
            "choose a directory that only this user can write to, such as one in /run"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unix::place;

    /// Descriptors are refused at both ends: they would never be received, and closing those of a
    /// peer may take as long as the peer likes. Refusing them requires Linux 6.16.
    #[test]
    fn neither_end_can_send_descriptors() {
        let endpoint = place::url(oxorb_transport::Part::new("@")).unwrap();
        let acceptor = UnixAcceptor::listen(&endpoint[0]).unwrap();
        let name = Place::of(acceptor.endpoint()).name;
        let client = crate::unix::connect(&name).unwrap().unwrap();
        let server = acceptor.0.accept().unwrap();
        if !unix::refuse_descriptors(&client) {
            return eprintln!("this system has no SO_PASSRIGHTS");
        }
        for from in [&client, &server] {
            let refused = unix::send_descriptors(from, b"GIOP", &[from.as_fd(); 2]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        }
    }
}
