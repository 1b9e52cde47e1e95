//! A servant that reports its thread, a servant that waits at a gate, and POAs on lanes.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::poa::{Poa, Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, ThreadpoolId, ThreadpoolLane};
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_cdr::Encoder;
use oxorb_giop::{Message, RequestHeader, TargetAddress};
use oxorb_object::{ServiceContext, context_id};

use super::elsewhere;
use super::peer::{self, Peer};
use super::transport::{other_order, wire};

pub(crate) static WHERE: Op = Op::twoway("where");
pub(crate) static WAIT: Op = Op::twoway("wait");
pub(crate) static PANIC: Op = Op::twoway("panic");

/// Servant that reports its thread, and waits at its gate while the gate is closed.
#[derive(Default)]
pub(crate) struct Worker {
    gate: Mutex<bool>,
    opened: Condvar,
    pub(crate) at_gate: AtomicUsize,
    /// Importance of each `where` request.
    pub(crate) served: Mutex<Vec<Option<i32>>>,
}

/// The thread that served a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Where {
    pub(crate) thread: String,
    /// CORBA priority of the thread; -1 for none.
    pub(crate) priority: i16,
    /// Native priority of the thread, read from the system.
    pub(crate) native: i16,
}

impl Servant for Worker {
    fn repository_id(&self) -> &str {
        "IDL:test/Worker:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "where" => {
                let priority = upcall.orb().thread_priority().map_or(-1, Priority::get);
                let importance = upcall.qos().map(|qos| qos.importance);
                self.served.lock().unwrap().push(importance);
                check_lane(
                    upcall.orb().current_lane(),
                    thread::current().name().unwrap_or_default(),
                );
                upcall.reply(|e| {
                    e.string(thread::current().name().unwrap_or_default())?;
                    e.short(priority);
                    e.short(native());
                    Ok(())
                })
            }
            "wait" => {
                self.wait();
                upcall.done()
            }
            "panic" => panic!("as the test wants it"),
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

impl Worker {
    pub(crate) fn open(&self) {
        *self.gate.lock().unwrap() = true;
        self.opened.notify_all();
    }

    pub(crate) fn close(&self) {
        *self.gate.lock().unwrap() = false;
    }

