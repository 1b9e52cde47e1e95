//! A gateway between clients outside and unchanged servers inside, of any make. Requires the feature `gateway`.
//!
//! ```text
//! client outside --TLS--> outside ORB | inside ORB --plain or TLS--> server inside
//!                <------- callback    |            <----- callback --
//! ```
//!
//! A gateway forwards requests as a [bridge](crate::bridge) does, and has one ORB for each side, with its own
//! endpoints, certificates, access rules and limits. All references that pass are replaced, in both directions: in
//! arguments, results and exceptions, also in anys, valuetypes and text. The replacement denotes an object of the
//! gateway, whose id contains the original, signed with a key. The gateway therefore stores no references, calls only
//! targets that it has handed out itself, and accepts its references after a restart with the same key.
//!
//! ```
//! use oxorb::gateway::{Gateway, GatewaySettings, SigningKey};
//! use oxorb::{Interface as _, ObjectRef, Orb};
//!
//! # let server = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
//! # let there: ObjectRef = server.root_poa().create_reference()?;
//! # let url = there.to_ior();
//! let outside = Orb::builder().listen("iiop://127.0.0.1:0");
//! let inside = Orb::builder().listen("iiop://127.0.0.1:0");
//! let gateway = Gateway::new(outside, inside, GatewaySettings::new(SigningKey::random()?))?;
//! gateway.open_as("Account", &url, "IDL:bank/Account:1.0")?;
//! gateway.listen()?;
//! println!("{}", gateway.reference("Account")?.to_ior());
//! # gateway.shutdown()?;
//! # server.shutdown(true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod active;
mod callbacks;
#[doc(hidden)]
pub mod fuzz;
mod incarnator;
mod key;
mod settings;
mod side;
mod sides;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use oxorb_core::lock::Mutex;

use crate::bridge::counts::Counts;
use crate::bridge::forwarder::GONE;
use crate::bridge::passage::{Passage, Rules, foreign_of};
use crate::bridge::poas::Poas;
use crate::bridge::{Error, Statistics, targets};
use crate::ior::Ior;
use crate::poa::{IdAssignment, Lifespan, Policies, RequestProcessing};
use crate::{Builder, Interface as _, ObjectRef, Orb, SystemException};

use active::ActiveObjects;
use incarnator::Incarnator;
use key::MAX_REFERENCE;
use sides::{Crossing, Half, Sides, size};

pub use key::SigningKey;
pub use settings::{GatewaySettings, UnknownTypes};
pub use side::Side;
pub use sides::Fate;

/// Name of the POA of the gateway's objects, on both sides.
const POA_NAME: &str = "gateway";

/// A gateway with an ORB for each side. Cheap to clone.
///
/// The gateway lives until [`shutdown`](Self::shutdown), until its ORB outside is shut down and [`run`](Self::run) has
/// returned, or until its last clone is dropped. Dropping it waits for no running request.
#[derive(Clone)]
pub struct Gateway(Arc<Shared>);

struct Shared {
    sides: Arc<Sides>,
    /// Direction from clients outside to targets inside.
    inward: Arc<Passage>,
    /// Direction from clients inside to targets outside.
    outward: Arc<Passage>,
    _orbs: Orbs,
}

/// ORBs of a gateway. They are shut down when this value is dropped.
#[derive(Default)]
struct Orbs(Vec<Orb>);

impl Gateway {
    /// Creates a gateway, which does not listen yet.
    ///
    /// # Errors
    /// One of the ORBs cannot be created.
    pub fn new(
        outside: Builder,
        inside: Builder,
        settings: GatewaySettings,
    ) -> Result<Gateway, Error> {
        let (late, mut orbs) = (Arc::new(OnceLock::new()), Orbs::default());
        let outside = orbs.add(orb(outside, Side::Outside, &late)?);
        let inside = orbs.add(orb(inside, Side::Inside, &late)?);
        let GatewaySettings { interfaces, unknown, callbacks, key, max_active } = settings;
        let (counts, interfaces) = (Arc::new(Counts::default()), Arc::new(interfaces));
        let known_only = unknown == UnknownTypes::Refuse;
        let sides = Arc::new(Sides {
            outside: half(outside)?,
            inside: half(inside)?,
            key,
            callbacks,
            names: Mutex::default(),
        });
        let _ = late.set(Arc::downgrade(&sides));
        let mut passage = |clients: Side| {
            let orb = &sides.half(clients.other()).orb;
            let foreign = foreign_of(orb).map_err(|error| Error::Setup(error.into()))?;
            let foreign = orbs.add(foreign);
            let crossing =
                Crossing { sides: Arc::clone(&sides), clients, counts: Arc::clone(&counts) };
            let passage = Arc::new(Passage {
                orb: orb.clone(),
                foreign,
                interfaces: Arc::clone(&interfaces),
                ambiguous: match clients {
                    // Servers inside have written the type ids of the targets.
                    Side::Outside => HashSet::new(),
                    Side::Inside => interfaces.ambiguous(),
                },
                counts: Arc::clone(&counts),
                counterparts: Arc::new(crossing),
                rules: Rules {
                    everywhere: true,
                    known_only,
                    types_of_clients: clients == Side::Inside,
                },
            });
            for poa in sides.half(clients).poas.all() {
                poa.set_servant_activator(Incarnator {
                    sides: Arc::downgrade(&sides),
                    passage: Arc::downgrade(&passage),
                    side: clients,
                    active: Mutex::new(ActiveObjects::new(max_active)),
                })?;
            }
            Ok::<_, Error>(passage)
        };
        let (inward, outward) = (passage(Side::Outside)?, passage(Side::Inside)?);
        Ok(Gateway(Arc::new(Shared { sides, inward, outward, _orbs: orbs })))
    }

