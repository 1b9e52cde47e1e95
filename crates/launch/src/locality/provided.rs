//! Objects that the instances of a process provide for connections.

use oxorb_component::{Component, Events, Navigation, Receptacles};
use oxorb_core::{Interface, ObjectRef};
use oxorb_deploy::basic::PortKind;
use oxorb_deploy::plan::{Connection, Endpoint, Plan};

use super::Locality;
use super::instance::Installed;
use crate::LaunchError;

/// A reference that an instance of this process provides for a connection.
#[derive(Debug, Clone)]
pub struct Provided {
    /// Name of the connection.
    pub connection: String,
    /// Name of the instance.
    pub instance: String,
    /// Name of the facet or event sink.
    pub port: String,
    /// Reference of the facet, or of the sink's consumer.
    pub reference: ObjectRef,
}

impl Locality {
    /// Returns all objects that the instances of this process provide.
    pub(super) fn provided(&self, plan: &Plan) -> Result<Vec<Provided>, LaunchError> {
        let instances = self.state.lock().instances.clone();
        let mut all = Vec::new();
        for connection in &plan.connection {
            all.extend(provided_by(plan, connection, &instances)?);
        }
        Ok(all)
    }
}

/// Returns the objects that the instances of this process provide for a connection.
pub(super) fn provided_by(
    plan: &Plan,
    connection: &Connection,
    instances: &[Installed],
) -> Result<Vec<Provided>, LaunchError> {
    let ends = connection.internal_endpoint.iter();
    let provided = ends.filter(|end| end.provides()).map(|end| {
        let name = plan.instance_at(&end.instance);
        let name = name.map_or("", |at| plan.instance[at].name.as_str());
        let mut all = instances.iter();
        let component = all.find(|one| one.name() == name);
        let component = component.and_then(Installed::component);
        let reference = match component {
            Some(component) => port(component, name, end),
            None => Err(format!("{name:?} is not a component")),
        };
        match reference {
            Ok(reference) => Ok(Provided {
                connection: connection.name.clone(),
                instance: name.to_owned(),
                port: end.port_name.clone(),
                reference,
            }),
            Err(why) => {
                let what = format!("connection {:?} cannot be made: {why}", connection.name);
                Err(LaunchError::new(&connection.name, end.place, what))
            }
        }
    });
    provided.collect()
}

fn port(component: &Component, instance: &str, end: &Endpoint) -> Result<ObjectRef, String> {
    let port = &end.port_name;
    let found = match end.kind {
        PortKind::Facet => component.provide_facet(port).ok().flatten(),
        PortKind::EventConsumer => {
            let consumer = component.get_consumer(port).ok().flatten();
            consumer.map(|consumer| consumer.unchecked_narrow())
        }
        kind => {
            let kind = kind.text();
            return Err(format!(
                "{instance}.{port} is of the kind {kind}, which cannot be connected; connect the basic ports that it \
                 contains"
            ));
        }
    };
    found.ok_or_else(|| {
        let kind = match end.kind {
            PortKind::Facet => "facet",
            _ => "event sink",
        };
        let known = ports(component, end.kind);
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        format!("{instance:?} has no {kind} {port:?}; it has {known}")
    })
}

/// Returns the names of a component's ports of one kind.
pub(super) fn ports(component: &Component, kind: PortKind) -> Vec<String> {
    // Ignore errors: only lightweight containers refuse to describe ports, and a locality creates no such container.
    macro_rules! names {
        ($described:ident) => {{
            let all = component.$described().unwrap_or_default();
            let all = all.iter().filter_map(|one| one.get());
            all.map(|one| one.base.name.clone()).collect()
        }};
    }
    match kind {
        PortKind::Facet => names!(get_all_facets),
        PortKind::EventConsumer => names!(get_all_consumers),
        PortKind::EventEmitter => names!(get_all_emitters),
        PortKind::EventPublisher => names!(get_all_publishers),
        _ => names!(get_all_receptacles),
    }
}

/// Returns the facets and consumers of a component.
pub(super) fn objects(component: &Component) -> Vec<ObjectRef> {
    let facets = component.get_all_facets().unwrap_or_default();
    let facets = facets.iter().filter_map(|one| one.get());
    let facets = facets.filter_map(|one| one.facet_ref.clone());
    let consumers = component.get_all_consumers().unwrap_or_default();
    let consumers = consumers.iter().filter_map(|one| one.get());
    let consumers = consumers.filter_map(|one| Some(one.consumer.as_ref()?.unchecked_narrow()));
    facets.chain(consumers).collect()
}
