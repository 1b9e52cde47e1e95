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
    /// An implementation: artifacts and how they are run (`Deployment::MonolithicDeploymentDescription`).
    Implementation {
        /// Identity within the plan.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Descriptions that this one was made from.
        source: Vec<String> = "source",
        /// Artifacts, the ids of which are in the plan.
        artifact: Vec<Ref> = "artifact",
        /// Entry points and settings of execution.
        exec_parameter: Vec<Property> = "execParameter",
        /// Demands on the node.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
    }
}

described! {
    /// A resource that an instance uses (`Deployment::InstanceResourceDeploymentDescription`).
    InstanceResource {
        /// Party that uses the resource.
        resource_usage: Option<ResourceUsageKind> = "resourceUsage",
        /// Requirement that it satisfies.
        requirement_name: String = "requirementName",
        /// The resource; an id of real-time resources for CIAO.
        resource_name: String = "resourceName",
        /// Properties of the resource that are used, as newer schemas write them.
        property: Vec<Property> = "property",
        /// Property of the resource that is used, as older schemas write it.
        resource_value: Option<Any> = "resourceValue",
    }
}

described! {
    /// An instance of an implementation on a node (`Deployment::InstanceDeploymentDescription`).
    Instance {
        /// Identity within the plan.
        id: Id = "id",
        /// Name, of which a plan has one instance.
        name: String = "name",
        /// Node that it runs on.
        node: Option<String> = "node",
        /// Descriptions that this one was made from.
        source: Vec<String> = "source",
        /// Implementation, the id of which is in the plan.
        implementation: Ref = "implementation",
        /// Values of attributes, and settings for the engine.
        config_property: Vec<Property> = "configProperty",
        /// Resources of its own.
        deployed_resource: Vec<InstanceResource> = "deployedResource",
        /// Resources that it shares.
        deployed_shared_resource: Vec<InstanceResource> = "deployedSharedResource",
    }
}

impl Instance {
    /// Returns the value of a property by name, the last one if there are several.
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.config_property.iter().rev().find(|property| property.name == name)
    }
}

described! {
    /// End of a connection at an instance (`Deployment::PlanSubcomponentPortEndpoint`).
    Endpoint {
        /// Port.
        port_name: String = "portName",
        /// Whether this end has the reference that the other one uses.
        provider: Option<bool> = "provider",
        /// Kind of the port.
        kind: PortKind = "kind",
        /// Instance, the id of which is in the plan.
        instance: Ref = "instance",
    }
}

impl Endpoint {
    /// Reports whether this end has the reference; where nothing is said, the kind of the port tells.
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
    /// A reference from elsewhere (`Deployment::ExternalReferenceEndpoint`).
    ExternalReference {
        /// Reference or URL.
        location: String = "location",
        /// Whether the reference provides.
        provider: Option<bool> = "provider",
        /// Port, if it is a component's.
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
        /// Requirement that it satisfies.
        requirement_name: String = "requirementName",
        /// The resource.
        resource_name: String = "resourceName",
        /// Properties of the resource that are used, as newer schemas write them.
        property: Vec<Property> = "property",
        /// Property of the resource that is used, as older schemas write it.
        resource_value: Option<Any> = "resourceValue",
    }
}

described! {
    /// A connection between ports (`Deployment::PlanConnectionDescription`).
    Connection {
        /// Name.
        name: String = "name",
        /// Descriptions that this one was made from.
        source: Vec<String> = "source",
        /// Demands on links.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Ports of the whole plan.
        external_endpoint: Vec<ExternalEndpoint> = "externalEndpoint",
        /// Ports of instances.
        internal_endpoint: Vec<Endpoint> = "internalEndpoint",
        /// References from elsewhere.
        external_reference: Vec<ExternalReference> = "externalReference",
        /// Links that it passes.
        deployed_resource: Vec<ConnectionResource> = "deployedResource",
    }
}

described! {
    /// An attribute of an instance (`Deployment::PlanSubcomponentPropertyReference`).
    PropertyReference {
        /// Attribute.
        property_name: String = "propertyName",
        /// Instance, the id of which is in the plan.
        instance: Ref = "instance",
    }
}

described! {
    /// A property of the whole plan that is one of instances (`Deployment::PlanPropertyMapping`).
    ExternalProperty {
        /// Name.
        name: String = "name",
        /// Descriptions that this one was made from.
        source: Vec<String> = "source",
        /// Name towards the outside.
        external_name: String = "externalName",
        /// Attributes that take its value.
        delegates_to: Vec<PropertyReference> = "delegatesTo",
    }
}

described! {
    /// A resource that an artifact uses (`Deployment::ResourceDeploymentDescription`).
    ArtifactResource {
        /// Requirement that it satisfies.
        requirement_name: String = "requirementName",
        /// The resource.
        resource_name: String = "resourceName",
        /// Properties of the resource that are used, as newer schemas write them.
        property: Vec<Property> = "property",
        /// Property of the resource that is used, as older schemas write it.
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
        /// Descriptions that this one was made from.
        source: Vec<String> = "source",
        /// Node that it is for.
        node: Option<String> = "node",
        /// Addresses at which the file is found.
        location: Vec<String> = "location",
        /// Settings of execution.
        exec_parameter: Vec<Property> = "execParameter",
        /// Demands on the node.
        deploy_requirement: Vec<Requirement> = "deployRequirement",
        /// Resources of the node.
        deployed_resource: Vec<ArtifactResource> = "deployedResource",
    }
}

