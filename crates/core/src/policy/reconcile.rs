//! What the server published in the reference (TAG_POLICIES), against what the caller wants.

use oxorb_giop::components::{Component, tag};
use oxorb_giop::{IiopProfile, policy_type, range_value};

use super::{Effective, Policy as _, PolicyType, RequestPriority};

/// The policies of one profile that matter to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Published {
    priority: Option<RequestPriority>,
}

impl Published {
    /// Those of a profile. What is unknown or unreadable promises nothing.
    pub(crate) fn of(profile: &IiopProfile) -> Published {
        let mut published = Published::default();
        let component = profile.component(tag::POLICIES);
        let Some(Ok(Component::Policies(policies))) = component.map(|found| found.decode()) else {
            return published;
        };
        for (kind, value) in policies {
            if kind == policy_type::REQUEST_PRIORITY
                && let Ok((min, max)) = range_value(&value)
            {
                published.priority = Some(RequestPriority { min, max });
            }
        }
        published
    }

    /// What holds for calls to this profile, or the types of the policies that contradict each other.
    pub(crate) fn reconcile(&self, wanted: &Effective) -> Result<Effective, Vec<PolicyType>> {
        let mut both = *wanted;
        if let (Some(theirs), Some(ours)) = (self.priority, wanted.priority) {
            let common = RequestPriority {
                min: theirs.min.max(ours.min),
                max: theirs.max.min(ours.max),
            };
            if common.min > common.max {
                return Err(vec![RequestPriority::TYPE]);
            }
            both.priority = Some(common);
        }
        Ok(both)
    }
}
