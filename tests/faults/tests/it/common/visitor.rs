//! Client in a separate process, which performs a call up to a step and is killed there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::__gen::Op;
use oxorb::client::AsyncReply;
use oxorb::{Interface, ObjectRef, SystemException};
use oxorb_testkit::process::{Process, rerun, test_name};

use super::{BIG, LONG, PATIENT, PING, RUN, Server, client, ping, swallow};

/// Variables of the client: its step and the server's reference.
const STEP: &str = "OXORB_FAULTS_STEP";
const SERVER: &str = "OXORB_FAULTS_SERVER";

/// Variable with the file that releases the client.
const GO: &str = "OXORB_FAULTS_GO";

/// Size in octets of a request, larger than all socket buffers.
const MUCH: usize = 32 << 20;

/// Step at which a client is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Connected, was served, and sends nothing.
    Connected,
    /// A part of its request was sent: the server does not read on.
    Sending,
    /// The request was sent.
    Sent,
    /// The request runs, until the ORB detects that no caller waits for it.
    Running,
    /// A part of the answer arrived, which the client does not read.
    Answering,
}

impl Step {
    pub(crate) const ALL: [Step; 5] =
        [Step::Connected, Step::Sending, Step::Sent, Step::Running, Step::Answering];
}

/// Client process. Killed on drop.
pub(crate) struct Visitor {
    process: Process,
    go: PathBuf,
}

impl Visitor {
    /// Starts a client and waits until it is about to perform its step.
    pub(crate) fn start(server: &Server, step: Step) -> Visitor {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("oxorb-faults-go-{}-{number}", std::process::id());
        let go = std::env::temp_dir().join(name);
        let mut command = rerun(test_name(visit));
        command.env(STEP, format!("{step:?}")).env(SERVER, server.ior()).env(GO, &go);
        let mut process = Process::spawn(command);
        process.wait_for_line("at it", LONG);
        Visitor { process, go }
    }

    /// Returns the number of its request.
    pub(crate) fn number(&self) -> i64 {
        i64::from(self.process.id())
    }

    /// Lets it perform its step, and waits until it has, unless the step does not end.
    pub(crate) fn go(&mut self, step: Step) {
        fs::write(&self.go, "go").expect("a file");
        if step != Step::Sending {
            self.process.wait_for_line("done", LONG);
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Kills the client with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.signal("-KILL");
        self.process.wait(LONG);
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.go);
    }
}

/// Performs the step, in the process started by a [`Visitor`], and stays there.
#[test]
fn visit() {
    let (Ok(step), Ok(server)) = (std::env::var(STEP), std::env::var(SERVER)) else {
        return;
    };
    let client = client();
    let object = client.string_to_object(&server).expect("a reference");
    assert_eq!(ping(&object, 1), Ok(2));
    // The connection exists by now, so that only the step itself remains.
    assert_eq!(begin(&object, &PING, 1).wait(), Ok(2));
    println!("at it");
    // The other side now stops, or makes its other preparations.
    let go = std::env::var_os(GO).expect("set beside the step");
    let end = Instant::now() + LONG;
    while !Path::new(&go).exists() {
        assert!(Instant::now() < end, "nobody says go");
        thread::sleep(Duration::from_millis(1));
    }
    let step = Step::ALL.into_iter().find(|one| format!("{one:?}") == step);
    let step = step.expect("a step");
    let number = i64::from(std::process::id());
    let sent = match step {
        Step::Connected => None,
        Step::Sending => {
            let _ = swallow(&object, MUCH);
            None
        }
        Step::Sent => Some(begin(&object, &RUN, number)),
        Step::Running => Some(begin(&object, &PATIENT, number)),
        Step::Answering => Some(begin(&object, &BIG, number)),
    };
    println!("done");
    thread::sleep(2 * LONG);
    drop(sent);
}

fn begin(object: &ObjectRef, op: &'static Op, number: i64) -> AsyncReply<i64, SystemException> {
    object.reference().invoke_async(
        op,
        |e| {
            e.longlong(number);
            Ok(())
        },
        |d| d.longlong(),
    )
}
