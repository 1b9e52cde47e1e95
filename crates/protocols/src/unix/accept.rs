//! Listening.

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

/// A listening UNIX socket, whatever is spoken there. Its file is removed when it is closed or dropped.
#[derive(Debug)]
pub struct Listening {
    /// Dropped before the socket: a file on which nobody listens would be taken over.
    file: Option<SocketFile>,
    socket: OwnedFd,
    endpoint: Endpoint,
    /// The address, for people.
    address: Arc<str>,
    closed: AtomicBool,
}

impl Listening {
    /// Listens on the place of `endpoint`. A file on which nobody listens any more is removed first.
    /// `scheme` is that of the addresses. Clients of UNIX sockets cannot send descriptors, where the system refuses them
    /// (Linux 6.16); those of other schemes can.
    ///
    /// # Errors
    /// [`ListenError`], which says what to do.
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

    /// Waits for a client, as [`Acceptor::accept`] does. Of a socket that was told not to wait:
    /// [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// Those of [`Acceptor::accept`].
    pub fn accept(&self) -> io::Result<OwnedFd> {
        loop {
            // Also once it is closed: whoever had connected by then is told so, instead of losing a request. Then the system
            // has no more, and does not wait.
            match socket::accept(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.is_closed() => return Err(io::ErrorKind::NotConnected.into()),
                done => return done,
            }
        }
    }

    /// Closes as [`Acceptor::close`].
    pub fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(file) = &self.file {
            file.remove();
        }
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns the endpoint as [`Acceptor::endpoint`].
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the address, for people.
    pub fn address(&self) -> &Arc<str> {
        &self.address
    }
}

/// The socket: readable when a client waits.
impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A listening UNIX socket whose clients are links.
#[derive(Debug)]
pub struct UnixAcceptor(Listening);

impl UnixAcceptor {
    /// Listens as [`Listening::new`].
    ///
    /// # Errors
    /// [`ListenError`], which says what to do.
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
        (io::ErrorKind::NotFound, _) => "make the directory, or choose another path",
        (io::ErrorKind::PermissionDenied, _) => {
            "choose a directory that is writable for this user and not for all, such as one in /run"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unix::place;

    /// Descriptors are refused at both ends: a receiver would not take them, and closing those of
    /// others may take as long as they like. Linux 6.16.
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
