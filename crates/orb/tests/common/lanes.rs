//! A server with lanes of which a test sees every request: which lane, which connection, which service contexts.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use oxorb::protocol::Profile;
use oxorb::transport::Address;
use oxorb::{ObjectRef, Orb};
use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_giop::{Inbox, Limits, LocateStatus, Message, ReplyStatus};
use oxorb_object::{Ior, RtPolicyValue, Version, context_id, policies_component};

use super::PINGER;
use super::fake::{FakeConnection, FakeServer};
use super::peer::Peer;
use super::transport::{protocol, wire};

/// One listening place for each lane. Answers every request with 7.
pub(crate) struct Lanes {
    /// In the order in which they were asked for.
    pub(crate) addresses: Vec<(Address, i16)>,
    /// Connections that were accepted so far.
    pub(crate) accepted: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request, or a question where the object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Which lane.
    pub(crate) lane: usize,
    /// Which connection of all.
    pub(crate) connection: usize,
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

    /// A reference to an object here with these policies, as TAO would publish it.
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

fn serve(mut stream: Peer, lane: usize, connection: usize, seen: &Mutex<Vec<Seen>>) {
    stream.set_read_timeout(None).unwrap();
    let mut inbox = Inbox::new(&Limits::default()).speaking(wire());
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
                    // What other messagings have a field for stands here as GIOP's context.
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
