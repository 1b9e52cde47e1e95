//! What the services of the command print at start.

use std::collections::BTreeSet;

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
