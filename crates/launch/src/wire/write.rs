//! Conversion of plans from documents to the structs.

use std::collections::HashMap;

use oxorb_deploy::Ref;
use oxorb_deploy::basic::{self, PortKind};
use oxorb_deploy::plan::{self, LocalityKind, Plan};
use oxorb_deploy::value::Any;

use super::value::type_code;
use super::{RESOURCE_VALUE, WireError, to_any};
use crate::idl::deployment as idl;

type Result<T> = std::result::Result<T, WireError>;

/// Converts a plan to a struct.
///
/// # Errors
/// References to elements that the plan does not contain, and values that do not match their types.
pub fn to_wire(plan: &Plan) -> Result<idl::DeploymentPlan> {
    let writer = Writer {
        implementations: indices(plan.implementation.iter().map(|one| &*one.id.0)),
        instances: indices(plan.instance.iter().map(|one| &*one.id.0)),
        artifacts: indices(plan.artifact.iter().map(|one| &*one.id.0)),
    };
    Ok(idl::DeploymentPlan {
        label: text(&plan.label),
        uuid: text(&plan.uuid),
        realizes: interface(plan.realizes.as_ref())?,
        implementation: each(&plan.implementation, |one| writer.implementation(one))?,
        instance: each(&plan.instance, |one| writer.instance(one))?,
        connection: each(&plan.connection, |one| writer.connection(one))?,
        external_property: each(&plan.external_property, |one| writer.mapping(one))?,
        depends_on: each(&plan.depends_on, |one| {
            let required_type = one.required_type.clone();
            Ok(idl::ImplementationDependency { required_type })
        })?,
        artifact: each(&plan.artifact, artifact)?,
        info_property: properties(&plan.info_property)?,
        locality_constraint: each(&plan.locality_constraint, |one| {
            let of = "localityConstraint";
            Ok(idl::PlanLocality {
                constraint: match one.constraint {
                    LocalityKind::SameProcess => idl::PlanLocalityKind::PlanSameProcess,
                    LocalityKind::DifferentProcess => idl::PlanLocalityKind::PlanDifferentProcess,
                    LocalityKind::NoConstraint => idl::PlanLocalityKind::PlanNoConstraint,
                },
                constrained_instance_ref: each(&one.constrained_instance, |to| {
                    find(&writer.instances, to, of)
                })?,
            })
        })?,
    })
}

type Indices<'p> = HashMap<&'p str, u32>;

fn indices<'p>(ids: impl Iterator<Item = &'p str>) -> Indices<'p> {
    ids.zip(0..).collect()
}

fn find(among: &Indices<'_>, to: &Ref, of: &str) -> Result<u32> {
    let found = among.get(to.id.as_str()).copied();
    found.ok_or_else(|| WireError::new(of, format!("the plan has no {:?}", to.id)))
}

pub(super) fn each<T, U>(items: &[T], of: impl Fn(&T) -> Result<U>) -> Result<Vec<U>> {
    items.iter().map(of).collect()
}

pub(super) fn text(text: &Option<String>) -> String {
    text.clone().unwrap_or_default()
}

fn property(name: &str, value: &Any) -> Result<idl::Property> {
    Ok(idl::Property {
        name: name.to_owned(),
        value: to_any(value).map_err(|reason| WireError::new(name, reason))?,
    })
}

pub(super) fn properties(properties: &[basic::Property]) -> Result<Vec<idl::Property>> {
    each(properties, |one| property(&one.name, &one.value))
}

fn resource(properties_: &[basic::Property], older: &Option<Any>) -> Result<Vec<idl::Property>> {
    let mut all = properties(properties_)?;
    if let Some(value) = older {
        all.push(property(RESOURCE_VALUE, value)?);
    }
    Ok(all)
}

pub(super) fn requirements(requirements: &[basic::Requirement]) -> Result<Vec<idl::Requirement>> {
    each(requirements, |one| {
        Ok(idl::Requirement {
            name: text(&one.name),
            resource_type: one.resource_type.clone(),
            property: properties(&one.property)?,
        })
    })
}

pub(super) fn port_kind(kind: PortKind) -> idl::CcmComponentPortKind {
    use idl::CcmComponentPortKind as Wire;
    match kind {
        PortKind::Facet => Wire::Facet,
        PortKind::SimplexReceptacle => Wire::SimplexReceptacle,
        PortKind::MultiplexReceptacle => Wire::MultiplexReceptacle,
        PortKind::EventEmitter => Wire::EventEmitter,
        PortKind::EventPublisher => Wire::EventPublisher,
        PortKind::EventConsumer => Wire::EventConsumer,
        PortKind::ExtendedPort => Wire::ExtendedPort,
        PortKind::MirrorPort => Wire::MirrorPort,
    }
}

pub(super) fn interface(
    interface: Option<&basic::ComponentInterfaceDescription>,
) -> Result<idl::ComponentInterfaceDescription> {
    let Some(one) = interface else {
        return Ok(idl::ComponentInterfaceDescription {
            label: String::new(),
            uuid: String::new(),
            specific_type: String::new(),
            supported_type: Vec::new(),
            idl_file: Vec::new(),
            config_property: Vec::new(),
            port: Vec::new(),
            property: Vec::new(),
            info_property: Vec::new(),
        });
    };
    Ok(idl::ComponentInterfaceDescription {
        label: text(&one.label),
        uuid: text(&one.uuid),
        specific_type: text(&one.specific_type),
        supported_type: one.supported_type.clone(),
        idl_file: one.idl_file.clone(),
        config_property: properties(&one.config_property)?,
        port: each(&one.port, |port| {
            Ok(idl::ComponentPortDescription {
                name: port.name.clone(),
                specific_type: text(&port.specific_type),
                supported_type: port.supported_type.clone(),
                provider: port.provider.unwrap_or(port.kind.provides()),
                exclusive_provider: port.exclusive_provider.unwrap_or_default(),
                exclusive_user: port.exclusive_user.unwrap_or_default(),
                optional: port.optional.unwrap_or_default(),
                kind: port_kind(port.kind),
                template_param: port.template_param.clone(),
            })
        })?,
        property: each(&one.property, |property| {
            Ok(idl::ComponentPropertyDescription {
                name: property.name.clone(),
                r#type: type_code(&property.kind.0),
            })
        })?,
        info_property: properties(&one.info_property)?,
    })
}

