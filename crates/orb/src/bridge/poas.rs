//! Object adapters of the objects of a bridge or gateway.

use crate::poa::{Poa, PoaError, Policies, RtPolicies};
use crate::rt::{PriorityModel, PriorityModelPolicy};

/// POA of the objects of a bridge or gateway, and its child POA for targets with the client-propagated priority model.
/// References of the child declare that model, because a client sends its priority only then.
pub(crate) struct Poas {
    plain: Poa,
    callers: Poa,
}

impl Poas {
    pub(crate) fn new(root: &Poa, name: &str, policies: Policies) -> Result<Poas, PoaError> {
        let plain = root.create_poa(name, policies)?;
        let model =
            PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 0 };
        let realtime = RtPolicies { priority_model: Some(model), ..RtPolicies::default() };
        let callers = plain.create_poa("callers", Policies { realtime, ..policies })?;
        Ok(Poas { plain, callers })
    }

    /// Returns both POAs.
    #[cfg(feature = "gateway")]
    pub(crate) fn all(&self) -> [&Poa; 2] {
        [&self.plain, &self.callers]
    }

    /// Returns the POA for a target with this priority model.
    pub(crate) fn with(&self, model: Option<PriorityModel>) -> &Poa {
        match model {
            Some(PriorityModel::ClientPropagated) => &self.callers,
            _ => &self.plain,
        }
    }
}
