//! The deployment plan: implementations, instances on nodes, and their connections (`Deployment::DeploymentPlan`).

use std::collections::HashMap;

use super::basic::{
    ComponentInterfaceDescription, ImplementationDependency, PortKind, Property, Requirement,
    ResourceUsageKind,
};
use super::value::Any;
use crate::described::{Id, Ref, described, spelled};
use crate::finding::{Error, Finding, Findings, Place};
use crate::search::{find, position};

described! {
    /// An implementation: artifacts and how to run them (`Deployment::MonolithicDeploymentDescription`).
    Implementation {
        /// Identity within the plan.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Descriptions from which this one was made.
        source: Vec<String> = "source",
        /// References to artifacts of the plan.
        artifact: Vec<Ref> = "artifact",
        /// Entry points and other execution parameters.
        exec_parameter: Vec<Property> = "execParameter",
        /// Requirements on the node.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
    }
}

described! {
    /// A resource that an instance uses (`Deployment::InstanceResourceDeploymentDescription`).
    InstanceResource {
        /// User of the resource.
        resource_usage: Option<ResourceUsageKind> = "resourceUsage",
        /// Name of the requirement that the resource satisfies.
        requirement_name: String = "requirementName",
        /// Name of the resource; an id of real-time resources in CIAO's plans.
        resource_name: String = "resourceName",
        /// Used properties of the resource, in newer schemas.
        property: Vec<Property> = "property",
        /// Used property of the resource, in older schemas.
        resource_value: Option<Any> = "resourceValue",
    }
}

described! {
    /// An instance of an implementation on a node (`Deployment::InstanceDeploymentDescription`).
    Instance {
        /// Identity within the plan.
        id: Id = "id",
        /// Name, unique among the plan's instances.
        name: String = "name",
        /// Node on which the instance runs.
        node: Option<String> = "node",
        /// Descriptions from which this one was made.
        source: Vec<String> = "source",
        /// Reference to an implementation of the plan.
        implementation: Ref = "implementation",
        /// Values of attributes, and settings for the deployment engine.
        config_property: Vec<Property> = "configProperty",
        /// Exclusive resources.
        deployed_resource: Vec<InstanceResource> = "deployedResource",
        /// Shared resources.
        deployed_shared_resource: Vec<InstanceResource> = "deployedSharedResource",
    }
}

impl Instance {
    /// Returns the property with a name; if several have this name, the last one.
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.config_property.iter().rev().find(|property| property.name == name)
    }
}

described! {
    /// End of a connection at an instance (`Deployment::PlanSubcomponentPortEndpoint`).
    Endpoint {
        /// Port.
        port_name: String = "portName",
        /// Whether this end provides the reference that the other one uses.
        provider: Option<bool> = "provider",
        /// Kind of the port.
        kind: PortKind = "kind",
        /// Reference to an instance of the plan.
        instance: Ref = "instance",
    }
}

impl Endpoint {
    /// Reports whether this end provides the reference; by default, the kind of the port decides.
    pub fn provides(&self) -> bool {
        self.provider.unwrap_or(self.kind.provides())
    }
}

described! {
    /// A port of the whole plan (`Deployment::ComponentExternalPortEndpoint`).
    ExternalEndpoint {
        /// Port.
        port_name: String = "portName",
    }
}

described! {
    /// A reference to an object outside of the plan (`Deployment::ExternalReferenceEndpoint`).
    ExternalReference {
        /// Reference or URL.
        location: String = "location",
        /// Whether the reference provides.
        provider: Option<bool> = "provider",
        /// Port of a component, if any.
        port_name: Option<String> = "portName",
        /// Types of the reference.
        supported_type: Vec<String> = "supportedType",
    }
}

described! {
    /// A resource that a connection uses (`Deployment::ConnectionResourceDeploymentDescription`).
    ConnectionResource {
        /// Link or bridge.
        target_name: Option<String> = "targetName",
        /// Name of the requirement that the resource satisfies.
        requirement_name: String = "requirementName",
        /// Name of the resource.
        resource_name: String = "resourceName",
        /// Used properties of the resource, in newer schemas.
        property: Vec<Property> = "property",
        /// Used property of the resource, in older schemas.
        resource_value: Option<Any> = "resourceValue",
    }
}

