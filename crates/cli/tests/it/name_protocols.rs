//! A name server that listens with several protocols at once: omniORB and JacORB use IIOP, OxORB its preferred one.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use oxorb::Orb;
use oxorb::ior::Ior;
use oxorb::transport::Address;
use oxorb_testkit::peers::{is_there, jacorb, jacorb_program};
use oxorb_testkit::process::Process;
use oxorb_testkit::tap::Tap;
use oxorb_testkit::watchdog;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(60);

/// Endpoints, in the order in which references list them.
const LISTEN: &str =
    "giop-lite-rt+tcp://127.0.0.1:0;giop-lite+tcp://127.0.0.1:0;iiop://127.0.0.1:0";

const PROTOCOLS: [&str; 3] = ["giop-lite-rt+tcp", "giop-lite+tcp", "iiop"];

/// Name server, and a listener in front of each of its endpoints.
struct Server {
    _process: Process,
    taps: Vec<Tap<SocketAddr>>,
    /// Reference of the root context, with the addresses of the listeners.
    root: String,
    /// URLs of the root context, which bypass the listeners.
    urls: Value,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
        command.args(["name", "serve", "--in-memory", "--format", "json"]);
        command.args(["--listen", LISTEN]);
        let mut process = Process::spawn(command);
        let line = process.wait_for_line("serving", LIMIT);
        let said: Value = serde_json::from_str(&line).expect("one line of JSON");
        let ior = said["ior"].as_str().expect("its reference");
        let (root, taps) = tapped(ior);
        Self { _process: process, taps, root, urls: said["corbaloc"].clone() }
    }

    /// Runs a command that must succeed; returns its output.
    fn good(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn oxorb(&self, args: &[&str]) -> String {
        self.good(env!("CARGO_BIN_EXE_oxorb"), args)
    }

    fn nameclt(&self, args: &[&str]) -> String {
        self.good("nameclt", &[&["-ior", &self.root], args].concat())
    }

    /// Returns the protocols over which `calls` sends something, and its result.
    fn over<T>(&self, calls: impl FnOnce() -> T) -> (Vec<&'static str>, T) {
        let octets = || -> Vec<usize> {
            // The clients are programs that have ended, so everything that they sent can be counted here.
            let heard = self.taps.iter().map(|tap| tap.heard_to_the_end());
            heard.map(|all| all.iter().map(|one| one.requests.len()).sum()).collect()
        };
        let before = octets();
        let result = calls();
        let grown = octets().into_iter().zip(before);
        let named = grown.zip(PROTOCOLS);
        let used = named.filter_map(|((after, before), name)| (after > before).then_some(name));
        (used.collect(), result)
    }
}

/// Puts a listener before each address of a reference.
fn tapped(ior: &str) -> (String, Vec<Tap<SocketAddr>>) {
    let orb = Orb::builder().build().expect("an ORB");
    let protocols = &orb.options().protocols;
    let mut ior: Ior = ior.parse().expect("a reference");
    let mut taps = Vec::new();
    assert_eq!(ior.profiles.len(), PROTOCOLS.len());
    for (tagged, name) in ior.profiles.iter_mut().zip(PROTOCOLS) {
        let protocol = protocols.tagged(tagged.tag).expect("a known tag");
        assert_eq!(protocol.name(), name);
        let mut profile = protocol.profile().read(tagged).expect("its form");
        let [address] = &mut profile.addresses[..] else {
            panic!("one address: {:?}", profile.addresses);
        };
        let tap = Tap::tcp(address.place().parse().expect("host and port"));
        let text = format!("{}:{}", address.scheme(), tap.address());
        *address = text.parse::<Address>().expect("an address");
        *tagged = protocol.profile().write(&profile);
        taps.push(tap);
    }
    orb.shutdown(true).expect("nothing runs");
    (ior.to_string(), taps)
}

#[test]
fn every_client_speaks_what_it_knows_and_prefers() {
    let _guard = watchdog(LIMIT);
    let server = Server::start();
    let list = |preferred: &[&str]| {
        let listed = &["name", "ls", "--at", &server.root];
        server.over(|| server.oxorb(&[listed, preferred].concat()))
    };
    for (preferred, used) in [
        (&[] as &[_], "giop-lite-rt+tcp"),
        (&["-ORBProtocols", "giop-lite+tcp"], "giop-lite+tcp"),
        (&["-ORBProtocols", "iiop,giop-lite+tcp"], "iiop"),
    ] {
        assert_eq!(list(preferred), (vec![used], String::new()));
    }
    let begin = |index: usize| {
        let heard = server.taps[index].heard();
        heard[0].requests[..4].to_vec()
    };
    assert_eq!(begin(2), b"GIOP");
    assert_ne!(begin(0), b"GIOP");
    assert_ne!(begin(1), b"GIOP");
}

#[test]
fn the_server_says_where_it_is_found_by_each_protocol() {
    let _guard = watchdog(LIMIT);
    let server = Server::start();
    let urls = server.urls.as_array().expect("URLs");
    let begin = [
        "corbaloc::127.0.0.1:",
        "corbaloc:giop-lite-rt+tcp:1.2@127.0.0.1:",
        "corbaloc:giop-lite+tcp:1.2@127.0.0.1:",
    ];
    assert_eq!(urls.len(), begin.len(), "{urls:?}");
    for (url, begin) in urls.iter().zip(begin) {
        let url = url.as_str().expect("a URL");
        assert!(url.starts_with(begin), "{url}");
        assert_eq!(server.oxorb(&["name", "ls", "--at", url]), "");
    }
}

#[test]
fn jacorb_passes_over_what_it_does_not_speak() {
    let Some(jars) = jacorb() else { return };
    let _guard = watchdog(LIMIT);
    let server = Server::start();
    server.oxorb(&["name", "mkcontext", "folder", "--at", &server.root]);
    let mut lsns = jacorb_program(&jars, &[], "org.jacorb.naming.ContextLister");
    lsns.args(["-url", &server.root]);
    let (used, listed) = server.over(|| lsns.output().expect("java starts"));
    assert_eq!(used, ["iiop"]);
    let text = String::from_utf8_lossy(&listed.stdout);
    assert!(listed.status.success() && text.contains("folder/\n"), "{listed:?}");
}

#[test]
fn omniorb_passes_over_what_it_does_not_speak_and_keeps_it() {
    if !is_there("nameclt") {
        return;
    }
    let _guard = watchdog(LIMIT);
    let server = Server::start();
    let omniorb = |args: &[&str]| {
        let (used, said) = server.over(|| server.nameclt(args));
        assert_eq!(used, ["iiop"], "{args:?}");
        said
    };
    let made = omniorb(&["bind_new_context", "folder"]);
    assert!(made.contains("IOR:"), "{made}");
    omniorb(&["bind", "folder/root", &server.root]);
    assert!(omniorb(&["list", "folder"]).contains("root\n"));
    let theirs = omniorb(&["resolve", "folder/root"]);

    // A reference that passed through omniORB still has the profiles of all protocols.
    let (used, ours) =
        server.over(|| server.oxorb(&["name", "resolve", "folder/root", "--at", &server.root]));
    assert_eq!(used, ["giop-lite-rt+tcp"]);
    for ior in [&theirs, &ours] {
        let profiles = |text: &str| text.trim().parse::<Ior>().expect("a reference").profiles;
        assert_eq!(profiles(ior), profiles(&server.root));
        let listed = || server.oxorb(&["name", "ls", "--at", ior.trim()]);
        assert_eq!(server.over(listed), (vec!["giop-lite-rt+tcp"], "folder/\n".to_owned()));
    }
}
