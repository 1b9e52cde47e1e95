//! Properties of a plan whose values the launch sets.

use oxorb_deploy::basic::Property;
use oxorb_deploy::plan::Plan;

/// Adds the values of properties of a plan to the attributes to which the plan maps them.
pub(super) fn add_external(plan: &mut Plan, properties: &[Property]) {
    for mapping in plan.external_property.clone() {
        let mut given = properties.iter().rev();
        let Some(given) = given.find(|one| one.name == mapping.external_name) else {
            continue;
        };
        for to in &mapping.delegates_to {
            if let Some(at) = plan.instance_at(&to.instance) {
                let property = Property::of(&to.property_name, given.value.clone());
                plan.instance[at].config_property.push(property);
            }
        }
    }
}
