//! Decision whether calls follow a forward.

use std::fmt;
use std::sync::Arc;

use oxorb_object::{Ior, SystemException};

type Check = dyn Fn(&Ior) -> Result<(), SystemException> + Send + Sync;

/// Check of the targets of forwards; without one, all forwards are followed.
#[derive(Clone, Default)]
pub(crate) struct ForwardCheck(Option<Arc<Check>>);

impl ForwardCheck {
    pub(crate) fn new(
        check: impl Fn(&Ior) -> Result<(), SystemException> + Send + Sync + 'static,
    ) -> Self {
        ForwardCheck(Some(Arc::new(check)))
    }

    /// Returns the exception that a call raises instead of following a forward to this reference.
    pub(crate) fn of(&self, to: &Ior) -> Result<(), SystemException> {
        match &self.0 {
            None => Ok(()),
            Some(check) => check(to),
        }
    }
}

impl fmt::Debug for ForwardCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a check" } else { "no check" })
    }
}
