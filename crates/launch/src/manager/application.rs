//! A plan on one node, with operations that launch, connect, change and end its processes together.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_core::Interface as _;
use oxorb_core::lock::Mutex;
use oxorb_deploy::plan::Plan;
use oxorb_sys::process::{Child, End};

use super::fetch::Fetching;
use super::member::Member;
use super::process::{Starter, unique};
use super::program::Program;
use super::split;
use super::together::{Gate, Pass, together};
use super::trouble::Trouble;
use crate::idl::deployment::{Connection, Property};
use crate::idl::ox_deployment::{ProcessState, ProcessStatus};
use crate::wire;

/// The part of a plan that runs on one node.
pub(super) struct Application {
    starter: Arc<Starter>,
    pub(super) label: String,
    /// Gate that admits one operation at a time. Operations do not hold the lock of `state`, so that the status can be
    /// read.
    gate: Gate,
    /// Whether the plan is being ended. In this case no process may be started.
    is_ending: AtomicBool,
    state: Arc<Mutex<State>>,
}

struct State {
    members: Vec<Member>,
    /// Number of processes that have ended unexpectedly.
    ends: u64,
    /// Time at which the plan is ended unless it is renewed.
    lease: Option<Instant>,
    is_launched: bool,
    /// Whether all connections of the plan have been made at least once.
    is_connected: bool,
    /// Property values passed to the launch.
    config: Vec<Property>,
}

impl State {
    fn member(&mut self, name: &str) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.name == name)
    }
}

impl Application {
    pub(super) fn new(starter: &Arc<Starter>, plan: &Plan) -> Result<Application, Trouble> {
        Ok(Application {
            starter: Arc::clone(starter),
            label: label(plan),
            gate: Gate::default(),
            is_ending: AtomicBool::new(false),
            state: Arc::new(Mutex::new(State {
                members: members(starter, plan)?,
                ends: 0,
                lease: None,
                is_launched: false,
                is_connected: false,
                config: Vec::new(),
            })),
        })
    }

