//! Access rules, applied once the object of a request is known and before its servant is called.

use std::cell::RefCell;

use oxorb_object::{CompletionStatus, SystemException, minor};

use super::View;
use super::access_gate::AccessGate;
use super::access_index::Visit;
use crate::threads::clock;
use crate::{Incident, Servant};

thread_local! {
    /// Buffer for the object names that rules are compared with.
    static OBJECT: RefCell<String> = const { RefCell::new(String::new()) };
}

impl AccessGate {
    /// Admits a request to a servant, or refuses and reports it. `object` writes the name of the target object.
    /// Allocates nothing and takes no lock for a request that is admitted, except for the first request of a connection
    /// after the rules were set or replaced.
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
        let index = self.index();
        let kept;
        let found;
        let visit: &Visit = match view.origin.visited {
            Some(visited) => {
                kept = visited.of(&index, link);
                &kept
            }
            None => {
                found = index.visit(link);
                &found
            }
        };
        let mut text = OBJECT.take();
        text.clear();
        if index.asks_for_objects() {
            object(&mut text);
        }
        let (interface, operation) = (servant.repository_id(), view.request.operation);
        let (rule, serves) = index.decide(visit, interface, &text, operation);
        let bucket = rule.filter(|_| serves).and_then(|rule| index.bucket(visit, rule));
        let rule = rule.map(|rule| &index.rules.rules[rule]);
        let watch = &view.orb.shared().watch;
        let peer = || link.identity().to_string();
        let mut answer = Ok(());
        if !serves {
            answer = Err(REFUSED);
            text.clear();
            object(&mut text);
            let by = || match rule {
                Some(rule) => format!("by the rule at {}", rule.place),
                None => {
                    let place = &index.rules.place;
                    format!("because no rule allows it, and the default at {place} is deny")
                }
            };
            let detail = || format!("{operation} of {text} ({interface}): {}", by());
            watch.note(Incident::RequestDenied, peer, detail);
        } else if let Some((rule, bucket)) = rule.zip(bucket) {
            let now = clock::monotonic_nanoseconds();
            if !bucket.take(now) {
                answer = Err(LIMITED);
                // A client can send many requests beyond its rate, so only one of them in a second is reported.
                match bucket.refuse(now) {
                    None => watch.count(Incident::RequestLimited),
                    Some(others) => {
                        text.clear();
                        object(&mut text);
                        let place = &rule.place;
                        let detail = || {
                            format!(
                                "{operation} of {text} ({interface}): beyond the rate of the rule at {place}; {others} \
                                 more since the last report"
                            )
                        };
                        watch.note(Incident::RequestLimited, peer, detail);
                    }
                }
            }
        }
        OBJECT.set(text);
        answer
    }
}

/// The access rules deny the request.
const REFUSED: SystemException =
    SystemException::no_permission(minor::no_permission::ACCESS_RULES, CompletionStatus::No);

/// The request is beyond the rate that an access rule grants to its client.
const LIMITED: SystemException =
    SystemException::transient(minor::transient::CLIENT_RATE, CompletionStatus::No);
