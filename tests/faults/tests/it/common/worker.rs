//! Servants of the server.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Decoder;
use oxorb::incident::Incident;
use oxorb::poa::{IdAssignment, Poa, Policies};
use oxorb::{Interface as _, ObjectRef, Outcome, Servant, Upcall};

use super::{JOURNAL, LONG, ping};

/// Size in octets of the answer to `big`, larger than all socket buffers.
const BIG_ANSWER: usize = 16 << 20;

/// Shared answer to `big`: any other memory of its replies is the ORB's.
static ANSWER: [u8; BIG_ANSWER] = [7; BIG_ANSWER];

pub(super) struct Worker {
    /// Parent of the POAs of `populate`.
    poa: Poa,
}

/// Servant of one of many objects.
pub(crate) struct Leaf(pub(crate) i64);

impl Worker {
    pub(super) fn new(poa: &Poa) -> Worker {
        Worker { poa: poa.clone() }
    }

    fn populate(&self, adapters: i64, objects: i64) {
        let policies = Policies { id_assignment: IdAssignment::User, ..Policies::default() };
        for adapter in 0..adapters {
            let poa = self.poa.create_poa(&adapter.to_string(), policies);
            let poa = poa.expect("a POA");
            for object in 0..objects {
                let id = object.to_string().as_str().into();
                let leaf = Arc::new(Leaf(object));
                poa.activate_servant_with_id(&id, leaf).expect("an object");
            }
        }
    }

    fn depopulate(&self, adapters: i64) {
        for adapter in 0..adapters {
            let poa = self.child(adapter);
            // The first POA object by object, the others as a whole.
            let mut object = 0;
            while adapter == 0 && poa.deactivate_id(object.to_string().as_str()).is_ok() {
                object += 1;
            }
            poa.destroy(true, false).expect("without waiting");
        }
    }

    fn object(&self, adapter: i64, object: i64) -> ObjectRef {
        let found = self.child(adapter).id_to_reference(object.to_string().as_str());
        ObjectRef::from_ref(found.expect("an object"))
    }

    fn child(&self, adapter: i64) -> Poa {
        self.poa.find_poa(&adapter.to_string()).expect("a POA")
    }

    /// Records an execution in one line, before anything else.
    fn note(number: i64) {
        let Ok(path) = std::env::var(JOURNAL) else {
            return;
        };
        let mut journal = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("the journal can be written");
        journal.write_all(format!("{number}\n").as_bytes()).expect("the journal can be written");
    }
}

impl Servant for Worker {
    fn repository_id(&self) -> &str {
        "IDL:oxorb.org/Faults/Worker:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "ping" | "run" | "hang" | "big" | "patient" => {
                let number = match upcall.args(|d| d.longlong()) {
                    Ok(number) => number,
                    Err(rejected) => return upcall.reject(rejected),
                };
                match upcall.operation() {
                    "ping" => {}
                    _ => Worker::note(number),
                }
                match upcall.operation() {
                    "hang" => thread::sleep(2 * LONG),
                    "patient" => {
                        let end = Instant::now() + LONG;
                        while !oxorb::servant::request_is_cancelled() && Instant::now() < end {
                            thread::sleep(Duration::from_millis(2));
                        }
                        // The ORB detected that no caller waits any more.
                        Worker::note(-number);
                    }
                    "big" => {
                        return upcall.reply(|e| {
                            e.length(BIG_ANSWER, None)?;
                            e.copy_octets(&ANSWER);
                            Ok(())
                        });
                    }
                    _ => {}
                }
                upcall.reply(|e| {
                    e.longlong(number + 1);
                    Ok(())
                })
            }
            "count" => match upcall.args(|d| d.ulong()) {
                Ok(at) => {
                    let statistics = upcall.orb().connection_statistics();
                    let count = statistics.count(Incident::ALL[at as usize]);
                    upcall.reply(|e| {
                        e.longlong(count as i64);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "swallow" => match upcall.args(|d| {
                let octets = d.length(None, 1)?;
                d.octets(octets).map(<[u8]>::len)
            }) {
                Ok(octets) => upcall.reply(|e| {
                    e.longlong(octets as i64);
                    Ok(())
                }),
                Err(rejected) => upcall.reject(rejected),
            },
            "collect" => match upcall.args(|d| d.sequence::<oxorb::Any>(None)) {
                Ok(anys) => {
                    thread::sleep(Duration::from_millis(200)); // others come meanwhile
                    upcall.reply(|e| {
                        e.longlong(anys.len() as i64);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "populate" => match upcall.args(|d| Ok((d.longlong()?, d.longlong()?))) {
                Ok((adapters, objects)) => {
                    self.populate(adapters, objects);
                    upcall.reply(|e| {
                        e.longlong(adapters * objects);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "depopulate" => match upcall.args(|d| d.longlong()) {
                Ok(adapters) => {
                    self.depopulate(adapters);
                    upcall.reply(|e| {
                        e.longlong(adapters);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "object" => match upcall.args(|d| Ok((d.longlong()?, d.longlong()?))) {
                Ok((adapter, object)) => {
                    let found = self.object(adapter, object);
                    upcall.reply(|e| oxorb::__gen::encode_ref(e, Some(&found)))
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "call_back" => {
                let args = |d: &mut Decoder<'_>| {
                    Ok((oxorb::__gen::decode_ref::<ObjectRef>(d)?, d.longlong()?))
                };
                match upcall.args(args) {
                    Ok((back, number)) => match ping(&back.expect("not nil"), number) {
                        Ok(answer) => upcall.reply(|e| {
                            e.longlong(answer);
                            Ok(())
                        }),
                        Err(exception) => upcall.fail(exception),
                    },
                    Err(rejected) => upcall.reject(rejected),
                }
            }
            _ => upcall.unknown_operation(),
        }
    }

    fn identity(&self) -> usize {
        1
    }
}

impl Servant for Leaf {
    fn repository_id(&self) -> &str {
        "IDL:oxorb.org/Faults/Leaf:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.longlong()) {
            Ok(number) => upcall.reply(|e| {
                e.longlong(number + self.0);
                Ok(())
            }),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}
