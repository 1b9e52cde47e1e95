//! Packages to plans: assemblies are taken apart into instances on nodes, with the values that the outermost descriptor gives.
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
    /// Path of the descriptor to begin with; `None` takes the one that no other refers to.
    pub package: Option<String>,
    /// Node of instances for which `nodes` says nothing.
    pub node: Option<String>,
    /// Nodes by instance, or by the part that instances belong to: `radar` counts for `radar/antenna`.
    pub nodes: BTreeMap<String, String>,
    /// Sizes of the plan.
    pub limits: AssemblyLimits,
}

/// Sizes of plans that are made of packages: descriptors may be used any number of times. Each bounds time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssemblyLimits {
    /// Parts, properties, connections and their ends.
    pub elements: usize,
    /// Octets of names and values.
    pub octets: usize,
    /// Packages within packages.
    pub depth: usize,
}

impl Default for AssemblyLimits {
    /// 500,000 elements of 64 MiB together, 32 deep.
    fn default() -> AssemblyLimits {
        AssemblyLimits { elements: 500_000, octets: 64 << 20, depth: 32 }
    }
}

impl Archive {
    /// Makes a plan of the package in an archive. Values of attributes come from the descriptor that is furthest outside:
    /// the part of an assembly overrides the configuration, that the package, that the implementation, that the interface.
    ///
    /// # Errors
    /// What is wrong with a descriptor, after its path: a link or file that is not in the archive, a part without a node, a
    /// port that an interface does not have, requirements that no implementation meets, limits.
    pub fn plan(&self, assembly: &Assembly) -> Result<Plan, Error> {
        let documents: BTreeMap<String, Document> = self.documents(&Limits::default())?;
        parts::plan(&Shelf::of(self, &documents), assembly)
    }
}
