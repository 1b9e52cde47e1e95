//! The tutorial of `docs/components.md`: its plan on two nodes, each a process.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;
use rustix::process::{Pid, Signal, kill_process};

/// Long enough for any machine; nothing waits for it unless something is wrong.
const LIMIT: Duration = Duration::from_secs(60);

const PAGE: &str = include_str!("../../../docs/components.md");

fn start(folder: &Path, node: &str) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_display"));
    command.arg("--plan").arg(folder.join("plan.toml"));
    command.arg("--references").arg(folder.join("references"));
    command.args(["--node", node, "-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    Process::spawn(command)
}

#[test]
fn the_tutorial_runs_on_two_nodes() {
    let (_, rest) = PAGE
        .split_once("```toml\n# plan.toml\n")
        .expect("the page has a plan");
    let (plan, _) = rest.split_once("```").expect("the plan ends");
    let folder = std::env::temp_dir().join(format!("oxorb-two-nodes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    let nose = start(&folder, "nose");
    let mut cockpit = start(&folder, "cockpit");
    let line = cockpit.wait_for_line("position", LIMIT);
    assert_eq!(line, "position: 48.5 11.25");
    for mut process in [cockpit, nose] {
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process has an id"), Signal::TERM).expect("it runs");
        process.wait_success(LIMIT);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
