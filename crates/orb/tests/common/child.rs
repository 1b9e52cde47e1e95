//! Servers in separate processes, which tests can kill.

use std::env;
use std::process::Command;
use std::sync::Arc;

use oxorb::poa::{IdAssignment, Lifespan, Policies};
use oxorb::settings::Concurrency;
use oxorb::{ObjectRef, Orb};
use oxorb_testkit::process::{Process, rerun, test_name};

use super::{LONG, Pinger};

/// Environment variable that is set in the process that runs [`serve`].
const SERVING: &str = "OXORB_TEST_SERVING";

/// A server process with a persistent [`Pinger`], and a transient one. Killed when dropped.
pub(crate) struct Child {
    pub(crate) process: Process,
    ior: String,
    /// Reference to a transient object of the server.
    pub(crate) transient: String,
}

impl Child {
    /// Starts a server.
    pub(crate) fn start(endpoints: &str, concurrency: Concurrency) -> Child {
        Child::run(rerun(test_name(serve)), endpoints, concurrency)
    }

    /// Starts a server with a limit on its file descriptors.
    pub(crate) fn start_with_descriptors(
        most: u32,
        endpoints: &str,
        concurrency: Concurrency,
    ) -> Child {
        let test = rerun(test_name(serve));
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")])
            .arg(test.get_program())
            .args(test.get_args());
        Child::run(shell, endpoints, concurrency)
    }

    fn run(mut command: Command, endpoints: &str, concurrency: Concurrency) -> Child {
        command
            .env(SERVING, "yes")
            .env("OXORB_CONCURRENCY", concurrency.to_string())
            .env("OXORB_LISTENENDPOINTS", endpoints);
        let mut process = Process::spawn(command);
        let mut printed = || process.wait_for_line("IOR:", LONG).trim().to_owned();
        let (ior, transient) = (printed(), printed());
        Child { process, ior, transient }
    }

    /// Returns the persistent object, as `client` resolves it.
    pub(crate) fn object(&self, client: &Orb) -> ObjectRef {
        client.string_to_object(&self.ior).unwrap()
    }
}

/// Serves in the server process; returns at once in any other.
#[test]
#[ignore = "a server for other tests"]
fn serve() {
    if env::var_os(SERVING).is_none() {
        return;
    }
    let orb = Orb::builder().build().unwrap();
    let policies = Policies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::User,
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("children", policies).unwrap();
    let id = oxorb::poa::ObjectId::from("pinger");
    let object = poa.activate_servant_with_id(&id, Arc::new(Pinger::default())).unwrap();
    let transient = orb.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    println!("\n{object}\n{transient}");
    orb.run();
}