described! {
    /// A connection between ports (`Deployment::PlanConnectionDescription`).
    Connection {
        /// Name.
        name: String = "name",
        /// Descriptions from which this one was made.
        source: Vec<String> = "source",
        /// Requirements on links.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Ports of the whole plan.
        external_endpoint: Vec<ExternalEndpoint> = "externalEndpoint",
        /// Ports of instances.
        internal_endpoint: Vec<Endpoint> = "internalEndpoint",
        /// References to objects outside of the plan.
        external_reference: Vec<ExternalReference> = "externalReference",
        /// Links that the connection uses.
        deployed_resource: Vec<ConnectionResource> = "deployedResource",
    }
}

described! {
    /// An attribute of an instance (`Deployment::PlanSubcomponentPropertyReference`).
    PropertyReference {
        /// Attribute.
        property_name: String = "propertyName",
        /// Reference to an instance of the plan.
        instance: Ref = "instance",
    }
}

described! {
    /// A property of the whole plan that is mapped to instances (`Deployment::PlanPropertyMapping`).
    ExternalProperty {
        /// Name.
        name: String = "name",
        /// Descriptions from which this one was made.
        source: Vec<String> = "source",
        /// External name.
        external_name: String = "externalName",
        /// Attributes that receive the property's value.
        delegates_to: Vec<PropertyReference> = "delegatesTo",
    }
}

described! {
    /// A resource that an artifact uses (`Deployment::ResourceDeploymentDescription`).
    ArtifactResource {
        /// Name of the requirement that the resource satisfies.
        requirement_name: String = "requirementName",
        /// Name of the resource.
        resource_name: String = "resourceName",
        /// Used properties of the resource, in newer schemas.
        property: Vec<Property> = "property",
        /// Used property of the resource, in older schemas.
        resource_value: Option<Any> = "resourceValue",
    }
}

described! {
    /// A file of an implementation (`Deployment::ArtifactDeploymentDescription`).
    Artifact {
        /// Identity within the plan.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Descriptions from which this one was made.
        source: Vec<String> = "source",
        /// Node for which the artifact is intended.
        node: Option<String> = "node",
        /// Addresses of the file.
        location: Vec<String> = "location",
        /// Execution parameters.
        exec_parameter: Vec<Property> = "execParameter",
        /// Requirements on the node.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Resources of the node.
        deployed_resource: Vec<ArtifactResource> = "deployedResource",
    }
}

spelled! {
    /// Constraint on the processes of instances (`Deployment::PlanLocalityKind`).
    LocalityKind {
        /// All instances in the same process.
        SameProcess = "SameProcess",
        /// Each instance in a separate process.
        DifferentProcess = "DifferentProcess",
        /// Absence of a constraint.
        NoConstraint = "NoConstraint",
    }
}

described! {
    /// Instances that must, or must not, share a process (`Deployment::PlanLocality`).
    LocalityConstraint {
        /// Kind of the constraint.
        constraint: LocalityKind = "constraint",
        /// References to instances of the plan.
        constrained_instance: Vec<Ref> = "constrainedInstance",
    }
}

described! {
    /// A deployment plan (`Deployment::DeploymentPlan`).
    Plan {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Interface of the whole plan.
        realizes: Option<ComponentInterfaceDescription> = "realizes",
        /// Implementations.
        implementation: Vec<Implementation> = "implementation",
        /// Instances.
        instance: Vec<Instance> = "instance",
        /// Connections.
        connection: Vec<Connection> = "connection",
        /// External properties.
        external_property: Vec<ExternalProperty> = "externalProperty",
        /// Types that must be present.
        depends_on: Vec<ImplementationDependency> = "dependsOn",
        /// Files.
        artifact: Vec<Artifact> = "artifact",
        /// Informational properties, and settings for the deployment engine.
        info_property: Vec<Property> = "infoProperty",
        /// Instances that must, or must not, share processes.
        locality_constraint: Vec<LocalityConstraint> = "localityConstraint",
    }
}

/// Property of CIAO's plans that names their document of real-time resources.
const RESOURCES_FILE: &str = "CIAOServerResources";

impl Plan {
    /// Returns the file of real-time resources named in the plan, as in CIAO's plans.
    pub fn resources_file(&self) -> Option<&str> {
        let mut all = self.info_property.iter();
        let found = all.find(|property| property.name == RESOURCES_FILE)?;
        let file = found.value.as_text()?.trim();
        (!file.is_empty()).then_some(file)
    }

