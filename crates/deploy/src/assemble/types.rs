//! Component types of instances: those of the IDL, otherwise those that interfaces (`.ccd`) describe.

use std::borrow::Cow;
use std::collections::HashMap;

use super::implementations::scoped;
use super::shelf::Found;
use crate::check::{ComponentType, Components, Factories, Port, factories, type_among};
use crate::model::basic::ComponentInterfaceDescription;
use crate::model::plan::Implementation;

/// Component types of the instances of a plan.
pub(super) struct ComponentTypes<'s, 'a> {
    components: &'s Components,
    factories: Factories<'s>,
    described: Vec<Described<'s, 'a>>,
    /// Indices in `described`, by the index of the implementation. An error is the reason why the IDL does not describe
    /// the component.
    by_implementation: HashMap<usize, Result<usize, String>>,
    /// Indices in `described`, by interface.
    by_interface: HashMap<*const ComponentInterfaceDescription, usize>,
    /// For each instance, the indices of its implementation, and of its type in `described`.
    instances: Vec<(usize, Option<usize>)>,
}

/// Component type, with its origin.
pub(super) struct Described<'s, 'a> {
    /// Descriptor of the component type; `None` if it is from the IDL.
    interface: Option<Found<'a, ComponentInterfaceDescription>>,
    pub(super) component: Cow<'s, ComponentType>,
}

impl Described<'_, '_> {
    /// Returns the origin, for messages.
    pub(super) fn origin(&self) -> &str {
        self.interface.map_or("the IDL", |interface| interface.path)
    }

    /// Returns the origin of an attribute's type, for messages.
    pub(super) fn origin_of(&self, attribute: &str) -> String {
        let property = self.interface.and_then(|interface| {
            let mut all = interface.value.property.iter();
            all.find(|one| one.name == attribute)
        });
        match property {
            Some(property) => format!("{}:{}", self.origin(), property.place),
            None => self.origin().to_owned(),
        }
    }
}

impl<'s, 'a> ComponentTypes<'s, 'a> {
    /// Creates an empty list, for instances whose types may be among `components`.
    pub(super) fn of(components: &'s Components) -> ComponentTypes<'s, 'a> {
        ComponentTypes {
            components,
            factories: factories(components),
            described: Vec::new(),
            by_implementation: HashMap::new(),
            by_interface: HashMap::new(),
            instances: Vec::new(),
        }
    }

    /// Adds the next instance of the plan. `number` is the index of its implementation.
    pub(super) fn add(
        &mut self,
        number: usize,
        implementation: &Implementation,
        interface: Option<Found<'a, ComponentInterfaceDescription>>,
    ) {
        let in_idl = match self.by_implementation.get(&number) {
            Some(known) => known.as_ref().ok().copied(),
            None => {
                let found = self.in_idl(implementation);
                let at = found.as_ref().ok().copied();
                self.by_implementation.insert(number, found);
                at
            }
        };
        let described = match (in_idl, interface) {
            (Some(at), _) => Some(at),
            (None, Some(interface)) => Some(self.of_interface(interface)),
            (None, None) => None,
        };
        self.instances.push((number, described));
    }

    /// Returns the index of an implementation's type in the IDL, or the reason why there is none.
    fn in_idl(&mut self, implementation: &Implementation) -> Result<usize, String> {
        if self.components.is_empty() {
            return Err("the IDL of its component is not specified".to_owned());
        }
        match type_among(implementation, self.components, &self.factories) {
            Ok(Some((_, component))) => Ok(self.push(None, Cow::Borrowed(component))),
            Ok(None) => Err(
                "the execParameter \"component type\" of its implementation names no component of the IDL"
                    .to_owned(),
            ),
            Err(finding) => Err(format!("{}, {}", finding.what, finding.cure)),
        }
    }

    fn of_interface(&mut self, found: Found<'a, ComponentInterfaceDescription>) -> usize {
        let key = std::ptr::from_ref(found.value);
        if let Some(known) = self.by_interface.get(&key) {
            return *known;
        }
        let at = self.push(Some(found), Cow::Owned(component(found.value)));
        self.by_interface.insert(key, at);
        at
    }

    fn push(
        &mut self,
        interface: Option<Found<'a, ComponentInterfaceDescription>>,
        component: Cow<'s, ComponentType>,
    ) -> usize {
        self.described.push(Described { interface, component });
        self.described.len() - 1
    }

    /// Returns the component type of an instance, if its ports are described.
    pub(super) fn with_ports(&self, instance: usize) -> Option<&Described<'s, 'a>> {
        let described = self.described(instance)?;
        let is_listed = described.interface.is_none() || !described.component.ports.is_empty();
        is_listed.then_some(described)
    }

    /// Returns the component type of an instance, if its attributes are described.
    pub(super) fn with_attributes(&self, instance: usize) -> Option<&Described<'s, 'a>> {
        let described = self.described(instance)?;
        let is_listed = described.interface.is_none() || !described.component.attributes.is_empty();
        is_listed.then_some(described)
    }

    fn described(&self, instance: usize) -> Option<&Described<'s, 'a>> {
        let (_, at) = self.instances.get(instance)?;
        self.described.get((*at)?)
    }

    /// Returns the reason why the IDL does not describe an instance.
    pub(super) fn why_not_in_idl(&self, instance: usize) -> &str {
        let (number, _) = self.instances.get(instance).copied().unwrap_or_default();
        match self.by_implementation.get(&number) {
            Some(Err(reason)) => reason,
            _ => "the IDL describes no ports of its component",
        }
    }
}

/// Returns the component type that an interface describes. Its attributes are the properties of the interface. A
/// descriptor need not list them.
fn component(interface: &ComponentInterfaceDescription) -> ComponentType {
    let ports = interface.port.iter().map(|port| {
        let type_name = port.specific_type.as_deref().map(scoped).unwrap_or_default();
        let supported = port.supported_type.iter().map(|id| scoped(id));
        let is_also = supported.chain([type_name.clone()]).collect();
        (port.name.clone(), Port { kind: port.kind, type_name, is_also, basic: Vec::new() })
    });
    let attributes =
        interface.property.iter().map(|one| (one.name.clone(), Some(one.kind.0.clone())));
    ComponentType { ports: ports.collect(), attributes: attributes.collect() }
}
