//! The domain: nodes, links between them and their resources (`Deployment::Domain`).

use super::basic::{Property, Resource, SatisfierProperty};
use super::plan::Ids;
use crate::described::{Id, Ref, described};
use crate::finding::Error;

described! {
    /// A node (`Deployment::Node`).
    Node {
        /// Identity within the domain.
        id: Id = "id",
        /// Name, as used in plans.
        name: String = "name",
        /// Display name.
        label: Option<String> = "label",
        /// Links to which the node is connected.
        connection: Vec<Ref> = "connection",
        /// Shared resources.
        shared_resource: Vec<Ref> = "sharedResource",
        /// Exclusive resources of the node.
        resource: Vec<Resource> = "resource",
    }
}

described! {
    /// A link between nodes (`Deployment::Interconnect`).
    Interconnect {
        /// Identity within the domain.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Display name.
        label: Option<String> = "label",
        /// Bridges to other links.
        connection: Vec<Ref> = "connection",
        /// Nodes on the link.
        connect: Vec<Ref> = "connect",
        /// Resources.
        resource: Vec<Resource> = "resource",
    }
}

described! {
    /// A bridge between links (`Deployment::Bridge`).
    Bridge {
        /// Identity within the domain.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Display name.
        label: Option<String> = "label",
        /// Links that the bridge joins.
        connect: Vec<Ref> = "connect",
        /// Resources.
        resource: Vec<Resource> = "resource",
    }
}

described! {
    /// A resource of several nodes (`Deployment::SharedResource`).
    SharedResource {
        /// Identity within the domain.
        id: Id = "id",
        /// Name.
        name: String = "name",
        /// Resource types that the resource satisfies.
        resource_type: Vec<String> = "resourceType",
        /// Nodes that have the resource.
        node: Vec<Ref> = "node",
        /// Properties that the resource has.
        property: Vec<SatisfierProperty> = "property",
    }
}

described! {
    /// A domain (`Deployment::Domain`).
    Domain {
        /// Display name.
        label: Option<String> = "label",
        /// Identity.
        uuid: Option<String> = "UUID",
        /// Nodes.
        node: Vec<Node> = "node",
        /// Links.
        interconnect: Vec<Interconnect> = "interconnect",
        /// Bridges.
        bridge: Vec<Bridge> = "bridge",
        /// Resources shared by several nodes.
        shared_resource: Vec<SharedResource> = "sharedResource",
        /// Informational properties.
        info_property: Vec<Property> = "infoProperty",
    }
}

impl Domain {
    /// Checks that ids are unique and that all references refer to elements. Linear in the size of the domain.
    ///
    /// # Errors
    /// All errors, with their positions.
    pub fn check_references(&self) -> Result<(), Error> {
        let mut seen = Ids::default();
        self.node.iter().for_each(|it| seen.declare(&it.id, "node", it.place));
        self.interconnect.iter().for_each(|it| seen.declare(&it.id, "interconnect", it.place));
        self.bridge.iter().for_each(|it| seen.declare(&it.id, "bridge", it.place));
        self.shared_resource
            .iter()
            .for_each(|it| seen.declare(&it.id, "shared resource", it.place));
        for node in &self.node {
            node.connection.iter().for_each(|to| seen.demand(to, "interconnect"));
            node.shared_resource.iter().for_each(|to| seen.demand(to, "shared resource"));
        }
        for link in &self.interconnect {
            link.connection.iter().for_each(|to| seen.demand(to, "bridge"));
            link.connect.iter().for_each(|to| seen.demand(to, "node"));
        }
        for bridge in &self.bridge {
            bridge.connect.iter().for_each(|to| seen.demand(to, "interconnect"));
        }
        for shared in &self.shared_resource {
            shared.node.iter().for_each(|to| seen.demand(to, "node"));
        }
        Error::unless_none(seen.findings)
    }
}
