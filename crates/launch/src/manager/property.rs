//! Settings of managers, stored as text properties of a plan.

use oxorb_deploy::basic::Property;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::value::Any;

/// Returns the text of a property of a plan.
pub(crate) fn text<'p>(plan: &'p Plan, name: &str) -> Option<&'p str> {
    let mut properties = plan.info_property.iter().rev();
    properties.find(|property| property.name == name).and_then(|property| property.value.as_text())
}

/// Sets the text of a property of a plan.
pub(super) fn set(plan: &mut Plan, name: &str, text: &str) {
    plan.info_property.retain(|property| property.name != name);
    plan.info_property.push(Property::of(name, Any::string(text)));
}
