//! A server with lanes of which a test sees every request: which lane, which connection, which service contexts.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use oxorb::{ObjectRef, Orb};
use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_giop::{Inbox, Limits, LocateStatus, Message, ReplyStatus};
use oxorb_object::{
    IiopEndpoint, IiopProfile, Ior, RtPolicyValue, TaggedComponent, Version, policies_component,
};

use super::PINGER;

/// One listening socket for each lane. Answers every request with 7.
pub(crate) struct Lanes {
    /// In the order in which they were asked for.
    pub(crate) addresses: Vec<(SocketAddr, i16)>,
    /// Connections that were accepted so far.
    pub(crate) accepted: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request, or a question where the object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Which lane.
    pub(crate) lane: usize,
    /// The client's port: which connection.
    pub(crate) connection: u16,
    /// `locate` for a question.
    pub(crate) operation: String,
    /// Ids and octets.
    pub(crate) contexts: Vec<(u32, Vec<u8>)>,
}

impl Lanes {
    /// -1: of no priority.
    pub(crate) fn start(priorities: &[i16]) -> Lanes {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let accepted = Arc::<AtomicUsize>::default();
        let start = |(lane, &priority): (usize, &i16)| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let (seen, accepted) = (Arc::clone(&seen), Arc::clone(&accepted));
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    accepted.fetch_add(1, Ordering::SeqCst);
                    let seen = Arc::clone(&seen);
                    thread::spawn(move || serve(stream, lane, &seen));
                }
            });
            (address, priority)
        };
        let addresses = priorities.iter().enumerate().map(start).collect();
        Lanes {
            addresses,
            accepted,
            seen,
        }
    }

    /// A reference to an object here with these policies, as TAO would publish it.
    pub(crate) fn object(&self, client: &Orb, policies: &[RtPolicyValue]) -> ObjectRef {
        let endpoint = |(address, priority): &(SocketAddr, i16)| {
            let host = address.ip().to_string();
            (
                IiopEndpoint {
                    host,
                    port: address.port(),
                },
                *priority,
            )
        };
        let endpoints: Vec<_> = self.addresses.iter().map(endpoint).collect();
        let IiopEndpoint { host, port } = &endpoints[0].0;
        let mut profile = IiopProfile::new(Version::V1_2, host, *port, b"lanes");
        if !policies.is_empty() {
            profile.components.push(policies_component(policies));
        }
        if endpoints.len() > 1 {
            profile
                .components
                .push(TaggedComponent::tao_endpoints(&endpoints));
        }
        let ior = Ior {
            type_id: PINGER.to_owned(),
            profiles: vec![profile.to_profile()],
        };
        client.string_to_object(&ior.to_string()).unwrap()
    }

    /// Has `seen` seen again, before what came since.
    pub(crate) fn put_back(&self, mut seen: Vec<Seen>) {
        let mut since = self.seen.lock().unwrap();
        seen.append(&mut since);
        *since = seen;
    }

    /// What came since this was asked last.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn serve(mut stream: TcpStream, lane: usize, seen: &Mutex<Vec<Seen>>) {
    let connection = stream.peer_addr().unwrap().port();
    stream.set_nodelay(true).unwrap();
    let mut inbox = Inbox::new(&Limits::default());
    loop {
        while inbox.poll().unwrap().is_some() {
            let note = |operation: &str, contexts| {
                let operation = operation.to_owned();
                seen.lock().unwrap().push(Seen {
                    lane,
                    connection,
                    operation,
                    contexts,
                });
            };
            let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, Dialect::new(2));
            let begun = match inbox.frame().message().unwrap() {
                Message::Request(request) => {
                    let contexts = request.contexts.iter();
                    let contexts = contexts.map(|one| (one.id, one.data.to_vec())).collect();
                    note(request.operation, contexts);
                    let status = ReplyStatus::NO_EXCEPTION;
                    let begun =
                        oxorb_giop::begin_reply(&mut e, Version::V1_2, request.id, status, &[]);
                    e.longlong(7);
                    begun
                }
                Message::LocateRequest(request) => {
                    note("locate", Vec::new());
                    let status = LocateStatus::OBJECT_HERE;
                    oxorb_giop::begin_locate_reply(&mut e, Version::V1_2, request.id, status)
                }
                _ => return,
            };
            oxorb_giop::finish(&mut e, begun).unwrap();
            if stream.write_all(&e.finish().to_vec()).is_err() {
                return;
            }
        }
        let (buffer, room) = inbox.room();
        let mut octets = vec![0; room];
        match stream.read(&mut octets) {
            Ok(0) | Err(_) => return,
            Ok(count) => buffer.extend(&octets[..count]),
        }
    }
}
