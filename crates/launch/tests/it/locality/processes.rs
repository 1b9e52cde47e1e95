//! Separate processes: stand-alone with a plan, and started by an activator.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::Duration;

use oxorb::deployment::idl::dance::{self, LocalityManagerActivatorRef, LocalityManagerRef};
use oxorb::deployment::idl::deployment::Property;
use oxorb::deployment::idl::ox_deployment::LocalityRef;
use oxorb::{Interface, Orb, SystemException};
use oxorb_testkit::process::{Process, rerun, test_name};

use crate::locality::executors::{Log, Parts};
use crate::locality::scene::COCKPIT;

const LIMIT: Duration = Duration::from_secs(30);

/// Variable that makes this test program run the process of a locality. It contains the arguments, one per line.
const ARGUMENTS: &str = "OXORB_TEST_LOCALITY";

/// Runs the process of a locality. Does nothing if the variable is not set.
#[test]
fn process_of_a_locality() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let parts = Parts { log: Log::printing(), pushes: true, ..Parts::default() };
    let args = ["locality"].into_iter().chain(arguments.lines()).map(str::to_owned).collect();
    let code = oxorb::deployment::run(parts.implementations(), args, |args| {
        let orb = Orb::builder().args(args).build()?;
        orb.shutdown_on_signal()?;
        Ok(oxorb::deployment::Started {
            root: orb.root_poa().clone(),
            rest: orb.args().iter().skip(1).cloned().collect(),
            orb: (*orb).clone(),
        })
    });
    std::process::exit(i32::from(code != ExitCode::SUCCESS));
}

fn locality(arguments: &[&str]) -> Process {
    let mut command = rerun(test_name(process_of_a_locality));
    command.env(ARGUMENTS, arguments.join("\n"));
    Process::spawn(command)
}

/// A folder for one test, which is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("oxorb-launch-{name}-{}", oxorb_testkit::unique()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        text_of(&path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text_of(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn two_processes() -> String {
    format!(
        "{COCKPIT}\n[[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = [\"screen\"]\n"
    )
}

fn terminate(process: &Process) {
    let done = Command::new("kill").arg(process.id().to_string()).status();
    assert!(done.unwrap().success());
}

