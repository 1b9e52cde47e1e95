//! Limits and time-outs of managers, and restart policies.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::fetch::FetchedArtifacts;
use super::packages::PackageRepository;

/// Limits of a node manager, and settings for starting processes. Requests beyond a limit are refused with an exception
/// that names the setting.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Executables that plans may name. Default: none.
    pub artifacts: Artifacts,
    /// Files that plans may name by the URL of a server. Default: none, so that such plans are refused.
    pub fetched: Option<Arc<FetchedArtifacts>>,
    /// Arguments of each process. They follow those of the plan, and thus take precedence. Default: none.
    pub arguments: Vec<String>,
    /// Program that runs shared libraries, with its first arguments. The library, `--` and the arguments of the
    /// locality follow. Default: none, so that shared libraries are refused. `oxorb node serve` uses `oxorb deploy
    /// host`.
    pub library_host: Vec<String>,
    /// Destination of the standard output of each process. Default: standard output of the node manager.
    pub output: ProcessOutput,
    /// Maximum number of plans that have a part on this node. Default 64. Beyond it: PlanError.
    pub max_plans: usize,
    /// Maximum number of processes of all plans together. Default 256. The manager uses two threads and three
    /// descriptors for each process. Beyond it: PlanError if one plan has more processes than this, otherwise
    /// StartError.
    pub max_processes: usize,
    /// Time limit from the start of a process to its first call to the manager. Default 30 s. Beyond it: StartError.
    pub start_timeout: Duration,
    /// Time limit of each call to a process, such as installing, connecting or starting instances. Default 30 s. Beyond
    /// it: StartError.
    pub call_timeout: Duration,
    /// Time limit for a process to report its status. Default 2 s. Beyond it: the status contains the information that
    /// the process does not answer.
    pub status_timeout: Duration,
    /// Time limit for a process to remove its instances, and then again for its end. After that, the process is killed.
    /// Default 5 s.
    pub stop_timeout: Duration,
}

impl Default for NodeSettings {
    fn default() -> Self {
        NodeSettings {
            artifacts: Artifacts::Refused,
            fetched: None,
            arguments: Vec::new(),
            library_host: Vec::new(),
            output: ProcessOutput::Inherited,
            max_plans: 64,
            max_processes: 256,
            start_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(30),
            status_timeout: Duration::from_secs(2),
            stop_timeout: Duration::from_secs(5),
        }
    }
}

/// Destination of the standard output of the processes of a node manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessOutput {
    /// Standard output of the node manager.
    #[default]
    Inherited,
    /// Standard error of the node manager, for a manager that writes its own standard output for another program.
    StandardError,
}

/// Set of executables that plans may name as locations of artifacts.
///
/// A file is refused if anyone except this user and root may change it. This means that the file, and all folders and
/// links in its path, must belong to one of them and must not be writable by group or others. Folders with the sticky
/// bit may be writable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Artifacts {
    /// Empty set: every plan is refused.
    #[default]
    Refused,
    /// Programs in this folder and its subfolders. Links are resolved first. Relative locations start in this folder.
    Below(PathBuf),
    /// All programs that this user may run. Relative locations start in this folder.
    Anywhere(PathBuf),
}

/// Limits of an execution manager. Requests beyond a limit are refused with an exception that names the setting.
#[derive(Clone, Debug)]
pub struct ExecutionSettings {
    /// Maximum number of plans at the same time. Default 64. Beyond it: PlanError.
    pub max_plans: usize,
    /// Maximum number of nodes of one plan. Default 256. For each node, a thread renews the plan's lease. Beyond it:
    /// PlanError.
    pub max_nodes: usize,
    /// Maximum number of instances of one plan. Default 10,000. Beyond it: PlanError.
    pub max_instances: usize,
    /// Time limit of each call to a node manager that starts or stops something. It should exceed the sum of the node
    /// manager's own time-outs. Default 120 s. Beyond it: StartError, or StopError for calls that stop something.
    pub node_timeout: Duration,
    /// Maximum time between two steps of a client that launches a plan. After that, the plan is ended. Default 60 s.
    pub client_timeout: Duration,
    /// Time limit for a node manager to report its status. Default 5 s.
    pub status_timeout: Duration,
    /// Time for which node managers keep a plan without a renewal. The execution manager renews it at least four times
    /// in this time, and at least once per second. Default 10 s. A node manager that has not answered for this time
    /// counts as lost.
    pub lease: Duration,
    /// Restart policy for plans that have none (`OxORB.restart`). Default: no restarts.
    pub restart: RestartPolicy,
    /// Packages of the manager's `RepositoryManager`. Default: none, so that packages are refused.
    pub packages: Option<Arc<PackageRepository>>,
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
            packages: None,
        }
    }
}

/// Treatment of a process that ends without having been stopped.
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
    /// The process is not restarted, and stays lost until the plan is redeployed.
    #[default]
    Never,
    /// The process is restarted unless it exited with status 0.
    OnFailure {
        /// Maximum number of restarts of each process until the plan is redeployed.
        limit: u32,
        /// Time between the detection of the end and the restart.
        delay: Duration,
    },
}

impl RestartPolicy {
    /// Name of the property of a plan that holds its restart policy.
    pub const PROPERTY: &str = "OxORB.restart";

    /// Default of `limit`.
    const LIMIT: u32 = 3;
    /// Default of `delay`.
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
            format!(
                "{text:?} is not a restart policy; expected never, or on-failure[:LIMIT[:MILLISECONDS]]"
            )
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
