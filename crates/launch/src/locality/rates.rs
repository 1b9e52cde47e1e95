//! Rates that the real-time resources require to be enforced at ports.

use oxorb_deploy::plan::Instance;
use oxorb_deploy::rtcad::Attachment;
use oxorb_deploy::{EnforcedRate, enforced_rates};

use crate::LaunchError;

/// Returns the enforced rates of an instance's ports.
pub(super) fn rates(
    instance: &Instance,
    attachment: Option<&Attachment>,
) -> Result<Vec<EnforcedRate>, LaunchError> {
    let Some(attachment) = attachment else {
        return Ok(Vec::new());
    };
    enforced_rates(instance, attachment)
        .map_err(|finding| LaunchError { name: instance.name.clone(), finding })
}
