//! The two sides of a gateway, and what becomes of a reference that passes from one side to the other.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use oxorb_core::lock::Mutex;
use oxorb_object::profile_tag::OXORB_PADDING;
use oxorb_transport::Access;

use crate::bridge::counts::{Counts, add};
use crate::bridge::forwarder::GONE;
use crate::bridge::passage::{Counterparts, Passage, Towards};
use crate::bridge::poas::Poas;
use crate::ior::{IiopEndpoint, IiopProfile, Ior};
use crate::poa::{Poa, PoaError};
use crate::{CompletionStatus, Interface as _, ObjectRef, Orb, Ref, SystemException, minor};

use super::callbacks::{addresses, is_permitted_unchanged, leads_only_to, permitted};
use super::key::{MAX_REFERENCE, SigningKey};
use super::side::Side;

/// Treatment of a reference that passes through a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The reference passes unchanged, because it is nil.
    Unchanged,
    /// The reference denotes an object of the gateway that its sender can call, and is replaced by the reference of its
    /// target.
    Original(Ior),
    /// The reference denotes an object of the gateway that its receiver can call, and is replaced by the gateway's own
    /// reference to this object, which forwards to this target. The two differ if the sender has changed addresses,
    /// profiles or components.
    Own(Ior),
    /// The reference is replaced by one to an object of the gateway, which forwards to this target: the reference
    /// without what `callbacks` does not permit.
    Replaced(Ior),
    /// The request or reply that carries the reference fails with NO_PERMISSION, `REFERENCE_REFUSED`, for this reason.
    Refused(String),
}

/// The two sides of a gateway.
pub(crate) struct Sides {
    pub(crate) outside: Half,
    pub(crate) inside: Half,
    pub(crate) key: SigningKey,
    pub(crate) callbacks: Option<Access>,
    /// Targets of the names that were opened for clients outside.
    pub(crate) names: Mutex<HashMap<String, Ior>>,
}

/// Side of a gateway, with its ORB.
pub(crate) struct Half {
    /// ORB that serves the clients on this side, and calls the targets there.
    pub(crate) orb: Orb,
    /// POAs of the objects that clients on this side call.
    pub(crate) poas: Poas,
    /// Addresses in references to these objects, once the ORB listens.
    addresses: OnceLock<Vec<IiopEndpoint>>,
}

impl Half {
    pub(crate) fn new(orb: Orb, poas: Poas) -> Half {
        Half { orb, poas, addresses: OnceLock::new() }
    }

    /// Opens the endpoints of this side if they are not open yet, and records their published addresses.
    ///
    /// # Errors
    /// The ORB cannot listen, or has ended.
    pub(crate) fn listen(&self) -> Result<(), PoaError> {
        if self.addresses.get().is_none() {
            // No request reaches this object, because its id is not signed.
            let object = self.poas.with(None).create_reference_of("unsigned", "")?;
            let profiles = object.ior().iiop_profiles();
            let _ = self.addresses.set(profiles.flat_map(|it| addresses(&it)).collect());
        }
        Ok(())
    }

    /// Returns the published addresses of this side; none before it listens.
    fn own(&self) -> &[IiopEndpoint] {
        self.addresses.get().map_or(&[][..], Vec::as_slice)
    }

    /// Reports whether a profile has an address of this side of the gateway.
    fn has_address_of(&self, profile: &IiopProfile) -> bool {
        let is_own = |address: &IiopEndpoint| {
            let mut own = self.own().iter();
            own.any(|own| own.port == address.port && is_same_host(&own.host, &address.host))
        };
        addresses(profile).iter().any(|address| address.port != 0 && is_own(address))
    }

    /// Reports whether calls of a reference can only lead to this side of the gateway.
    fn is_only_here(&self, reference: &Ior) -> bool {
        leads_only_to(reference, |address| {
            let mut own = self.own().iter().filter(|own| is_same_host(&own.host, &address.host));
            own.any(|own| address.port == 0 || own.port == address.port)
        })
    }
}

