//! Conversion of packages to plans: assemblies are resolved into instances on nodes, with the values of the outermost
//! descriptor.
//!
//! ```text
//! .tpd -> .pcd -> .cpd -> .cid -> assembly -> parts, each a package or a configuration again
//!                              -> monolithic implementation -> .iad: file of the archive
//! ```

mod connections;
mod implementations;
mod inlined;
mod parts;
mod selection;
mod shelf;
mod types;
mod values;

use std::collections::BTreeMap;

use crate::archive::Archive;
use crate::check::Components;
use crate::document::Document;
use crate::element::Limits;
use crate::finding::Error;
use crate::model::package::PackageConfiguration;
use crate::model::plan::Plan;
use shelf::Shelf;

/// Choices of the assembler for the plan of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assembly {
    /// Path of the root descriptor; `None`: the descriptor to which no other refers.
    pub package: Option<String>,
    /// Node of instances without an entry in `nodes`.
    pub node: Option<String>,
    /// Nodes by instance, or by a part that contains instances: `radar` applies to `radar/antenna`.
    pub nodes: BTreeMap<String, String>,
    /// Values of properties by `INSTANCE.PROPERTY`, which override those of all descriptors. The instance may also be
    /// an assembly with an `externalProperty` of this name. A value has the type that the IDL declares, otherwise that
    /// of the interface (`.ccd`), otherwise that of the overridden value. Numbers, strings and enumerators are written
    /// as they are, other values as a table of TOML with the elements of the XML form: `{ double = [1.5, 2.0] }`.
    pub values: BTreeMap<String, String>,
    /// Component types from IDL, which take precedence over interfaces. If there are any, the connections of extended
    /// ports are [expanded](crate::expand_extended_ports).
    pub components: Components,
    /// Limits of the plan.
    pub limits: AssemblyLimits,
}

/// Limits of plans made from packages, whose descriptors may be used any number of times. Each bounds time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssemblyLimits {
    /// Maximum number of parts, properties, connections and their endpoints.
    pub elements: usize,
    /// Maximum size in octets of all names and values.
    pub octets: usize,
    /// Maximum nesting depth of packages.
    pub depth: usize,
}

impl Default for AssemblyLimits {
    /// Returns limits of 500,000 elements, 64 MiB, and a depth of 32.
    fn default() -> AssemblyLimits {
        AssemblyLimits { elements: 500_000, octets: 64 << 20, depth: 32 }
    }
}

impl Archive {
    /// Creates a plan from the package in an archive. Values of attributes come from the outermost descriptor: the part
    /// of an assembly overrides the configuration, which overrides the package, which overrides the implementation,
    /// which overrides the interface. [`Assembly::values`] overrides all of them.
    ///
    /// The kind of a port is that of the IDL, otherwise that of the interface. If neither describes the port, but all
    /// other ends of its connection use what it provides, the port is a facet or an event sink.
    ///
    /// # Errors
    /// The errors of a descriptor, with its path: a link or file that is not in the archive, a part without a node, a
    /// port that an interface does not have or nothing describes, requirements that no implementation meets, limits.
    /// Values for properties that do not exist, and values of other types.
    pub fn plan(&self, assembly: &Assembly) -> Result<Plan, Error> {
        let documents: BTreeMap<String, Document> = self.documents(&Limits::default())?;
        parts::plan(&Shelf::of(self, &documents), assembly)
    }

    /// Returns the package in an archive as one configuration: the contents of descriptors replace the links to them,
    /// and packages of the archive replace references to packages. Locations of artifacts are paths in the archive, or
    /// unchanged addresses outside. `package` is the path of the root descriptor; `None`: the descriptor to which no
    /// other refers. If the root descriptor is a package, the configuration has its label and its UUID.
    ///
    /// # Errors
    /// The errors of a descriptor, with its path: a link or file that is not in the archive, packages or artifacts that
    /// contain themselves, limits.
    pub fn configuration(
        &self,
        package: Option<&str>,
        limits: &AssemblyLimits,
    ) -> Result<PackageConfiguration, Error> {
        let documents: BTreeMap<String, Document> = self.documents(&Limits::default())?;
        inlined::configuration(&Shelf::of(self, &documents), package, limits)
    }
}
