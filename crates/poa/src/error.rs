//! Errors of object adapters.

use std::fmt;

use oxorb_core::{NotConfined, SetupError};
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::InvalidPolicy;
use crate::refusal::{NO_POA, OBJECT_ID};

/// Why a POA refused; names after the exceptions of the `PortableServer` module.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is
/// readable.
#[non_exhaustive]
pub enum PoaError {
    /// A child of this name exists already.
    AdapterAlreadyExists(String),
    /// The manager was deactivated, which is for good.
    AdapterInactive,
    /// A child of this name does not exist, and no activator made one.
    AdapterNonExistent(String),
    /// The policies contradict each other.
    InvalidPolicy(InvalidPolicy),
    /// A POA manager with this id exists already.
    ManagerAlreadyExists(String),
    /// The POA has no default servant.
    NoServant,
    /// A confined servant was not made, or belongs to another thread than the one that serves the objects of the POA.
    NotConfined(NotConfined),
    /// An object with this id is active.
    ObjectAlreadyActive,
    /// The reference names no group: it has no profile of multicasts (`PortableGroup::NotAGroupObject`).
    NotAGroupObject,
    /// The group is associated with another object of this ORB.
    GroupTaken,
    /// The object with this id is not active.
    ObjectNotActive,
    /// The servant incarnates an object already, and may only one.
    ServantAlreadyActive,
    /// The servant incarnates no object of this POA.
    ServantNotActive,
    /// The reference was not made by this POA.
    WrongAdapter,
    /// The POA's policies do not allow this call.
    WrongPolicy(&'static str),
    /// The id is none that this POA made, or none of those it was told.
    UnknownId,
    /// The POA, or the ORB, has been destroyed.
    Destroyed,
    /// A name longer than a key can hold.
    NameTooLong(String),
    /// References need an address, and none can be had.
    Setup(SetupError),
    /// A failure for which the specification has no exception of its own.
    System(SystemException),
}

impl PoaError {
    /// The system exception that the specification raises here, if it is not one
    /// of the exceptions of the `PortableServer` module.
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

impl fmt::Display for PoaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoaError::AdapterAlreadyExists(name) => {
                write!(f, "there is a POA {name:?} already; find_poa finds it")
            }
            PoaError::AdapterInactive => {
                f.write_str("the POA manager was deactivated; create POAs with another one")
            }
            PoaError::AdapterNonExistent(name) => write!(
                f,
                "there is no POA {name:?}, and no adapter activator made it; create it first"
            ),
            PoaError::InvalidPolicy(invalid) => invalid.fmt(f),
            PoaError::ManagerAlreadyExists(id) => {
                write!(
                    f,
                    "there is a POA manager {id:?} already; find_poa_manager finds it"
                )
            }
            PoaError::NotConfined(why) => why.fmt(f),
            PoaError::NoServant => f.write_str("no default servant is set; set_servant sets one"),
            PoaError::ObjectAlreadyActive => f.write_str(
                "an object with this id is active; deactivate it first or choose another id",
            ),
            PoaError::NotAGroupObject => f.write_str(
                "the reference names no group; one that does begins with corbaloc:miop: or has a UIPMC profile",
            ),
            PoaError::GroupTaken => f.write_str(
                "another object of this ORB is associated with the group; disassociate it first, or have it pass requests on",
            ),
            PoaError::ObjectNotActive => f.write_str("no object with this id is active"),
            PoaError::ServantAlreadyActive => f.write_str(
                "the servant incarnates an object already; a POA with IdUniqueness::Multiple \
                 allows more",
            ),
            PoaError::ServantNotActive => f.write_str(
                "the servant incarnates no object of this POA; activate it, or use a POA with \
                 ImplicitActivation::Yes",
            ),
            PoaError::WrongAdapter => f.write_str("the reference was not made by this POA"),
            PoaError::WrongPolicy(why) => f.write_str(why),
            PoaError::UnknownId => f.write_str(
                "the object id is none that this POA made, or none of the ids it was told to know",
            ),
            PoaError::Destroyed => f.write_str("the POA has been destroyed"),
            PoaError::NameTooLong(name) => {
                write!(
                    f,
                    "the POA name {name:?} does not fit an object key: at most 255 octets, and \
                     65,535 with the names of all POAs above it"
                )
            }
            PoaError::Setup(error) => error.fmt(f),
            PoaError::System(exception) => exception.fmt(f),
        }
    }
}

impl fmt::Debug for PoaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PoaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PoaError::Setup(error) => Some(error),
            PoaError::NotConfined(why) => Some(why),
            _ => None,
        }
    }
}

impl From<SetupError> for PoaError {
    fn from(error: SetupError) -> Self {
        PoaError::Setup(error)
    }
}

impl From<SystemException> for PoaError {
    fn from(exception: SystemException) -> Self {
        PoaError::System(exception)
    }
}

impl From<NotConfined> for PoaError {
    fn from(why: NotConfined) -> Self {
        PoaError::NotConfined(why)
    }
}

impl From<InvalidPolicy> for PoaError {
    fn from(invalid: InvalidPolicy) -> Self {
        PoaError::InvalidPolicy(invalid)
    }
}