    /// Returns the index of the instance with an id: the number in `PlanSubcomponentPortEndpoint::instanceRef`.
    /// Linear in the number of instances.
    pub fn instance_at(&self, to: &Ref) -> Option<usize> {
        position(&self.instance, |one| one.id.0 == to.id)
    }

    /// Returns the index of the implementation with an id. Linear in their number.
    pub fn implementation_at(&self, to: &Ref) -> Option<usize> {
        position(&self.implementation, |one| one.id.0 == to.id)
    }

    /// Returns the index of the artifact with an id. Linear in their number.
    pub fn artifact_at(&self, to: &Ref) -> Option<usize> {
        position(&self.artifact, |one| one.id.0 == to.id)
    }

    /// Returns the instance with a name or an id. Linear in their number.
    pub fn instance_named(&self, name: &str) -> Option<&Instance> {
        let by_name = find(&self.instance, |instance| instance.name == name);
        by_name.or_else(|| find(&self.instance, |instance| instance.id.0 == name))
    }

    /// Returns the names of all nodes, in the order in which the plan uses them.
    pub fn nodes(&self) -> Vec<&str> {
        let mut nodes = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for node in self.instance.iter().filter_map(|instance| instance.node.as_deref()) {
            if !node.is_empty() && seen.insert(node) {
                nodes.push(node);
            }
        }
        nodes
    }

    /// Checks identities and references: ids and names of instances are unique, and all references refer to elements.
    /// Linear in the size of the plan.
    ///
    /// # Errors
    /// All errors, with their positions.
    pub fn check_references(&self) -> Result<(), Error> {
        Error::unless_none(self.references())
    }

    /// Returns the errors in identities and references.
    pub(crate) fn references(&self) -> Findings {
        let mut seen = Ids::default();
        let implementations =
            self.implementation.iter().map(|it| (&it.id, "implementation", it.place));
        let instances = self.instance.iter().map(|it| (&it.id, "instance", it.place));
        let artifacts = self.artifact.iter().map(|it| (&it.id, "artifact", it.place));
        for (id, kind, place) in implementations.chain(instances).chain(artifacts) {
            seen.declare(id, kind, place);
        }
        let mut names = HashMap::new();
        for instance in &self.instance {
            if let Some(first) = names.insert(&instance.name, instance.place) {
                let what = format!("instance {:?} occurs twice, first at {first}", instance.name);
                seen.findings.push(
                    Finding::error(instance.place, what).cure("give one of them another name"),
                );
            }
        }
        for implementation in &self.implementation {
            implementation.artifact.iter().for_each(|to| seen.demand(to, "artifact"));
        }
        for instance in &self.instance {
            seen.demand(&instance.implementation, "implementation");
        }
        for endpoint in self.connection.iter().flat_map(|connection| &connection.internal_endpoint)
        {
            seen.demand(&endpoint.instance, "instance");
        }
        for reference in self.external_property.iter().flat_map(|property| &property.delegates_to) {
            seen.demand(&reference.instance, "instance");
        }
        for to in self.locality_constraint.iter().flat_map(|one| &one.constrained_instance) {
            seen.demand(to, "instance");
        }
        seen.findings
    }
}

/// Identities of a document, and the errors in them.
#[derive(Default)]
pub(crate) struct Ids<'d> {
    known: HashMap<&'d str, (&'static str, Place)>,
    pub(crate) findings: Findings,
}

impl<'d> Ids<'d> {
    pub(crate) fn declare(&mut self, id: &'d Id, kind: &'static str, place: Place) {
        if let Some((_, first)) = self.known.insert(&id.0, (kind, place)) {
            let what = format!("id {:?} occurs twice, first at {first}", id.0);
            let cure = "ids must be unique in a document; if no id is written, the name is the id";
            self.findings.push(Finding::error(place, what).cure(cure));
        }
    }

    pub(crate) fn demand(&mut self, to: &Ref, kind: &'static str) {
        let wrong = match self.known.get(to.id.as_str()) {
            Some((found, _)) if *found == kind => return,
            Some((found, at)) => {
                format!("{:?} is an {found}, at {at}, not the expected {kind}", to.id)
            }
            None => format!("no {kind} has the id {:?}", to.id),
        };
        self.findings.push(Finding::error(to.place, wrong));
    }
}
