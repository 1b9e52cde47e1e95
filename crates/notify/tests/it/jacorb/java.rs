//! JacORB's notification service, suppliers, consumers and checks. Each runs in a separate Java VM.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use oxorb::Orb;
use oxorb_notify::cos_notify_channel_admin::{EventChannelFactoryRef, EventChannelRef};
use oxorb_testkit::process::Process;

/// Time limit for a program in a Java VM, which starts slowly on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Source files of the programs.
const SOURCES: [&str; 3] = ["Notify.java", "NotifyChecks.java", "NotifyPeers.java"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the class path with JacORB's jars, which `tests/interop/install-peers.sh` installs.
fn class_path(own: &Path) -> String {
    let jars = root().join("target/interop/jars");
    assert!(
        jars.join("jacorb-services-3.9.jar").exists(),
        "JacORB is missing: run tests/interop/install-peers.sh"
    );
    format!("{}/*:{}", jars.display(), own.display())
}

/// The compiled programs that use JacORB.
pub(crate) struct JacOrb(PathBuf);

impl JacOrb {
    pub(crate) fn new(test: &str) -> JacOrb {
        let name = format!("oxorb-jacorb-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let sources = root().join("tests/interop/java");
        let compiled = Command::new("javac")
            .args(["-nowarn", "-cp", &class_path(&folder), "-d"])
            .arg(&folder)
            .args(SOURCES.map(|source| sources.join(source)))
            .output()
            .expect("javac, of a JDK");
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        JacOrb(folder)
    }

    fn run(&self, args: &[&str]) -> Process {
        let mut command = Command::new("java");
        command
            .arg("-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB")
            .arg("-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton")
            .arg("-Djacorb.notification.supplier.poll_intervall=20")
            .args(["-cp", &class_path(&self.0)])
            .args(args);
        Process::spawn(command)
    }

    /// Starts JacORB's service. Returns its process and a channel.
    pub(crate) fn channel(&self, orb: &Orb) -> (Process, EventChannelRef) {
        let mut service = self.run(&["org.jacorb.notification.ConsoleMain", "-printIOR"]);
        let ior = service.wait_for_line("IOR:", PATIENCE);
        let factory: EventChannelFactoryRef = orb.resolve(ior.trim()).unwrap();
        let (channel, _) = factory.create_channel(&[], &[]).unwrap();
        (service, channel.unwrap())
    }

    /// Connects a consumer of each kind. All consumers have these filters.
    pub(crate) fn consumers(&self, url: &str, constraints: &[&str]) -> Process {
        let args = [&["peers.Notify", "consume", url], constraints].concat();
        let mut consumers = self.run(&args);
        consumers.wait_for_line("READY", PATIENCE);
        consumers
    }

    /// Sends events from a supplier of each kind. Returns when all events have been sent.
    pub(crate) fn supply(&self, url: &str, base: i32, events: i32) {
        let (base, events) = (base.to_string(), events.to_string());
        let mut suppliers = self.run(&["peers.Notify", "supply", url, &base, &events]);
        suppliers.wait_for_line("DONE", PATIENCE);
    }

    /// Runs the checks. Returns their names and, for each check that failed, the reason.
    pub(crate) fn checks(&self, url: &str) -> Vec<(String, Option<String>)> {
        let mut checks = self.run(&["peers.Notify", "check", url]);
        checks.wait_for_line("DONE", PATIENCE);
        let lines = checks.output().iter().map(|line| line.text.as_str());
        let results = lines.filter_map(|line| match line.split_once(' ')? {
            ("PASS", name) => Some((name.to_owned(), None)),
            ("FAIL", rest) => {
                let (name, why) = rest.split_once(": ")?;
                Some((name.to_owned(), Some(why.to_owned())))
            }
            _ => None,
        });
        results.collect()
    }
}

impl Drop for JacOrb {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
