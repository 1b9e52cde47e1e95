//! Incidents that managers report.

use std::fmt;
use std::sync::Arc;

/// An incident of a launched plan, reported when its manager detects it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// A process ended unexpectedly.
    ProcessLost {
        /// Name of the plan.
        plan: String,
        /// Name of the node.
        node: String,
        /// Name of the process.
        process: String,
        /// Instances in the process.
        instances: Vec<String>,
        /// Description of the end, and whether the process will be restarted.
        reason: String,
    },
    /// A process was restarted, and its instances are connected again.
    ProcessRestarted {
        /// Name of the plan.
        plan: String,
        /// Name of the node.
        node: String,
        /// Name of the process.
        process: String,
    },
    /// A node manager no longer answers, or has ended the plan.
    NodeLost {
        /// Name of the plan.
        plan: String,
        /// Name of the node.
        node: String,
        /// Instances on the node.
        instances: Vec<String>,
        /// Description of the failure.
        reason: String,
    },
    /// A plan was ended because its execution manager did not renew it.
    Orphaned {
        /// Name of the plan.
        plan: String,
        /// Name of the node.
        node: String,
    },
    /// A running plan was ended by request.
    Stopped {
        /// Name of the plan.
        plan: String,
    },
    /// A step that no caller waits for failed.
    Failed {
        /// Name of the plan.
        plan: String,
        /// Description of the failure.
        reason: String,
    },
    /// The folder of a repository of packages could not be read or written.
    Repository {
        /// Name of the package.
        package: String,
        /// Description of the failure.
        reason: String,
    },
}

impl fmt::Display for NodeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeEvent::ProcessLost { plan, node, process, instances, reason } => write!(
                f,
                "plan {plan}: process {process} on node {node} {reason}; it ran {}",
                instances.join(", ")
            ),
            NodeEvent::ProcessRestarted { plan, node, process } => write!(
                f,
                "plan {plan}: process {process} on node {node} runs again, and is connected"
            ),
            NodeEvent::NodeLost { plan, node, instances, reason } => write!(
                f,
                "plan {plan}: node {node} is lost: {reason}; it ran {}",
                instances.join(", ")
            ),
            NodeEvent::Orphaned { plan, node } => {
                write!(
                    f,
                    "plan {plan}: its execution manager no longer exists; ended on node {node}"
                )
            }
            NodeEvent::Stopped { plan } => write!(f, "plan {plan} is stopped"),
            NodeEvent::Failed { plan, reason } => write!(f, "plan {plan}: {reason}"),
            NodeEvent::Repository { package, reason } => write!(f, "package {package}: {reason}"),
        }
    }
}

/// Receiver of a manager's events.
#[derive(Clone)]
pub(super) struct Observer(Arc<dyn Fn(&NodeEvent) + Send + Sync>);

impl Observer {
    pub(super) fn new(observer: impl Fn(&NodeEvent) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(observer))
    }

    pub(super) fn tell(&self, event: &NodeEvent) {
        (self.0)(event);
    }
}
