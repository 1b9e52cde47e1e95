//! Acceptor of shared memory.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use crate::unix::Listening;
use oxorb_sys::sync::Mutex;
use oxorb_sys::{descriptor, poll, socket};
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError};

use crate::shm::segment::Sizes;
use crate::shm::{Place, SCHEME, ShmLink, greeting, refused};

/// Time limit for a client's greeting. A client greets with its next system call after connecting.
const GREETING_LIMIT: Duration = Duration::from_secs(1);

/// Maximum number of connected clients that have not greeted; for a further one, the client that
/// has waited longest is rejected.
const MAX_UNGREETED: usize = 64;

/// UNIX socket whose clients provide shared memory. Its file is removed when it is closed or
/// dropped.
#[derive(Debug)]
pub struct ShmAcceptor {
    socket: Listening,
    /// Largest ring and block area accepted in a client's segment.
    max: Sizes,
    /// Clients that have not greeted yet, in order of arrival. The accepting thread holds the lock, so
    /// that only one thread accepts at a time.
    waiting: Mutex<VecDeque<(OwnedFd, Instant)>>,
}

impl ShmAcceptor {
    /// Listens on the place of `endpoint`. First removes a file without a listener.
    ///
    /// # Errors
    /// [`ListenError`] with advice.
    pub fn listen(endpoint: &Endpoint) -> Result<Self, ListenError> {
        let listening = Listening::new(endpoint, SCHEME)?;
        socket::set_blocking(&listening, false).map_err(|error| ListenError {
            endpoint: Box::new(endpoint.clone()),
            address: listening.address().to_string(),
            error,
            advice: None,
        })?;
        Ok(Self { max: Place::of(endpoint).sizes(), socket: listening, waiting: Mutex::default() })
    }

    /// Returns the state of a client after an attempt to receive its greeting.
    ///
    /// # Errors
    /// The system has no descriptor or memory left, and the client is lost: the accepting code
    /// frees resources for others.
    fn greeted(&self, client: OwnedFd) -> io::Result<Client> {
        let received = greeting::receive(&client, self.max);
        match received {
            Ok(received) => {
                let server = self.socket.address().clone();
                let link = ShmLink::accepted(client, received, server);
                Ok(link.map_or(Client::Nobody, |link| Client::Link(Box::new(link))))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Client::Silent(client)),
            Err(error) => {
                refused::close(client);
                match descriptor::is_shortage(&error) {
                    true => Err(error),
                    false => Ok(Client::Nobody),
                }
            }
        }
    }
}

/// Hands the closing of clients that have not greeted to another thread: a client may have sent
/// descriptors that are slow to close.
fn turn_away(waiting: &mut VecDeque<(OwnedFd, Instant)>) {
    for (client, _) in waiting.drain(..) {
        refused::close(client);
    }
}

impl Drop for ShmAcceptor {
    fn drop(&mut self) {
        turn_away(self.waiting.get_mut());
    }
}

/// Connected client.
enum Client {
    /// The client has greeted.
    Link(Box<ShmLink>),
    /// The client has not greeted yet.
    Silent(OwnedFd),
    /// The client is unusable.
    Nobody,
}

impl Acceptor for ShmAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let mut waiting = self.waiting.lock();
        loop {
            for _ in 0..waiting.len() {
                let Some((client, since)) = waiting.pop_front() else {
                    break;
                };
                match self.greeted(client)? {
                    Client::Link(link) => return Ok(link),
                    Client::Silent(client) if since.elapsed() < GREETING_LIMIT => {
                        waiting.push_back((client, since));
                    }
                    Client::Silent(client) => refused::close(client),
                    Client::Nobody => {}
                }
            }
            match self.socket.accept() {
                Ok(client) => match self.greeted(client)? {
                    Client::Link(link) => return Ok(link),
                    Client::Nobody => {}
                    Client::Silent(client) => {
                        if waiting.len() == MAX_UNGREETED
                            && let Some((client, _)) = waiting.pop_front()
                        {
                            refused::close(client);
                        }
                        waiting.push_back((client, Instant::now()));
                    }
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let clients = waiting.iter().map(|(client, _)| client.as_fd());
                    let all = clients.chain([self.socket.as_fd()]);
                    let limit = (!waiting.is_empty()).then_some(GREETING_LIMIT);
                    poll::any_readable(all, limit)?;
                }
                Err(error) => {
                    if error.kind() == io::ErrorKind::NotConnected {
                        turn_away(&mut waiting);
                    }
                    return Err(error);
                }
            }
        }
    }

    fn close(&self) {
        self.socket.close();
    }

    fn endpoint(&self) -> &Endpoint {
        self.socket.endpoint()
    }
}
