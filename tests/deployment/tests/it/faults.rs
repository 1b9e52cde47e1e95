//! Managers that are killed in each phase: the status is accurate, and no process is left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use oxorb::deployment::idl::deployment::{ExecutionManagerRef, NodeManagerRef};
use oxorb::deployment::idl::ox_deployment::ProcessState;
use oxorb::deployment::{
    Artifacts, ExecutionManager, ExecutionSettings, NodeManager, NodeSettings, Plans, Trouble,
};
use oxorb::{Interface as _, Orb};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Document, Format, Limits};
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::side_by_side;

const LONG: Duration = Duration::from_secs(30);
/// Variable with the node, or nodes with their references, of a manager in a separate process.
const NODE: &str = "OXORB_TEST_NODE";
const EXECUTION: &str = "OXORB_TEST_EXECUTION";

fn node_manager(orb: &Orb, name: &str) -> NodeManager {
    let settings = NodeSettings {
        artifacts: Artifacts::Anywhere(".".into()),
        start_timeout: LONG,
        call_timeout: LONG,
        stop_timeout: Duration::from_secs(2),
        ..NodeSettings::default()
    };
    NodeManager::start(orb.root_poa(), name, settings).unwrap()
}

fn execution_manager(orb: &Orb, nodes: BTreeMap<String, NodeManagerRef>) -> ExecutionManager {
    let settings =
        ExecutionSettings { lease: Duration::from_secs(6), ..ExecutionSettings::default() };
    let lookup = move |name: &str| nodes.get(name).cloned().ok_or_else(|| name.to_owned());
    ExecutionManager::start(orb.root_poa(), settings, lookup, |_| ()).unwrap()
}

fn orb() -> Orb {
    Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap()
}

/// Manager in a separate process; not a test by itself.
#[test]
fn manager_process() {
    if let Some(name) = std::env::var_os(NODE) {
        let orb = orb();
        let node = node_manager(&orb, name.to_str().unwrap());
        println!("{}", node.reference().to_ior());
        orb.run();
    } else if let Ok(nodes) = std::env::var(EXECUTION) {
        let orb = orb();
        let known = nodes.split_whitespace().map(|one| {
            let (name, ior) = one.split_once('=').unwrap();
            (name.to_owned(), orb.resolve(ior).unwrap())
        });
        let execution = execution_manager(&orb, known.collect());
        println!("{}", execution.reference().to_ior());
        orb.run();
    }
}

/// Starts a manager in a separate process; also returns the manager's reference.
fn start(role: &str, what: &str) -> (Process, String) {
    let mut command = rerun(test_name(manager_process));
    command.env(role, what);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("IOR:", LONG);
    let ior = line[line.find("IOR:").unwrap()..].trim().to_owned();
    (process, ior)
}

/// A counter on `north`, a reader on `south`, with an artifact of this test alone, so that leftover processes can be
/// found.
struct Plant {
    artifact: PathBuf,
}

impl Plant {
    fn new(test: &str) -> Plant {
        let name = format!("oxorb-plant-{test}-{}", oxorb_testkit::unique());
        let artifact = std::env::temp_dir().join(name);
        std::fs::copy(env!("CARGO_BIN_EXE_station"), &artifact).unwrap();
        Plant { artifact }
    }

    fn plan(&self, counter: &str, reader: &str) -> Plan {
        let text = format!(
            r#"
            label = "plant"
            [[artifact]]
            name = "station"
            location = "{}"
            [[implementation]]
            name = "Counter"
            artifact = "station"
            execParameter = {{ "component factory" = "create_Station_Counter_Impl" }}
            [[implementation]]
            name = "Reader"
            artifact = "station"
            execParameter = {{ "component factory" = "create_Station_Reader_Impl" }}
            [[instance]]
            name = "c"
            node = "north"
            implementation = "Counter"
            configProperty = {{ trap = "{counter}" }}
            [[instance]]
            name = "r"
            node = "south"
            implementation = "Reader"
            configProperty = {{ trap = "{reader}" }}
            [[connection]]
            name = "r-c"
            SimplexReceptacle = "r.source"
            Facet = "c.output"
            "#,
            self.artifact.display()
        );
        Document::read(&text, Format::Toml, &Limits::default())
            .and_then(Document::into_plan)
            .unwrap()
    }

    /// Returns the number of running processes of the artifact.
    fn left(&self) -> usize {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let programs =
            entries.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok());
        programs.filter(|program| *program == self.artifact).count()
    }

    /// Waits until at least `to` processes run.
    #[track_caller]
    fn rises(&self, to: usize) {
        self.wait(|left| left >= to);
    }

    /// Waits until at most `to` processes are left.
    #[track_caller]
    fn falls(&self, to: usize) {
        self.wait(|left| left <= to);
    }

    #[track_caller]
    fn wait(&self, is_so: impl Fn(usize) -> bool) {
        let end = Instant::now() + LONG;
        while !is_so(self.left()) {
            assert!(Instant::now() < end, "{} processes run", self.left());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.artifact);
    }
}

