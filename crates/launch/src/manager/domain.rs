//! A plan on all its nodes, with operations that launch, connect, start and end it on all nodes together.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use oxorb_core::lock::{Condvar, Mutex};
use oxorb_core::{Interface as _, ThreadPurpose};
use oxorb_deploy::plan::Plan;
use oxorb_poa::Poa;

use super::application::{label, merged};
use super::node::LEASE;
use super::node_event::Observer;
use super::renewal;
use super::settings::{ExecutionSettings, RestartPolicy};
use super::split;
use super::together::{Gate, Pass, together};
use super::trouble::Trouble;
use super::{execution::Lookup, property};
use crate::idl::deployment as d;
use crate::idl::deployment::Connection;
use crate::idl::ox_deployment as ox;
use crate::wire;

/// A plan in the view of its execution manager.
pub(super) struct Domain {
    pub(super) label: String,
    pub(super) settings: Arc<ExecutionSettings>,
    pub(super) observer: Observer,
    lookup: Arc<Lookup>,
    /// POA whose ORB provides the threads that renew the plan's leases.
    poa: Poa,
    own: Weak<Domain>,
    /// Gate that admits one operation at a time. Operations do not hold the lock of `state`, so that the status can be
    /// read.
    gate: Gate,
    is_ending: AtomicBool,
    pub(super) state: Mutex<State>,
    /// Signal for the threads that watch and renew the plan.
    pub(super) changed: Condvar,
}

pub(super) struct State {
    pub(super) plan: Plan,
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) phase: Phase,
    /// Time at which the current phase began.
    pub(super) step: Instant,
    /// Reason why the plan was ended during its launch.
    pub(super) failed: Option<Trouble>,
    /// Property values passed to the launch.
    config: Vec<d::Property>,
    /// References of objects outside the plan, passed to the launch. They are used again after each restart and
    /// redeployment.
    given: Vec<Connection>,
    /// Whether restarted processes still have to be connected and started.
    pub(super) is_unfinished: bool,
    pub(super) unfinished_because: Option<String>,
}

/// Progress of the launch of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Prepared,
    Installed,
    Connected,
    Running,
    Ended,
}

/// Part of a plan on one node.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) part: Plan,
    /// Whether a change of the node's part was begun but did not succeed. It is then unknown which part is running.
    pub(super) is_half_changed: bool,
    pub(super) manager: d::NodeManagerRef,
    pub(super) plans: ox::NodeApplicationManagerRef,
    pub(super) application: Option<d::ApplicationRef>,
    pub(super) provided: Vec<Connection>,
    /// Whether the node's provided objects may have changed, because a restart failed in part.
    pub(super) is_unknown: bool,
    /// Number of unexpected ends of processes that the node has reported.
    pub(super) told: u64,
    /// Number of unexpected ends of processes that the steward has examined.
    pub(super) ends: u64,
    /// Time at which the node last answered.
    pub(super) heard: Instant,
    /// Reason why the node counts as lost.
    pub(super) lost: Option<String>,
    /// Processes that have ended, with the time of their restart if they are to be restarted.
    pub(super) ended: BTreeMap<String, Option<Instant>>,
    /// Processes that were restarted but whose restart has not been reported yet.
    pub(super) restarted: BTreeSet<String>,
    /// Connections that this node must end, because their providers no longer exist.
    pub(super) stale: BTreeSet<String>,
}

impl Domain {
    /// Prepares a plan on all its nodes. If this fails, the plan is removed from all nodes.
    pub(super) fn prepare(
        plan: Plan,
        lookup: &Arc<Lookup>,
        settings: &Arc<ExecutionSettings>,
        observer: &Observer,
        poa: &Poa,
    ) -> Result<Arc<Domain>, Trouble> {
        let domain = Arc::new_cyclic(|own| Domain {
            poa: poa.clone(),
            own: Weak::clone(own),
            label: label(&plan),
            settings: Arc::clone(settings),
            observer: observer.clone(),
            lookup: Arc::clone(lookup),
            gate: Gate::default(),
            is_ending: AtomicBool::new(false),
            state: Mutex::new(State {
                plan: plan.clone(),
                nodes: BTreeMap::new(),
                phase: Phase::Prepared,
                step: Instant::now(),
                failed: None,
                config: Vec::new(),
                given: Vec::new(),
                is_unfinished: false,
                unfinished_because: None,
            }),
            changed: Condvar::new(),
        });
        let prepared =
            together(split::by_node(&plan), |(name, part)| domain.prepare_node(&name, part));
        let prepared = prepared.into_iter().collect::<Result<(), Trouble>>();
        match prepared {
            Ok(()) => {
                domain.move_to(Phase::Prepared);
                Ok(domain)
            }
            Err(trouble) => Err(domain.undone(trouble)),
        }
    }