    fn pass(&self) -> Result<Pass<'_>, Trouble> {
        let limit = self.starter.settings.call_timeout;
        let pass = self.gate.pass(limit).ok_or_else(|| {
            let reason = format!("another operation on the plan has not ended within {limit:?}");
            Trouble::new(&self.label, reason)
        })?;
        match self.is_ending.load(Ordering::Acquire) {
            true => Err(Trouble::new(&self.label, "it is being stopped")),
            false => Ok(pass),
        }
    }

    /// Starts all processes and installs their instances. If this fails, all processes are ended.
    pub(super) fn launch(&self, config: &[Property]) -> Result<Vec<Connection>, Trouble> {
        let _pass = self.pass()?;
        let names = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.is_launched, true) {
                return Err(Trouble::new(&self.label, "it was already launched"));
            }
            state.config = config.to_vec();
            state.members.iter().map(|one| one.name.clone()).collect()
        };
        if let Err(trouble) = self.start(names) {
            let left = self.end_all();
            return Err(left.err().into_iter().fold(trouble, Trouble::and));
        }
        Ok(self.provided())
    }

    /// Restarts processes that have ended. Other processes are not affected.
    pub(super) fn restart(&self, names: &[String]) -> Result<Vec<Connection>, Trouble> {
        let _pass = self.pass()?;
        let ended: Vec<String> = {
            let mut state = self.state.lock();
            let known: HashSet<&str> = state.members.iter().map(|one| &*one.name).collect();
            if let Some(unknown) = names.iter().find(|name| !known.contains(&***name)) {
                return Err(Trouble::new(unknown, "the plan has no such process on this node"));
            }
            let wanted = |member: &&mut Member| !member.runs() && names.contains(&member.name);
            let members = state.members.iter_mut().filter(wanted);
            members
                .map(|member| {
                    member.restarts += 1;
                    member.name.clone()
                })
                .collect()
        };
        self.start(ended)?;
        Ok(self.provided())
    }

    /// Changes the processes to those of another plan. Processes with the same part in both plans are not affected.
    pub(super) fn redeploy(&self, plan: &Plan) -> Result<Vec<Connection>, Trouble> {
        // Files are fetched before the gate is taken, so that a slow server delays no restart of a process.
        let wanted = members(&self.starter, plan)?;
        let _pass = self.pass()?;
        let names: HashSet<&str> = wanted.iter().map(|member| &*member.name).collect();
        let (mut to_start, mut to_change, mut to_end) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut state = self.state.lock();
            for member in &state.members {
                if !names.contains(&*member.name) {
                    to_end.push(member.name.clone());
                }
            }
            for new in &wanted {
                match state.member(&new.name) {
                    None => {
                        state.members.push(new.clone());
                        to_start.push(new.name.clone());
                    }
                    Some(old) if old.runs() && old.program == new.program => {
                        if old.part != new.part || old.is_half_changed {
                            to_change.push((new.name.clone(), new.part.clone()));
                        }
                    }
                    Some(old) => {
                        if old.runs() {
                            to_end.push(new.name.clone());
                        }
                        to_start.push(new.name.clone());
                    }
                }
            }
        }
        self.end(&to_end)?;
        {
            let mut state = self.state.lock();
            state.members.retain(|member| names.contains(&*member.name));
            for new in &wanted {
                if let Some(old) = state.member(&new.name)
                    && to_start.contains(&new.name)
                {
                    old.part = new.part.clone();
                    old.program = new.program.clone();
                    old.restarts = 0;
                }
            }
            state.is_launched = true;
        }
        let changed = together(to_change, |(name, part)| self.change(&name, part));
        changed.into_iter().collect::<Result<(), Trouble>>()?;
        self.start(to_start)?;
        Ok(self.provided())
    }

    /// Changes one running process to another part of the plan.
    fn change(&self, name: &str, part: Plan) -> Result<(), Trouble> {
        let manager = {
            let mut state = self.state.lock();
            let member = state.member(name);
            member.and_then(|member| {
                member.is_half_changed = true;
                member.live().cloned()
            })
        };
        let gone = || Trouble::new(name, "its process ended in the meantime");
        let manager = manager.ok_or_else(gone)?;
        let plan = wire::to_wire(&part)?;
        let provided = manager.redeploy(&plan);
        let provided = provided
            .map_err(|error| Trouble::from(error).within(format_args!("process {name}"), name))?;
        let mut state = self.state.lock();
        let member = state.member(name).ok_or_else(gone)?;
        member.part = part;
        member.is_half_changed = false;
        member.provided = provided;
        member.restarts = 0;
        member.unconnected = true;
        member.inactive = true;
        Ok(())
    }

    /// Creates missing connections to objects of other nodes and of other processes of this node. If `start` is set,
    /// activates the instances that are not active.
    pub(super) fn finish(&self, given: &[Connection], start: bool) -> Result<(), Trouble> {
        let pass = self.pass()?;
        let todo: Vec<_> = {
            let state = self.state.lock();
            // Before all connections have been made once, a lost process makes the launch fail. After that, the other
            // processes continue, and users of the lost process wait for its restart.
            if let Some(lost) = state.members.iter().find(|one| !one.runs())
                && !state.is_connected
            {
                let first = lost.part.instance.first();
                let name = first.map_or("", |instance| instance.name.as_str());
                let reason = format!("process {} {}", lost.name, lost.detail);
                return Err(Trouble::new(name, reason));
            }
            let unconnected = state.members.iter().filter(|member| member.unconnected);
            unconnected
                .filter_map(|member| {
                    let manager = member.live()?.clone();
                    let connections = connections(&state.members, member, given);
                    let waits = state.is_connected
                        && !split::lacking(&member.part, &connections).is_empty();
                    (!waits).then(|| (member.name.clone(), manager, connections))
                })
                .collect()
        };
        let made = together(todo, |(name, manager, connections)| {
            let made = manager.finish_launch(&connections, false);
            made.map_err(|error| {
                Trouble::from(error).within(format_args!("process {name}"), &name)
            })?;
            if let Some(member) = self.state.lock().member(&name) {
                member.unconnected = false;
            }
            Ok(())
        });
        made.into_iter().collect::<Result<(), Trouble>>()?;
        self.state.lock().is_connected = true;
        drop(pass);
        if start { self.run() } else { Ok(()) }
    }

    /// Activates the instances that are not active.
    pub(super) fn run(&self) -> Result<(), Trouble> {
        let _pass = self.pass()?;
        let todo: Vec<_> = {
            let state = self.state.lock();
            let members = state.members.iter().filter(|member| member.inactive);
            members
                .filter_map(|member| Some((member.name.clone(), member.live()?.clone())))
                .collect()
        };
        let started = together(todo, |(name, manager)| {
            let started = manager.start();
            started.map_err(|error| {
                Trouble::from(error).within(format_args!("process {name}"), &name)
            })?;
            if let Some(member) = self.state.lock().member(&name) {
                member.inactive = false;
            }
            Ok(())
        });
        started.into_iter().collect()
    }

    /// Ends connections by name, because their providers no longer exist.
    pub(super) fn disconnect(&self, names: &[String]) -> Result<(), Trouble> {
        let _pass = self.pass()?;
        let todo: Vec<_> = {
            let mut state = self.state.lock();
            let mut todo = Vec::new();
            for member in &mut state.members {
                let used = split::used(&member.part);
                let own: Vec<String> =
                    names.iter().filter(|name| used.contains(name.as_str())).cloned().collect();
                if let Some(manager) = member.live().cloned()
                    && !own.is_empty()
                {
                    member.unconnected = true;
                    todo.push((member.name.clone(), manager, own));
                }
            }
            todo
        };
        let ended = together(todo, |(name, manager, own)| {
            let ended = manager.disconnect(&own);
            ended
                .map_err(|error| Trouble::from(error).within(format_args!("process {name}"), &name))
        });
        ended.into_iter().collect()
    }

    /// Ends all processes. If an operation that is in progress does not end soon, kills them.
    pub(super) fn destroy(&self) -> Result<(), Trouble> {
        /// Maximum wait for an operation in progress. After it, the processes are killed.
        const PATIENCE: Duration = Duration::from_secs(1);
        self.is_ending.store(true, Ordering::Release);
        let pass = self.gate.pass(PATIENCE).or_else(|| {
            // The operation probably waits for a process, and ends if this process is killed.
            let state = self.state.lock();
            for child in state.members.iter().filter_map(|member| member.child.as_ref()) {
                child.kill();
            }
            drop(state);
            self.gate.pass(self.starter.settings.call_timeout)
        });
        let ended = self.end_all();
        drop(pass);
        ended
    }

    fn end_all(&self) -> Result<(), Trouble> {
        let names: Vec<String> = {
            let state = self.state.lock();
            state.members.iter().map(|one| one.name.clone()).collect()
        };
        self.end(&names)
    }

    /// Ends the named processes.
    fn end(&self, names: &[String]) -> Result<(), Trouble> {
        let todo: Vec<Member> = {
            let mut state = self.state.lock();
            let members = state.members.iter_mut();
            members
                .filter(|member| names.contains(&member.name))
                .map(|member| {
                    let before = member.clone();
                    // With the id cleared, the end of the process does not count as unexpected.
                    member.uuid.clear();
                    before
                })
                .collect()
        };
        let ended = together(todo, |member| {
            let Some(child) = &member.child else {
                return Ok(());
            };
            let manager = member.manager.as_ref();
            let installed = manager.map(|manager| (manager, member.application.as_ref()));
            let killed = self.starter.end(child, installed)?;
            let detail = match killed {
                true => {
                    "killed: it did not end in time (NodeSettings::stop_timeout, --stop-timeout)"
                }
                false => "",
            };
            if let Some(member) = self.state.lock().member(&member.name) {
                member.stopped(ProcessState::Stopped, detail);
            }
            Ok(())
        });
        ended.into_iter().collect()
    }

    /// Starts processes and installs their instances.
    fn start(&self, names: Vec<String>) -> Result<(), Trouble> {
        let started = together(names, |name| self.start_one(&name));
        started.into_iter().collect()
    }

    fn start_one(&self, name: &str) -> Result<(), Trouble> {
        let uuid = unique()?;
        let found = {
            let mut state = self.state.lock();
            let config = state.config.clone();
            state.member(name).map(|member| {
                member.uuid.clone_from(&uuid);
                member.state = ProcessState::Starting;
                member.detail.clear();
                (member.part.clone(), member.program.clone(), config)
            })
        };
        let (part, program, config) = found.ok_or_else(|| Trouble::new(name, "no such process"))?;
        let mut own: Option<Arc<Child>> = None;
        let begin = || {
            if self.is_ending.load(Ordering::Acquire) {
                return Err(Trouble::new(name, "the plan is being stopped"));
            }
            let state = Arc::downgrade(&self.state);
            let id = uuid.clone();
            let child =
                self.starter.start(name, &uuid, &program, move |end| note_end(&state, &id, end))?;
            let child = Arc::new(child);
            own = Some(Arc::clone(&child));
            if let Some(member) = self.state.lock().member(name) {
                member.child = Some(Arc::clone(&child));
            }
            Ok(child)
        };
        let installed = self.starter.install(name, &uuid, &part, &config, begin);
        let done = {
            let mut state = self.state.lock();
            let member = state.member(name).filter(|member| member.uuid == uuid);
            match (member, installed) {
                (Some(member), Ok(installed)) if member.state == ProcessState::Starting => {
                    member.installed(installed);
                    return Ok(());
                }
                (Some(member), Ok(_)) => Err(Trouble::new(name, &member.detail)),
                (None, Ok(_)) => Err(Trouble::new(name, "the plan is being stopped")),
                (member, Err(trouble)) => {
                    if let Some(member) = member {
                        member.uuid.clear();
                        member.stopped(ProcessState::Lost, trouble.reason.clone());
                    }
                    Err(trouble)
                }
            }
        };
        if let Some(child) = own {
            child.kill();
            child.wait(self.starter.settings.stop_timeout);
        }
        done
    }

    /// Returns the objects that all processes provide.
    fn provided(&self) -> Vec<Connection> {
        let state = self.state.lock();
        let members = state.members.iter().filter(|member| member.runs());
        merged(members.flat_map(|member| &member.provided))
    }

    /// Returns the current state of the processes. Running processes are asked for it.
    pub(super) fn status(&self) -> Vec<ProcessStatus> {
        let members = self.state.lock().members.clone();
        together(members, |member| {
            let mut status = member.status(&self.starter.node);
            let Some(manager) = member.live() else {
                return status;
            };
            let manager = manager.with_timeout(self.starter.settings.status_timeout);
            match manager.status() {
                Ok(live) => {
                    status.instances = live.instances;
                    status.connections = live.connections;
                }
                // If the process ended during the call, report that state instead of the failed call.
                Err(error) => match self.state.lock().member(&member.name) {
                    Some(now) if !now.runs() => return now.status(&self.starter.node),
                    _ => status.detail = format!("does not answer: {error}"),
                },
            }
            status
        })
    }

    /// Renews the plan's lease. Returns the number of processes that have ended unexpectedly so far.
    pub(super) fn renew(&self, lease: Duration) -> u64 {
        let mut state = self.state.lock();
        state.lease = Instant::now().checked_add(lease);
        state.ends
    }

    /// Reports whether the plan's lease expired before `now`.
    pub(super) fn has_expired(&self, now: Instant) -> bool {
        let lease = self.state.lock().lease;
        lease.is_some_and(|end| end < now)
    }
}

