//! POAs, objects, and requests for them as received from clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxorb::__gen::{Operations, PerfectHash};
use oxorb::cdr::Dialect;
use oxorb::ior::Corbaloc;
use oxorb::poa::{IdAssignment, IdUniqueness, Lifespan, Lookup, ObjectId, Policies};
use oxorb::servant::DetachedRequest;
use oxorb::{Interface as _, ObjectRef, Orb, Outcome, Servant, Upcall};

use super::layered::Layers;
use crate::Result;
use crate::wire;

/// Kind of lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Index in the key.
    Place,
    Hash,
    Perfect,
    Binary,
    Linear,
    /// Lookup layer by layer, outside OxORB.
    Layers,
}

/// Requests of one measurement, and their ORB.
pub(super) struct Requests {
    orb: Orb,
    servant: Arc<Counter>,
    requests: Vec<DetachedRequest>,
    through: Through,
}

/// Code that finds the servant.
enum Through {
    Adapter,
    Layers(Layers),
    /// Fixed result without a lookup: only the request and the upcall remain.
    Nothing,
}

/// Maximum number of different requests of one measurement.
const MOST: usize = 20_000;

/// Servant that counts its upcalls by operation.
struct Counter {
    operations: Operations,
    found: AtomicUsize,
    many: usize,
}

impl Counter {
    fn new(by: By, many: usize) -> Arc<Counter> {
        let operations = operations(by, many);
        Arc::new(Counter { operations, found: AtomicUsize::new(0), many })
    }
}

impl Counter {
    fn count(&self, upcall: Upcall<'_>) -> Outcome {
        self.found.fetch_add(1, Ordering::Relaxed);
        upcall.done()
    }
}

impl Servant for Counter {
    fn repository_id(&self) -> &str {
        "IDL:demux/Counter:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        if upcall.find(&self.operations) < self.many {
            return self.count(upcall);
        }
        upcall.done()
    }
}

/// Returns `many` operations with this lookup.
fn operations(by: By, many: usize) -> Operations {
    let names: Vec<&'static str> = (0..many).map(|n| &*String::leak(operation(n))).collect();
    let names: &'static [&'static str] = names.leak();
    match by {
        By::Binary => {
            let mut order: Vec<u16> = (0..many as u16).collect();
            order.sort_by_key(|place| names[usize::from(*place)]);
            Operations::binary(names, order.leak())
        }
        By::Linear | By::Layers => Operations::linear(names),
        By::Place | By::Hash | By::Perfect => {
            let hash = PerfectHash::build(names).expect("names differ");
            Operations::perfect(names, hash)
        }
    }
}

fn operation(n: usize) -> String {
    format!("operation_number_{n}")
}

/// Returns a request as received from a client.
fn request(
    object: &ObjectRef,
    operation_number: usize,
    slot: Option<u16>,
) -> Result<DetachedRequest> {
    let url = Corbaloc::from_ior(object.reference().ior()).ok_or("the reference has no address")?;
    let key = url.key;
    let message = wire::oneway(&key, &operation(operation_number), slot);
    Ok(DetachedRequest::parse(message, Dialect::GIOP_1_2)?)
}

impl Requests {
    /// Makes requests to many objects, with one operation each.
    pub(super) fn to_objects(by: By, many: usize) -> Result<Requests> {
        let (orb, servant) = (Requests::orb()?, Counter::new(By::Perfect, 1));
        let place = by == By::Place;
        let policies = Policies {
            id_assignment: match place {
                true => IdAssignment::System,
                false => IdAssignment::User,
            },
            id_uniqueness: IdUniqueness::Multiple,
            lookup: match by {
                By::Place => Lookup::Active,
                By::Hash | By::Binary | By::Layers => Lookup::Hash,
                By::Perfect => Lookup::Perfect,
                By::Linear => Lookup::Linear,
            },
            ..Policies::default()
        };
        let id = |n: usize| ObjectId::from(format!("object number {n}"));
        let builder = orb.root_poa().new_poa("many").policies(policies);
        let known = if by == By::Perfect { many } else { 0 };
        let poa = builder.known_ids((0..known).map(id)).create()?;
        let mut requests = Vec::new();
        // Of a million objects, only some thousands are called. They are spread over all objects.
        let step = many.div_ceil(MOST);
        for n in 0..many {
            let reference = match place {
                true => poa.activate_servant(servant.clone())?,
                false => poa.activate_servant_with_id(&id(n), servant.clone())?,
            };
            if n % step == 0 {
                let object = ObjectRef::from_ref(reference);
                requests.push(request(&object, 0, None)?);
            }
        }
        Ok(Requests::new(orb, servant, requests))
    }

    /// Makes requests to many operations of one object.
    pub(super) fn to_operations(by: By, many: usize) -> Result<Requests> {
        let (orb, servant) = (Requests::orb()?, Counter::new(by, many));
        let object = ObjectRef::from_ref(orb.root_poa().activate_servant(servant.clone())?);
        let requests = (0..many).map(|n| {
            let slot = (by == By::Place).then_some(n as u16);
            request(&object, n, slot)
        });
        let requests = requests.collect::<Result<_>>()?;
        Ok(Requests::new(orb, servant, requests))
    }

