//! Every service of the command answers requests for metrics (`-ORBMetrics`).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;

use crate::common::Folder;

const LIMIT: Duration = Duration::from_secs(60);

const IDL: &str = "interface Account { readonly attribute long long balance; };";

fn oxorb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(args).stdin(Stdio::null());
    command
}

fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn every_service_shows_its_metrics() {
    let folder = Folder::new("metrics");
    let (idl, store) = (folder.file("account.idl", IDL), folder.path("ifr.redb"));
    let (idl, store) = (idl.as_str(), store.as_str());
    let loaded = oxorb(&["ifr", "load", idl, "--store", store]).output().unwrap();
    assert!(loaded.status.success(), "{loaded:?}");
    let side = "ListenEndpoints = \"iiop://127.0.0.1:0\"\n";
    let gateway = format!("[outside.orb]\n{side}[inside.orb]\n{side}");
    let gateway = folder.file("gateway.toml", &gateway);
    let gateway = gateway.as_str();
    let services: [&[&str]; 8] = [
        &["name", "serve", "--in-memory", "--port", "0"],
        &["event", "serve", "--port", "0"],
        &["sched", "serve", "--port", "0"],
        &["ifr", "serve", "--port", "0", "--store", store],
        &["serve", "--idl", idl, "--interface", "Account"],
        &["bridge", "--listen", "iiop://127.0.0.1:0", "Account=corbaloc::127.0.0.1:1/Account"],
        &["gateway", "http", "--listen", "127.0.0.1:0", "--idl", idl],
        &["gateway", gateway],
    ];
    for service in services {
        if service[..] == ["gateway", gateway] && !cfg!(feature = "tls") {
            continue;
        }
        let args = [service, &["-ORBMetrics", "0", "-ORBLogLevel", "info"]].concat();
        let mut process = Process::spawn(oxorb(&args));
        let line = process.wait_for_line("metrics at http://", LIMIT);
        let (_, url) = line.split_once("http://").expect("the line contains it");
        let address = url.trim_end().strip_suffix("/metrics").expect("the path of the page");
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        let page = page(address);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{service:?}: {page}");
        assert!(page.contains("\noxorb_connections "), "{service:?}: {page}");
        assert!(page.ends_with("\n# EOF\n"), "{service:?}: {page}");
    }
}
