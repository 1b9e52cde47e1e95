//! Real-time resources stored in a plan, for processes that receive only the plan.

use oxorb_deploy::basic::Property;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::value::Any;
use oxorb_deploy::{Document, Error, Format, Limits};

use crate::LaunchError;

/// Property of a plan that holds its real-time resources as a TOML document.
const RESOURCES: &str = "org.oxorb.ServerResources";

/// Stores real-time resources in a plan. Replaces resources that the plan contains already.
///
/// # Errors
/// The resources contain text that TOML cannot represent.
pub fn attach_resources(plan: &mut Plan, resources: &ServerResources) -> Result<(), Error> {
    let text = Document::from(resources.clone()).write(Format::Toml)?;
    plan.info_property.retain(|property| property.name != RESOURCES);
    plan.info_property.push(Property::of(RESOURCES, Any::string(text)));
    Ok(())
}

/// Returns the real-time resources in a plan.
pub(crate) fn resources_of(plan: &Plan) -> Result<Option<ServerResources>, LaunchError> {
    let mut all = plan.info_property.iter();
    let Some(property) = all.find(|property| property.name == RESOURCES) else {
        return Ok(None);
    };
    let text = property.value.as_text().unwrap_or_default();
    let read = Document::read(text, Format::Toml, &Limits::default());
    match read {
        Ok(Document::Resources(resources)) => Ok(Some(*resources)),
        Ok(other) => {
            let what =
                format!("{RESOURCES} contains a {} instead of ServerResources", other.kind());
            Err(LaunchError::new("", property.place, what))
        }
        Err(error) => {
            let what = format!("{RESOURCES} cannot be read: {error}");
            Err(LaunchError::new("", property.place, what))
        }
    }
}
