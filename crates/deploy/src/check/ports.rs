//! Checks of a plan's ports against IDL: they exist and have the right kind, and the types of both ends match.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::pairs::too_many_pairs;
use crate::finding::{Finding, listed};
use crate::model::basic::{PortKind, Property};
use crate::model::plan::{Endpoint, Implementation, Instance, Plan};
use crate::model::value::Type;

/// A port of a component type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Kind of the port.
    pub kind: PortKind,
    /// Type of a facet, required type of a receptacle, event type, or port type, as a scoped name.
    pub type_name: String,
    /// All types to which this type conforms, including the type itself.
    pub is_also: BTreeSet<String>,
    /// Names of the ports in the port type of an extended port or mirror port; empty for other ports. The component has
    /// each of these ports as `PORT_NAME`, unless the interface of the port is local.
    pub basic: Vec<String>,
}

/// A component type, with inherited ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentType {
    /// Ports by name.
    pub ports: BTreeMap<String, Port>,
    /// Settable attributes, with their type; `None` for a type that plans do not support.
    pub attributes: BTreeMap<String, Option<Type>>,
}

/// Component types by scoped name.
pub type Components = BTreeMap<String, ComponentType>;

/// Property of an implementation that names its component type.
const TYPE: &str = "component type";

/// Property of an implementation that names its entry point, which contains the type: `create_Module_Name_Impl`.
const FACTORY: &str = "component factory";

pub(super) fn check(plan: &Plan, components: &Components) -> Vec<Finding> {
    let mut findings = Vec::new();
    let implementations: HashMap<&str, &Implementation> =
        plan.implementation.iter().map(|it| (&*it.id.0, it)).collect();
    let factories = factories(components);
    let mut types: HashMap<&str, (&Instance, &ComponentType)> = HashMap::new();
    for instance in &plan.instance {
        let implementation = implementations.get(&*instance.implementation.id);
        match implementation.map_or(Ok(None), |it| type_among(it, components, &factories)) {
            Err(finding) => findings.push(finding),
            Ok(Some((name, found))) => {
                types.insert(&instance.id.0, (instance, found));
                findings.extend(attributes(instance, name, found));
            }
            Ok(None) => {
                let what = format!(
                    "the component type of instance {:?} is unknown, so its ports are not checked",
                    instance.name
                );
                let cure = format!(
                    "give its implementation the execParameter {TYPE:?}, or, if its {FACTORY:?} names the type, the \
                     IDL that declares this type"
                );
                findings.push(Finding::warning(instance.place, what).cure(cure));
            }
        }
    }
    for connection in &plan.connection {
        let mut ends: Vec<(&Endpoint, String, &Port)> = Vec::new();
        for end in &connection.internal_endpoint {
            let Some((instance, found)) = types.get(&*end.instance.id) else {
                continue;
            };
            let full = format!("{}.{}", instance.name, end.port_name);
            match found.ports.get(&end.port_name) {
                None => {
                    let what = format!("{:?} has no port {:?}", instance.name, end.port_name);
                    let ports = listed(found.ports.keys().map(String::as_str));
                    findings.push(Finding::error(end.place, what).cure(format!("it has {ports}")));
                }
                Some(port) if port.kind != end.kind => {
                    let what = format!(
                        "{full} is a {} in IDL, but a {} here",
                        port.kind.text(),
                        end.kind.text()
                    );
                    findings.push(Finding::error(end.place, what));
                }
                Some(port) => ends.push((end, full, port)),
            }
        }
        let (providers, users): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|(_, _, port)| port.kind.provides());
        if too_many_pairs(connection) {
            continue;
        }
        'pairs: for (user, user_name, wants) in &users {
            for (_, provider_name, has) in &providers {
                // A facet must conform to the type of the receptacle, and an event to the type of the sink.
                let (given, wanted) =
                    if wants.kind.is_event() { (wants, has) } else { (has, wants) };
                if !given.is_also.contains(&wanted.type_name) && wanted.type_name != "Object" {
                    let what = format!(
                        "{user_name} is of type {}, but {provider_name} of type {}",
                        wants.type_name, has.type_name
                    );
                    findings.push(
                        Finding::error(user.place, what).cure("connect ports of the same type"),
                    );
                    break 'pairs;
                }
            }
        }
    }
    findings
}

