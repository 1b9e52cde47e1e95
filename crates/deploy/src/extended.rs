//! Replacement of the connections of extended ports by connections of the ports for which the extended ports stand.

use std::collections::HashMap;

use crate::check::{ComponentType, Components, Factories, Port, factories, type_among};
use crate::finding::{Error, Finding, Findings, listed};
use crate::model::basic::PortKind;
use crate::model::plan::{Connection, Endpoint, ExternalEndpoint, Implementation, Instance, Plan};
use crate::size::{self, Size};

/// Maximum number of elements of the connections that replace those of extended ports: connections, ends and
/// requirements.
const MOST_ELEMENTS: usize = 500_000;

/// Maximum size in octets of the names and values of the connections that replace those of extended ports.
const MOST_OCTETS: usize = 64 << 20;

/// Remedy if an extended port cannot be connected as a whole.
const NAME_PORTS: &str =
    "connect each of the basic ports that the extended port contains, as PORT_NAME";

/// Replaces each connection between extended ports and mirror ports by one connection for each port of their port type.
/// Other connections are not changed.
///
/// An extended port `link` of a port type with a port `data` stands for the port `link_data`. A mirror port uses the
/// interfaces that the port type provides, and provides those that it uses. If the connection is named `bus`, the
/// connection of the ports `data` is named `bus.data`.
///
/// Takes time linear in the plan and in the new connections. These have at most 500,000 elements (connections, ends and
/// requirements), and 64 MiB of names and values.
///
/// # Errors
/// The following errors, each with its position: dangling references of the plan, unknown component types, ports that a
/// component type does not have, ends of different port types, ports of local interfaces, references to outside
/// objects, and connections beyond the limits. The plan is then unchanged.
pub fn expand_extended_ports(plan: &mut Plan, components: &Components) -> Result<(), Error> {
    let beyond = |most: usize, what: &str| {
        format!("the connections of extended ports have more than {most} {what}, the limit")
    };
    let mut left = Size { elements: MOST_ELEMENTS, octets: MOST_OCTETS };
    expand(plan, components, false, |size: Size| {
        let elements = left.elements.checked_sub(size.elements);
        let octets = left.octets.checked_sub(size.octets);
        left = Size {
            elements: elements.ok_or_else(|| beyond(MOST_ELEMENTS, "elements"))?,
            octets: octets.ok_or_else(|| beyond(MOST_OCTETS, "octets of names and values"))?,
        };
        Ok(())
    })
}

/// Replaces connections, as [`expand_extended_ports`] does, within the limits of `spend`. If the plan is made from
/// descriptors, messages name the connection and its descriptor.
pub(crate) fn expand(
    plan: &mut Plan,
    components: &Components,
    is_described: bool,
    spend: impl FnMut(Size) -> Result<(), String>,
) -> Result<(), Error> {
    if plan.connection.iter().any(is_extended) {
        plan.check_references()?;
        plan.connection = connections(plan, components, is_described, spend)?;
    }
    Ok(())
}

/// Reports whether a connection joins extended ports or mirror ports.
fn is_extended(connection: &Connection) -> bool {
    connection.internal_endpoint.iter().any(|end| end.kind.is_extended())
}

/// Returns the connections of a plan after the expansion.
fn connections(
    plan: &Plan,
    components: &Components,
    is_described: bool,
    spend: impl FnMut(Size) -> Result<(), String>,
) -> Result<Vec<Connection>, Error> {
    let mut findings = Findings::default();
    let mut made = Vec::with_capacity(plan.connection.len());
    let mut expansion = Expansion::of(plan, components, is_described, spend);
    for connection in &plan.connection {
        if !is_extended(connection) {
            made.push(connection.clone());
            continue;
        }
        match expansion.expanded(connection) {
            Ok(connections) => made.extend(connections),
            Err(finding) if is_described => findings.push(described(connection, finding)),
            Err(finding) => findings.push(finding),
        }
    }
    Error::unless_none(findings)?;
    Ok(made)
}

/// Returns a finding with the name of its connection and the path of the descriptor.
fn described(connection: &Connection, finding: Finding) -> Finding {
    let name = format!("connection {:?}", connection.name);
    let what = match finding.what.starts_with(&name) {
        true => finding.what,
        false => format!("{name}: {}", finding.what),
    };
    let what = match connection.source.first() {
        Some(path) => format!("{path}: {what}"),
        None => what,
    };
    Finding { what, ..finding }
}