    /// Opens a name for clients outside: `corbaloc::host:port/name` denotes an object of the gateway, which forwards to
    /// a target inside, given as a reference (`IOR:`, `corbaloc:`, `corbaname:`, ..). Names that are opened before the
    /// gateway [listens](Self::listen) are known to its first client.
    ///
    /// If the reference does not declare its interface, the target is queried as by
    /// [`Bridge::open`](crate::bridge::Bridge::open).
    ///
    /// # Errors
    /// The reference cannot be resolved, or is longer than a gateway accepts.
    pub fn open(&self, name: &str, target: &str) -> Result<(), Error> {
        let passage = &self.0.inward;
        let ior = targets::resolve(&passage.orb, target)?;
        self.bind(name, targets::with_interface(&passage.orb, ior, &passage.interfaces))
    }

    /// Opens a name as [`open`](Self::open) does, for a target of the given interface.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_as(&self, name: &str, target: &str, repository_id: &str) -> Result<(), Error> {
        let mut ior = targets::resolve(&self.0.inward.orb, target)?;
        repository_id.clone_into(&mut ior.type_id);
        self.bind(name, ior)
    }

    fn bind(&self, name: &str, target: Ior) -> Result<(), Error> {
        if size(&target) > MAX_REFERENCE {
            return Err(Error::TooLong(name.to_owned()));
        }
        let sides = &self.0.sides;
        let (poa, id) = sides.signed(Side::Outside, &target);
        poa.bind_name_to_id(name, id);
        sides.names.lock().insert(name.to_owned(), target);
        Ok(())
    }

    /// Opens the endpoints of both sides.
    ///
    /// # Errors
    /// An endpoint cannot be opened.
    pub fn listen(&self) -> Result<(), Error> {
        // The addresses inside must be known before the first client outside can send a reference that contains them.
        for side in [Side::Inside, Side::Outside] {
            let listening = self.orb(side).listen();
            listening.map_err(|error| Error::Side(side.word(), error.into()))?;
            self.0.sides.half(side).listen()?;
        }
        Ok(())
    }

    /// Returns the reference that clients outside use for a name, and makes the gateway [listen](Self::listen) outside.
    ///
    /// # Errors
    /// The name was not opened; its target is an object of the gateway itself; the gateway cannot listen.
    pub fn reference(&self, name: &str) -> Result<ObjectRef, Error> {
        let sides = &self.0.sides;
        let target = sides.names.lock().get(name).cloned();
        let target = target.ok_or_else(|| Error::Unknown(name.to_owned()))?;
        let object = ObjectRef::from_ref(sides.object(Side::Outside, &target)?);
        match sides.fate(&target, Side::Inside) {
            Fate::Replaced(_) => Ok(object),
            _ => Err(Error::Itself(name.to_owned())),
        }
    }

    /// Returns what becomes of a reference that passes from one side to the other. Neither calls nor changes anything.
    pub fn fate(&self, reference: &Ior, from: Side) -> Fate {
        self.0.sides.fate(reference, from)
    }

    /// Reports whether the gateway knows the operations of an interface.
    pub fn knows(&self, repository_id: &str) -> bool {
        self.0.inward.interfaces.has(repository_id)
    }

    /// Returns the counts of the requests of both directions so far.
    pub fn statistics(&self) -> Statistics {
        self.0.inward.counts.read()
    }

    /// Returns the ORB of a side, for example to [end](Orb::shutdown_on_signal) the one outside on a signal.
    pub fn orb(&self, side: Side) -> &Orb {
        &self.0.sides.half(side).orb
    }

    /// Blocks until the ORB outside was shut down and its running requests have ended, and then ends the gateway.
    pub fn run(&self) {
        self.orb(Side::Outside).run();
        self.close();
    }

    /// Ends the gateway: accepts no further requests from outside, lets the running ones finish, closes the connections
    /// outside, and then those inside. Waits for at most 30 s for the requests from outside, and then as long for those
    /// from inside.
    ///
    /// # Errors
    /// BAD_INV_ORDER within a request.
    pub fn shutdown(&self) -> Result<(), SystemException> {
        self.orb(Side::Outside).shutdown(true)?;
        self.close();
        Ok(())
    }

    fn close(&self) {
        let Shared { sides, inward, outward, .. } = &*self.0;
        // Requests of clients inside may wait for clients outside that never answer: first end these calls.
        for orb in [&outward.foreign, &sides.inside.orb, &inward.foreign] {
            // Ignore the result: `shutdown` fails only within a request, in which the shutdown of the ORB outside fails
            // first.
            let _ = orb.shutdown(true);
        }
    }
}

