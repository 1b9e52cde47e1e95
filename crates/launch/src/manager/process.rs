//! Start, configuration and end of the processes of a node.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;

use oxorb_core::Interface as _;
use oxorb_deploy::plan::Plan;
use oxorb_sys::process::{Child, End};

use super::arrivals::{Arrivals, News};
use super::program::Program;
use super::settings::{NodeSettings, ProcessOutput};
use super::trouble::Trouble;
use crate::idl::dance::LocalityManagerActivatorRef;
use crate::idl::deployment::{ApplicationRef, Connection, Property};
use crate::idl::ox_deployment::LocalityRef;
use crate::wire;

/// Starter of the processes of one node.
pub(super) struct Starter {
    pub(super) node: String,
    pub(super) settings: NodeSettings,
    pub(super) arrivals: Arc<Arrivals>,
    pub(super) activator: LocalityManagerActivatorRef,
    /// Number of running processes.
    pub(super) count: Arc<AtomicUsize>,
}

/// A process with installed instances.
pub(super) struct Installed {
    pub(super) manager: LocalityRef,
    pub(super) application: Option<ApplicationRef>,
    pub(super) provided: Vec<Connection>,
}

/// Permit for one process of a node. Dropping it releases the permit.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Starter {
    /// Starts a process with an id. `at_end` is called when the process has ended.
    pub(super) fn start(
        &self,
        name: &str,
        uuid: &str,
        program: &Program,
        at_end: impl FnOnce(End) + Send + 'static,
    ) -> Result<Child, Trouble> {
        let place = self.place()?;
        let mut command = Command::new(&program.path);
        command
            .args(&program.before)
            .args(["--locality", uuid, "--activator", &self.activator.to_ior()])
            .args(["--node", &self.node, "--process", name])
            .args(&program.arguments)
            .stdin(Stdio::null());
        if self.settings.output == ProcessOutput::StandardError {
            command.stdout(std::io::stderr());
        }
        let arrivals = Arc::clone(&self.arrivals);
        let id = uuid.to_owned();
        let child = Child::start(command, move |end| {
            drop(place);
            at_end(end);
            arrivals.ended(&id, end);
        });
        child.map_err(|error| {
            let reason = format!("{} cannot be started: {error}", program.path.display());
            Trouble::new("", reason)
        })
    }

    /// Waits until a process calls back, and installs its instances.
    pub(super) fn install(
        &self,
        name: &str,
        uuid: &str,
        part: &Plan,
        config: &[Property],
        start: impl FnOnce() -> Result<Arc<Child>, Trouble>,
    ) -> Result<Installed, Trouble> {
        let news = self.arrivals.expect(uuid);
        let first = part.instance.first();
        let first = first.map_or("", |instance| instance.name.as_str());
        let child = start().map_err(|mut trouble| {
            self.arrivals.forget(uuid);
            if trouble.name.is_empty() {
                first.clone_into(&mut trouble.name);
            }
            trouble
        })?;
        let place = format!("process {name} ({})", child.id());
        let limit = self.settings.start_timeout;
        let called = match news.recv_timeout(limit) {
            Ok(News::Here(manager)) => Ok(manager),
            Ok(News::Ended(end)) => Err(format!("ended with {end} before it called back")),
            Err(RecvTimeoutError::Disconnected) => Err("ended before it called back".to_owned()),
            Err(RecvTimeoutError::Timeout) => {
                self.arrivals.forget(uuid);
                Err(format!(
                    "did not call back within {limit:?} (NodeSettings::start_timeout, --start-timeout)"
                ))
            }
        };
        let manager =
            called.map_err(|reason| Trouble::new("", reason)).and_then(|manager: LocalityRef| {
                let manager = manager.with_timeout(self.settings.call_timeout);
                let plan = wire::to_wire(part)?;
                manager.prepare_plan(&plan, None)?;
                let (application, provided) = manager.start_launch(config)?;
                Ok(Installed { manager, application, provided })
            });
        manager.map_err(|trouble| trouble.within(place, first))
    }

    /// Ends a process: removes its instances, asks it to end, and kills it if it does not end in time. Returns whether
    /// it was killed.
    pub(super) fn end(
        &self,
        child: &Child,
        installed: Option<(&LocalityRef, Option<&ApplicationRef>)>,
    ) -> Result<bool, Trouble> {
        let limit = self.settings.stop_timeout;
        let mut is_asked = false;
        if let Some((manager, application)) = installed
            && child.ended().is_none()
        {
            let manager = manager.with_timeout(limit);
            // Ignore errors: if the process cannot end in order, it is killed below.
            let _ = manager.destroy_application(application);
            is_asked = manager.shutdown().is_ok();
        }
        if is_asked && child.wait(limit).is_some() {
            return Ok(false);
        }
        let is_late = child.ended().is_none();
        child.kill();
        match child.wait(limit) {
            Some(_) => Ok(is_late),
            None => Err(Trouble::new(
                "",
                format!("process {} was killed, but still exists after {limit:?}", child.id()),
            )),
        }
    }

    fn place(&self) -> Result<Place, Trouble> {
        let most = self.settings.max_processes;
        let taken = self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
            (now < most).then_some(now + 1)
        });
        match taken {
            Ok(_) => Ok(Place(Arc::clone(&self.count))),
            Err(_) => Err(Trouble::new(
                "",
                format!(
                    "node {} runs the maximum of {most} processes (NodeSettings::max_processes, --max-processes)",
                    self.node
                ),
            )),
        }
    }
}

/// Returns a random id, which no other process has.
pub(super) fn unique() -> Result<String, Trouble> {
    let drawn = oxorb_sys::random::octets::<16>();
    let octets = drawn.map_err(|error| Trouble::new("", format!("random octets: {error}")))?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}
