//! Steward of a launched plan, which detects ended processes on its nodes and restarts them.

use std::collections::BTreeSet;
use std::sync::Weak;
use std::time::{Duration, Instant};

use oxorb_core::Interface as _;

use super::application::merged;
use super::domain::{Domain, Node, Phase, State, placed};
use super::member::same_ends;
use super::node_event::NodeEvent;
use super::settings::RestartPolicy;
use super::split;
use super::together::together;
use crate::idl::deployment::Connection;
use crate::idl::ox_deployment::{InstancePhase, InstanceStatus, ProcessState, ProcessStatus};

/// Maximum time between two checks of the nodes, and between two attempts at a failed step.
const LOOK: Duration = Duration::from_secs(1);

/// Minimum time between two checks.
const FLOOR: Duration = Duration::from_millis(100);

/// Watches a plan until it ends.
pub(super) fn watch(domain: &Weak<Domain>) {
    loop {
        let Some(domain) = domain.upgrade() else {
            return;
        };
        let looked = Instant::now();
        domain.end_abandoned();
        let is_done = domain.look();
        let mut state = domain.state.lock();
        loop {
            if domain.is_ending() || state.phase == Phase::Ended {
                return;
            }
            let next = match is_done {
                // The check was not done, because another operation is running. Try again soon.
                false => looked + FLOOR,
                true => state.next_look(looked),
            };
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = domain.changed.wait_timeout(state, left).0;
        }
    }
}

impl State {
    /// Returns the time of the next check if the previous one was at `last`.
    fn next_look(&self, last: Instant) -> Instant {
        let nodes = || self.nodes.values().filter(|node| node.lost.is_none());
        if nodes().any(|node| node.told > node.ends) {
            return last + FLOOR;
        }
        let due = nodes().flat_map(|node| node.ended.values()).flatten().min();
        let latest = last + LOOK;
        due.map_or(latest, |due| (*due).clamp(last + FLOOR, latest))
    }

    /// Reports whether the plan is running and a check would find something to do.
    fn has_work(&self) -> bool {
        let now = Instant::now();
        let mut nodes = self.nodes.values().filter(|node| node.lost.is_none());
        self.phase == Phase::Running
            && (self.is_unfinished
                || nodes.any(|node| {
                    let mut due = node.ended.values().flatten();
                    node.told != node.ends
                        || node.is_unknown
                        || !node.stale.is_empty()
                        || due.any(|at| *at <= now)
                }))
    }

    /// Marks connections whose providers no longer exist, so that the nodes of their users end them.
    pub(super) fn mark_stale(&mut self, names: &BTreeSet<&str>) {
        for node in self.nodes.values_mut().filter(|node| node.lost.is_none()) {
            let used = split::used(&node.part);
            let own = names.intersection(&used).map(|&name| name.to_owned());
            node.stale.extend(own);
        }
    }
}

impl Domain {
    /// Ends a plan whose client did not continue its launch.
    fn end_abandoned(&self) {
        let limit = self.settings.client_timeout;
        let is_late = || {
            let state = self.state.lock();
            state.phase < Phase::Running && state.step.elapsed() >= limit
        };
        if !is_late() {
            return;
        }
        {
            // Do nothing if a step of the launch is in progress, because the step has its own time limit.
            let Some(_pass) = self.try_pass() else {
                return;
            };
            if !is_late() {
                return;
            }
            // Refuse further operations before the pass is released, so that no step of the launch can begin in
            // between.
            self.begin_end();
        }
        let ended = self.end();
        let reason = format!(
            "ended: its launch was not continued within {limit:?} (ExecutionSettings::client_timeout)"
        );
        let reason =
            ended.err().into_iter().fold(reason, |reason, trouble| format!("{reason}; {trouble}"));
        self.observer.tell(&NodeEvent::Failed { plan: self.label.clone(), reason });
    }

    /// Does the pending work on the nodes. Returns `false` if another operation is running.
    fn look(&self) -> bool {
        if !self.state.lock().has_work() {
            return true;
        }
        // While a launch or a redeployment is running, that operation detects ended processes itself.
        let Some(_pass) = self.try_pass() else {
            return false;
        };
        if self.state.lock().phase != Phase::Running {
            return true;
        }
        together(self.live(), |(name, node)| {
            if node.is_unknown {
                self.ask_provided(&name, &node);
            }
            if node.told != node.ends {
                self.examine(&name, &node);
            }
        });
        self.restart_due();
        self.end_stale();
        if self.state.lock().is_unfinished {
            self.finish_restarts();
        }
        true
    }

