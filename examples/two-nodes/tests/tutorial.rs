//! The tutorial of `docs/components.md`: its files are those of this example, and its plan runs on two nodes, each a
//! process.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use oxorb_testkit::process::Process;
use rustix::process::{Pid, Signal, kill_process};

/// Time limit, long enough for any machine, and reached only after an error.
const LIMIT: Duration = Duration::from_secs(60);

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PAGE: &str = include_str!("../../../docs/components.md");

#[test]
fn the_page_shows_every_file_as_it_is() {
    for (word, file) in [
        ("idl", "idl/avionics.idl"),
        ("rust,ignore", "src/main.rs"),
        ("toml", "plan.toml"),
        ("toml", "rt.toml"),
    ] {
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        let block = format!("```{word}\n{text}```\n");
        assert!(PAGE.contains(&block), "docs/components.md lacks {file}");
    }
}

fn start(folder: &Path, node: &str, more: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_two-nodes"));
    command.current_dir(ROOT).args(["--plan", "plan.toml"]);
    command.arg("--references").arg(folder).args(more);
    command.args(["--node", node, "-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    Process::spawn(command)
}

#[track_caller]
fn runs_on_two_nodes(name: &str, more: &[&str]) {
    let folder = std::env::temp_dir().join(format!("oxorb-{name}-{}", std::process::id()));
    let nose = start(&folder, "nose", more);
    let mut cockpit = start(&folder, "cockpit", more);
    let line = cockpit.wait_for_line("position", LIMIT);
    assert!(line.ends_with(": 48.5 11.25"), "{line}");
    for mut process in [cockpit, nose] {
        let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process has an id"), Signal::TERM).expect("it runs");
        process.wait_success(LIMIT);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_plan_runs_on_two_nodes() {
    runs_on_two_nodes("two-nodes", &[]);
}

#[test]
fn the_plan_runs_with_real_time_resources() {
    runs_on_two_nodes("two-nodes-rt", &["--rt", "rt.toml"]);
}