/// State of an expansion.
struct Expansion<'p, S> {
    /// Instances by id.
    instances: HashMap<&'p str, &'p Instance>,
    /// Implementations by id.
    implementations: HashMap<&'p str, &'p Implementation>,
    components: &'p Components,
    factories: Factories<'p>,
    /// Whether the plan is made from descriptors.
    is_described: bool,
    /// Subtracts a size from the limits, or returns a sentence about the limit.
    spend: S,
}

/// End of a connection, with its port.
struct End<'p> {
    end: &'p Endpoint,
    /// Instance and port, for messages.
    name: String,
    component: &'p ComponentType,
    port: &'p Port,
}

impl<'p, S: FnMut(Size) -> Result<(), String>> Expansion<'p, S> {
    fn of(
        plan: &'p Plan,
        components: &'p Components,
        is_described: bool,
        spend: S,
    ) -> Expansion<'p, S> {
        Expansion {
            instances: plan.instance.iter().map(|one| (one.id.0.as_str(), one)).collect(),
            implementations: plan
                .implementation
                .iter()
                .map(|one| (one.id.0.as_str(), one))
                .collect(),
            components,
            factories: factories(components),
            is_described,
            spend,
        }
    }

    /// Returns the connections that replace a connection of extended ports.
    fn expanded(&mut self, connection: &'p Connection) -> Result<Vec<Connection>, Finding> {
        let name = &connection.name;
        if let Some(reference) = connection.external_reference.first() {
            let what = format!(
                "connection {name:?} joins an extended port with an externalReference, which is a single object"
            );
            return Err(Finding::error(reference.place, what).cure(NAME_PORTS));
        }
        let kinds = [PortKind::ExtendedPort, PortKind::MirrorPort];
        let missing = kinds
            .iter()
            .find(|kind| connection.internal_endpoint.iter().all(|end| end.kind != **kind));
        if let Some(missing) = missing.filter(|_| connection.external_endpoint.is_empty()) {
            let what = format!("connection {name:?} has no end of the kind {}", missing.text());
            let cure = "connect an extended port with a mirror port";
            return Err(Finding::error(connection.place, what).cure(cure));
        }
        let ends = connection.internal_endpoint.iter().map(|end| self.end(connection, end));
        let ends = ends.collect::<Result<Vec<End<'p>>, Finding>>()?;
        let Some(first) = ends.first() else {
            return Ok(vec![connection.clone()]);
        };
        if let Some((one, other)) = different(&ends) {
            let what = format!(
                "{} is of type {}, but {} of type {}",
                one.name, one.port.type_name, other.name, other.port.type_name
            );
            return Err(Finding::error(one.end.place, what).cure("connect ports of the same type"));
        }
        let names = &first.port.basic;
        if names.is_empty() {
            let what = format!("port type {} has no ports to connect", first.port.type_name);
            return Err(Finding::error(first.end.place, what).cure("omit the connection"));
        }
        (self.spend)(expanded_size(connection, names)).map_err(|what| {
            Finding::error(connection.place, what).cure("divide the plan into several")
        })?;
        names.iter().map(|port| basic(connection, &ends, port)).collect()
    }

    /// Returns an end with its extended port or mirror port.
    fn end(&self, connection: &Connection, end: &'p Endpoint) -> Result<End<'p>, Finding> {
        let instance = self.instances.get(end.instance.id.as_str()).copied();
        let name = instance.map_or("", |instance| instance.name.as_str());
        let full = format!("{name}.{}", end.port_name);
        let wrong = |what: String, cure: String| Finding::error(end.place, what).cure(cure);
        if !end.kind.is_extended() {
            let kind = end.kind.text();
            let what = format!(
                "connection {:?} joins an extended port with {full}, a {kind}",
                connection.name
            );
            return Err(wrong(what, NAME_PORTS.to_owned()));
        }
        let implementation = instance
            .and_then(|instance| self.implementations.get(instance.implementation.id.as_str()));
        let found = match implementation {
            Some(implementation) => type_among(implementation, self.components, &self.factories)
                .map_err(|finding| match self.is_described {
                    // The implementation is from another descriptor.
                    true => Finding { place: end.place, ..finding },
                    false => finding,
                })?,
            None => None,
        };
        let Some((_, component)) = found else {
            let what = format!(
                "the component type of instance {name:?} is unknown, so its port {:?} cannot be connected",
                end.port_name
            );
            let cure = "give its implementation the execParameter \"component type\"";
            return Err(wrong(what, cure.to_owned()));
        };
        let Some(port) = component.ports.get(&end.port_name) else {
            let known = listed(component.ports.keys().map(String::as_str));
            let what = format!("{name:?} has no port {:?}", end.port_name);
            return Err(wrong(what, format!("it has {known}")));
        };
        if port.kind != end.kind {
            let (wanted, said) = (port.kind.text(), end.kind.text());
            let what = format!("{full} is a {wanted} in IDL, but a {said} here");
            return Err(wrong(what, format!("write {wanted}")));
        }
        Ok(End { end, name: full, component, port })
    }
}