spelled! {
    /// Sharing of processes among instances (`Deployment::PlanLocalityKind`).
    LocalityKind {
        /// All in one process.
        SameProcess = "SameProcess",
        /// Each in a process of its own.
        DifferentProcess = "DifferentProcess",
        /// Anyhow.
        NoConstraint = "NoConstraint",
    }
}

described! {
    /// Instances that share a process, or must not (`Deployment::PlanLocality`).
    LocalityConstraint {
        /// Kind of sharing.
        constraint: LocalityKind = "constraint",
        /// Instances, the ids of which are in the plan.
        constrained_instance: Vec<Ref> = "constrainedInstance",
    }
}

described! {
    /// A deployment plan (`Deployment::DeploymentPlan`).
    Plan {
        /// Name for people.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Interface of the whole.
        realizes: Option<ComponentInterfaceDescription> = "realizes",
        /// Implementations.
        implementation: Vec<Implementation> = "implementation",
        /// Instances.
        instance: Vec<Instance> = "instance",
        /// Connections.
        connection: Vec<Connection> = "connection",
        /// Properties of the whole.
        external_property: Vec<ExternalProperty> = "externalProperty",
        /// Types that have to be there.
        depends_on: Vec<ImplementationDependency> = "dependsOn",
        /// Files.
        artifact: Vec<Artifact> = "artifact",
        /// Notes, and settings for the engine.
        info_property: Vec<Property> = "infoProperty",
        /// Instances that share processes, or must not.
        locality_constraint: Vec<LocalityConstraint> = "localityConstraint",
    }
}

/// Property of CIAO's plans that names their document of real-time resources.
const RESOURCES_FILE: &str = "CIAOServerResources";

impl Plan {
    /// Returns the file of real-time resources that the plan names itself, as CIAO's plans do.
    pub fn resources_file(&self) -> Option<&str> {
        let mut all = self.info_property.iter();
        let found = all.find(|property| property.name == RESOURCES_FILE)?;
        let file = found.value.as_text()?.trim();
        (!file.is_empty()).then_some(file)
    }

    /// Returns the index of the instance of an id: the number that `PlanSubcomponentPortEndpoint::instanceRef` holds.
    /// Linear in the number of instances.
    pub fn instance_at(&self, to: &Ref) -> Option<usize> {
        position(&self.instance, |one| one.id.0 == to.id)
    }

    /// Returns the index of the implementation of an id. Linear in their number.
    pub fn implementation_at(&self, to: &Ref) -> Option<usize> {
        position(&self.implementation, |one| one.id.0 == to.id)
    }

    /// Returns the index of the artifact of an id. Linear in their number.
    pub fn artifact_at(&self, to: &Ref) -> Option<usize> {
        position(&self.artifact, |one| one.id.0 == to.id)
    }

    /// Returns the instance of a name or an id. Linear in their number.
    pub fn instance_named(&self, name: &str) -> Option<&Instance> {
        let by_name = find(&self.instance, |instance| instance.name == name);
        by_name.or_else(|| find(&self.instance, |instance| instance.id.0 == name))
    }

    /// Returns the names of all nodes in the order in which the plan uses them.
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

    /// Checks identities and references: ids are unique, so are names of instances, and what is referred to is there.
    /// Linear in the size of the plan.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn check_references(&self) -> Result<(), Error> {
        Error::unless_none(self.references())
    }

    /// Returns what is wrong with identities and references.
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
                let what = format!("instance {:?} is there twice, first at {first}", instance.name);
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

/// Identities of a document, and what is wrong with them.
#[derive(Default)]
pub(crate) struct Ids<'d> {
    known: HashMap<&'d str, (&'static str, Place)>,
    pub(crate) findings: Findings,
}

impl<'d> Ids<'d> {
    pub(crate) fn declare(&mut self, id: &'d Id, kind: &'static str, place: Place) {
        if let Some((_, first)) = self.known.insert(&id.0, (kind, place)) {
            let what = format!("id {:?} is there twice, first at {first}", id.0);
            let cure = "ids are unique in a document; where none is written, the name is the id";
            self.findings.push(Finding::error(place, what).cure(cure));
        }
    }

    pub(crate) fn demand(&mut self, to: &Ref, kind: &'static str) {
        let wrong = match self.known.get(to.id.as_str()) {
            Some((found, _)) if *found == kind => return,
            Some((found, at)) => {
                format!("{:?} is an {found}, at {at}, and not the {kind} that is meant", to.id)
            }
            None => format!("no {kind} has the id {:?}", to.id),
        };
        self.findings.push(Finding::error(to.place, wrong));
    }
}
