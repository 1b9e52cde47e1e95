//! Listening.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::unix;
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError};

use crate::file::{self, SocketFile};
use crate::{Name, Place, UnixLink};

/// A listening UNIX socket. Its file is removed when it is closed or dropped.
#[derive(Debug)]
pub struct UnixAcceptor {
    /// Dropped before the socket: a file on which nobody listens would be taken over.
    file: Option<SocketFile>,
    socket: OwnedFd,
    endpoint: Endpoint,
    /// The address, for people.
    address: Arc<str>,
    closed: AtomicBool,
}

impl UnixAcceptor {
    /// Listens on the place of `endpoint`. A file on which nobody listens any more is removed first.
    ///
    /// # Errors
    /// [`ListenError`], which says what to do.
    pub fn listen(endpoint: &Endpoint) -> Result<Self, ListenError> {
        let mut place = Place::of(endpoint);
        if let Name::Abstract(name) = &mut place.name
            && name.is_empty()
        {
            *name = file::temporary_name();
        }
        let listened = match &place.name {
            Name::Temporary => file::listen_temporary(place.mode).map(with_file),
            Name::Path(path) => file::listen(Path::new(path), place.mode).map(with_file),
            Name::Abstract(name) => abstract_socket(name).map(|socket| (socket, None)),
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
            address: name.address().for_people().into(),
            endpoint: Place { name, ..place }.endpoint(endpoint),
            closed: AtomicBool::new(false),
        })
    }
}

fn with_file((socket, file): (OwnedFd, SocketFile)) -> (OwnedFd, Option<SocketFile>) {
    (socket, Some(file))
}

fn abstract_socket(name: &str) -> io::Result<OwnedFd> {
    let socket = unix::bind(unix::Name::Abstract(name.as_bytes()))?;
    unix::listen(&socket, file::BACKLOG)?;
    Ok(socket)
}

impl Acceptor for UnixAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        loop {
            if self.closed.load(Ordering::Acquire) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            let accepted = socket::accept(&self.socket);
            match accepted.and_then(|it| UnixLink::accepted(it, self.address.clone())) {
                Ok(link) => return Ok(Box::new(link)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // `close` ends the wait with an error too: see above which it was.
                Err(_) if self.closed.load(Ordering::Acquire) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(file) = &self.file {
            file.remove();
        }
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
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