fn is_same_host(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one.to_canonical() == other.to_canonical(),
        _ => one.eq_ignore_ascii_case(other),
    }
}

impl Sides {
    pub(crate) fn half(&self, side: Side) -> &Half {
        match side {
            Side::Outside => &self.outside,
            Side::Inside => &self.inside,
        }
    }

    /// Returns POA and id of the object that clients on `side` call, and that forwards to `target`.
    pub(crate) fn signed(&self, side: Side, target: &Ior) -> (&Poa, Vec<u8>) {
        let mut target = target.clone();
        target.profiles.retain(|profile| profile.tag != OXORB_PADDING);
        let id = self.key.sign(side, &target);
        // The ORB that will call the target reads the priority model from the reference.
        let called = Ref::new(&self.half(side.other()).orb, target);
        let model = called.priority_model().map(|policy| policy.model);
        (self.half(side).poas.with(model), id)
    }

    /// Returns the reference of the object that clients on `side` call, and that forwards to `target`.
    ///
    /// # Errors
    /// The ORB of that side does not listen, or has ended.
    pub(crate) fn object(&self, side: Side, target: &Ior) -> Result<Ref, PoaError> {
        self.half(side).listen()?;
        let (poa, id) = self.signed(side, target);
        poa.create_reference_of(id, &target.type_id)
    }

    /// Returns the target of the object with this id, which clients on `side` call.
    ///
    /// # Errors
    /// OBJECT_NOT_EXIST for an id that the gateway has not signed; NO_PERMISSION for a target outside that is not
    /// permitted.
    pub(crate) fn target(&self, side: Side, id: &[u8]) -> Result<Ior, SystemException> {
        let target = self.key.target(side, id).ok_or(NO_OBJECT)?;
        match side {
            Side::Outside => Ok(target),
            Side::Inside => permitted(self.callbacks.as_ref(), &target)
                .map_err(|_| refused(CompletionStatus::No)),
        }
    }

    /// Returns what becomes of a reference that passes from one side to the other.
    pub(crate) fn fate(&self, reference: &Ior, from: Side) -> Fate {
        if reference.is_nil() {
            return Fate::Unchanged;
        }
        if let Some(target) = self.original(reference, from) {
            return Fate::Original(target);
        }
        if let Some(target) = self.original(reference, from.other()) {
            return Fate::Own(target);
        }
        let is_own = |profile: IiopProfile| {
            self.outside.has_address_of(&profile) || self.inside.has_address_of(&profile)
        };
        if reference.iiop_profiles().any(is_own) {
            let reason =
                "it has an address of the gateway, but a key that the gateway did not create";
            return Fate::Refused(reason.to_owned());
        }
        if size(reference) > MAX_REFERENCE {
            return Fate::Refused(format!("it is longer than {MAX_REFERENCE} octets"));
        }
        match from {
            Side::Inside => Fate::Replaced(reference.clone()),
            Side::Outside => match permitted(self.callbacks.as_ref(), reference) {
                Ok(target) => Fate::Replaced(target),
                Err(reason) => Fate::Refused(reason),
            },
        }
    }

    /// Checks whether calls of targets on a side may follow a forward.
    ///
    /// # Errors
    /// TRANSIENT for a forward that leads through the gateway again; NO_PERMISSION for a target outside that is not
    /// permitted.
    pub(crate) fn may_follow(&self, to: &Ior, from: Side) -> Result<(), SystemException> {
        let is_followed = match self.fate(to, from) {
            // The ORB rejects a nil reference itself.
            Fate::Unchanged => true,
            Fate::Own(_) => return Err(LOOP),
            // The ORB follows the forward as it came, and the key alone does not say where it leads.
            Fate::Original(_) => from == Side::Inside || self.half(from).is_only_here(to),
            Fate::Replaced(_) => {
                from == Side::Inside || is_permitted_unchanged(self.callbacks.as_ref(), to)
            }
            Fate::Refused(_) => false,
        };
        match is_followed {
            true => Ok(()),
            false => Err(refused(CompletionStatus::No)),
        }
    }

