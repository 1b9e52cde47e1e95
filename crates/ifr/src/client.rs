//! Asking a repository: this one or any other ORB's.

use oxorb::Interface as _;

use crate::corba::interface_def::FullInterfaceDescription;
use crate::corba::{InterfaceDefRef, RepositoryRef};

/// All that a repository knows of an interface: its operations and attributes with their types, inherited ones too.
/// `None` if it does not know the interface, or what has this id is none.
///
/// Two or three calls.
///
/// # Errors
/// What the calls raise.
pub fn describe(
    repository: &RepositoryRef,
    repository_id: &str,
) -> oxorb::Result<Option<FullInterfaceDescription>> {
    let Some(found) = repository.lookup_id(repository_id)? else {
        return Ok(None);
    };
    match found.narrow::<InterfaceDefRef>()? {
        Some(interface) => interface.describe_interface().map(Some),
        None => Ok(None),
    }
}
