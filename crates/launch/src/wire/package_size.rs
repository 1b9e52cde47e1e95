//! Sizes of packages in structs. A package is refused before its conversion, which takes many times the memory of the
//! struct.

use oxorb_cdr::{Any, TypeCode};

use super::WireError;
use crate::idl::deployment as idl;

/// Maximum number of elements in all sequences of a package together.
const MOST_ELEMENTS: usize = 100_000;

/// Maximum size in octets of the texts and received values of a package.
const MOST_OCTETS: usize = 16 << 20;

/// Refuses a package that is too large to be converted.
pub(super) fn check_size(package: &idl::PackageConfiguration) -> Result<(), WireError> {
    let mut size = PackageSize::default();
    package.add_to(&mut size);
    let refuse = |count: usize, what: &str, most: usize| {
        let reason = format!(
            "it has {count} {what}, but the limit is {most}; divide it into several packages"
        );
        Err(WireError::new("package", reason))
    };
    if size.elements > MOST_ELEMENTS {
        return refuse(size.elements, "elements", MOST_ELEMENTS);
    }
    if size.octets > MOST_OCTETS {
        return refuse(size.octets, "octets of texts and values", MOST_OCTETS);
    }
    Ok(())
}

/// Elements of the sequences of a package, and octets of its texts and received values.
#[derive(Default)]
struct PackageSize {
    elements: usize,
    octets: usize,
}

/// Part of a package.
trait Measured {
    /// Adds the size of the part.
    fn add_to(&self, size: &mut PackageSize);
}

impl<T: Measured> Measured for Vec<T> {
    fn add_to(&self, size: &mut PackageSize) {
        size.elements = size.elements.saturating_add(self.len());
        self.iter().for_each(|one| one.add_to(size));
    }
}

impl Measured for String {
    fn add_to(&self, size: &mut PackageSize) {
        size.octets = size.octets.saturating_add(self.len());
    }
}

impl Measured for Any {
    fn add_to(&self, size: &mut PackageSize) {
        size.octets = size.octets.saturating_add(self.received_octets().unwrap_or(0));
    }
}

/// Implements the trait for parts without a size of their own. The conversion limits the sizes of types.
macro_rules! plain {
    ($($part:ty),* $(,)?) => {$(
        impl Measured for $part {
            fn add_to(&self, _: &mut PackageSize) {}
        }
    )*};
}

plain!(
    bool,
    u32,
    TypeCode,
    idl::CcmComponentPortKind,
    idl::LocalityKind,
    idl::ResourceUsageKind,
    idl::SatisfierPropertyKind,
);

/// Implements the trait for structs. The compiler checks that each struct has these members and no others.
macro_rules! structs {
    ($($name:ident { $($member:ident),* $(,)? })*) => {$(
        impl Measured for idl::$name {
            fn add_to(&self, size: &mut PackageSize) {
                let Self { $($member),* } = self;
                $($member.add_to(size);)*
            }
        }
    )*};
}

structs! {
    Property { name, value }
    Requirement { name, resource_type, property }
    SatisfierProperty { name, kind, dynamic, value }
    ComponentPortDescription {
        name, specific_type, supported_type, provider, exclusive_provider, exclusive_user, optional, kind,
        template_param
    }
    ComponentPropertyDescription { name, r#type }
    ComponentInterfaceDescription {
        label, uuid, specific_type, supported_type, idl_file, config_property, port, property, info_property
    }
    ComponentExternalPortEndpoint { port_name }
    ExternalReferenceEndpoint { location, provider, port_name, supported_type }
    ImplementationDependency { required_type }
    ComponentPackageReference { required_uuid, required_name, required_type }
    ComponentPackageImport { location }
    ImplementationRequirement {
        resource_usage, resource_port, component_port, name, resource_type, property
    }
    Capability { name, resource_type, property }
    SubcomponentInstantiationDescription {
        name, base_package, specialized_config, select_requirement, config_property, referenced_package,
        imported_package
    }
    SubcomponentPortEndpoint { port_name, instance_ref }
    AssemblyConnectionDescription {
        name, deploy_requirement, internal_endpoint, external_endpoint, external_reference
    }
    SubcomponentPropertyReference { property_name, instance_ref }
    AssemblyPropertyMapping { name, external_name, delegates_to }
    Locality { constraint, constrained_instance_ref }
    ComponentAssemblyDescription { instance, connection, external_property, locality_constraint }
    ImplementationArtifactDescription {
        label, uuid, location, exec_parameter, deploy_requirement, depends_on, info_property
    }
    NamedImplementationArtifact { name, referenced_artifact }
    MonolithicImplementationDescription {
        node_exec_parameter, primary_artifact, deploy_requirement, component_exec_parameter
    }
    ComponentImplementationDescription {
        label, uuid, implements, assembly_impl, monolithic_impl, config_property, capability, depends_on, info_property
    }
    PackagedComponentImplementation { name, referenced_implementation }
    ComponentPackageDescription { label, uuid, realizes, config_property, implementation, info_property }
    PackageConfiguration {
        label, uuid, base_package, specialized_config, select_requirement, config_property, referenced_package,
        imported_package
    }
}
