//! Policies of a POA.

use std::fmt;
use std::num::NonZeroU32;

use oxorb_core::policy::{LargePayloads, ProtocolList};
use oxorb_core::{Over, ThreadpoolId};
use oxorb_object::{PriorityBands, PriorityModelPolicy};

use crate::RtPolicies;

/// Policies of one POA (CORBA 3.3 part 1, 15.3.8), fixed when it is created.
///
/// The defaults are those of the specification for a new POA; the root POA differs in
/// [`ImplicitActivation::Yes`].
///
/// ```
/// use oxorb_poa::{IdAssignment, Lifespan, Policies};
///
/// let accounts = Policies {
///     lifespan: Lifespan::Persistent,
///     id_assignment: IdAssignment::User,
///     ..Policies::default()
/// };
/// assert!(accounts.check().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policies {
    /// Threads that run the POA's servants.
    pub thread: ThreadPolicy,
    /// Whether references outlive the process.
    pub lifespan: Lifespan,
    /// Whether a servant may incarnate several objects.
    pub id_uniqueness: IdUniqueness,
    /// Origin of object ids: the system or the application.
    pub id_assignment: IdAssignment,
    /// Whether requesting a servant's reference activates the servant.
    pub implicit_activation: ImplicitActivation,
    /// Whether the POA retains the association between servants and objects.
    pub servant_retention: ServantRetention,
    /// Treatment of a request for an object that is not active.
    pub request_processing: RequestProcessing,
    /// Method of finding objects; not part of the specification.
    pub lookup: Lookup,
    /// Whether callbacks go over the connections that clients opened.
    pub bidirectional: Bidirectional,
    /// Transfer of octets of 16 KiB or more that the IDL marks `@in_place`, in requests for the
    /// POA's objects. `None` applies the configuration of the endpoint or the ORB. Not part of the
    /// specification.
    pub large_payloads: Option<LargePayloads>,
    /// Whether the objects are reachable only over protocols with transport security, such as TLS:
    /// references have no other address, and a request over another protocol fails with
    /// NO_PERMISSION. Not part of the specification.
    pub secure_only: bool,
    /// Priorities, and the threads that serve requests.
    pub realtime: RtPolicies,
}

/// Assignment of requests to threads (ThreadPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThreadPolicy {
    /// Requests run on the thread that received them, several at a time.
    #[default]
    OrbControlled,
    /// Requests run one at a time, and so do calls of the POA's servant manager. A thread may
    /// re-enter while it calls local objects; a request that waits longer than `-ORBHoldTime` fails
    /// with TRANSIENT, so a servant whose outgoing call causes a call back over the network gets an
    /// error instead of a deadlock.
    SingleThread,
    /// All requests of all POAs with this policy run on the thread that runs
    /// [`Orb::run`](oxorb_core::Orb::run) or [`Orb::perform_work`](oxorb_core::Orb::perform_work).
    /// Request and reply are copied between threads.
    MainThread,
}

/// Validity of references across restarts (LifespanPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lifespan {
    /// References are valid as long as this POA exists. Fastest lookup.
    #[default]
    Transient,
    /// References stay valid across restarts with the same POA names, object ids and listening
    /// endpoint.
    Persistent,
}

/// Number of objects that a servant may incarnate (IdUniquenessPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IdUniqueness {
    /// A servant incarnates at most one object of the POA.
    #[default]
    Unique,
    /// A servant may incarnate several objects.
    Multiple,
}

/// Origin of object ids (IdAssignmentPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IdAssignment {
    /// The POA creates the id ([`Poa::activate`](crate::Poa::activate)).
    #[default]
    System,
    /// The application chooses the id ([`Poa::activate_with_id`](crate::Poa::activate_with_id)).
    User,
}

/// Activation of servants by requests for their references (ImplicitActivationPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ImplicitActivation {
    /// [`Poa::this`](crate::Poa::this) works for active servants only.
    #[default]
    No,
    /// [`Poa::this`](crate::Poa::this) activates a servant that is not active.
    /// Needs [`IdAssignment::System`] and [`ServantRetention::Retain`].
    Yes,
}

/// Retention of active objects (ServantRetentionPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ServantRetention {
    /// The POA keeps a map of active objects, which stay active until they are deactivated.
    #[default]
    Retain,
    /// Every request looks up its servant: the default servant, or one from a
    /// [`ServantLocator`](crate::ServantLocator).
    NonRetain,
}