fn artifact(one: &plan::Artifact) -> Result<idl::ArtifactDeploymentDescription> {
    Ok(idl::ArtifactDeploymentDescription {
        name: one.name.clone(),
        location: one.location.clone(),
        node: text(&one.node),
        source: one.source.clone(),
        exec_parameter: properties(&one.exec_parameter)?,
        deploy_requirement: requirements(&one.deploy_requirement)?,
        deployed_resource: each(&one.deployed_resource, |one| {
            Ok(idl::ResourceDeploymentDescription {
                requirement_name: one.requirement_name.clone(),
                resource_name: one.resource_name.clone(),
                property: resource(&one.property, &one.resource_value)?,
            })
        })?,
    })
}

fn instance_resource(
    one: &plan::InstanceResource,
) -> Result<idl::InstanceResourceDeploymentDescription> {
    use idl::ResourceUsageKind as Wire;
    let usage = one.resource_usage.unwrap_or(basic::ResourceUsageKind::None);
    Ok(idl::InstanceResourceDeploymentDescription {
        resource_usage: match usage {
            basic::ResourceUsageKind::None => Wire::None,
            basic::ResourceUsageKind::InstanceUsesResource => Wire::InstanceUsesResource,
            basic::ResourceUsageKind::ResourceUsesInstance => Wire::ResourceUsesInstance,
            basic::ResourceUsageKind::PortUsesResource => Wire::PortUsesResource,
            basic::ResourceUsageKind::ResourceUsesPort => Wire::ResourceUsesPort,
        },
        requirement_name: one.requirement_name.clone(),
        resource_name: one.resource_name.clone(),
        property: resource(&one.property, &one.resource_value)?,
    })
}

/// Indices of the elements of a plan, by their ids.
struct Writer<'p> {
    implementations: Indices<'p>,
    instances: Indices<'p>,
    artifacts: Indices<'p>,
}

impl Writer<'_> {
    fn implementation(
        &self,
        one: &plan::Implementation,
    ) -> Result<idl::MonolithicDeploymentDescription> {
        Ok(idl::MonolithicDeploymentDescription {
            name: one.name.clone(),
            source: one.source.clone(),
            artifact_ref: each(&one.artifact, |to| find(&self.artifacts, to, &one.name))?,
            exec_parameter: properties(&one.exec_parameter)?,
            deploy_requirement: requirements(&one.deploy_requirement)?,
        })
    }

    fn instance(&self, one: &plan::Instance) -> Result<idl::InstanceDeploymentDescription> {
        Ok(idl::InstanceDeploymentDescription {
            name: one.name.clone(),
            node: text(&one.node),
            source: one.source.clone(),
            implementation_ref: find(&self.implementations, &one.implementation, &one.name)?,
            config_property: properties(&one.config_property)?,
            deployed_resource: each(&one.deployed_resource, instance_resource)?,
            deployed_shared_resource: each(&one.deployed_shared_resource, instance_resource)?,
        })
    }

    fn connection(&self, one: &plan::Connection) -> Result<idl::PlanConnectionDescription> {
        Ok(idl::PlanConnectionDescription {
            name: one.name.clone(),
            source: one.source.clone(),
            deploy_requirement: requirements(&one.deploy_requirement)?,
            external_endpoint: each(&one.external_endpoint, |end| {
                let port_name = end.port_name.clone();
                Ok(idl::ComponentExternalPortEndpoint { port_name })
            })?,
            internal_endpoint: each(&one.internal_endpoint, |end| {
                Ok(idl::PlanSubcomponentPortEndpoint {
                    port_name: end.port_name.clone(),
                    provider: end.provides(),
                    kind: port_kind(end.kind),
                    instance_ref: find(&self.instances, &end.instance, &one.name)?,
                })
            })?,
            external_reference: each(&one.external_reference, |end| {
                Ok(idl::ExternalReferenceEndpoint {
                    location: end.location.clone(),
                    provider: end.provider.unwrap_or_default(),
                    port_name: text(&end.port_name),
                    supported_type: end.supported_type.clone(),
                })
            })?,
            deployed_resource: each(&one.deployed_resource, |resource_| {
                Ok(idl::ConnectionResourceDeploymentDescription {
                    target_name: text(&resource_.target_name),
                    requirement_name: resource_.requirement_name.clone(),
                    resource_name: resource_.resource_name.clone(),
                    property: resource(&resource_.property, &resource_.resource_value)?,
                })
            })?,
        })
    }

    fn mapping(&self, one: &plan::ExternalProperty) -> Result<idl::PlanPropertyMapping> {
        Ok(idl::PlanPropertyMapping {
            name: one.name.clone(),
            source: one.source.clone(),
            external_name: one.external_name.clone(),
            delegates_to: each(&one.delegates_to, |to| {
                Ok(idl::PlanSubcomponentPropertyReference {
                    property_name: to.property_name.clone(),
                    instance_ref: find(&self.instances, &to.instance, &one.name)?,
                })
            })?,
        })
    }
}
