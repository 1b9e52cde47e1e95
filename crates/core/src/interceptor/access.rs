//! Access rules, applied once the object of a request is known and before its servant is called.

use std::cell::RefCell;

use oxorb_object::{CompletionStatus, SystemException, minor};

use super::View;
use crate::access_index::AccessIndex;
use crate::{Incident, Servant};

thread_local! {
    /// Buffer for the object names that rules are compared with.
    static OBJECT: RefCell<String> = const { RefCell::new(String::new()) };
}

impl AccessIndex {
    /// Admits a request to a servant, or refuses and reports it. `object` writes the name of the target object.
    /// Allocates nothing and takes no lock for a request that is admitted.
    pub(super) fn admit(
        &self,
        view: View<'_>,
        servant: &dyn Servant,
        object: impl Fn(&mut String),
    ) -> Result<(), SystemException> {
        // A call without a connection comes from this process, to which the rules do not apply.
        let Some(link) = view.origin.link else {
            return Ok(());
        };
        let found;
        let visit = match view.origin.visited {
            Some(visited) => visited.get_or_init(|| self.visit(link)),
            None => {
                found = self.visit(link);
                &found
            }
        };
        let mut text = OBJECT.take();
        text.clear();
        if self.asks_for_objects() {
            object(&mut text);
        }
        let (interface, operation) = (servant.repository_id(), view.request.operation);
        let (rule, serves) = self.decide(visit, interface, &text, operation);
        if !serves {
            text.clear();
            object(&mut text);
            let by = || match rule {
                Some(rule) => format!("by the rule at {}", rule.place),
                None => {
                    format!("as no rule allows it, and the default at {} is deny", self.rules.place)
                }
            };
            let detail = || format!("{operation} of {text} ({interface}): {}", by());
            let shared = view.orb.shared();
            let peer = || link.identity().to_string();
            shared.note(Incident::RequestDenied, peer, detail);
        }
        OBJECT.set(text);
        match serves {
            true => Ok(()),
            false => Err(REFUSED),
        }
    }
}

/// The access rules deny the request.
const REFUSED: SystemException =
    SystemException::no_permission(minor::no_permission::ACCESS_RULES, CompletionStatus::No);
