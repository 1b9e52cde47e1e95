//! Limits and time-outs of managers, and what happens to processes that end.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Limits of a node manager, and how it starts processes. What is beyond is refused, and the answer names the setting.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Executables that plans may name. Default: none.
    pub artifacts: Artifacts,
    /// Arguments of each process, after those of the plan, so that they win where both give a setting. Default: none.
    pub arguments: Vec<String>,
    /// Program that runs a process of a shared library, and its arguments before the library, `--` and the arguments of a
    /// locality. Default: none, and shared libraries are refused. `oxorb node serve` has `oxorb deploy host`.
    pub library_host: Vec<String>,
    /// Plans with a part on this node. Default 64. Answer: PlanError.
    pub max_plans: usize,
    /// Processes of all plans together. Default 256; each takes two threads and three descriptors of the manager.
    /// Answer: PlanError.
    pub max_processes: usize,
    /// Longest time that a process may take from its start until it calls back. Default 30 s.
    /// Answer: StartError.
    pub start_timeout: Duration,
    /// Longest time of each call to a process: installing, connecting, starting. Default 30 s.
    /// Answer: StartError.
    pub call_timeout: Duration,
    /// Longest time that a process may take to say what it runs. Default 2 s. Then the status says
    /// that it does not answer.
    pub status_timeout: Duration,
    /// Longest time that removing the instances of a process may take, and then its end. Default 5
    /// s each. Then it is killed.
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
/// A file is refused if others than this user and root may change it: it and all folders and links on the way to it belong
/// to one of them, and neither group nor others may write to them, folders with the sticky bit excepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Artifacts {
    /// None: each plan is refused.
    #[default]
    Refused,
    /// Programs in this folder and the folders below, links followed. Relative locations begin
    /// there.
    Below(PathBuf),
    /// All that this user may run. Relative locations begin in this folder.
    Anywhere(PathBuf),
}

/// Limits of an execution manager. What is beyond is refused, and the answer names the setting.
#[derive(Clone, Debug)]
pub struct ExecutionSettings {
    /// Plans at a time. Default 64. Answer: PlanError.
    pub max_plans: usize,
    /// Nodes of one plan. Default 256; each takes a thread, which renews the plan there. Answer: PlanError.
    pub max_nodes: usize,
    /// Instances of one plan. Default 10,000. Answer: PlanError.
    pub max_instances: usize,
    /// Longest time of each call to a node manager that starts or stops something. Default 120 s:
    /// longer than what its own time-outs add up to. Answer: StartError.
    pub node_timeout: Duration,
    /// Longest time that a client which launches a plan may take from one step to the next. Default
    /// 60 s. Then the plan is ended.
    pub client_timeout: Duration,
    /// Longest time that a node manager may take to say what it runs. Default 5 s.
    pub status_timeout: Duration,
    /// Time that node managers keep a plan which its execution manager does not renew: it renews
    /// four times as often, and each second at least. Default 10 s. A node manager that has not
    /// answered for so long counts as lost.
    pub lease: Duration,
    /// Treatment of processes that end, unless the plan says so (`OxORB.restart`). Default: none.
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

/// Treatment of a process that ends though it was not stopped.
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
    /// Leaves it lost until the plan is redeployed.
    #[default]
    Never,
    /// Starts it again, unless it ended with status 0.
    OnFailure {
        /// Restarts of one process, until the plan is redeployed.
        limit: u32,
        /// Time between the end that was noticed and the restart.
        delay: Duration,
    },
}

impl RestartPolicy {
    /// Name of the property of a plan that says what happens to its processes.
    pub const PROPERTY: &str = "OxORB.restart";

    /// Restarts unless said.
    const LIMIT: u32 = 3;
    /// Delay unless said.
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
