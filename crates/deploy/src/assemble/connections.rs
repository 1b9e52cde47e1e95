//! Connections of assemblies, with ports of inner assemblies replaced by those of instances.

use std::collections::HashMap;

use super::parts::{Making, Part, Whole, joined};
use super::shelf::Found;
use crate::described::Ref;
use crate::finding::{Error, Place, listed};
use crate::model::basic::{ComponentInterfaceDescription, PortKind};
use crate::model::package::{
    AssemblyConnection, ComponentAssemblyDescription, SubcomponentEndpoint,
};
use crate::model::plan::{Connection, Endpoint};

/// Kinds of the ports of interfaces, by their descriptors.
type Ports<'a> = HashMap<*const ComponentInterfaceDescription, HashMap<&'a str, PortKind>>;

impl<'a> Making<'_, 'a> {
    /// Adds the connections of an assembly and of its parts to the plan.
    pub(super) fn connect(&mut self, root: &Part<'a>) -> Result<(), Error> {
        self.connect_within(root, true, &mut Ports::new())
    }

    fn connect_within(
        &mut self,
        part: &Part<'a>,
        is_root: bool,
        ports: &mut Ports<'a>,
    ) -> Result<(), Error> {
        let Part::Whole(whole) = part else {
            return Ok(());
        };
        for connection in &whole.assembly.value.connection {
            let found = whole.assembly.inner(connection);
            let name = joined(&whole.name, &connection.name);
            self.spend(1, name.len())?;
            let mut ends = Vec::new();
            for end in &connection.internal_endpoint {
                self.ends(whole, end, ports, &mut ends)?;
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
            self.plan.connection.push(Connection {
                name,
                source: vec![found.path.to_owned()],
                deploy_requirement: connection.deploy_requirement.clone(),
                external_endpoint: outside,
                internal_endpoint: ends,
                external_reference: connection.external_reference.clone(),
                place: Place::default(),
                ..Connection::default()
            });
        }
        for one in &whole.assembly.value.instance {
            self.connect_within(&whole.parts[one.id.0.as_str()], false, ports)?;
        }
        Ok(())
    }

    /// Adds the ports of instances that an endpoint represents.
    fn ends(
        &mut self,
        whole: &Whole<'a>,
        end: &'a SubcomponentEndpoint,
        ports: &mut Ports<'a>,
        into: &mut Vec<Endpoint>,
    ) -> Result<(), Error> {
        let Some(part) = whole.parts.get(end.instance.id.as_str()) else {
            let what = format!("the assembly has no part {:?}", end.instance.id);
            return Err(whole.assembly.wrong(end.instance.place, what));
        };
        match part {
            Part::Instance { at, interface } => {
                let kind = kind(whole.assembly, end, *interface, ports)?;
                let id = self.plan.instance[*at].id.0.clone();
                self.spend(1, id.len() + end.port_name.len())?;
                into.push(Endpoint {
                    port_name: end.port_name.clone(),
                    kind,
                    instance: Ref::to(id),
                    ..Endpoint::default()
                });
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
                        self.ends(inner, end, ports, into)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns the kind of a port, from the interface of its part.
fn kind<'a>(
    assembly: Found<'a, ComponentAssemblyDescription>,
    end: &SubcomponentEndpoint,
    interface: Option<Found<'a, ComponentInterfaceDescription>>,
    ports: &mut Ports<'a>,
) -> Result<PortKind, Error> {
    let Some(interface) = interface else {
        let what = format!(
            "no interface (.ccd) tells what kind of port {:?} of part {:?} is: say what its package realizes",
            end.port_name, end.instance.id
        );
        return Err(assembly.wrong(end.place, what));
    };
    let known = ports.entry(std::ptr::from_ref(interface.value)).or_insert_with(|| {
        interface.value.port.iter().map(|port| (port.name.as_str(), port.kind)).collect()
    });
    known.get(end.port_name.as_str()).copied().ok_or_else(|| {
        let what = format!(
            "{} describes no port {:?} of part {:?}; it has {}",
            interface.path,
            end.port_name,
            end.instance.id,
            listed(interface.value.port.iter().map(|port| port.name.as_str()))
        );
        assembly.wrong(end.place, what)
    })
}