/// Treatment of requests for objects that are not active (RequestProcessingPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RequestProcessing {
    /// Objects that are not active do not exist. Needs [`ServantRetention::Retain`].
    #[default]
    ActiveObjectMapOnly,
    /// The [default servant](crate::Poa::set_servant) serves every object that is
    /// not active. Needs [`IdUniqueness::Multiple`].
    DefaultServant,
    /// A [`ServantActivator`](crate::ServantActivator) (with [`ServantRetention::Retain`]) or a
    /// [`ServantLocator`](crate::ServantLocator) (with [`ServantRetention::NonRetain`]) provides
    /// the servant.
    ServantManager,
}

/// Method by which a POA finds the object of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lookup {
    /// Active demultiplexing: the keys of transient objects with system ids contain the object's
    /// index. All other ids are hashed.
    #[default]
    Active,
    /// Every id is hashed.
    Hash,
    /// Ids are compared one by one: for a handful of objects, and as a baseline for measurements.
    Linear,
    /// A perfect hash over ids that are known in advance: one probe, one comparison. Needs
    /// [`IdAssignment::User`] and [`PoaBuilder::known_ids`](crate::PoaBuilder::known_ids).
    Perfect,
}

/// BidirectionalPolicy (CORBA 3.3 part 2, 9.9.3): directions in which requests may use a
/// connection.
///
/// In a client, a POA with [`Both`](Bidirectional::Both) makes its ORB offer bidirectional use on
/// all connections that it opens from then on, over which servers call the POA's objects. In a
/// server, such a POA accepts offers from clients that call its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Bidirectional {
    /// Configuration of the ORB (`OfferBiDirectionalGIOP`, `AcceptBiDirectionalGIOP`), by default
    /// [`Normal`](Bidirectional::Normal).
    #[default]
    AsOrb,
    /// Requests arrive over connections that clients open.
    Normal,
    /// Requests may also arrive over connections that this side opened.
    Both,
}

/// Policy as an element of the list that the specification's `create_POA` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Policy type 16.
    Thread(ThreadPolicy),
    /// Policy type 17.
    Lifespan(Lifespan),
    /// Policy type 18.
    IdUniqueness(IdUniqueness),
    /// Policy type 19.
    IdAssignment(IdAssignment),
    /// Policy type 20.
    ImplicitActivation(ImplicitActivation),
    /// Policy type 21.
    ServantRetention(ServantRetention),
    /// Policy type 22.
    RequestProcessing(RequestProcessing),
    /// Policy specific to OxORB.
    Lookup(Lookup),
    /// Policy type 37.
    Bidirectional(Bidirectional),
    /// Policy specific to OxORB (type 0x4f58000a).
    LargePayloads(LargePayloads),
    /// Policy specific to OxORB (type 0x4f58000b).
    SecureOnly(bool),
    /// Policy type 40.
    PriorityModel(PriorityModelPolicy),
    /// Policy type 41.
    Threadpool(ThreadpoolId),
    /// Policy type 42.
    ServerProtocol(ProtocolList),
    /// Policy type 43.
    ClientProtocol(ProtocolList),
    /// Policy type 45.
    PriorityBands(PriorityBands),
    /// Policy specific to OxORB.
    ReplyBandwidth(NonZeroU32),
    /// Policy specific to OxORB.
    RateMonotonic,
}

/// Error for policies that contradict each other (`PortableServer::POA::InvalidPolicy`).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the policies contradict each other: {rule} (InvalidPolicy, index {index})")]
pub struct InvalidPolicy {
    /// Index in the list of the first policy involved in the contradiction. For a [`Policies`]
    /// struct: the index of the field.
    pub index: u16,
    /// Text of the broken rule.
    pub rule: &'static str,
}

impl fmt::Debug for InvalidPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Policies {
    /// Policies of the root POA.
    pub const ROOT: Policies = Policies {
        thread: ThreadPolicy::OrbControlled,
        lifespan: Lifespan::Transient,
        id_uniqueness: IdUniqueness::Unique,
        id_assignment: IdAssignment::System,
        implicit_activation: ImplicitActivation::Yes,
        servant_retention: ServantRetention::Retain,
        request_processing: RequestProcessing::ActiveObjectMapOnly,
        lookup: Lookup::Active,
        bidirectional: Bidirectional::AsOrb,
        large_payloads: None,
        secure_only: false,
        realtime: RtPolicies {
            priority_model: None,
            threadpool: None,
            server_protocols: None,
            client_protocols: None,
            priority_bands: None,
            reply_bandwidth: None,
            rate_monotonic: false,
        },
    };

