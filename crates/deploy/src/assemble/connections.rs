//! Connections of assemblies, with ports of inner assemblies replaced by those of instances.

use super::parts::{Making, Part, Whole, joined};
use super::shelf::Found;
use crate::described::Ref;
use crate::finding::{Error, Finding, Place, listed};
use crate::model::basic::PortKind;
use crate::model::package::{
    AssemblyConnection, ComponentAssemblyDescription, SubcomponentEndpoint,
};
use crate::model::plan::{Connection, Endpoint};
use crate::size::{self, Size};

/// End of a connection at an instance.
struct End<'a> {
    /// Index of the instance.
    at: usize,
    /// Kind of the port; `None` if nothing describes the port.
    kind: Option<PortKind>,
    /// Position of the endpoint that represents the port, in the descriptor of the connection.
    place: Place,
    assembly: Found<'a, ComponentAssemblyDescription>,
    end: &'a SubcomponentEndpoint,
}

impl<'a> Making<'_, 'a> {
    /// Adds the connections of an assembly and of its parts to the plan.
    pub(super) fn connect(&mut self, root: &Part<'a>) -> Result<(), Error> {
        self.connect_within(root, true)
    }

    fn connect_within(&mut self, part: &Part<'a>, is_root: bool) -> Result<(), Error> {
        let Part::Whole(whole) = part else {
            return Ok(());
        };
        for connection in &whole.assembly.value.connection {
            let found = whole.assembly.inner(connection);
            let name = joined(&whole.name, &connection.name);
            self.spend(1, name.len())?;
            let mut ends = Vec::new();
            for end in &connection.internal_endpoint {
                self.ends(whole, end, end.place, &mut ends)?;
            }
            let outside = match is_root {
                true => connection.external_endpoint.clone(),
                false => Vec::new(),
            };
            // A connection of one inner port with a port of the assembly is a part of the outer
            // connection to that port.
            let is_whole = ends.len() + outside.len() + connection.external_reference.len() > 1;
            if !is_whole && !connection.external_endpoint.is_empty() {
                continue;
            }
            let is_inside = outside.is_empty() && connection.external_reference.is_empty();
            let internal_endpoint = self.endpoints(&ends, is_inside)?;
            let requirements = connection.deploy_requirement.iter().map(size::requirement);
            let references = connection.external_reference.iter().map(size::reference);
            let outer = outside.iter().map(|end| size::element(end.port_name.len()));
            let copied: Size = requirements.chain(references).chain(outer).sum();
            self.spend(copied.elements, copied.octets + found.path.len())?;
            self.plan.connection.push(Connection {
                name,
                source: vec![found.path.to_owned()],
                deploy_requirement: connection.deploy_requirement.clone(),
                external_endpoint: outside,
                internal_endpoint,
                external_reference: connection.external_reference.clone(),
                place: connection.place,
                ..Connection::default()
            });
        }
        for one in &whole.assembly.value.instance {
            self.connect_within(&whole.parts[one.id.0.as_str()], false)?;
        }
        Ok(())
    }

    /// Adds the ports of instances that an endpoint represents. `place` is the position of the endpoint in the
    /// connection that is added to the plan.
    fn ends(
        &mut self,
        whole: &Whole<'a>,
        end: &'a SubcomponentEndpoint,
        place: Place,
        into: &mut Vec<End<'a>>,
    ) -> Result<(), Error> {
        let Some(part) = whole.parts.get(end.instance.id.as_str()) else {
            let what = format!("the assembly has no part {:?}", end.instance.id);
            return Err(whole.assembly.wrong(end.instance.place, what));
        };
        match part {
            Part::Instance { at } => {
                let kind = self.kind(*at, whole.assembly, end)?;
                self.spend(1, self.plan.instance[*at].id.0.len() + end.port_name.len())?;
                into.push(End { at: *at, kind, place, assembly: whole.assembly, end });
                Ok(())
            }
            Part::Whole(inner) => {
                let connections: &[&AssemblyConnection] =
                    inner.outside.get(end.port_name.as_str()).map_or(&[], Vec::as_slice);
                if connections.is_empty() {
                    let what = format!(
                        "part {:?} has no port {:?}; it has {}",
                        inner.name,
                        end.port_name,
                        listed(
                            inner
                                .outside
                                .keys()
                                .copied()
                                .collect::<std::collections::BTreeSet<_>>()
                        )
                    );
                    return Err(whole.assembly.wrong(end.place, what));
                }
                for connection in connections {
                    self.spend(1, 0)?;
                    for end in &connection.internal_endpoint {
                        self.ends(inner, end, place, into)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns the kind of a port; `None` if neither the IDL nor an interface lists the ports of its component.
    fn kind(
        &self,
        at: usize,
        assembly: Found<'a, ComponentAssemblyDescription>,
        end: &SubcomponentEndpoint,
    ) -> Result<Option<PortKind>, Error> {
        let Some(described) = self.types.with_ports(at) else {
            return Ok(None);
        };
        let ports = &described.component.ports;
        match ports.get(&end.port_name) {
            Some(port) => Ok(Some(port.kind)),
            None => {
                let what = format!(
                    "{} describes no port {:?} of part {:?}; it has {}",
                    described.origin(),
                    end.port_name,
                    end.instance.id,
                    listed(ports.keys().map(String::as_str))
                );
                Err(assembly.wrong(end.place, what))
            }
        }
    }

    /// Returns the endpoints of a connection. If the connection is only between parts, the other endpoints may
    /// determine the kind of a port that nothing describes.
    fn endpoints(&self, ends: &[End<'a>], is_inside: bool) -> Result<Vec<Endpoint>, Error> {
        let derived = if is_inside { derived(ends) } else { None };
        let mut endpoints = Vec::with_capacity(ends.len());
        for one in ends {
            let kind = one.kind.or(derived).ok_or_else(|| self.undescribed(one))?;
            endpoints.push(Endpoint {
                port_name: one.end.port_name.clone(),
                kind,
                instance: Ref::to(&self.plan.instance[one.at].id.0),
                place: one.place,
                ..Endpoint::default()
            });
        }
        Ok(endpoints)
    }

    fn undescribed(&self, one: &End<'a>) -> Error {
        let what = format!(
            "{}: the kind of port {:?} of part {:?} is unknown: its package realizes no interface (.ccd) that lists \
             ports, and {}",
            one.assembly.path,
            one.end.port_name,
            one.end.instance.id,
            self.types.why_not_in_idl(one.at)
        );
        let cure = "add the interface to the package, or specify the IDL of the component";
        Error::from(Finding::error(one.end.place, what).cure(cure))
    }
}

/// Returns the kind of the end whose kind is unknown, if there is only one such end, and all other ends can be
/// connected with only this kind.
fn derived(ends: &[End<'_>]) -> Option<PortKind> {
    if ends.iter().filter(|one| one.kind.is_none()).count() != 1 {
        return None;
    }
    let mut kinds = ends.iter().filter_map(|one| one.kind).map(counterpart);
    let first = kinds.next()??;
    kinds.all(|other| other == Some(first)).then_some(first)
}

/// Returns the kind of the ports with which a port of this kind can be connected, if there is only one such kind.
fn counterpart(kind: PortKind) -> Option<PortKind> {
    match kind {
        PortKind::SimplexReceptacle | PortKind::MultiplexReceptacle => Some(PortKind::Facet),
        PortKind::EventEmitter | PortKind::EventPublisher => Some(PortKind::EventConsumer),
        PortKind::ExtendedPort => Some(PortKind::MirrorPort),
        PortKind::MirrorPort => Some(PortKind::ExtendedPort),
        PortKind::Facet | PortKind::EventConsumer => None,
    }
}
