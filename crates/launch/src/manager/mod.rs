//! Managers of plans, which start, connect, watch and end processes on nodes.
//!
//! ```text
//! ExecutionManager --prepare, launch, renew--> NodeManager --start, watch--> process (LocalityManager)
//!   Domain: a plan on all nodes                  Application: a plan on one node
//! ```

mod application;
mod arrivals;
mod changes;
mod client;
mod domain;
mod execution;
mod fetch;
mod member;
mod node;
mod node_event;
mod owned;
mod package_name;
mod packages;
mod process;
mod program;
mod property;
mod redeploy;
mod renewal;
mod repository;
mod settings;
mod split;
mod steward;
mod target;
mod together;
mod trouble;
mod trusted;

pub use changes::{Changes, PropertyChange};
pub use client::{Launched, Plans};
pub use execution::{EXECUTION_MANAGER, ExecutionManager};
pub use fetch::{FetchSettings, FetchSource, FetchedArtifacts, artifact_location, read_archive};
pub use node::{NODE_MANAGER, NodeManager};
pub use node_event::NodeEvent;
pub use package_name::package_file;
pub use packages::{PackageRepository, RepositorySettings};
pub use redeploy::Difference;
pub use repository::REPOSITORY_MANAGER;
pub use settings::{Artifacts, ExecutionSettings, NodeSettings, ProcessOutput, RestartPolicy};
pub use target::TARGET_MANAGER;
pub use trouble::Trouble;

pub(crate) use program::{Locations, managed_arguments, missing};
pub(crate) use property::text as property_text;