    /// Waits at the gate while it is closed.
    pub(crate) fn wait(&self) {
        self.at_gate.fetch_add(1, Ordering::SeqCst);
        let mut open = self.gate.lock().unwrap();
        while !*open {
            open = self.opened.wait(open).unwrap();
        }
        drop(open);
        self.at_gate.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until `count` requests are at the gate.
    pub(crate) fn until_waiting(&self, count: usize) {
        while self.at_gate.load(Ordering::SeqCst) != count {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Compares the lane that a servant reads with the name of its thread.
fn check_lane(asked: Option<oxorb::rt::CurrentLane>, thread: &str) {
    let numbers = thread.strip_prefix("oxorb-").and_then(|name| name.split_once('.'));
    let named = numbers.map(|(pool, lane)| (pool.parse().unwrap(), lane.parse().unwrap()));
    let asked = asked.map(|lane| (lane.threadpool.0, lane.lane));
    assert!(asked == named || named.is_none() && thread.contains("stand-in"), "{thread}");
}

pub(crate) fn native() -> i16 {
    oxorb_sys::schedule::current().unwrap().priority as i16
}

pub(crate) fn whereabouts(object: &ObjectRef) -> Where {
    ask_whereabouts(object).unwrap()
}

pub(crate) fn ask_whereabouts(object: &ObjectRef) -> Result<Where, SystemException> {
    object.reference().invoke(
        &WHERE,
        |_| Ok(()),
        |d| {
            Ok(Where { thread: d.string()?.into_owned(), priority: d.short()?, native: d.short()? })
        },
    )
}

pub(crate) fn call(object: &ObjectRef, op: &'static Op) -> Result<(), SystemException> {
    object.reference().invoke(op, |_| Ok(()), |_| Ok(()))
}

pub(crate) fn priority(value: i16) -> Priority {
    Priority::new(value).unwrap()
}

pub(crate) fn lane(value: i16, threads: usize) -> ThreadpoolLane {
    ThreadpoolLane::new(priority(value), threads)
}

pub(crate) const fn model(
    model: PriorityModel,
    server_priority: i16,
) -> Option<PriorityModelPolicy> {
    Some(PriorityModelPolicy { model, server_priority })
}

pub(crate) fn server() -> Orb {
    super::transport::listening().build().unwrap()
}

pub(crate) fn client() -> Orb {
    super::transport::builder().build().unwrap()
}

/// Returns a POA whose objects are served by the lane of this priority.
pub(crate) fn lane_poa(server: &Orb, pool: ThreadpoolId, value: i16) -> Poa {
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: model(PriorityModel::ServerDeclared, value),
        ..RtPolicies::default()
    };
    poa(server, &format!("lane-{value}"), realtime)
}

pub(crate) fn poa(server: &Orb, name: &str, realtime: RtPolicies) -> Poa {
    let policies = Policies { realtime, ..Policies::default() };
    server.root_poa().create_poa(name, policies).unwrap()
}

pub(crate) fn activate(poa: &Poa, client: &Orb, worker: &Arc<Worker>) -> ObjectRef {
    let local = poa.activate_servant(worker.clone()).unwrap();
    elsewhere(client, &local)
}

pub(crate) fn in_the_background(
    object: &ObjectRef,
    op: &'static Op,
) -> thread::JoinHandle<Result<(), SystemException>> {
    let object = object.clone();
    thread::spawn(move || call(&object, op))
}

/// Returns a Request with these contexts as any ORB might send it.
pub(crate) fn request(id: u32, op: &Op, key: &[u8], contexts: &[ServiceContext<'_>]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), other_order(), wire().dialect());
    let header = RequestHeader {
        id,
        response: op.response,
        key: TargetAddress::Key(key),
        operation: op.name,
        contexts,
        terms: None,
        alias: None,
    };
    let begun = wire().begin_request(&mut e, &header);
    wire().finish(&mut e, begun).unwrap();
    e.finish().to_vec()
}

/// Returns a LocateRequest as any ORB might send it.
pub(crate) fn locate_request(id: u32, key: &[u8]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), other_order(), wire().dialect());
    wire().locate_request(&mut e, id, TargetAddress::Key(key)).unwrap();
    e.finish().to_vec()
}

/// Sends a `where` with these contexts, and returns the reply's message.
pub(crate) fn exchange(stream: &mut Peer, key: &[u8], contexts: &[ServiceContext<'_>]) -> Vec<u8> {
    stream.write_all(&request(7, &WHERE, key, contexts)).unwrap();
    stream.message()
}

/// Calls `where`, and returns its result with the priority context of the reply.
pub(crate) fn ask(object: &ObjectRef, context: Option<&[u8]>) -> (Where, Option<Vec<u8>>) {
    let mut stream = Peer::connect(&super::address(object));
    let contexts: Vec<_> = context
        .into_iter()
        .map(|data| ServiceContext { id: context_id::RT_CORBA_PRIORITY, data })
        .collect();
    let reply = exchange(&mut stream, &super::object_key(object), &contexts);
    let frame = peer::frame(&reply);
    let Message::Reply(reply) = frame.message().unwrap() else {
        panic!("{:?}", frame.header);
    };
    let back = reply.contexts.find(context_id::RT_CORBA_PRIORITY);
    let back = back.map(|context| context.data.to_vec());
    let mut d = frame.decoder(wire().dialect()).at(reply.body);
    let served = Where {
        thread: d.string().unwrap().into_owned(),
        priority: d.short().unwrap(),
        native: d.short().unwrap(),
    };
    (served, back)
}