/// Builds the ORB of a side. `late` receives the sides once they exist.
fn orb(builder: Builder, side: Side, late: &Arc<OnceLock<Weak<Sides>>>) -> Result<Orb, Error> {
    let late = Arc::clone(late);
    let check = move |to: &Ior| may_follow(&late, to, side);
    let builder = builder.listen_late().configure(|options| options.check_forwards(check));
    builder.build().map_err(|error| Error::Side(side.word(), error.into()))
}

/// Checks whether calls of targets on a side may follow a forward.
///
/// # Errors
/// Those of [`Sides::may_follow`]; TRANSIENT if the gateway is gone.
fn may_follow(late: &OnceLock<Weak<Sides>>, to: &Ior, side: Side) -> Result<(), SystemException> {
    match late.get().map(Weak::upgrade) {
        // The gateway is being created, and nothing has passed through it yet.
        None => Ok(()),
        Some(None) => Err(GONE),
        Some(Some(sides)) => sides.may_follow(to, side),
    }
}

fn half(orb: Orb) -> Result<Half, Error> {
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        request_processing: RequestProcessing::ServantManager,
        ..Policies::default()
    };
    let poas = Poas::new(orb.root_poa(), POA_NAME, policies)?;
    Ok(Half::new(orb, poas))
}

impl Orbs {
    fn add(&mut self, orb: Orb) -> Orb {
        self.0.push(orb.clone());
        orb
    }
}

impl Drop for Orbs {
    fn drop(&mut self) {
        for orb in self.0.iter().filter(|orb| !orb.is_closing()) {
            // Ignore the result: only a shutdown that waits can fail.
            let _ = orb.shutdown(false);
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        f.debug_tuple("Gateway").field(&statistics).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a gateway on this host with names for targets that nobody serves.
    fn with_names(names: &[&str], settings: GatewaySettings) -> Gateway {
        let builder = || Orb::builder().listen("iiop://127.0.0.1:0");
        let gateway = Gateway::new(builder(), builder(), settings).unwrap();
        for name in names {
            let target = format!("corbaloc::127.0.0.1:1/{name}");
            gateway.open_as(name, &target, "IDL:T:1.0").unwrap();
        }
        gateway.listen().unwrap();
        gateway
    }

    fn settings() -> GatewaySettings {
        GatewaySettings::new(SigningKey::random().unwrap())
    }

    #[test]
    fn an_object_makes_room_for_the_next_one() {
        let gateway = with_names(&["A", "B"], GatewaySettings { max_active: 1, ..settings() });
        let client = Orb::builder().build().unwrap();
        let is_active = |name: &str| {
            let sides = &gateway.0.sides;
            let target = sides.names.lock()[name].clone();
            let (poa, id) = sides.signed(Side::Outside, &target);
            poa.id_to_servant(id).is_ok()
        };
        assert!(!is_active("A") && !is_active("B"));
        for (called, other) in [("A", "B"), ("B", "A"), ("A", "B")] {
            let url = gateway.reference(called).unwrap().to_ior();
            let object: ObjectRef = client.resolve(&url).unwrap();
            assert!(!object.reference().non_existent().unwrap());
            assert!(is_active(called), "{called}");
            assert!(!is_active(other), "{other}");
        }
        gateway.shutdown().unwrap();
        client.shutdown(true).unwrap();
    }

    #[test]
    fn a_target_with_a_long_reference_has_no_name() {
        let gateway = with_names(&[], settings());
        let target = format!("corbaloc::127.0.0.1:1/{}", "k".repeat(MAX_REFERENCE));
        let refused = gateway.open_as("Long", &target, "IDL:T:1.0").unwrap_err();
        assert!(matches!(&refused, Error::TooLong(name) if name == "Long"), "{refused}");
        gateway.shutdown().unwrap();
    }

    #[test]
    fn orbs_end_with_their_gateway() {
        let orb = Orb::builder().build().unwrap();
        let mut orbs = Orbs::default();
        assert!(!orbs.add(orb.clone()).is_closing());
        drop(orbs);
        assert!(orb.is_closing());
    }

    #[test]
    fn no_forward_is_followed_once_the_gateway_is_gone() {
        let late = OnceLock::new();
        assert_eq!(may_follow(&late, &Ior::nil(), Side::Outside), Ok(()));
        late.set(Weak::new()).unwrap();
        assert_eq!(may_follow(&late, &Ior::nil(), Side::Outside), Err(GONE));
    }
}