    /// Returns the policies of a list, with the defaults of `create_POA` for policies that it does
    /// not name.
    ///
    /// ```
    /// use oxorb_poa::{IdUniqueness, Policies, Policy, RequestProcessing};
    ///
    /// let list = [
    ///     Policy::IdUniqueness(IdUniqueness::Unique),
    ///     Policy::RequestProcessing(RequestProcessing::DefaultServant),
    /// ];
    /// assert_eq!(Policies::from_list(&list).unwrap_err().index, 0);
    /// assert!(Policies::from_list(&[Policy::IdUniqueness(IdUniqueness::Multiple)]).is_ok());
    /// ```
    ///
    /// # Errors
    /// A kind of policy that occurs twice, or a contradiction. The error contains the index of the
    /// policy.
    pub fn from_list(list: &[Policy]) -> Result<Policies, InvalidPolicy> {
        let mut policies = Policies::default();
        for (index, policy) in list.iter().enumerate() {
            let kind = std::mem::discriminant(policy);
            if list[..index].iter().any(|earlier| std::mem::discriminant(earlier) == kind) {
                return Err(InvalidPolicy {
                    index: index as u16,
                    rule: "a policy can be specified only once",
                });
            }
            match *policy {
                Policy::Thread(value) => policies.thread = value,
                Policy::Lifespan(value) => policies.lifespan = value,
                Policy::IdUniqueness(value) => policies.id_uniqueness = value,
                Policy::IdAssignment(value) => policies.id_assignment = value,
                Policy::ImplicitActivation(value) => policies.implicit_activation = value,
                Policy::ServantRetention(value) => policies.servant_retention = value,
                Policy::RequestProcessing(value) => policies.request_processing = value,
                Policy::Lookup(value) => policies.lookup = value,
                Policy::Bidirectional(value) => policies.bidirectional = value,
                Policy::LargePayloads(value) => policies.large_payloads = Some(value),
                Policy::SecureOnly(value) => policies.secure_only = value,
                Policy::PriorityModel(value) => policies.realtime.priority_model = Some(value),
                Policy::Threadpool(value) => policies.realtime.threadpool = Some(value),
                Policy::ServerProtocol(value) => policies.realtime.server_protocols = Some(value),
                Policy::ClientProtocol(value) => policies.realtime.client_protocols = Some(value),
                Policy::PriorityBands(value) => policies.realtime.priority_bands = Some(value),
                Policy::ReplyBandwidth(value) => policies.realtime.reply_bandwidth = Some(value),
                Policy::RateMonotonic => policies.realtime.rate_monotonic = true,
            }
        }
        policies.check_list(list).map(|()| policies)
    }

    /// Returns all policies as a list, in the order of the fields; optional ones come last.
    pub fn to_list(&self) -> Vec<Policy> {
        let realtime = self.realtime.to_list();
        [
            Policy::Thread(self.thread),
            Policy::Lifespan(self.lifespan),
            Policy::IdUniqueness(self.id_uniqueness),
            Policy::IdAssignment(self.id_assignment),
            Policy::ImplicitActivation(self.implicit_activation),
            Policy::ServantRetention(self.servant_retention),
            Policy::RequestProcessing(self.request_processing),
            Policy::Lookup(self.lookup),
            Policy::Bidirectional(self.bidirectional),
        ]
        .into_iter()
        .chain(self.large_payloads.map(Policy::LargePayloads))
        .chain(self.secure_only.then_some(Policy::SecureOnly(true)))
        .chain(realtime)
        .collect()
    }

