//! Who watches a launched plan: renews it on its nodes, notices what ends there, and starts it again.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use oxorb_core::Interface as _;

use super::domain::{Domain, Node, Phase};
use super::event::Event;
use super::settings::RestartPolicy;
use super::split;
use super::together::together;
use super::trouble::Trouble;
use crate::idl::ox_deployment::{InstancePhase, InstanceStatus, ProcessState, ProcessStatus};

/// Longest time between two looks at the nodes.
const LOOK: Duration = Duration::from_secs(1);

/// Watches a plan until it ends.
pub(super) fn watch(domain: &Weak<Domain>) {
    loop {
        let Some(domain) = domain.upgrade() else {
            return;
        };
        if domain.is_ending() {
            return;
        }
        domain.look();
        let pause = LOOK.min(domain.settings.lease / 4);
        let state = domain.state.lock();
        let next = state.nodes.values().flat_map(|node| node.ended.values());
        let next = next.flatten().min();
        let until = next.map(|next| next.saturating_duration_since(Instant::now()));
        let pause = until.map_or(pause, |until| until.min(pause));
        if !domain.is_ending() && state.phase != Phase::Ended {
            let woken = domain.changed.wait_timeout(state, pause);
            drop(woken.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Answer of a node that was asked to keep the plan.
type Renewed = Result<u64, String>;

impl Domain {
    /// Looks once at all nodes.
    fn look(self: &Arc<Self>) {
        let renewed = together(self.live(), |(name, node)| {
            let plans = node.plans.with_timeout(self.settings.status_timeout);
            let lease = u32::try_from(self.settings.lease.as_millis()).unwrap_or(u32::MAX);
            let answer: Renewed = plans.renew(lease).map_err(|error| error.to_string());
            (name, node, answer)
        });
        for (name, node, answer) in renewed {
            match answer {
                Ok(ends) => {
                    self.heard(&name);
                    if ends != node.ends {
                        self.examine(&name, ends);
                    }
                }
                Err(reason) => self.unheard(&name, reason),
            }
        }
        self.restart_due();
    }

    fn heard(&self, name: &str) {
        if let Some(node) = self.state.lock().nodes.get_mut(name) {
            node.heard = Instant::now();
        }
    }

    /// Counts a node as lost once it has not answered for the time of its lease: then it has ended the plan itself.
    fn unheard(&self, name: &str, reason: String) {
        let lost = {
            let mut state = self.state.lock();
            let phase = state.phase;
            let Some(node) = state.nodes.get_mut(name) else {
                return;
            };
            // The manager is there and has no such plan, or nobody is there at all: its processes ended with it.
            let is_gone = ["OBJECT_NOT_EXIST", "refused"]
                .iter()
                .any(|sign| reason.contains(sign));
            if !is_gone && node.heard.elapsed() < self.settings.lease {
                return;
            }
            node.lost = Some(reason.clone());
            node.ended.clear();
            let part = node.part.clone();
            if phase < Phase::Running {
                let first = part.instance.first();
                let first = first.map_or("", |instance| instance.name.as_str());
                let reason = format!("node {name} was lost during the launch: {reason}");
                state.failed.get_or_insert(Trouble::new(first, reason));
            }
            (part, phase)
        };
        let (part, phase) = lost;
        if phase < Phase::Running {
            // The launch that waits for other nodes fails, and is undone.
            let _ = self.end();
            return;
        }
        self.observer.tell(&Event::NodeLost {
            plan: self.label.clone(),
            node: name.to_owned(),
            instances: part.instance.iter().map(|one| one.name.clone()).collect(),
            reason,
        });
        if let Some(_pass) = self.try_pass() {
            self.disconnect(&owned(split::provided(&part)));
        }
    }

    /// Looks which processes of a node have ended, and decides what becomes of them.
    fn examine(&self, name: &str, ends: u64) {
        // A launch or a redeployment notices by itself what ends under its hands.
        let Some(_pass) = self.try_pass() else {
            return;
        };
        let node = {
            let state = self.state.lock();
            match state.phase {
                Phase::Running => state.nodes.get(name).cloned(),
                _ => None,
            }
        };
        let Some(node) = node else {
            return;
        };
        let plans = node.plans.with_timeout(self.settings.status_timeout);
        let Ok(statuses) = plans.status() else {
            return;
        };
        let parts = split::by_process(&node.part);
        for status in statuses {
            let is_ended = matches!(status.state, ProcessState::Lost | ProcessState::Stopped);
            if !is_ended || node.ended.contains_key(&status.process) {
                continue;
            }
            let part = parts.iter().find(|(process, _)| *process == status.process);
            let Some((_, part)) = part else {
                continue;
            };
            let (again, what) = self.decide(&status);
            if let Some(node) = self.state.lock().nodes.get_mut(name) {
                node.ended.insert(status.process.clone(), again);
            }
            self.observer.tell(&Event::ProcessLost {
                plan: self.label.clone(),
                node: name.to_owned(),
                process: status.process.clone(),
                instances: part.instance.iter().map(|one| one.name.clone()).collect(),
                reason: format!("{}; {what}", status.detail),
            });
            self.disconnect(&owned(split::provided(part)));
        }
        if let Some(node) = self.state.lock().nodes.get_mut(name) {
            node.ends = ends;
        }
    }

    /// Returns when a process that ended is started again, and says so.
    fn decide(&self, status: &ProcessStatus) -> (Option<Instant>, String) {
        match self.restart_policy() {
            RestartPolicy::Never => (None, "the restart policy is never".to_owned()),
            RestartPolicy::OnFailure { .. } if status.state == ProcessState::Stopped => {
                (None, "it is not started again after status 0".to_owned())
            }
            RestartPolicy::OnFailure { limit, .. } if status.restarts >= limit => (
                None,
                format!("it was started again {limit} times, the limit"),
            ),
            RestartPolicy::OnFailure { limit, delay } => (
                Instant::now().checked_add(delay),
                format!(
                    "it is started again in {delay:?}, time {} of {limit}",
                    status.restarts + 1
                ),
            ),
        }
    }

    /// Starts processes again whose time has come.
    fn restart_due(&self) {
        let now = Instant::now();
        let due: Vec<(String, Node, Vec<String>)> = {
            let nodes = self.live().into_iter();
            nodes
                .map(|(name, node)| {
                    let due = node.ended.iter();
                    let due = due.filter(|(_, at)| at.is_some_and(|at| at <= now));
                    let due: Vec<String> = due.map(|(process, _)| process.clone()).collect();
                    (name, node, due)
                })
                .filter(|(_, _, due)| !due.is_empty())
                .collect()
        };
        if due.is_empty() {
            return;
        }
        let Some(_pass) = self.try_pass() else {
            return;
        };
        for (name, node, processes) in due {
            if let Err(trouble) = self.restart(&name, &node, &processes) {
                self.observer.tell(&Event::Failed {
                    plan: self.label.clone(),
                    reason: format!("restarting: {trouble}"),
                });
            }
        }
    }

    fn restart(&self, name: &str, node: &Node, processes: &[String]) -> Result<(), Trouble> {
        let plans = node.plans.with_timeout(self.settings.node_timeout);
        let started = plans.restart(processes);
        if let Some(node) = self.state.lock().nodes.get_mut(name) {
            for process in processes {
                node.ended.remove(process);
            }
            match &started {
                Ok(provided) => node.provided.clone_from(provided),
                // Looked at again: the next attempt, or the limit.
                Err(_) => node.ends = u64::MAX,
            }
        }
        started.map_err(|error| super::domain::placed(error, name, &self.label))?;
        self.connect(&[])?;
        self.run()?;
        for process in processes {
            self.observer.tell(&Event::ProcessRestarted {
                plan: self.label.clone(),
                node: name.to_owned(),
                process: process.clone(),
            });
        }
        Ok(())
    }

    /// Returns what runs where now, as the nodes say themselves.
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
                (None, Err(error)) => lost(
                    &name,
                    &node,
                    &format!("the node manager does not answer: {error}"),
                ),
            }
        });
        found.into_iter().flatten().collect()
    }

    /// Adds to the status of a process what is going to happen to it.
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

/// Returns the status of the processes of a node that does not answer.
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

fn owned(names: BTreeSet<&str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}