/// Component type with its scoped name, if it is known.
pub(crate) type Found<'c> = Option<(&'c str, &'c ComponentType)>;

/// Returns the component type of an implementation with its scoped name; `None` if the plan does not determine it.
/// Linear in the number of component types.
///
/// # Errors
/// The plan names a type that is not in `components`.
pub fn type_of<'c>(
    implementation: &Implementation,
    components: &'c Components,
) -> Result<Found<'c>, Finding> {
    type_among(implementation, components, &factories(components))
}

/// Component types by the name in their entry points, unless ambiguous.
pub(crate) type Factories<'c> = HashMap<String, Found<'c>>;

/// Returns component types by the name in their entry points.
pub(crate) fn factories(components: &Components) -> Factories<'_> {
    #[cfg(test)]
    crate::search::count(components.len());
    let mut all = Factories::new();
    for (name, found) in components {
        let known = all.entry(name.replace("::", "_"));
        known.and_modify(|known| *known = None).or_insert(Some((name, found)));
    }
    all
}

/// Returns the component type of an implementation, as [`type_of`] does, with the result of [`factories`].
pub(crate) fn type_among<'c>(
    implementation: &Implementation,
    components: &'c Components,
    factories: &Factories<'c>,
) -> Result<Found<'c>, Finding> {
    let said = |name: &str| {
        let found = implementation.exec_parameter.iter().find(|property| property.name == name);
        found.and_then(|property| Some((property, property.value.as_text()?)))
    };
    if let Some((property, name)) = said(TYPE) {
        let plain = name
            .strip_prefix("IDL:")
            .and_then(|id| id.rsplit_once(':'))
            .map(|(path, _)| path.replace('/', "::"));
        let plain = plain.unwrap_or_else(|| name.trim_start_matches("::").to_owned());
        return match components.get_key_value(&plain) {
            Some((name, found)) => Ok(Some((name, found))),
            None => {
                let known = listed(components.keys().map(String::as_str));
                let what = format!("IDL has no component {plain:?}");
                Err(Finding::error(property.place, what).cure(format!("it has {known}")))
            }
        };
    }
    let Some((_, factory)) = said(FACTORY) else {
        return Ok(None);
    };
    let flat = factory.strip_prefix("create_").and_then(|rest| rest.strip_suffix("_Impl"));
    Ok(flat.and_then(|flat| *factories.get(flat)?))
}

/// Reports whether a property is a setting of a deployment engine, and not an attribute: its name has a dot, or is that
/// of CIAO's oldest setting.
pub(crate) fn is_setting(name: &str) -> bool {
    name.contains('.') || name == "ComponentIOR"
}

fn attributes(instance: &Instance, type_name: &str, found: &ComponentType) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_attribute = |property: &&Property| !is_setting(&property.name);
    for property in instance.config_property.iter().filter(is_attribute) {
        let Some(wanted) = found.attributes.get(&property.name) else {
            let what =
                format!("{:?} has no attribute {:?} that can be set", instance.name, property.name);
            let known = listed(found.attributes.keys().map(String::as_str));
            let cure = format!("{type_name} has {known}");
            findings.push(Finding::error(property.place, what).cure(cure));
            continue;
        };
        let wanted = wanted.as_ref().and_then(Type::basic);
        if let Some(wanted) = wanted.filter(|it| property.value.kind.basic() != Some(*it)) {
            let what = format!(
                "attribute {:?} of {type_name} is of type {}",
                property.name,
                wanted.name()
            );
            let cure = format!("write {{ {} = ... }}", wanted.name());
            findings.push(Finding::error(property.place, what).cure(cure));
        }
    }
    findings
}
