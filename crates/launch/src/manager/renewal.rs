//! Renewal of a plan's lease on one node, in a separate thread, so that no slow operation delays it.

use std::sync::Weak;
use std::time::{Duration, Instant};

use oxorb_core::Interface as _;
use oxorb_object::{SystemException, SystemExceptionKind};

use super::domain::{Domain, Phase};
use super::node_event::NodeEvent;
use super::split;
use super::trouble::Trouble;
use crate::idl::ox_deployment::NodeApplicationManagerRef;

/// Maximum time between two renewals. Their replies also report ended processes.
const OFTEN: Duration = Duration::from_secs(1);

/// Renews the lease of a plan on a node at least four times per lease, until the plan ends, the node is lost, or the
/// node leaves the plan.
pub(super) fn keep(
    domain: &Weak<Domain>,
    name: &str,
    plans: &NodeApplicationManagerRef,
    lease: Duration,
) {
    let quarter = (lease / 4).max(Duration::from_millis(1));
    let calls = plans.with_timeout(quarter);
    let lease = u32::try_from(lease.as_millis()).unwrap_or(u32::MAX);
    loop {
        let next = Instant::now() + quarter.min(OFTEN);
        let answer = calls.renew(lease);
        let Some(domain) = domain.upgrade() else {
            return;
        };
        if !domain.renewed(name, plans, answer) || !domain.rest(next) {
            return;
        }
    }
}

impl Domain {
    /// Processes the result of a renewal. Returns whether to continue.
    fn renewed(
        &self,
        name: &str,
        plans: &NodeApplicationManagerRef,
        answer: Result<u64, SystemException>,
    ) -> bool {
        let mut state = self.state.lock();
        let node = state.nodes.get_mut(name).filter(|node| {
            // If the node has left the plan and joined it again, another thread renews the new lease.
            node.lost.is_none() && node.plans.reference().is_equivalent(plans.reference())
        });
        let Some(node) = node else {
            return false;
        };
        match answer {
            Ok(ends) => {
                node.heard = Instant::now();
                if std::mem::replace(&mut node.told, ends) != ends {
                    self.changed.notify_all();
                }
                true
            }
            Err(error) => {
                // OBJECT_NOT_EXIST means that the manager exists but no longer has the plan, so the plan's processes
                // have ended. Any other error may be temporary, until the lease has expired.
                let is_gone = error.kind == SystemExceptionKind::ObjectNotExist;
                if !is_gone && node.heard.elapsed() < self.settings.lease {
                    return true;
                }
                drop(state);
                self.lose(name, &error.to_string());
                false
            }
        }
    }

    /// Marks a node as lost. By now the node has ended the plan itself.
    fn lose(&self, name: &str, reason: &str) {
        let (part, phase) = {
            let mut state = self.state.lock();
            let phase = state.phase;
            let Some(node) = state.nodes.get_mut(name) else {
                return;
            };
            node.lost = Some(reason.to_owned());
            node.ended.clear();
            let part = node.part.clone();
            if phase < Phase::Running {
                let first = part.instance.first();
                let first = first.map_or("", |instance| instance.name.as_str());
                let reason = format!("node {name} was lost during the launch: {reason}");
                state.failed.get_or_insert(Trouble::new(first, reason));
            }
            state.mark_stale(&split::provided(&part));
            self.changed.notify_all();
            (part, phase)
        };
        if phase < Phase::Running {
            // Ending the plan makes the launch fail, which may be waiting for other nodes.
            let _ = self.end();
        } else if !self.is_ending() {
            self.observer.tell(&NodeEvent::NodeLost {
                plan: self.label.clone(),
                node: name.to_owned(),
                instances: part.instance.iter().map(|one| one.name.clone()).collect(),
                reason: reason.to_owned(),
            });
        }
    }

    /// Waits until `next`. Returns `false` if the plan has ended.
    fn rest(&self, next: Instant) -> bool {
        let mut state = self.state.lock();
        while !self.is_ending() {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.changed.wait_timeout(state, left).0;
        }
        false
    }
}
