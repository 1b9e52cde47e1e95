//! Part of the Interface Repository's protocol that `_interface` needs.

use oxorb_object::SystemException;

use super::op::Op;
use crate::{Interface, ObjectRef, decode_ref};

/// Calls `Repository::lookup_id`; returns `None` if the repository does not know the id.
pub(crate) fn lookup_id(
    repository: &ObjectRef,
    repository_id: &str,
) -> Result<Option<ObjectRef>, SystemException> {
    static OP: Op = Op::twoway("lookup_id");
    Interface::reference(repository).invoke(
        &OP,
        |e| e.string(repository_id),
        decode_ref::<ObjectRef>,
    )
}
