//! Launching of deployment plans: component instances in processes, and the managers of those processes.
//!
//! ```text
//! ExecutionManager -> NodeManager -> process: LocalityManager -> Container (policy set) -> component, home
//! ```
//!
//! * [`Implementations`] contains the implementations that an executable links, by the entry points that plans name.
//! * [`Locality`] is the part of a plan that runs in one process: containers, instances, connections, life cycle.
//! * [`artifact`] loads shared libraries with the components of such a part.
//! * [`ExecutionManager`] launches plans through the [`NodeManager`]s of their nodes; [`Plans`] is its client.
//! * [`FetchedArtifacts`] are files of other machines, which a node manager fetches for its plans.
//! * [`PackageRepository`] keeps packages in a folder, for the `RepositoryManager` of an execution manager.
//! * [`wire`] converts the plans and packages of `oxorb-deploy` into the structs of `Deployment.idl` and back.
//! * [`idl`] contains the types and interfaces of the modules `Deployment`, `DAnCE` and `OxDeployment`.
//!
//! The facade exports this crate as `oxorb::deployment`. `docs/deployment.md` describes how to launch plans.
#![forbid(unsafe_code)]

mod arguments;
pub mod artifact;
mod directory;
mod error;
mod implementations;
mod locality;
mod manager;
mod part;
mod process;
mod refusals;
mod resources;
mod whole_file;
pub mod wire;

/// Types and interfaces of `Deployment.idl`, `DAnCE.idl` and `deployment.idl`.
pub mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    include!(concat!(env!("OUT_DIR"), "/deployment.rs"));

    pub use d_an_ce as dance;
}

pub use arguments::check_arguments;
pub use error::LaunchError;
pub use implementations::Implementations;
pub use locality::{Locality, Provided, References};
pub use manager::{
    Artifacts, Changes, Difference, EXECUTION_MANAGER, ExecutionManager, ExecutionSettings,
    FetchSettings, FetchSource, FetchedArtifacts, Launched, NODE_MANAGER, NodeEvent, NodeManager,
    NodeSettings, PackageRepository, Plans, ProcessOutput, PropertyChange, REPOSITORY_MANAGER,
    RepositorySettings, RestartPolicy, TARGET_MANAGER, Trouble, artifact_location, package_file,
    read_archive,
};
pub use part::part;
pub use process::{Started, run};
pub use refusals::{StartedBy, missing_artifacts, refusals};
pub use resources::attach_resources;
