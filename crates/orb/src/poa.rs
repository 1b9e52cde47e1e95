//! Portable Object Adapters: where servants live, and how they are found.
//!
//! Begin with [`Orb::root_poa`](crate::Orb::root_poa) and [`Poa::create_poa`].

#[doc(inline)]
pub use oxorb_poa::{
    AdapterActivator, AdapterObserver, Bidirectional, Cookie, Current, IdAssignment, IdUniqueness,
    ImplicitActivation, InvalidPolicy, Lifespan, Lookup, ManagerState, NoContext, ObjectId,
    ObjectReferenceFactory, ObjectReferenceTemplate, Poa, PoaBuilder, PoaError, PoaManager,
    Policies, Policy, Refused, RequestProcessing, RtPolicies, ServantActivator, ServantLocator,
    ServantRetention, ThreadPolicy,
};