    /// Checks whether a POA may have these policies (CORBA 3.3 part 1, 15.3.8).
    ///
    /// # Errors
    /// A contradiction.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        self.check_list(&self.to_list())
    }

    /// Checks all rules; `list` contains the policies that were named.
    fn check_list(&self, list: &[Policy]) -> Result<(), InvalidPolicy> {
        let broken = RULES.iter().filter(|rule| (rule.broken)(self));
        let indices = broken.map(|rule| {
            let parties = list.iter().position(|policy| (rule.party)(policy));
            // A policy in the list is always involved, because the defaults alone break no rule.
            (parties.unwrap_or_default() as u16, rule.text)
        });
        match indices.min_by_key(|(index, _)| *index) {
            Some((index, rule)) => Err(InvalidPolicy { index, rule }),
            None => Ok(()),
        }
    }

    /// Returns whether the objects may be called over connections that this side opened. `None`
    /// applies the configuration of the ORB.
    pub(crate) fn both_ways(&self) -> Option<bool> {
        match self.bidirectional {
            Bidirectional::AsOrb => None,
            Bidirectional::Normal => Some(false),
            Bidirectional::Both => Some(true),
        }
    }

    /// Returns the protocols for which references contain profiles.
    pub(crate) fn over(&self) -> Over {
        Over { protocols: self.realtime.server_protocols, secure_only: self.secure_only }
    }

    /// Reports whether keys contain the object's index.
    pub(crate) fn active_keys(&self) -> bool {
        self.lookup == Lookup::Active
            && self.lifespan == Lifespan::Transient
            && self.id_assignment == IdAssignment::System
            && self.retains()
    }

    pub(crate) fn retains(&self) -> bool {
        self.servant_retention == ServantRetention::Retain
    }

    /// Reports whether servants come from a servant activator and return to it.
    pub(crate) fn activates(&self) -> bool {
        self.retains() && self.request_processing == RequestProcessing::ServantManager
    }
}

/// Rejected combination of policies.
struct Rule {
    text: &'static str,
    broken: fn(&Policies) -> bool,
    /// Reports whether the rule involves a policy.
    party: fn(&Policy) -> bool,
}

const RULES: [Rule; 8] = [
    Rule {
        text: "servant_retention: NonRetain needs request_processing: DefaultServant or \
               ServantManager",
        broken: |p| !p.retains() && p.request_processing == RequestProcessing::ActiveObjectMapOnly,
        party: |p| matches!(p, Policy::ServantRetention(_) | Policy::RequestProcessing(_)),
    },
    Rule {
        text: "request_processing: DefaultServant needs id_uniqueness: Multiple",
        broken: |p| {
            p.request_processing == RequestProcessing::DefaultServant
                && p.id_uniqueness == IdUniqueness::Unique
        },
        party: |p| matches!(p, Policy::IdUniqueness(_) | Policy::RequestProcessing(_)),
    },
    Rule {
        text: "implicit_activation: Yes needs id_assignment: System",
        broken: |p| {
            p.implicit_activation == ImplicitActivation::Yes
                && p.id_assignment == IdAssignment::User
        },
        party: |p| matches!(p, Policy::IdAssignment(_) | Policy::ImplicitActivation(_)),
    },
    Rule {
        text: "implicit_activation: Yes needs servant_retention: Retain",
        broken: |p| p.implicit_activation == ImplicitActivation::Yes && !p.retains(),
        party: |p| matches!(p, Policy::ServantRetention(_) | Policy::ImplicitActivation(_)),
    },
    Rule {
        text: "lookup: Perfect needs id_assignment: User",
        broken: |p| p.lookup == Lookup::Perfect && p.id_assignment == IdAssignment::System,
        party: |p| matches!(p, Policy::IdAssignment(_) | Policy::Lookup(_)),
    },
    Rule {
        text: "lookup: Perfect needs servant_retention: Retain",
        broken: |p| p.lookup == Lookup::Perfect && !p.retains(),
        party: |p| matches!(p, Policy::ServantRetention(_) | Policy::Lookup(_)),
    },
    Rule {
        text: "lookup: Linear needs servant_retention: Retain",
        broken: |p| p.lookup == Lookup::Linear && !p.retains(),
        party: |p| matches!(p, Policy::ServantRetention(_) | Policy::Lookup(_)),
    },
    Rule {
        text: "large_payloads: InPlaceOnly reads octets in place, but thread: MainThread copies requests for another \
               thread",
        broken: |p| {
            p.large_payloads == Some(LargePayloads::InPlaceOnly)
                && p.thread == ThreadPolicy::MainThread
        },
        party: |p| matches!(p, Policy::Thread(_) | Policy::LargePayloads(_)),
    },
];