#[test]
fn one_process_runs_its_plan_alone() {
    let folder = Folder::new("one");
    let plan = folder.file("plan.toml", COCKPIT);
    let mut process = locality(&["--plan", &plan, "-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    process.wait_for_line("n main: running", LIMIT);
    process.wait_for_line(" 48.5", LIMIT);
    terminate(&process);
    process.wait_for_line("gps remove", LIMIT);
    assert!(process.wait(LIMIT).success());
}

#[test]
fn two_processes_find_each_other_and_again_after_a_restart() {
    let folder = Folder::new("two");
    let plan = folder.file("plan.toml", &two_processes());
    let references = text_of(&folder.0.join("references"));
    let start = |process: &str| {
        locality(&[
            "--plan",
            &plan,
            "--node",
            "n",
            "--process",
            process,
            "--references",
            &references,
            "--wait=30",
            "-ORBListenEndpoints",
            "iiop://127.0.0.1:0",
        ])
    };
    let (mut main, mut screen) = (start("main"), start("screen"));
    main.wait_for_line("n main: running", LIMIT);
    screen.wait_for_line("update", LIMIT);
    // Kill one process. Its reference file remains, and its successor must not be confused with it.
    drop(screen);
    let mut screen = start("screen");
    screen.wait_for_line("update", LIMIT);
    terminate(&main);
    assert!(main.wait(LIMIT).success());
    assert!(!folder.0.join("references/gps.location.ior").exists());
    // The successor of `main` has another offset, which is visible in the position that it provides.
    let gps = "name = \"gps\"\nnode = \"n\"\n";
    let moved =
        two_processes().replace(gps, &format!("{gps}configProperty = {{ offset = 0.25 }}\n"));
    folder.file("plan.toml", &moved);
    let mut main = start("main");
    main.wait_for_line("n main: running", LIMIT);
    screen.wait_for_line(" 48.75", LIMIT);
    terminate(&screen);
    assert!(screen.wait(LIMIT).success());
}

#[track_caller]
fn refused(arguments: &[&str], expected: &str) {
    let mut process = locality(arguments);
    process.wait_for_line(expected, LIMIT);
    assert_eq!(process.wait(LIMIT).code(), Some(1));
}

#[test]
fn what_is_wrong_is_told_with_file_and_place() {
    let folder = Folder::new("wrong");
    let plan = folder.file("plan.toml", COCKPIT);
    let two = folder.file("two.toml", &two_processes());
    refused(&[], "error: start it with --plan FILE");
    refused(&["--plan", &plan, "--verbose"], "error: unknown argument \"--verbose\"");
    refused(&["--plan", &plan, "--wait", "x"], "error: --wait must be a number of seconds");
    refused(
        &["--plan", &two],
        "error: the plan has several processes; it has --node n --process main, --node n --process screen",
    );
    refused(&["--plan", "/nowhere.toml"], "error: /nowhere.toml cannot be read:");
    let broken = folder.file("broken.toml", "label = 1 2");
    refused(&["--plan", &broken], &format!("{broken}:1:"));
    let attribute = folder.file("attribute.toml", &COCKPIT.replace("hertz", "rate"));
    refused(
        &["--plan", &attribute],
        &format!("{attribute}:17:1: error: attribute \"rate\" of instance \"rate\" was not set"),
    );
    refused(
        &["--plan", &two, "--process", "screen"],
        "in another process; specify a directory for references with --references",
    );
    let references = text_of(&folder.0.join("references"));
    refused(
        &["--plan", &two, "--process", "screen", "--references", &references, "--wait", "0"],
        "error: after 0 s the reference of gps.location, gps.location is missing; start the processes",
    );
    let services = folder
        .file("rt.toml", "document = \"ServerResources\"\nsvcconf = { uri = \"svc.conf\" }\n");
    refused(&["--plan", &plan, "--rt", &services], "svcconf \"svc.conf\" is a file of TAO's");
}

/// Stores the manager that called back.
#[derive(Default)]
struct Activator {
    manager: Mutex<Option<LocalityManagerRef>>,
    configured: Mutex<Vec<String>>,
}

impl dance::LocalityManagerActivator for Activator {
    fn locality_manager_callback(
        &self,
        manager: Option<&LocalityManagerRef>,
        _: &str,
    ) -> Result<Vec<Property>, SystemException> {
        *self.manager.lock().unwrap() = manager.cloned();
        Ok(Vec::new())
    }

    fn configuration_complete(&self, uuid: &str) -> Result<(), SystemException> {
        self.configured.lock().unwrap().push(uuid.to_owned());
        Ok(())
    }
}

#[test]
fn a_managed_process_ends_with_its_activator() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let activator = std::sync::Arc::new(Activator::default());
    let own: LocalityManagerActivatorRef =
        orb.root_poa().activate(std::sync::Arc::clone(&activator)).unwrap();
    let arguments = ["--locality", "u-1", "--activator", &own.to_ior(), "--node", "n"];
    let mut process = locality(&arguments);
    let until = std::time::Instant::now() + LIMIT;
    while activator.configured.lock().unwrap().is_empty() {
        assert!(std::time::Instant::now() < until, "it did not call back");
        std::thread::yield_now();
    }
    assert_eq!(*activator.configured.lock().unwrap(), ["u-1"]);
    let manager = activator.manager.lock().unwrap().clone().unwrap();
    let manager: LocalityRef = manager.narrow().unwrap().unwrap();
    assert_eq!(manager.status().unwrap().pid, process.id());
    orb.shutdown(true).unwrap();
    process.wait_for_line(
        "error: the activator of this process no longer answers, so the process ended",
        LIMIT,
    );
    assert_eq!(process.wait(LIMIT).code(), Some(1));
}

#[test]
fn a_managed_process_ends_when_told() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let activator = std::sync::Arc::new(Activator::default());
    let own: LocalityManagerActivatorRef =
        orb.root_poa().activate(std::sync::Arc::clone(&activator)).unwrap();
    let mut process = locality(&["--locality", "u-2", "--activator", &own.to_ior()]);
    let until = std::time::Instant::now() + LIMIT;
    while activator.configured.lock().unwrap().is_empty() {
        assert!(std::time::Instant::now() < until, "it did not call back");
        std::thread::yield_now();
    }
    let manager = activator.manager.lock().unwrap().clone().unwrap();
    manager.shutdown().unwrap();
    assert!(process.wait(LIMIT).success());
    orb.shutdown(true).unwrap();
}