    /// Returns the target, if a reference denotes an object of the gateway that clients on `side` call. The key of the
    /// reference decides, not its addresses: several gateways can have the same key. For a name, both decide.
    fn original(&self, reference: &Ior, side: Side) -> Option<Ior> {
        let object = ObjectRef::from_ref(Ref::new(&self.half(side).orb, reference.clone()));
        let target = |poa: &Poa| {
            let id = poa.reference_to_id(&object).ok()?;
            self.key.target(side, id.as_bytes())
        };
        let signed = self.half(side).poas.all().into_iter().find_map(target);
        signed.or_else(|| self.named(reference).filter(|_| side == Side::Outside))
    }

    /// Returns the target, if a reference consists of addresses of the gateway and a name that was opened.
    fn named(&self, reference: &Ior) -> Option<Ior> {
        if !self.outside.is_only_here(reference) {
            return None;
        }
        let mut keys = reference.iiop_profiles().map(|profile| profile.object_key);
        let key = keys.next()?;
        let target = self.names.lock().get(std::str::from_utf8(&key).ok()?).cloned();
        target.filter(|_| keys.all(|other| other == key))
    }
}

/// Returns the size of a reference in octets, without what alignment adds.
pub(crate) fn size(reference: &Ior) -> usize {
    let profiles = reference.profiles.iter().map(|profile| profile.data.len() + 8);
    reference.type_id.len() + profiles.sum::<usize>()
}

/// Source of the references that replace those in requests of one direction.
pub(crate) struct Crossing {
    pub(crate) sides: Arc<Sides>,
    /// Side of the clients.
    pub(crate) clients: Side,
    pub(crate) counts: Arc<Counts>,
}

impl Counterparts for Crossing {
    fn counterpart(
        &self,
        passage: &Arc<Passage>,
        ior: &Ior,
        declared: Option<&str>,
        towards: Towards,
    ) -> Result<Ior, SystemException> {
        let from = match towards {
            Towards::Target => self.clients,
            Towards::Client => self.clients.other(),
        };
        // The object's interface decides about the types of its operations. A client outside may state any in its
        // reference, but servers call the interface that the type of the reference declares.
        let with_interface = |target: Ior| match from {
            Side::Inside => target,
            Side::Outside => {
                let type_id = passage.interfaces.of_object(&target.type_id, declared).to_owned();
                Ior { type_id, ..target }
            }
        };
        let refuse = |reason: &str| {
            add(&self.counts.refused, 1);
            let orb = &self.sides.half(from).orb;
            orb.note_not_passed(|| format!("a peer {from}"), || format!("a reference: {reason}"));
            Err(refused(towards.completed()))
        };
        let object = |target: Ior| {
            let target = with_interface(target);
            // The declared interface can be that of a type code that a client has sent.
            if size(&target) > MAX_REFERENCE {
                return refuse("it is too long");
            }
            let object = self.sides.object(from.other(), &target);
            let gone = SystemException { completed: towards.completed(), ..GONE };
            object.map(|object| object.ior().clone()).map_err(|_| gone)
        };
        match self.sides.fate(ior, from) {
            Fate::Unchanged => Ok(ior.clone()),
            Fate::Original(target) => Ok(target),
            Fate::Own(target) => object(target),
            Fate::Replaced(target) => {
                add(&self.counts.references, 1);
                object(target)
            }
            Fate::Refused(reason) => refuse(&reason),
        }
    }
}

const NO_OBJECT: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

const LOOP: SystemException =
    SystemException::transient(minor::transient::FORWARD_LOOP, CompletionStatus::No);

fn refused(completed: CompletionStatus) -> SystemException {
    SystemException::no_permission(minor::no_permission::REFERENCE_REFUSED, completed)
}
