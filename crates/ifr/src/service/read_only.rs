//! What would change the repository is refused, with an exception that says why.

use std::sync::Arc;

use oxorb::{Outcome, Servant, SystemException, Upcall};

use super::{INDESTRUCTIBLE, READ_ONLY};

/// Refuses the operations that our IDL leaves out, and serves the others.
pub(super) struct ReadOnly(pub(super) Arc<dyn Servant>);

impl Servant for ReadOnly {
    fn repository_id(&self) -> &str {
        self.0.repository_id()
    }

    fn is_a(&self, id: &str) -> bool {
        self.0.is_a(id)
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match refusal(upcall.operation()) {
            Some(exception) => upcall.fail(exception),
            None => self.0.dispatch(upcall),
        }
    }
}

fn refusal(operation: &str) -> Option<SystemException> {
    match operation {
        "destroy" => Some(INDESTRUCTIBLE),
        "move" => Some(READ_ONLY),
        other if other.starts_with("create_") || other.starts_with("_set_") => Some(READ_ONLY),
        _ => None,
    }
}
