//! Reports of managers besides the results of calls.

use std::fmt;
use std::sync::Arc;

/// An incident of a launched plan, reported by its manager as it notices it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A process ended that nobody stopped.
    ProcessLost {
        /// Plan.
        plan: String,
        /// Node.
        node: String,
        /// Process.
        process: String,
        /// Instances that ran in it.
        instances: Vec<String>,
        /// Way in which the process ended, and whether it is started again.
        reason: String,
    },
    /// A process was started again, and its instances are connected.
    ProcessRestarted {
        /// Plan.
        plan: String,
        /// Node.
        node: String,
        /// Process.
        process: String,
    },
    /// A node manager does not answer any more, or has ended the plan.
    NodeLost {
        /// Plan.
        plan: String,
        /// Node.
        node: String,
        /// Instances that ran on it.
        instances: Vec<String>,
        /// Description of the failure.
        reason: String,
    },
    /// A plan was ended because its execution manager did not renew it.
    Orphaned {
        /// Plan.
        plan: String,
        /// Node.
        node: String,
    },
    /// A running plan was ended, because somebody asked for it.
    Stopped {
        /// Plan.
        plan: String,
    },
    /// A step that nobody waits for failed.
    Failed {
        /// Plan.
        plan: String,
        /// Description of the failure.
        reason: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::ProcessLost { plan, node, process, instances, reason } => write!(
                f,
                "plan {plan}: process {process} on node {node} {reason}; it ran {}",
                instances.join(", ")
            ),
            Event::ProcessRestarted { plan, node, process } => write!(
                f,
                "plan {plan}: process {process} on node {node} runs again, and is connected"
            ),
            Event::NodeLost { plan, node, instances, reason } => write!(
                f,
                "plan {plan}: node {node} is lost: {reason}; it ran {}",
                instances.join(", ")
            ),
            Event::Orphaned { plan, node } => {
                write!(f, "plan {plan}: its execution manager is gone; ended on node {node}")
            }
            Event::Stopped { plan } => write!(f, "plan {plan} is stopped"),
            Event::Failed { plan, reason } => write!(f, "plan {plan}: {reason}"),
        }
    }
}

/// Takes the events of a manager.
#[derive(Clone)]
pub(super) struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

impl Observer {
    pub(super) fn new(observer: impl Fn(&Event) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(observer))
    }

    pub(super) fn tell(&self, event: &Event) {
        (self.0)(event);
    }
}