    /// Prepares the part of a plan on a node that has no part yet.
    pub(super) fn prepare_node(&self, name: &str, part: Plan) -> Result<(), Trouble> {
        let place = || format!("node {name}");
        let manager = (self.lookup)(name)
            .map_err(|reason| Trouble::new("", reason).within(place(), &self.label))?;
        let manager = manager.with_timeout(self.settings.node_timeout);
        let mut leased = part.clone();
        let lease = self.settings.lease.as_millis().to_string();
        property::set(&mut leased, LEASE, &lease);
        let prepared = manager.prepare_plan(&wire::to_wire(&leased)?, None);
        let plans =
            prepared.map_err(|error| placed(error, name, &self.label))?.ok_or_else(|| {
                Trouble::new(&self.label, format!("{}: it returned no manager", place()))
            })?;
        let narrowed = plans.narrow::<ox::NodeApplicationManagerRef>();
        let plans = match narrowed {
            Ok(Some(plans)) => plans,
            other => {
                let _ = manager.destroy_manager(Some(&plans));
                let reason = match other {
                    Err(error) => format!("{}: {error}", place()),
                    _ => format!(
                        "{}: its manager does not belong to OxORB: it neither renews plans nor reports their status",
                        place()
                    ),
                };
                return Err(Trouble::new(&self.label, reason));
            }
        };
        let node = Node {
            part,
            is_half_changed: false,
            manager,
            plans,
            application: None,
            provided: Vec::new(),
            is_unknown: false,
            told: 0,
            ends: 0,
            heard: Instant::now(),
            lost: None,
            ended: BTreeMap::new(),
            restarted: BTreeSet::new(),
            stale: BTreeSet::new(),
        };
        let plans = node.plans.clone();
        self.state.lock().nodes.insert(name.to_owned(), node);
        self.keep_on(name, plans)
    }

    /// Starts the thread that renews the plan's lease on a node.
    fn keep_on(&self, name: &str, plans: ox::NodeApplicationManagerRef) -> Result<(), Trouble> {
        let refuse = |reason: &str| Trouble::new(&self.label, reason);
        let orb = self.poa.orb();
        let orb = orb.ok_or_else(|| refuse("the ORB was shut down"))?;
        let (own, lease, node) = (self.own.clone(), self.settings.lease, name.to_owned());
        let started = orb.start_thread(ThreadPurpose::Watcher, "oxorb-renewal", move || {
            renewal::keep(&own, &node, &plans, lease);
        });
        started.map_err(|error| {
            refuse(&format!("the thread that renews it on node {name} cannot be started: {error}"))
        })
    }

