//! Execution manager and node managers in one ORB, with the plans that they launch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb::deployment::idl::ox_deployment::{InstancePhase, ProcessState, ProcessStatus};
use oxorb::deployment::{
    Artifacts, ExecutionManager, ExecutionSettings, Launched, NodeEvent, NodeManager, NodeSettings,
    Plans,
};
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Document, Format, Limits};
use oxorb_deployment_tests::ReaderRef;

/// Limit that only a failing test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Scene {
    pub(crate) orb: Orb,
    pub(crate) execution: Option<ExecutionManager>,
    pub(crate) nodes: BTreeMap<String, NodeManager>,
    pub(crate) events: Arc<Mutex<Vec<NodeEvent>>>,
    pub(crate) plans: Plans,
}

/// Returns settings whose time limits are reached only by hanging processes.
pub(crate) fn node_settings() -> NodeSettings {
    NodeSettings {
        artifacts: Artifacts::Anywhere(".".into()),
        start_timeout: LONG,
        call_timeout: LONG,
        stop_timeout: LONG,
        ..NodeSettings::default()
    }
}

pub(crate) fn execution_settings() -> ExecutionSettings {
    ExecutionSettings { lease: LONG, ..ExecutionSettings::default() }
}

impl Scene {
    pub(crate) fn new(nodes: &[&str]) -> Scene {
        Scene::with(nodes, &node_settings(), execution_settings())
    }

    pub(crate) fn with(
        nodes: &[&str],
        settings: &NodeSettings,
        execution: ExecutionSettings,
    ) -> Scene {
        let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let managers: BTreeMap<String, NodeManager> = nodes
            .iter()
            .map(|&node| {
                let manager = NodeManager::start(orb.root_poa(), node, settings.clone());
                (node.to_owned(), manager.unwrap())
            })
            .collect();
        let known: BTreeMap<_, _> = managers
            .iter()
            .map(|(name, manager)| (name.clone(), manager.reference().clone()))
            .collect();
        let told = Arc::clone(&events);
        let execution = ExecutionManager::start(
            orb.root_poa(),
            execution,
            move |name| {
                let found = known.get(name).cloned();
                found.ok_or_else(|| format!("no manager of node {name} is known"))
            },
            move |event| told.lock().unwrap().push(event.clone()),
        )
        .unwrap();
        let plans = Plans::of(execution.reference().clone());
        Scene { orb, execution: Some(execution), nodes: managers, events, plans }
    }

    /// Waits until the status of a plan satisfies `wanted`; returns it.
    #[track_caller]
    pub(crate) fn wait(
        &self,
        launched: &Launched,
        wanted: impl Fn(&[ProcessStatus]) -> bool,
    ) -> Vec<ProcessStatus> {
        let end = Instant::now() + LONG;
        loop {
            let status = launched.manager.status().unwrap();
            if wanted(&status) {
                return status;
            }
            let events = self.events.lock().unwrap().clone();
            assert!(Instant::now() < end, "{status:#?}\n{events:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.execution.take());
        self.nodes.clear();
        let _ = self.orb.shutdown(true);
    }
}

/// Instance of a plan.
pub(crate) struct Instance {
    pub(crate) name: &'static str,
    pub(crate) component: &'static str,
    pub(crate) node: &'static str,
    pub(crate) trap: &'static str,
}

pub(crate) fn counter(name: &'static str, node: &'static str) -> Instance {
    Instance { name, component: "Counter", node, trap: "" }
}

pub(crate) fn reader(name: &'static str, node: &'static str) -> Instance {
    Instance { component: "Reader", ..counter(name, node) }
}

impl Instance {
    pub(crate) fn trapped(self, trap: &'static str) -> Instance {
        Instance { trap, ..self }
    }
}

/// Returns a plan of instances, each in a separate process, with connections `READER-COUNTER`.
pub(crate) fn plan(label: &str, instances: &[Instance], connections: &[(&str, &str)]) -> Plan {
    let mut text = format!(
        "label = {label:?}\n\
         [[artifact]]\nname = \"station\"\nlocation = {:?}\n",
        env!("CARGO_BIN_EXE_station")
    );
    for component in ["Counter", "Reader"] {
        if instances.iter().any(|one| one.component == component) {
            text.push_str(&format!(
                "[[implementation]]\nname = \"{component}\"\nartifact = \"station\"\n\
                 [implementation.execParameter]\n\
                 \"component factory\" = \"create_Station_{component}_Impl\"\n"
            ));
        }
    }
    for one in instances {
        text.push_str(&format!(
            "[[instance]]\nname = {:?}\nnode = {:?}\nimplementation = {:?}\n\
             [instance.configProperty]\ntrap = {:?}\n",
            one.name, one.node, one.component, one.trap
        ));
    }
    for (reader, counter) in connections {
        text.push_str(&format!(
            "[[connection]]\nname = \"{reader}-{counter}\"\n\
             SimplexReceptacle = \"{reader}.source\"\nFacet = \"{counter}.output\"\n"
        ));
    }
    let names: Vec<&str> = instances.iter().map(|one| one.name).collect();
    text.push_str(&format!(
        "[[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = {names:?}\n"
    ));
    read(&text)
}

pub(crate) fn read(text: &str) -> Plan {
    Document::read(text, Format::Toml, &Limits::default())
        .and_then(Document::into_plan)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the process of an instance.
#[track_caller]
pub(crate) fn process<'s>(status: &'s [ProcessStatus], name: &str) -> &'s ProcessStatus {
    let found = status.iter().find(|one| one.process == name);
    found.unwrap_or_else(|| panic!("no process {name}: {status:#?}"))
}

/// Returns the reference of an instance in the status.
#[track_caller]
pub(crate) fn instance<'s>(status: &'s [ProcessStatus], name: &str) -> &'s ObjectRef {
    let instance = status.iter().flat_map(|process| &process.instances);
    let mut instance = instance.filter(|one| one.name == name);
    instance
        .next()
        .and_then(|one| one.reference.as_ref())
        .expect("an instance that is there has a reference")
}

/// Calls a reader by its reference in the status.
#[track_caller]
pub(crate) fn read_at(status: &[ProcessStatus], name: &str) -> oxorb::Result<u32> {
    let reader: ReaderRef = instance(status, name).unchecked_narrow();
    reader.provide_dial()?.expect("a facet is never nil").read()
}

/// Reports whether all processes run with active instances and made connections.
pub(crate) fn all_run(status: &[ProcessStatus]) -> bool {
    status.iter().all(runs)
}

pub(crate) fn runs(process: &ProcessStatus) -> bool {
    process.state == ProcessState::Running
        && !process.instances.is_empty()
        && process.instances.iter().all(|one| one.phase == InstancePhase::Active)
        && process.connections.iter().all(|one| one.connected)
}

/// Reports whether a process exists, unless it is a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !(state.is_empty() || state.starts_with(['Z', 'X']))
}

/// Waits until processes have ended.
#[track_caller]
pub(crate) fn wait_for_end(pids: &[u32]) {
    let end = Instant::now() + LONG;
    while let Some(left) = pids.iter().find(|&&pid| is_alive(pid)) {
        assert!(Instant::now() < end, "process {left} is left of {pids:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills a process with SIGKILL.
pub(crate) fn kill(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success(), "process {pid} cannot be killed");
}

/// Returns the ids of the running processes of a status.
pub(crate) fn pids(status: &[ProcessStatus]) -> Vec<u32> {
    let pids = status.iter().map(|one| one.pid);
    pids.filter(|&pid| pid != 0).collect()
}
