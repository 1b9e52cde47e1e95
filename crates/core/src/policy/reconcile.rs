//! Reconciliation of the policies that the server published (TAG_POLICIES) with those of the
//! caller.

use std::sync::Arc;

use oxorb_object::components::{DecodedComponent, tag};
use oxorb_object::{
    PriorityBands, PriorityModelPolicy, Protocol, RtPolicyValue, policy_type, range_value,
};

use crate::protocol::Profile;

use super::{
    ClientPolicy as _, ClientProtocol, Effective, PolicyType, PriorityBandedConnection,
    RealTimePolicies, RequestPriority,
};

/// Published policies of one profile that concern callers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PublishedPolicies {
    priority: Option<RequestPriority>,
    pub(crate) model: Option<PriorityModelPolicy>,
    protocols: Option<Arc<[Protocol]>>,
    bands: Option<PriorityBands>,
}

impl PublishedPolicies {
    /// Returns the policies of a profile. Unknown and malformed policies are ignored.
    pub(crate) fn of(profile: &Profile) -> PublishedPolicies {
        let mut published = PublishedPolicies::default();
        let component = profile.component(tag::POLICIES);
        let Some(Ok(DecodedComponent::Policies(policies))) = component.map(|found| found.decode())
        else {
            return published;
        };
        for (kind, value) in policies {
            if kind == policy_type::REQUEST_PRIORITY
                && let Ok((min, max)) = range_value(&value)
            {
                published.priority = Some(RequestPriority { min, max });
            }
            match RtPolicyValue::decode(kind, &value) {
                Ok(Some(RtPolicyValue::Model(model))) => published.model = Some(model),
                // An empty list has no effect, so it is ignored.
                Ok(Some(RtPolicyValue::ClientProtocols(list))) if !list.is_empty() => {
                    published.protocols = Some(list.into());
                }
                Ok(Some(RtPolicyValue::Bands(bands))) if !bands.is_empty() => {
                    published.bands = Some(bands);
                }
                _ => {}
            }
        }
        published
    }

    /// Reports whether the reference contains policies of RT-CORBA.
    pub(crate) fn is_real_time(&self) -> bool {
        self.model.is_some() || self.protocols.is_some() || self.bands.is_some()
    }

    /// Returns the reconciled policies of calls to this profile, without the server's protocols; or the types of the
    /// irreconcilable policies.
    ///
    /// Only one side may set protocols, and only one side bands; bands require a priority model.
    pub(crate) fn reconcile(&self, wanted: &Effective) -> Result<Effective, Vec<PolicyType>> {
        let mut both = *wanted;
        if let (Some(theirs), Some(ours)) = (self.priority, wanted.priority) {
            let common =
                RequestPriority { min: theirs.min.max(ours.min), max: theirs.max.min(ours.max) };
            if common.min > common.max {
                return Err(vec![RequestPriority::TYPE]);
            }
            both.priority = Some(common);
        }
        let (_, bands) = self.real_time(&wanted.realtime).map_err(|kind| vec![kind])?;
        both.realtime.bands = bands.copied();
        Ok(both)
    }

    /// Returns the protocols that the server requires of its clients.
    pub(crate) fn protocols(&self) -> Option<&[Protocol]> {
        self.protocols.as_deref()
    }

    /// Returns protocols and bands of calls to this profile, or the type of the irreconcilable policy. Allocates and
    /// copies nothing.
    pub(crate) fn real_time<'p>(
        &'p self,
        wanted: &'p RealTimePolicies,
    ) -> Result<(Option<&'p [Protocol]>, Option<&'p PriorityBands>), PolicyType> {
        let ours = wanted.protocols.map(|list| list.protocols());
        let protocols = one_of(self.protocols(), ours).ok_or(ClientProtocol::TYPE)?;
        let bands = one_of(self.bands.as_ref(), wanted.bands.as_ref())
            .ok_or(PriorityBandedConnection::TYPE)?;
        if bands.is_some() && self.model.is_none() {
            return Err(PriorityBandedConnection::TYPE);
        }
        Ok((protocols, bands))
    }
}

/// Returns the value of the side that has one; `None` if both have.
fn one_of<T>(theirs: Option<T>, ours: Option<T>) -> Option<Option<T>> {
    match (theirs, ours) {
        (Some(_), Some(_)) => None,
        (one, other) => Some(one.or(other)),
    }
}