/// Two nodes and an execution manager, each in a separate process.
struct Managers {
    orb: Orb,
    north: Process,
    south: Process,
    execution: Process,
    plans: Plans,
}

impl Managers {
    fn new() -> Managers {
        let (north, north_ior) = start(NODE, "north");
        let (south, south_ior) = start(NODE, "south");
        let nodes = format!("north={north_ior} south={south_ior}");
        let (execution, ior) = start(EXECUTION, &nodes);
        let orb = Orb::builder().build().unwrap();
        let manager: ExecutionManagerRef = orb.resolve(&ior).unwrap();
        Managers { plans: Plans::of(manager.with_timeout(LONG * 2)), orb, north, south, execution }
    }

    /// Launches a plan in another thread.
    fn launching(&self, plan: Plan) -> Receiver<Result<(), Trouble>> {
        let (sender, receiver) = channel();
        let plans = self.plans.clone();
        std::thread::spawn(move || {
            let _ = sender.send(plans.launch(&plan).map(drop));
        });
        receiver
    }
}

impl Drop for Managers {
    fn drop(&mut self) {
        let _ = self.orb.shutdown(true);
    }
}

#[test]
fn a_killed_node_manager_takes_its_processes_along_and_the_status_says_so() {
    let plant = Plant::new("node");
    let mut managers = Managers::new();
    let launched = managers.plans.launch(&plant.plan("", "")).unwrap();
    plant.rises(2);
    managers.north.kill();
    plant.falls(1);
    // True at once, before any detection. Then the reader is disconnected.
    let end = Instant::now() + LONG;
    loop {
        let status = launched.manager.status().unwrap();
        let lost = status.iter().find(|one| one.node == "north").unwrap();
        assert_eq!(lost.state, ProcessState::Lost, "{status:#?}");
        assert_eq!(lost.instances[0].name, "c", "what ran there");
        let stays = status.iter().find(|one| one.node == "south").unwrap();
        assert_eq!(stays.state, ProcessState::Running, "{status:#?}");
        if stays.connections.iter().all(|one| !one.connected) {
            break;
        }
        assert!(Instant::now() < end, "{status:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    managers.plans.stop(&launched).unwrap();
    plant.falls(0);
    assert!(managers.plans.all().unwrap().is_empty());
}

#[test]
fn nodes_end_the_plan_of_a_killed_execution_manager() {
    let plant = Plant::new("execution");
    let mut managers = Managers::new();
    managers.plans.launch(&plant.plan("", "")).unwrap();
    plant.rises(2);
    managers.execution.kill();
    plant.falls(0);
    assert!(managers.plans.all().is_err(), "nobody says that it runs");
}

/// The first one is the one whose death is detected by the expiry of a lease.
const VICTIMS: [&str; 3] = ["execution", "north", "south"];

/// Number of simultaneous cases: each has five processes, which mostly wait.
const WIDTH: usize = 4;

impl Managers {
    fn kill(&mut self, victim: &str) {
        match victim {
            "execution" => self.execution.kill(),
            "north" => self.north.kill(),
            _ => self.south.kill(),
        }
    }
}

#[test]
fn a_manager_that_is_killed_during_a_launch_leaves_nothing() {
    // Processes of the first plan never call back.
    let steps = ["silent", "attribute:hang", "configure:hang", "activate:hang"];
    let cases = VICTIMS.iter().flat_map(|victim| steps.map(|step| (*victim, step)));
    side_by_side(WIDTH, cases, |(victim, step)| {
        let plant = Plant::new(&format!("launch-{step}-{victim}"));
        let mut managers = Managers::new();
        let trap = if step == "silent" { "" } else { step };
        let launching = managers.launching(plant.plan(trap, ""));
        plant.rises(2);
        managers.kill(victim);
        plant.falls(0);
        let launched = launching.recv_timeout(LONG * 2).unwrap();
        assert!(launched.is_err(), "{step}, {victim}");
        if victim != "execution" {
            assert!(managers.plans.all().unwrap().is_empty(), "{step}, {victim}");
        }
    });
}

#[test]
fn a_manager_that_is_killed_during_a_stop_leaves_nothing() {
    let steps = ["passivate:hang", "remove:hang"];
    let cases = VICTIMS.iter().flat_map(|victim| steps.map(|step| (*victim, step)));
    side_by_side(WIDTH, cases, |(victim, step)| {
        let plant = Plant::new(&format!("stop-{step}-{victim}"));
        let mut managers = Managers::new();
        let launched = managers.plans.launch(&plant.plan(step, "")).unwrap();
        plant.rises(2);
        let plans = managers.plans.clone();
        let stopping = std::thread::spawn(move || plans.stop(&launched));
        // The reader ends, and the counter hangs.
        plant.falls(1);
        managers.kill(victim);
        plant.falls(0);
        let _ = stopping.join().unwrap();
        if victim != "execution" {
            assert!(managers.plans.all().unwrap().is_empty(), "{step}, {victim}");
        }
    });
}
