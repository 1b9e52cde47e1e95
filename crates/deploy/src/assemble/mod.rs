//! Conversion of packages to plans: assemblies are resolved into instances on nodes, with the values of the outermost
//! descriptor.
//!
//! ```text
//! .tpd -> .pcd -> .cpd -> .cid -> assembly -> parts, each a package or a configuration again
//!                              -> monolithic implementation -> .iad: file of the archive
//! ```

mod connections;
mod implementations;
mod parts;
mod selection;
mod shelf;

use std::collections::BTreeMap;

use crate::archive::Archive;
use crate::document::Document;
use crate::element::Limits;
use crate::finding::Error;
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
    /// Makes a plan from the package in an archive. Values of attributes come from the outermost descriptor: the part
    /// of an assembly overrides the configuration, which overrides the package, which overrides the implementation,
    /// which overrides the interface.
    ///
    /// # Errors
    /// The errors of a descriptor, with its path: a link or file that is not in the archive, a part without a node, a
    /// port that an interface does not have, requirements that no implementation meets, limits.
    pub fn plan(&self, assembly: &Assembly) -> Result<Plan, Error> {
        let documents: BTreeMap<String, Document> = self.documents(&Limits::default())?;
        parts::plan(&Shelf::of(self, &documents), assembly)
    }
}
