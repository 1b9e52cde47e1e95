//! Listening endpoints and the threads that accept on them.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use oxorb_cdr::ByteOrder;
use oxorb_giop::Version;
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError};

use super::leader_followers::Workers;
use super::per_connection;
use crate::Orb;
use crate::lock::Mutex;
use crate::options::Concurrency;

/// How long to wait after accept failed for want of descriptors or memory.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// All that an ORB listens on.
#[derive(Default)]
pub(crate) struct Listeners {
    open: Mutex<Vec<Listener>>,
}

struct Listener {
    acceptor: Arc<dyn Acceptor>,
    thread: Option<JoinHandle<()>>,
}

impl Listeners {
    /// Opens `endpoints` and starts to accept; when one cannot be opened, none
    /// is, and no thread was started.
    pub(crate) fn open(
        &self,
        orb: &Orb,
        endpoints: &[Endpoint],
    ) -> Result<Vec<Endpoint>, OpenError> {
        let acceptors: Vec<Arc<dyn Acceptor>> = endpoints
            .iter()
            .map(|endpoint| oxorb_transport::listen(endpoint).map(Arc::from))
            .collect::<Result<_, _>>()
            .map_err(OpenError::Listen)?;
        let workers = match orb.options().concurrency {
            Concurrency::ThreadPerConnection => None,
            Concurrency::LeaderFollowers { threads } => {
                Some(Workers::start(orb, threads).map_err(OpenError::Threads)?)
            }
        };
        let mut real = Vec::new();
        for acceptor in acceptors {
            real.push(acceptor.endpoint().clone());
            let thread = {
                let (orb, acceptor, workers) =
                    (orb.clone(), Arc::clone(&acceptor), workers.clone());
                std::thread::Builder::new()
                    .name("oxorb-accept".to_owned())
                    .spawn(move || accept(&orb, &*acceptor, workers.as_deref()))
                    .map_err(OpenError::Threads)?
            };
            self.open.lock().expect(UNPOISONED).push(Listener {
                acceptor,
                thread: Some(thread),
            });
        }
        Ok(real)
    }

    /// Stops listening; connections live on.
    pub(crate) fn close(&self) {
        let mut open = self.open.lock().expect(UNPOISONED);
        for listener in open.iter_mut() {
            listener.acceptor.close();
        }
        for listener in open.iter_mut() {
            if let Some(thread) = listener.thread.take() {
                let _ = thread.join();
            }
        }
        open.clear();
    }
}

const UNPOISONED: &str = "no panic while the lock is held";

/// Why an ORB cannot listen.
#[derive(Debug)]
pub(crate) enum OpenError {
    Listen(ListenError),
    Threads(io::Error),
}

fn accept(orb: &Orb, acceptor: &dyn Acceptor, workers: Option<&Workers>) {
    loop {
        match acceptor.accept() {
            Ok(link) => welcome(orb, Arc::from(link), workers),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
            Err(_) if orb.is_closing() => return,
            Err(_) => std::thread::sleep(SHORTAGE_PAUSE),
        }
    }
}

/// Gives a new connection to who will serve it. One too many is closed at
/// once, in order, so that its client tries elsewhere.
fn welcome(orb: &Orb, link: Arc<dyn Link>, workers: Option<&Workers>) {
    let Some(id) = orb.registry().add(&link, orb.options().max_connections) else {
        turn_away(&*link);
        return;
    };
    let taken = match workers {
        Some(workers) => workers.adopt(orb, id, Arc::clone(&link)),
        None => per_connection::start(orb, id, Arc::clone(&link)),
    };
    if taken.is_err() {
        orb.registry().remove(id);
        turn_away(&*link);
    }
}

fn turn_away(link: &dyn Link) {
    let close = oxorb_giop::close_connection(Version::V1_0, ByteOrder::NATIVE);
    let _ = link.write(&mut [io::IoSlice::new(&close)]);
    link.close();
}