    /// Asks a node for its provided objects, which are unknown after a restart that failed in part.
    fn ask_provided(&self, name: &str, node: &Node) {
        let plans = node.plans.with_timeout(self.settings.node_timeout);
        if let Ok(provided) = plans.restart(&[]) {
            self.set_provided(name, provided);
        }
    }

    /// Updates the provided objects of a node, and marks connections to changed references as stale.
    fn set_provided(&self, name: &str, provided: Vec<Connection>) {
        let mut state = self.state.lock();
        let Some(node) = state.nodes.get_mut(name) else {
            return;
        };
        let after = merged(provided.iter());
        let before = merged(std::mem::replace(&mut node.provided, provided).iter());
        node.is_unknown = false;
        let moved = before.iter().filter(|one| {
            let other = after.iter().find(|other| other.name == one.name);
            other.is_none_or(|other| !same_ends(one, other))
        });
        state.mark_stale(&moved.map(|one| one.name.as_str()).collect());
    }

    /// Determines which processes of a node have ended, and decides whether they are restarted.
    fn examine(&self, name: &str, node: &Node) {
        let plans = node.plans.with_timeout(self.settings.status_timeout);
        let Ok(statuses) = plans.status() else {
            return;
        };
        let parts = split::by_process(&node.part);
        // Use one time for all processes, so that those that ended together are restarted together.
        let now = Instant::now();
        for status in statuses {
            let is_ended = matches!(status.state, ProcessState::Lost | ProcessState::Stopped);
            if !is_ended || node.ended.contains_key(&status.process) {
                continue;
            }
            let part = parts.iter().find(|(process, _)| *process == status.process);
            let Some((_, part)) = part else {
                continue;
            };
            let (again, what) = self.decide(&status, now);
            {
                let mut state = self.state.lock();
                let gone = split::provided(part);
                if let Some(node) = state.nodes.get_mut(name) {
                    node.ended.insert(status.process.clone(), again);
                    node.restarted.remove(&status.process);
                    // Remove the references of the ended process, so that its users are not connected to them again.
                    node.provided.retain(|one| !gone.contains(one.name.as_str()));
                }
                state.mark_stale(&gone);
            }
            self.observer.tell(&NodeEvent::ProcessLost {
                plan: self.label.clone(),
                node: name.to_owned(),
                process: status.process.clone(),
                instances: part.instance.iter().map(|one| one.name.clone()).collect(),
                reason: format!("{}; {what}", status.detail),
            });
        }
        if let Some(now) = self.state.lock().nodes.get_mut(name) {
            now.ends = node.told;
        }
    }

    /// Returns the time at which an ended process will be restarted, or `None`, and a description of the decision.
    fn decide(&self, status: &ProcessStatus, now: Instant) -> (Option<Instant>, String) {
        match self.restart_policy() {
            RestartPolicy::Never => (None, "the restart policy is never".to_owned()),
            RestartPolicy::OnFailure { .. } if status.state == ProcessState::Stopped => {
                (None, "it is not started again after status 0".to_owned())
            }
            RestartPolicy::OnFailure { limit, .. } if status.restarts >= limit => {
                (None, format!("it was started again {limit} times, the limit"))
            }
            RestartPolicy::OnFailure { limit, delay } => (
                now.checked_add(delay),
                format!(
                    "it is started again in {delay:?}, time {} of {limit}",
                    status.restarts + 1
                ),
            ),
        }
    }

    /// Restarts the processes whose restart is due.
    fn restart_due(&self) {
        let now = Instant::now();
        let nodes = self.live().into_iter();
        let due = nodes.map(|(name, node)| {
            let due = node.ended.iter();
            let due = due.filter(|(_, at)| at.is_some_and(|at| at <= now));
            let due: Vec<String> = due.map(|(process, _)| process.clone()).collect();
            (name, node, due)
        });
        let due = due.filter(|(_, _, due)| !due.is_empty()).collect();
        together(due, |(name, node, processes)| {
            self.restart(&name, &node, &processes);
        });
    }

