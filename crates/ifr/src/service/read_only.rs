//! Refusal of operations that would change the repository, with a descriptive exception.

use std::sync::Arc;

use oxorb::{Outcome, Servant, SystemException, Upcall};
use oxorb_sys::sync::RwLock;

use super::{INDESTRUCTIBLE, READ_ONLY};

/// Servant that refuses the operations that our IDL leaves out, and forwards the others to an exchangeable servant.
pub(super) struct ReadOnly {
    /// Repository id of the kind of definition, which never changes.
    repository_id: String,
    servant: RwLock<Arc<dyn Servant>>,
}

impl ReadOnly {
    pub(super) fn new(servant: Arc<dyn Servant>) -> Self {
        ReadOnly {
            repository_id: servant.repository_id().to_owned(),
            servant: RwLock::new(servant),
        }
    }

    /// Forwards to another servant of the same kind from now on.
    pub(super) fn replace(&self, servant: Arc<dyn Servant>) {
        *self.servant.write() = servant;
    }

    fn servant(&self) -> Arc<dyn Servant> {
        Arc::clone(&self.servant.read())
    }
}

impl Servant for ReadOnly {
    fn repository_id(&self) -> &str {
        &self.repository_id
    }

    fn is_a(&self, id: &str) -> bool {
        self.servant().is_a(id)
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match refusal(upcall.operation()) {
            Some(exception) => upcall.fail(exception),
            None => self.servant().dispatch(upcall),
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
