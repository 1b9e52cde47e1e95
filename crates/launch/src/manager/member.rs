//! Processes of a plan on a node, in the view of the node manager.

use std::sync::Arc;

use oxorb_core::Interface as _;
use oxorb_deploy::plan::Plan;
use oxorb_sys::process::{Child, End};

use super::process::Installed;
use super::program::Program;
use crate::idl::deployment::{ApplicationRef, Connection};
use crate::idl::ox_deployment::{LocalityRef, ProcessState, ProcessStatus};

/// A process of the plan: its part of the plan, and its state.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) name: String,
    /// The process's part of the plan: its instances and their connections.
    pub(super) part: Plan,
    /// Whether a change of the part was begun but did not succeed. It is then unknown which instances exist.
    pub(super) is_half_changed: bool,
    pub(super) program: Program,
    /// Id of the running process, or of the last one that ran.
    pub(super) uuid: String,
    pub(super) state: ProcessState,
    pub(super) child: Option<Arc<Child>>,
    pub(super) manager: Option<LocalityRef>,
    pub(super) application: Option<ApplicationRef>,
    pub(super) provided: Vec<Connection>,
    pub(super) restarts: u32,
    /// Explanation of the state; may be empty.
    pub(super) detail: String,
    /// Whether the process has connections that must still be made.
    pub(super) unconnected: bool,
    /// Whether the process has instances that must still be activated.
    pub(super) inactive: bool,
}

impl Member {
    pub(super) fn new(name: String, part: Plan, program: Program) -> Member {
        Member {
            name,
            part,
            is_half_changed: false,
            program,
            uuid: String::new(),
            state: ProcessState::Stopped,
            child: None,
            manager: None,
            application: None,
            provided: Vec::new(),
            restarts: 0,
            detail: String::new(),
            unconnected: false,
            inactive: false,
        }
    }

    pub(super) fn runs(&self) -> bool {
        self.state == ProcessState::Running
    }

    /// Returns the reference of the process's locality if the process is running.
    pub(super) fn live(&self) -> Option<&LocalityRef> {
        self.manager.as_ref().filter(|_| self.runs())
    }

    /// Records that the process has installed its instances.
    pub(super) fn installed(&mut self, installed: Installed) {
        self.state = ProcessState::Running;
        self.detail.clear();
        self.manager = Some(installed.manager);
        self.application = installed.application;
        self.provided = installed.provided;
        self.is_half_changed = false;
        self.unconnected = true;
        self.inactive = true;
    }

    /// Records the end of the process.
    pub(super) fn ended(&mut self, end: End) {
        self.gone();
        // A process that exits with status 0 is considered complete, and is not restarted.
        let is_done = end.status.is_some_and(|status| status.success());
        self.state = match is_done {
            true => ProcessState::Stopped,
            false => ProcessState::Lost,
        };
        self.detail = format!("ended by itself with {end}");
    }

    /// Records that the process was stopped, or could not be started.
    pub(super) fn stopped(&mut self, state: ProcessState, detail: impl Into<String>) {
        self.gone();
        self.state = state;
        self.detail = detail.into();
    }

    fn gone(&mut self) {
        self.manager = None;
        self.application = None;
        self.provided.clear();
    }

    /// Returns the status as last known, without calling the process.
    pub(super) fn status(&self, node: &str) -> ProcessStatus {
        let is_there = self.child.as_ref().filter(|child| child.ended().is_none());
        ProcessStatus {
            node: node.to_owned(),
            process: self.name.clone(),
            state: self.state,
            pid: is_there.map_or(0, |child| child.id()),
            restarts: self.restarts,
            detail: self.detail.clone(),
            instances: Vec::new(),
            connections: Vec::new(),
        }
    }
}

/// Reports whether two connections have references to the same objects.
pub(super) fn same_ends(one: &Connection, other: &Connection) -> bool {
    let iors = |connection: &Connection| -> Vec<String> {
        let ends = connection.endpoint.iter().flatten();
        let mut iors: Vec<String> = ends.map(|end| end.to_ior()).collect();
        iors.sort();
        iors
    };
    iors(one) == iors(other)
}