    fn restart(&self, name: &str, node: &Node, processes: &[String]) {
        let plans = node.plans.with_timeout(self.settings.node_timeout);
        let started = plans.restart(processes);
        {
            let mut state = self.state.lock();
            // Some processes may have been started even if the call failed. They must be connected and activated.
            state.is_unfinished = true;
            if let Some(node) = state.nodes.get_mut(name) {
                for process in processes {
                    node.ended.remove(process);
                    node.restarted.insert(process.clone());
                }
                // Have the node examined again, which schedules another attempt or detects that the limit is reached.
                if started.is_err() {
                    node.is_unknown = true;
                    node.ends = u64::MAX;
                }
            }
        }
        match started {
            Ok(provided) => self.set_provided(name, provided),
            Err(error) => {
                let trouble = placed(error, name, &self.label);
                self.observer.tell(&NodeEvent::Failed {
                    plan: self.label.clone(),
                    reason: format!("restarting: {trouble}"),
                });
            }
        }
    }

    /// Ends connections whose providers no longer exist. If a node does not answer, the next check tries again.
    fn end_stale(&self) {
        let nodes = self.live().into_iter();
        let nodes = nodes.filter(|(_, node)| !node.stale.is_empty()).collect();
        together(nodes, |(name, node): (String, Node)| {
            let plans = node.plans.with_timeout(self.settings.node_timeout);
            let names: Vec<String> = node.stale.iter().cloned().collect();
            if plans.disconnect(&names).is_err() {
                return;
            }
            let mut state = self.state.lock();
            // The provider may be running again, so connect again what was disconnected.
            state.is_unfinished = true;
            if let Some(now) = state.nodes.get_mut(&name) {
                now.stale.retain(|one| !node.stale.contains(one));
            }
        });
    }

    /// Connects and activates restarted processes. If a step fails, the next check tries again.
    fn finish_restarts(&self) {
        let connected = self.connect();
        let done = connected.and(self.run());
        let mut told = Vec::new();
        {
            let mut state = self.state.lock();
            match done {
                Ok(()) => {
                    state.unfinished_because = None;
                    for (name, node) in &mut state.nodes {
                        if node.is_unknown || node.ends == u64::MAX {
                            continue;
                        }
                        for process in std::mem::take(&mut node.restarted) {
                            told.push(NodeEvent::ProcessRestarted {
                                plan: self.label.clone(),
                                node: name.clone(),
                                process,
                            });
                        }
                    }
                    let mut live = state.nodes.values().filter(|node| node.lost.is_none());
                    state.is_unfinished =
                        live.any(|node| node.is_unknown || !node.restarted.is_empty());
                }
                Err(trouble) => {
                    // Report a failure once, and not for each attempt.
                    let reason = format!("restarting: {trouble}; the manager tries again");
                    if state.unfinished_because.as_ref() != Some(&reason) {
                        state.unfinished_because = Some(reason.clone());
                        told.push(NodeEvent::Failed { plan: self.label.clone(), reason });
                    }
                }
            }
        }
        for event in told {
            self.observer.tell(&event);
        }
    }

    /// Returns the current state of all processes. The nodes are asked for it.
    pub(super) fn status(&self) -> Vec<ProcessStatus> {
        let found = together(self.nodes(), |(name, node)| {
            let plans = node.plans.with_timeout(self.settings.status_timeout);
            match (&node.lost, plans.status()) {
                (None, Ok(mut statuses)) => {
                    for status in &mut statuses {
                        self.expect(&node, status);
                    }
                    statuses
                }
                (Some(reason), _) => lost(&name, &node, &format!("the node is lost: {reason}")),
                (None, Err(error)) => {
                    lost(&name, &node, &format!("the node manager does not answer: {error}"))
                }
            }
        });
        found.into_iter().flatten().collect()
    }

    /// Adds the time of a pending restart to the status of a process.
    fn expect(&self, node: &Node, status: &mut ProcessStatus) {
        let is_ended = matches!(status.state, ProcessState::Lost | ProcessState::Stopped);
        if let Some(Some(at)) = node.ended.get(&status.process)
            && is_ended
        {
            let left = at.saturating_duration_since(Instant::now());
            status.state = ProcessState::Restarting;
            status.detail = format!("{}; started again in {left:.1?}", status.detail);
        }
    }
}

/// Returns the last known status of the processes of a node that does not answer.
fn lost(name: &str, node: &Node, reason: &str) -> Vec<ProcessStatus> {
    let parts = split::by_process(&node.part).into_iter();
    parts
        .map(|(process, part)| ProcessStatus {
            node: name.to_owned(),
            process,
            state: ProcessState::Lost,
            pid: 0,
            restarts: 0,
            detail: reason.to_owned(),
            instances: part
                .instance
                .iter()
                .map(|one| InstanceStatus {
                    name: one.name.clone(),
                    container: String::new(),
                    phase: InstancePhase::Passive,
                    reference: None,
                })
                .collect(),
            connections: Vec::new(),
        })
        .collect()
}