    /// Makes requests to one object at the bottom of a chain of POAs.
    pub(super) fn to_depth(by: By, depth: usize) -> Result<Requests> {
        let (orb, servant) = (Requests::orb()?, Counter::new(By::Perfect, 1));
        let policies = match by {
            By::Place => Policies::default(),
            _ => Policies {
                lifespan: Lifespan::Persistent,
                id_assignment: IdAssignment::User,
                ..Policies::default()
            },
        };
        let mut poa = orb.root_poa().clone();
        for level in 0..depth {
            poa = poa.create_poa(&format!("level {level}"), policies)?;
        }
        let reference = match by {
            By::Place => poa.activate_servant(servant.clone())?,
            _ => poa.activate_servant_with_id(&"deep".into(), servant.clone())?,
        };
        let object = ObjectRef::from_ref(reference);
        let requests = vec![request(&object, 0, None)?];
        Ok(Requests::new(orb, servant, requests))
    }

    /// Makes requests to each of 100 objects at the bottom of a chain of POAs, with one of 50 operations each.
    pub(super) fn to_layers(by: By, depth: usize) -> Result<Requests> {
        const OBJECTS: usize = 100;
        const MANY: usize = 50;
        let (orb, servant) = (Requests::orb()?, Counter::new(By::Perfect, MANY));
        if by == By::Layers {
            let mut layers = Layers::default();
            layers.add_interface(&*servant, operations(By::Linear, MANY));
            let requests = (0..OBJECTS).map(|n| {
                let key = layers.add(depth, &format!("object {n}"), servant.clone());
                let message = wire::oneway(&key, &operation(n % MANY), None);
                Ok(DetachedRequest::parse(message, Dialect::GIOP_1_2)?)
            });
            let requests = requests.collect::<Result<_>>()?;
            let mut requests = Requests::new(orb, servant, requests);
            requests.through = Through::Layers(layers);
            return Ok(requests);
        }
        let mut poa = orb.root_poa().clone();
        for level in 0..depth {
            let policies =
                Policies { id_uniqueness: IdUniqueness::Multiple, ..Policies::default() };
            poa = poa.create_poa(&format!("level {level}"), policies)?;
        }
        let requests = (0..OBJECTS).map(|n| {
            let object = ObjectRef::from_ref(poa.activate_servant(servant.clone())?);
            let slot = (by == By::Place).then_some((n % MANY) as u16);
            request(&object, n % MANY, slot)
        });
        let requests = requests.collect::<Result<_>>()?;
        Ok(Requests::new(orb, servant, requests))
    }

    /// Makes requests without a lookup: the remaining cost of a request.
    pub(super) fn to_nothing() -> Result<Requests> {
        let mut requests = Requests::to_layers(By::Place, 4)?;
        requests.through = Through::Nothing;
        Ok(requests)
    }

    fn orb() -> Result<Orb> {
        Ok(Orb::builder().listen("iiop://127.0.0.1:0").build()?)
    }

    fn new(orb: Orb, servant: Arc<Counter>, mut requests: Vec<DetachedRequest>) -> Requests {
        shuffle(&mut requests);
        Requests { orb, servant, requests, through: Through::Adapter }
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Serves each request once.
    pub(super) fn serve(&self) {
        for request in &self.requests {
            let reply = match &self.through {
                Through::Adapter => request.dispatch(&self.orb),
                Through::Layers(layers) => {
                    Some(request.serve(&self.orb, |upcall| layers.serve(upcall)))
                }
                Through::Nothing => {
                    Some(request.serve(&self.orb, |upcall| self.servant.count(upcall)))
                }
            };
            debug_assert!(reply.is_none_or(|reply| reply.message().is_none()));
        }
    }

    /// Serves `requests` requests, cyclically.
    pub(super) fn serve_some(&self, requests: usize) {
        for request in self.requests.iter().cycle().take(requests) {
            let reply = request.dispatch(&self.orb);
            debug_assert!(reply.is_none_or(|reply| reply.message().is_none()));
        }
    }

    /// Checks that `requests` requests reached the servant.
    pub(super) fn check_served(&self, requests: usize) {
        let found = self.servant.found.load(Ordering::Relaxed);
        assert_eq!(found, requests, "requests went astray");
    }

    /// Checks that all requests reached the servant in each of `laps` laps.
    pub(super) fn check(&self, laps: usize) {
        self.check_served(laps * self.requests.len());
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // A failure does not matter, because no client has called.
        let _ = self.orb.shutdown(true);
    }
}

/// Shuffles in the same order in every run.
fn shuffle<T>(items: &mut [T]) {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for last in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(last, (state % (last as u64 + 1)) as usize);
    }
}
