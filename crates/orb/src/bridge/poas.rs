//! Object adapters of objects that stand for others.

use crate::{Poa, PoaError, Policies, PriorityModel, PriorityModelPolicy, RtPolicies};

/// A POA, and one for targets that run requests at the priorities of their callers: whoever calls a reference says its
/// priority only where the reference asks for it.
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

    /// Returns the one for an object that stands for a target with this model.
    pub(crate) fn with(&self, model: Option<PriorityModel>) -> &Poa {
        match model {
            Some(PriorityModel::ClientPropagated) => &self.callers,
            _ => &self.plain,
        }
    }
}