    pub(super) fn pass(&self) -> Result<Pass<'_>, Trouble> {
        let limit = self.settings.node_timeout;
        let pass = self.gate.pass(limit).ok_or_else(|| {
            let reason = format!("another operation on the plan has not ended within {limit:?}");
            Trouble::new(&self.label, reason)
        })?;
        match self.is_ending() {
            true => Err(Trouble::new(&self.label, "it is being stopped")),
            false => Ok(pass),
        }
    }

    /// Enters the gate if no other operation is running.
    pub(super) fn try_pass(&self) -> Option<Pass<'_>> {
        let pass = self.gate.pass(std::time::Duration::ZERO)?;
        (!self.is_ending()).then_some(pass)
    }

    /// Returns the restart policy of the plan or, if it has none, that of the settings.
    pub(super) fn restart_policy(&self) -> RestartPolicy {
        let state = self.state.lock();
        let said = property::text(&state.plan, RestartPolicy::PROPERTY);
        said.and_then(|text| text.parse().ok()).unwrap_or(self.settings.restart)
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    pub(super) fn nodes(&self) -> Vec<(String, Node)> {
        let state = self.state.lock();
        let nodes = state.nodes.iter();
        nodes.map(|(name, node)| (name.clone(), node.clone())).collect()
    }

    /// Returns the nodes that are not lost.
    pub(super) fn live(&self) -> Vec<(String, Node)> {
        let mut nodes = self.nodes();
        nodes.retain(|(_, node)| node.lost.is_none());
        nodes
    }

    fn move_from(&self, from: Phase) -> Result<(), Trouble> {
        let phase = self.state.lock().phase;
        match phase == from {
            true => Ok(()),
            false => Err(Trouble::new(
                &self.label,
                format!("its state is {phase:?}, but this step needs {from:?}"),
            )),
        }
    }

    fn move_to(&self, phase: Phase) {
        let mut state = self.state.lock();
        state.phase = phase;
        state.step = Instant::now();
        self.changed.notify_all();
    }

    /// Starts all processes on all nodes, and installs their instances. Returns the objects that they provide. If this
    /// fails, all processes are ended.
    pub(super) fn launch(&self, config: &[d::Property]) -> Result<Vec<Connection>, Trouble> {
        let pass = self.pass()?;
        self.move_from(Phase::Prepared)?;
        self.state.lock().config = config.to_vec();
        let launched = together(self.nodes(), |(name, node)| self.launch_node(&name, &node));
        let launched = launched.into_iter().collect::<Result<(), Trouble>>();
        if let Err(trouble) = launched {
            drop(pass);
            return Err(self.undone(trouble));
        }
        self.move_to(Phase::Installed);
        let nodes = self.nodes();
        Ok(merged(nodes.iter().flat_map(|(_, node)| &node.provided)))
    }

    pub(super) fn launch_node(&self, name: &str, node: &Node) -> Result<(), Trouble> {
        let plans = node.plans.with_timeout(self.settings.node_timeout);
        let config = self.state.lock().config.clone();
        let launched = plans.start_launch(&config);
        let (application, provided) = launched.map_err(|error| placed(error, name, &self.label))?;
        if let Some(node) = self.state.lock().nodes.get_mut(name) {
            node.application = application;
            node.provided = provided;
        }
        Ok(())
    }

    /// Creates all connections and, if `start` is set, activates the instances. If this fails, all processes are ended.
    pub(super) fn finish(&self, given: &[Connection], start: bool) -> Result<(), Trouble> {
        {
            let pass = self.pass()?;
            self.move_from(Phase::Installed)?;
            let outside = self.outside(given);
            self.state.lock().given = outside;
            if let Err(trouble) = self.connect() {
                drop(pass);
                return Err(self.undone(trouble));
            }
            self.move_to(Phase::Connected);
        }
        if start { self.start() } else { Ok(()) }
    }

    /// Activates the instances. If this fails, all processes are ended.
    pub(super) fn start(&self) -> Result<(), Trouble> {
        let pass = self.pass()?;
        self.move_from(Phase::Connected)?;
        if let Err(trouble) = self.run() {
            drop(pass);
            return Err(self.undone(trouble));
        }
        self.move_to(Phase::Running);
        Ok(())
    }

    /// Returns connections without the references that the plan itself provides. Clients may pass on what the launch
    /// has returned, but these references end with their processes.
    fn outside(&self, given: &[Connection]) -> Vec<Connection> {
        let nodes = self.nodes();
        let provided = nodes.iter().flat_map(|(_, node)| &node.provided);
        let own: HashSet<String> = provided
            .flat_map(|one| one.endpoint.iter().flatten())
            .map(|end| end.to_ior())
            .collect();
        let mut outside = given.to_vec();
        for one in &mut outside {
            one.endpoint.retain(|end| end.as_ref().is_some_and(|end| !own.contains(&end.to_ior())));
        }
        outside.retain(|one| !one.endpoint.is_empty());
        outside
    }

    /// Creates the missing connections on all nodes.
    pub(super) fn connect(&self) -> Result<(), Trouble> {
        let nodes = self.live();
        let given = self.state.lock().given.clone();
        let (all, given) = (&nodes, &given);
        let made = together((0..all.len()).collect(), |at: usize| {
            let (name, node) = &all[at];
            let Some(application) = &node.application else {
                return Ok(());
            };
            let used: BTreeSet<&str> = split::used(&node.part);
            let others = all.iter().filter(|(other, _)| other != name);
            let provided = others.flat_map(|(_, other)| &other.provided).chain(given);
            let wanted = provided.filter(|connection| used.contains(connection.name.as_str()));
            let application = application.with_timeout(self.settings.node_timeout);
            let made = application.finish_launch(&merged(wanted), false);
            made.map_err(|error| placed(error, name, &self.label))
        });
        made.into_iter().collect()
    }

    /// Activates the instances that are not active, on all nodes.
    pub(super) fn run(&self) -> Result<(), Trouble> {
        let started = together(self.live(), |(name, node)| {
            let Some(application) = &node.application else {
                return Ok(());
            };
            let application = application.with_timeout(self.settings.node_timeout);
            let started = application.start();
            started.map_err(|error| placed(error, &name, &self.label))
        });
        started.into_iter().collect()
    }

    /// Ends the named connections on all nodes. Errors are ignored: if a node does not answer, its renewal thread
    /// detects that.
    pub(super) fn disconnect(&self, names: &BTreeSet<String>) {
        if names.is_empty() {
            return;
        }
        let nodes = self.live();
        together(nodes, |(_, node)| {
            let used = split::used(&node.part);
            let own: Vec<String> =
                names.iter().filter(|name| used.contains(name.as_str())).cloned().collect();
            if !own.is_empty() {
                let plans = node.plans.with_timeout(self.settings.node_timeout);
                let _ = plans.disconnect(&own);
            }
        });
    }

    /// Ends the plan on all nodes. Also works while the plan is being launched.
    pub(super) fn end(&self) -> Result<(), Trouble> {
        self.begin_end();
        // End the nodes before waiting for the gate: the operation that holds it waits for the nodes, which now abort.
        let first = self.end_nodes();
        let pass = self.gate.pass(self.settings.node_timeout);
        let last = self.end_nodes();
        drop(pass);
        self.move_to(Phase::Ended);
        first.and(last)
    }

    /// Refuses further operations.
    pub(super) fn begin_end(&self) {
        // Set the flag under the lock. Otherwise a thread that has checked it but does not wait yet would miss the
        // signal.
        let _state = self.state.lock();
        self.is_ending.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Waits until the plan has ended. There is no time limit, because `end` has its own limits.
    pub(super) fn wait_for_end(&self) {
        let mut state = self.state.lock();
        while state.phase != Phase::Ended {
            state = self.changed.wait_timeout(state, self.settings.node_timeout).0;
        }
    }

    fn end_nodes(&self) -> Result<(), Trouble> {
        let ended = together(self.nodes(), |(name, node)| self.end_node(&name, &node));
        ended.into_iter().collect()
    }

    /// Ends the plan on one node, and removes the node.
    pub(super) fn end_node(&self, name: &str, node: &Node) -> Result<(), Trouble> {
        let limit = match node.lost {
            // A lost node is called as well, because it may answer again, but with a short time limit.
            Some(_) => self.settings.status_timeout,
            None => self.settings.node_timeout,
        };
        let plans: d::NodeApplicationManagerRef = node.plans.clone().into();
        let ended = node.manager.with_timeout(limit).destroy_manager(Some(&plans));
        self.state.lock().nodes.remove(name);
        match (ended, &node.lost) {
            (Ok(()), _) | (_, Some(_)) => Ok(()),
            (Err(error), None) => Err(placed(error, name, &self.label).and(format_args!(
                "if it still runs, it ends the plan itself within {:?}",
                self.settings.lease
            ))),
        }
    }

    /// Ends the plan because a step failed, and returns the failure.
    fn undone(&self, trouble: Trouble) -> Trouble {
        // If the plan was ended for an earlier failure, that failure caused this one.
        let trouble = self.state.lock().failed.take().unwrap_or(trouble);
        match self.end() {
            Ok(()) => trouble,
            Err(more) => trouble.and(format_args!("undoing the launch: {more}")),
        }
    }
}

/// Adds the name of the node to a failure, unless the failure contains it already.
pub(super) fn placed(error: impl Into<Trouble>, node: &str, plan: &str) -> Trouble {
    let trouble: Trouble = error.into();
    match trouble.reason.starts_with("node ") {
        true => trouble,
        false => trouble.within(format_args!("node {node}"), plan),
    }
}
