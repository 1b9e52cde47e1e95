//! The target manager of a domain. It manages no resources.

use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::idl::deployment as d;
use crate::idl::deployment::target_manager::CreateResourceCommitmentError;

/// Key of the target manager of an execution manager.
pub const TARGET_MANAGER: &str = "TargetManager";

/// Exception for operations on domains, because nodes neither report nor commit resources.
pub(super) const NO_DOMAIN: SystemException =
    SystemException::no_implement(minor::no_implement::NO_DOMAIN, CompletionStatus::No);

/// `Deployment::TargetManager`, whose operations report that there is no domain to manage.
pub(super) struct TargetManager;

impl d::TargetManager for TargetManager {
    fn get_all_resources(&self) -> Result<d::Domain, SystemException> {
        Err(NO_DOMAIN)
    }

    fn get_available_resources(&self) -> Result<d::Domain, SystemException> {
        Err(NO_DOMAIN)
    }

    fn create_resource_commitment(
        &self,
        _: &[d::ResourceAllocation],
    ) -> Result<Option<d::ResourceCommitmentManagerRef>, CreateResourceCommitmentError> {
        Err(d::ResourceCommitmentFailure {
            reason: "this manager does not manage the resources of nodes, so none can be committed: prepare the plan \
                     without a resourceCommitment"
                .to_owned(),
            index: 0,
            property_name: String::new(),
            property_value: Vec::new(),
        }
        .into())
    }

    fn destroy_resource_commitment(
        &self,
        _: Option<&d::ResourceCommitmentManagerRef>,
    ) -> Result<(), SystemException> {
        Err(NO_DOMAIN)
    }

    fn update_domain(
        &self,
        _: &[String],
        _: &d::Domain,
        _: d::DomainUpdateKind,
    ) -> Result<(), SystemException> {
        Err(NO_DOMAIN)
    }
}
