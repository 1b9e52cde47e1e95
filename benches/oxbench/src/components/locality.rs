//! Processes configured by their plan alone: the documents of a run in a separate folder, and the processes started
//! from them.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use oxorb::deployment::{self, Implementations};

use super::executors::{Controller, Worker};
use super::generated::load::{ControllerRef, WorkerRef};
use crate::Result;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::protocols::Folder;

/// Name under which this program acts as the process of a locality, which parses its own arguments.
const LOCALITY: &str = "oxbench-locality";

/// Reports whether this process was started as a locality.
pub(crate) fn is_locality() -> bool {
    let name = std::env::args_os().next();
    name.is_some_and(|name| Path::new(&name).file_name() == Some(LOCALITY.as_ref()))
}

/// Runs the part of a plan that the arguments of this process name.
pub(crate) fn run_locality() -> ExitCode {
    let components = Implementations::new()
        .component::<WorkerRef, _>("create_Load_Worker_Impl", Worker::default)
        .component::<ControllerRef, _>("create_Load_Controller_Impl", Controller::default);
    deployment::run_locality(components)
}

/// Documents of one run in a folder, which is removed on drop.
pub(super) struct Stage {
    folder: Folder,
    plan: PathBuf,
    resources: Option<PathBuf>,
}

impl Stage {
    /// Writes a plan under a name, with its real-time resources.
    pub(super) fn new((name, plan): (&str, &str), resources: Option<&str>) -> Result<Stage> {
        let folder = Folder::new()?;
        let write = |name: &str, text: &str| -> Result<PathBuf> {
            let file = folder.path().join(name);
            std::fs::write(&file, text)
                .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            Ok(file)
        };
        let plan = write(name, plan)?;
        let resources = resources.map(|text| write("lanes.csr", text)).transpose()?;
        Ok(Stage { folder, plan, resources })
    }

    /// Returns the reference that a process has written to a file of the folder.
    pub(super) fn reference(&self, file: &str) -> Result<String> {
        let file = self.folder.path().join(file);
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("cannot read the reference in {}: {error}", file.display()))?;
        Ok(text.trim().to_owned())
    }
}

/// Process of one node.
pub(super) struct Locality {
    process: Process,
    node: String,
}

impl Locality {
    /// Starts the process in the folder of the documents.
    pub(super) fn start(
        stage: &Stage,
        node: &str,
        placement: Placement,
        role: Role,
    ) -> Result<Locality> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg0(LOCALITY)
            .current_dir(stage.folder.path())
            .arg("--plan")
            .arg(&stage.plan)
            .args(["--node", node, "--process", "main", "--references", "."])
            .args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
        if let Some(resources) = &stage.resources {
            command.arg("--rt").arg(resources);
        }
        let name = format!("the process of node {node}");
        Ok(Locality {
            process: Process::start(name, placement, role, &mut command)?,
            node: node.to_owned(),
        })
    }

    /// Waits until its instances are active.
    pub(super) fn wait(&mut self) -> Result {
        self.process.expect(&format!("{} main: running", self.node))
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the file that it executes.
    pub(super) fn executable(&self) -> Result<PathBuf> {
        Ok(std::fs::read_link(format!("/proc/{}/exe", self.id()))?)
    }

    /// Stops its instances and ends the process.
    pub(super) fn finish(self) -> Result {
        self.process.terminate()
    }
}
