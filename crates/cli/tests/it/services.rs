//! Start of the command's servers: what they print, and when they begin to listen.

use std::collections::BTreeSet;
use std::net::TcpListener;

use oxorb_testkit::process::Process;

use crate::common::{Folder, LIMIT, command, run, text};

const IDL: &str = "interface Account { readonly attribute long long balance; };";

/// Returns the options in a text.
fn options(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.starts_with("--") && word.len() > 2).collect()
}

/// V4: `event serve` named `--read-only`, which it does not have.
#[test]
fn a_service_names_only_options_that_it_has() {
    let folder = Folder::new("services");
    let (idl, store) = (folder.file("account.idl", IDL), folder.path("ifr.redb"));
    assert!(run(&["ifr", "load", &idl, "--store", &store]).status.success());
    // Each service with the beginning of its last line.
    let services: [(&[&str], &str); 6] = [
        (&["name", "serve", "--in-memory", "--port", "0"], "  other servers: "),
        (&["name", "serve", "--in-memory", "--port", "0", "--read-only"], "  other servers: "),
        (&["event", "serve", "--port", "0"], "  changes: "),
        (&["event", "serve", "--port", "0", "--notify=Plant"], "  changes: "),
        (&["sched", "serve", "--port", "0"], "  changes: "),
        (&["ifr", "serve", "--port", "0", "--store", &store], "  changes: "),
    ];
    for (service, last) in services {
        let mut process = Process::spawn(command(service));
        process.wait_for_line(last, LIMIT);
        let lines: Vec<&str> = process.output().iter().map(|line| line.text.as_str()).collect();
        let printed = lines.join("\n");
        assert!(printed.contains("  connections: only this machine; at iiop://"), "{printed}");
        let help = run(&[&service[..2], &["--help"]].concat());
        let help = text(&help.stdout);
        let (named, known) = (options(&printed), options(&help));
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{service:?} has no {unknown:?}: {printed}");
        // Only a service with the option can be told to reject changes, and it says how.
        let is_open = printed.contains("changes: by every client that can connect");
        let offers = is_open && known.contains("--read-only");
        assert_eq!(printed.contains("(--read-only rejects them)"), offers, "{printed}");
    }
}

/// The profiles of a server that listens over TLS only have no plain address.
#[test]
#[cfg(feature = "tls")]
fn services_that_listen_over_tls_only_print_their_urls() {
    let folder = Folder::new("services-tls");
    let (certificates, idl) = (folder.path("certificates"), folder.file("account.idl", IDL));
    assert!(run(&["cert", "new", "--dir", &certificates]).status.success());
    let (server, roots) = (format!("{certificates}/server.pem"), format!("{certificates}/ca.pem"));
    let store = folder.path("ifr.redb");
    assert!(run(&["ifr", "load", &idl, "--store", &store]).status.success());
    let services: [(&[&str], &str, usize); 5] = [
        (&["name", "serve", "--in-memory"], "/NameService", 1),
        (&["event", "serve", "--notify"], "/NotifyChannel", 2),
        (&["sched", "serve"], "/ScheduleService", 1),
        (&["ifr", "serve", "--store", &store], "/InterfaceRepository", 1),
        (&["serve", "--idl", &idl, "--defaults", "--name", "Account"], "/Account", 1),
    ];
    for (service, name, urls) in services {
        let tls = ["--listen", "iiops://127.0.0.1:0", "-ORBTlsCertificate", &server];
        let mut process =
            Process::spawn(command(&[service, &tls[..], &["-ORBTlsRoots", &roots]].concat()));
        for _ in 0..urls {
            process.wait_for_line("corbaloc:iiops:1.2@127.0.0.1:", LIMIT);
        }
        let is_named = process
            .output()
            .iter()
            .any(|line| line.text.contains("corbaloc:iiops:") && line.text.contains(name));
        assert!(is_named, "{service:?}: {:?}", process.output());
    }
}

#[test]
fn services_print_their_access_rules() {
    let folder = Folder::new("services-rules");
    let rules = folder.file("rules.toml", "[access]\ndefault = \"deny\"\n");
    let args = ["event", "serve", "--port", "0", "-ORBAccessRules", &rules];
    let mut process = Process::spawn(command(&args));
    let last = process.wait_for_line("  changes: ", LIMIT);
    assert_eq!(last, "  changes: by every client whose request the access rules allow");
    let is_told = process.output().iter().any(|line| {
        line.text.starts_with("  requests: 0 access rules of ") && line.text.ends_with("are denied")
    });
    assert!(is_told);
}

/// A server that listens before its objects exist tells early clients that they do not. An endpoint that is taken
/// shows when a server begins to listen: behind everything else that may fail.
#[test]
fn servers_listen_when_all_else_is_ready() {
    let folder = Folder::new("listen-last");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let address = format!("127.0.0.1:{port}");
    let (good, bad) = (folder.file("account.idl", IDL), folder.file("bad.idl", "interface {"));
    let folders = folder.path("fetched");
    // Each server twice: with a file that it cannot use, and without.
    for (server, option, wrong, right) in [
        (&["serve"][..], "--idl", &bad, &good),
        (&["deploy", "serve"], "--packages", &bad, &folder.path("packages")),
        (
            &["node", "serve", "--name", "nose", "--fetch-from", "http://127.0.0.1:9/files"],
            "--fetched",
            &bad,
            &folders,
        ),
    ] {
        let told = |file: &str| {
            let output = run(&[server, &[option, file, "--port", &port]].concat());
            assert_eq!(output.status.code(), Some(1), "{server:?} {file}: {output:?}");
            text(&output.stderr)
        };
        let unusable = told(wrong);
        assert!(unusable.contains("bad.idl") && !unusable.contains(&address), "{unusable}");
        let cannot_listen = told(right);
        assert!(cannot_listen.contains(&address), "{cannot_listen}");
    }
}
