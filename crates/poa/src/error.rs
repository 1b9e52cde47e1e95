//! Errors of object adapters.

use std::fmt;

use oxorb_core::{NotConfined, SetupError};
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::InvalidPolicy;
use crate::refusal::{NO_POA, OBJECT_ID};

/// Reason why a POA rejects a call, named after the exceptions of the `PortableServer` module.
///
/// `Debug` prints the text of `Display`, so that a `main` which returns the error prints a readable
/// message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PoaError {
    /// A child of this name already exists.
    #[error("the POA {0:?} already exists; find_poa returns it")]
    AdapterAlreadyExists(String),
    /// The manager was deactivated, which is final.
    #[error("the POA manager was deactivated; use another manager for new POAs")]
    AdapterInactive,
    /// A child of this name does not exist, and no activator created one.
    #[error("there is no POA {0:?}, and no adapter activator created it; create it first")]
    AdapterNonExistent(String),
    /// The policies contradict each other.
    #[error(transparent)]
    InvalidPolicy(#[from] InvalidPolicy),
    /// A POA manager with this id already exists.
    #[error("the POA manager {0:?} already exists; find_poa_manager returns it")]
    ManagerAlreadyExists(String),
    /// The POA has no default servant.
    #[error("no default servant is set; set_servant sets one")]
    NoServant,
    /// A confined servant was not created, or belongs to a thread other than the one that serves
    /// the objects of the POA.
    #[error("{0}")]
    NotConfined(#[from] NotConfined),
    /// An object with this id is already active.
    #[error("an object with this id is active; deactivate it first or choose another id")]
    ObjectAlreadyActive,
    /// The reference denotes no group: it has no multicast profile
    /// (`PortableGroup::NotAGroupObject`).
    #[error(
        "the reference does not name a group; a reference of a group begins with corbaloc:miop: or has a UIPMC profile"
    )]
    NotAGroupObject,
    /// The group is associated with another object of this ORB.
    #[error(
        "another object of this ORB is associated with the group; disassociate it first, or let it forward requests"
    )]
    GroupTaken,
    /// The object with this id is not active.
    #[error("no object with this id is active")]
    ObjectNotActive,
    /// The servant already incarnates an object, and may incarnate only one.
    #[error(
        "the servant already incarnates an object; a POA with IdUniqueness::Multiple allows several"
    )]
    ServantAlreadyActive,
    /// The servant incarnates no object of this POA.
    #[error(
        "the servant incarnates no object of this POA; activate it, or use a POA with \
         ImplicitActivation::Yes"
    )]
    ServantNotActive,
    /// The reference was not made by this POA.
    #[error("this POA did not create the reference")]
    WrongAdapter,
    /// The POA's policies do not allow this call.
    #[error("{0}")]
    WrongPolicy(&'static str),
    /// The POA did not create the id, or the id is not one of its known ids.
    #[error("this POA did not create the object id, or the id is not one of its known ids")]
    UnknownId,
    /// The POA, or the ORB, has been destroyed.
    #[error("the POA has been destroyed")]
    Destroyed,
    /// The name is too long for a key.
    #[error(
        "the POA name {0:?} does not fit an object key: at most 255 octets, and \
         65,535 with the names of all POAs above it"
    )]
    NameTooLong(String),
    /// References need an address, and none is available.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// Any other failure, which the system exception describes.
    #[error(transparent)]
    System(#[from] SystemException),
}

impl PoaError {
    /// Returns the system exception that the specification raises here, unless the error is one of
    /// the exceptions of the `PortableServer` module.
    pub fn system(&self) -> Option<SystemException> {
        match self {
            PoaError::UnknownId => Some(OBJECT_ID),
            PoaError::Destroyed => Some(NO_POA),
            PoaError::NameTooLong(_) => {
                Some(SystemException::bad_param(minor::bad_param::OBJECT_ID, CompletionStatus::No))
            }
            PoaError::System(exception) => Some(*exception),
            _ => None,
        }
    }
}

impl fmt::Debug for PoaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