/// Reports whether the ports of two ends are of different types.
fn is_other(one: &End<'_>, other: &End<'_>) -> bool {
    one.port.type_name != other.port.type_name
}

/// Returns two ends with ports of different types. If the port of a using end differs from that of a providing end, the
/// using end is the first of the two, because the check of ports against IDL reports the error at the using end, too.
fn different<'e, 'p>(ends: &'e [End<'p>]) -> Option<(&'e End<'p>, &'e End<'p>)> {
    let mut providers = ends.iter().filter(|one| one.port.kind.provides());
    let provider = providers.next();
    let second = provider.and_then(|first| providers.find(|one| is_other(first, one)));
    let known = [provider, second];
    let mut users = ends.iter().filter(|one| !one.port.kind.provides());
    let found = users.find_map(|user| {
        let other = known.iter().flatten().copied().find(|one| is_other(user, one));
        other.map(|other| (user, other))
    });
    found.or_else(|| {
        let (first, others) = ends.split_first()?;
        let other = others.iter().find(|one| is_other(first, one))?;
        Some((other, first))
    })
}

/// Returns the size of the connections that replace a connection, for ports with these names.
fn expanded_size(connection: &Connection, names: &[String]) -> Size {
    let (internal, external) = (&connection.internal_endpoint, &connection.external_endpoint);
    let source = connection.source.iter().map(|path| size::element(path.len()));
    let inner =
        internal.iter().map(|end| size::element(end.port_name.len() + end.instance.id.len()));
    let outer = external.iter().map(|end| size::element(end.port_name.len()));
    let copied: Size = [size::element(connection.name.len())]
        .into_iter()
        .chain(source)
        .chain(connection.deploy_requirement.iter().map(size::requirement))
        .chain(connection.deployed_resource.iter().map(size::resource))
        .chain(inner)
        .chain(outer)
        .sum();
    // The connection and its ends each have the name of the port and a separator in their names.
    let named = 1 + internal.len() + external.len();
    let octets = names
        .iter()
        .map(|name| copied.octets.saturating_add(named.saturating_mul(name.len() + 1)))
        .fold(0, usize::saturating_add);
    Size { elements: copied.elements.saturating_mul(names.len()), octets }
}

/// Returns the connection of one port of a port type.
fn basic(connection: &Connection, ends: &[End<'_>], name: &str) -> Result<Connection, Finding> {
    let mut internal_endpoint = Vec::with_capacity(ends.len());
    for one in ends {
        let port_name = format!("{}_{name}", one.end.port_name);
        let Some(port) = one.component.ports.get(&port_name) else {
            let what = format!(
                "{} contains {port_name}, whose interface is local, so no plan can connect it",
                one.name
            );
            return Err(Finding::error(one.end.place, what).cure(NAME_PORTS));
        };
        internal_endpoint.push(Endpoint {
            port_name,
            provider: Some(port.kind.provides()),
            kind: port.kind,
            instance: one.end.instance.clone(),
            place: one.end.place,
        });
    }
    let outside = connection.external_endpoint.iter().map(|end| ExternalEndpoint {
        port_name: format!("{}_{name}", end.port_name),
        place: end.place,
    });
    Ok(Connection {
        name: format!("{}.{name}", connection.name),
        source: connection.source.clone(),
        deploy_requirement: connection.deploy_requirement.clone(),
        external_endpoint: outside.collect(),
        internal_endpoint,
        // An extended port cannot be connected with a reference.
        external_reference: Vec::new(),
        deployed_resource: connection.deployed_resource.clone(),
        place: connection.place,
    })
}
