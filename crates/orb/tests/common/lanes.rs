//! A server with lanes that records the lane, connection and service contexts of every request.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use oxorb::protocol::Profile;
use oxorb::transport::Address;
use oxorb::{ObjectRef, Orb};
use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{Inbox, LocateStatus, Message, MessageLimits, ReplyStatus};
use oxorb_object::{Ior, RtPolicyValue, Version, context_id, policies_component};

use super::PINGER;
use super::fake::{FakeConnection, FakeServer};
use super::peer::Peer;
use super::transport::{protocol, wire};

/// A server with one endpoint per lane, which answers every request with 7.
pub(crate) struct Lanes {
    /// Addresses and priorities, in the order given to [`start`](Self::start).
    pub(crate) addresses: Vec<(Address, i16)>,
    /// Connections that were accepted so far.
    pub(crate) accepted: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A Request or a LocateRequest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Index of the lane.
    pub(crate) lane: usize,
    /// Number of the connection, over all lanes.
    pub(crate) connection: usize,
    /// Operation; `locate` for a LocateRequest.
    pub(crate) operation: String,
    /// Ids and data of the service contexts.
    pub(crate) contexts: Vec<(u32, Vec<u8>)>,
}

impl Lanes {
    /// Starts a server with one lane for each priority; -1 denotes a lane without a priority.
    pub(crate) fn start(priorities: &[i16]) -> Lanes {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let accepted = Arc::<AtomicUsize>::default();
        let start = |(lane, &priority): (usize, &i16)| {
            let server = FakeServer::start();
            let address = server.address();
            let (seen, accepted) = (Arc::clone(&seen), Arc::clone(&accepted));
            thread::spawn(move || {
                loop {
                    let FakeConnection { peer, .. } = server.accept();
                    let connection = accepted.fetch_add(1, Ordering::SeqCst);
                    let seen = Arc::clone(&seen);
                    thread::spawn(move || serve(peer, lane, connection, &seen));
                }
            });
            (address, priority)
        };
        let addresses = priorities.iter().enumerate().map(start).collect();
        Lanes { addresses, accepted, seen }
    }

    /// Returns a reference to an object of this server with these policies, in the form that TAO
    /// publishes.
    pub(crate) fn object(&self, client: &Orb, policies: &[RtPolicyValue]) -> ObjectRef {
        let (first, _) = &self.addresses[0];
        let mut profile = Profile::new(first.clone(), Version::V1_2, b"lanes");
        if !policies.is_empty() {
            profile.components.push(policies_component(policies));
        }
        if self.addresses.len() > 1 {
            profile.lanes.clone_from(&self.addresses);
        }
        let ior = Ior {
            type_id: PINGER.to_owned(),
            profiles: vec![protocol().profile().write(&profile)],
        };
        client.string_to_object(&ior.to_string()).unwrap()
    }

    /// Puts `seen` back in front of the requests received since.
    pub(crate) fn put_back(&self, mut seen: Vec<Seen>) {
        let mut since = self.seen.lock().unwrap();
        seen.append(&mut since);
        *since = seen;
    }

    /// Returns the requests received since the last call.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn serve(mut stream: Peer, lane: usize, connection: usize, seen: &Mutex<Vec<Seen>>) {
    stream.set_read_timeout(None).unwrap();
    let mut inbox = Inbox::new(&MessageLimits::default()).speaking(wire());
    loop {
        while inbox.poll().unwrap().is_some() {
            let note = |operation: &str, contexts| {
                let operation = operation.to_owned();
                seen.lock().unwrap().push(Seen { lane, connection, operation, contexts });
            };
            let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire().dialect());
            let terms = inbox.frame().terms().unwrap_or_default();
            let begun = match inbox.frame().message().unwrap() {
                Message::Request(request) => {
                    // Protocols other than GIOP carry the priority in a field of the message.
                    // Record it like GIOP's service context.
                    let field = terms.priority.map(|priority| {
                        let [high, low] = priority.to_be_bytes();
                        (context_id::RT_CORBA_PRIORITY, vec![0, 0, high, low])
                    });
                    let contexts = request.contexts.iter();
                    let contexts = contexts.map(|one| (one.id, one.data.to_vec()));
                    let contexts = field.into_iter().chain(contexts).collect();
                    note(request.operation, contexts);
                    let status = ReplyStatus::NO_EXCEPTION;
                    let begun = wire().begin_reply(&mut e, request.id, status, &[]);
                    e.longlong(7);
                    begun
                }
                Message::LocateRequest(request) => {
                    note("locate", Vec::new());
                    let status = LocateStatus::OBJECT_HERE;
                    wire().begin_locate_reply(&mut e, request.id, status)
                }
                _ => return,
            };
            wire().finish(&mut e, begun).unwrap();
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
