//! What can go wrong with an adapter.

use std::fmt;

use oxorb_core::SetupError;

/// Why a POA refused; names after the exceptions of the `PortableServer` module.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is
/// readable.
#[non_exhaustive]
pub enum PoaError {
    /// There is a child of this name.
    AdapterAlreadyExists(String),
    /// The policies contradict each other.
    InvalidPolicy(&'static str),
    /// An object with this id is active.
    ObjectAlreadyActive,
    /// No object with this id is active.
    ObjectNotActive,
    /// The servant incarnates an object already, and may only one.
    ServantAlreadyActive,
    /// The servant incarnates no object of this POA.
    ServantNotActive,
    /// The reference was not made by this POA.
    WrongAdapter,
    /// The POA's policies do not allow this call.
    WrongPolicy(&'static str),
    /// The POA, or the ORB, has been destroyed.
    Destroyed,
    /// A name longer than a key can hold.
    NameTooLong(String),
    /// References need an address, and none can be had.
    Setup(SetupError),
}

impl fmt::Display for PoaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoaError::AdapterAlreadyExists(name) => {
                write!(f, "there is a POA {name:?} already; find_poa finds it")
            }
            PoaError::InvalidPolicy(why) => write!(f, "the policies contradict each other: {why}"),
            PoaError::ObjectAlreadyActive => f.write_str(
                "an object with this id is active; deactivate it first or choose another id",
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
            PoaError::Destroyed => f.write_str("the POA has been destroyed"),
            PoaError::NameTooLong(name) => {
                write!(f, "the POA name {name:?} is longer than 255 octets")
            }
            PoaError::Setup(error) => error.fmt(f),
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
            _ => None,
        }
    }
}

impl From<SetupError> for PoaError {
    fn from(error: SetupError) -> Self {
        PoaError::Setup(error)
    }
}