/// Records the unexpected end of a process.
fn note_end(state: &Weak<Mutex<State>>, uuid: &str, end: End) {
    let Some(state) = state.upgrade() else {
        return;
    };
    let mut state = state.lock();
    let state = &mut *state;
    if let Some(member) = state.members.iter_mut().find(|one| one.uuid == uuid) {
        member.ended(end);
        state.ends += 1;
    }
}

/// Returns the processes of the part of a plan that runs on this node.
fn members(starter: &Starter, plan: &Plan) -> Result<Vec<Member>, Trouble> {
    let parts = split::by_process(plan).into_iter();
    let orb = starter.activator.reference().orb().clone();
    let mut fetching = Fetching::new(&starter.settings, orb);
    parts
        .map(|(name, part)| {
            let program = Program::of(&part, &starter.settings, &mut fetching)?;
            Ok(Member::new(name, part, program))
        })
        .collect()
}

/// Returns the references that a process uses and other processes or nodes provide.
fn connections(members: &[Member], of: &Member, given: &[Connection]) -> Vec<Connection> {
    let used: BTreeSet<&str> = split::used(&of.part);
    let others = members.iter().filter(|member| member.name != of.name && member.runs());
    let here = others.flat_map(|member| &member.provided);
    let all = here.chain(given).filter(|connection| used.contains(connection.name.as_str()));
    merged(all)
}

/// Merges connections with the same name.
pub(super) fn merged<'c>(all: impl Iterator<Item = &'c Connection>) -> Vec<Connection> {
    let mut merged: Vec<Connection> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for connection in all {
        match places.get(connection.name.as_str()) {
            Some(&at) => {
                let one: &mut Connection = &mut merged[at];
                one.endpoint.extend(connection.endpoint.iter().cloned());
            }
            None => {
                places.insert(connection.name.as_str(), merged.len());
                merged.push(connection.clone());
            }
        }
    }
    merged
}

/// Returns the name of a plan: its UUID or, if it has none, its label.
pub(crate) fn label(plan: &Plan) -> String {
    let known = [&plan.uuid, &plan.label];
    let mut known = known.into_iter().flatten().filter(|name| !name.is_empty());
    known.next().cloned().unwrap_or_default()
}
