//! Limits and time-outs of managers, and restart policies.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Limits of a node manager, and the start of processes. Requests beyond a limit are refused; the exception names the
/// setting.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Executables that plans may name. Default: none.
    pub artifacts: Artifacts,
    /// Arguments of each process, after those of the plan, so that they take precedence. Default: none.
    pub arguments: Vec<String>,
    /// Program that runs the process of a shared library, with its arguments before the library, `--` and the arguments
    /// of a locality. Default: none, so that shared libraries are refused. `oxorb node serve` uses `oxorb deploy host`.
    pub library_host: Vec<String>,
    /// Maximum number of plans with a part on this node. Default 64. Beyond it: PlanError.
    pub max_plans: usize,
    /// Maximum number of processes of all plans together. Default 256; each takes two threads and three descriptors of
    /// the manager. Beyond it: PlanError.
    pub max_processes: usize,
    /// Time limit from the start of a process to its first call to the manager. Default 30 s. Beyond it: StartError.
    pub start_timeout: Duration,
    /// Time limit of each call to a process: installing, connecting, starting. Default 30 s. Beyond it: StartError.
    pub call_timeout: Duration,
    /// Time limit for a process to report its status. Default 2 s. After that time, the status states that the process
    /// does not answer.
    pub status_timeout: Duration,
    /// Time limit for removing the instances of a process, and then for its end, after which it is killed. Default 5 s
    /// each.
    pub stop_timeout: Duration,
}

impl Default for NodeSettings {
    fn default() -> Self {
        NodeSettings {
            artifacts: Artifacts::Refused,
            arguments: Vec::new(),
            library_host: Vec::new(),
            max_plans: 64,
            max_processes: 256,
            start_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(30),
            status_timeout: Duration::from_secs(2),
            stop_timeout: Duration::from_secs(5),
        }
    }
}

/// Executables that plans may name as locations of artifacts.
///
/// A file is refused if others than this user and root may change it: it and all folders and links on the path must
/// belong to one of them, without write permission for group or others, except for folders with the sticky bit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Artifacts {
    /// Empty set: each plan is refused.
    #[default]
    Refused,
    /// Programs in this folder and its subfolders, with links followed. Relative locations start in this folder.
    Below(PathBuf),
    /// All programs that this user may run. Relative locations start in this folder.
    Anywhere(PathBuf),
}

/// Limits of an execution manager. Requests beyond a limit are refused; the exception names the setting.
#[derive(Clone, Debug)]
pub struct ExecutionSettings {
    /// Maximum number of concurrent plans. Default 64. Beyond it: PlanError.
    pub max_plans: usize,
    /// Maximum number of nodes of one plan. Default 256; each takes a thread, which renews the plan on that node.
    /// Beyond it: PlanError.
    pub max_nodes: usize,
    /// Maximum number of instances of one plan. Default 10,000. Beyond it: PlanError.
    pub max_instances: usize,
    /// Time limit of each call to a node manager that starts or stops something. Default 120 s: longer than the sum of
    /// the node manager's own time-outs. Beyond it: StartError.
    pub node_timeout: Duration,
    /// Longest time between two steps of a client that launches a plan, after which the plan is ended. Default 60 s.
    pub client_timeout: Duration,
    /// Time limit for a node manager to report its status. Default 5 s.
    pub status_timeout: Duration,
    /// Time for which node managers keep a plan without a renewal by its execution manager, which renews it four times
    /// as often, and at least once per second. Default 10 s. A node manager that has not answered for this time counts
    /// as lost.
    pub lease: Duration,
    /// Restart policy, unless the plan has one (`OxORB.restart`). Default: none.
    pub restart: RestartPolicy,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        ExecutionSettings {
            max_plans: 64,
            max_nodes: 256,
            max_instances: 10_000,
            node_timeout: Duration::from_secs(120),
            client_timeout: Duration::from_secs(60),
            status_timeout: Duration::from_secs(5),
            lease: Duration::from_secs(10),
            restart: RestartPolicy::Never,
        }
    }
}

/// Treatment of a process that ends without being stopped.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_launch::RestartPolicy;
///
/// let policy: RestartPolicy = "on-failure:3:500".parse()?;
/// let delay = Duration::from_millis(500);
/// assert_eq!(policy, RestartPolicy::OnFailure { limit: 3, delay });
/// assert_eq!(policy.to_string(), "on-failure:3:500");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestartPolicy {
    /// The process stays lost until the plan is redeployed.
    #[default]
    Never,
    /// The process is restarted, unless it exited with status 0.
    OnFailure {
        /// Maximum number of restarts of one process, until the plan is redeployed.
        limit: u32,
        /// Time from the detection of the end to the restart.
        delay: Duration,
    },
}

impl RestartPolicy {
    /// Name of the property of a plan that holds its restart policy.
    pub const PROPERTY: &str = "OxORB.restart";

    /// Default limit of restarts.
    const LIMIT: u32 = 3;
    /// Default delay.
    const DELAY: Duration = Duration::from_secs(1);
}

impl fmt::Display for RestartPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestartPolicy::Never => f.write_str("never"),
            RestartPolicy::OnFailure { limit, delay } => {
                write!(f, "on-failure:{limit}:{}", delay.as_millis())
            }
        }
    }
}

impl FromStr for RestartPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is no restart policy: never, or on-failure[:LIMIT[:MILLISECONDS]]")
        };
        let mut parts = text.split(':');
        let policy = match parts.next() {
            Some("never") => RestartPolicy::Never,
            Some("on-failure") => RestartPolicy::OnFailure {
                limit: match parts.next() {
                    Some(limit) => limit.parse().map_err(|_| wrong())?,
                    None => Self::LIMIT,
                },
                delay: match parts.next() {
                    Some(delay) => Duration::from_millis(delay.parse().map_err(|_| wrong())?),
                    None => Self::DELAY,
                },
            },
            _ => return Err(wrong()),
        };
        match parts.next() {
            None => Ok(policy),
            Some(_) => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_policies_are_read_as_they_are_written() {
        let delay = RestartPolicy::DELAY;
        let unsaid = RestartPolicy::OnFailure { limit: 3, delay };
        assert_eq!("never".parse(), Ok(RestartPolicy::Never));
        assert_eq!("on-failure".parse(), Ok(unsaid));
        assert_eq!(unsaid.to_string().parse(), Ok(unsaid));
        for wrong in ["", "always", "on-failure:x", "on-failure:1:2:3", "never:1"] {
            let error = wrong.parse::<RestartPolicy>().unwrap_err();
            assert!(error.contains("on-failure[:LIMIT"), "{error}");
        }
    }
}
