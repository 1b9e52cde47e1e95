//! Test that runs all three programs as the README does.

use std::process::Command;
use std::time::Duration;

use oxorb_testkit::net::free_port;
use oxorb_testkit::process::Process;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_client_finds_the_greeter_by_its_name() {
    // The port is known before the service starts, because the client's reference contains it.
    let at = format!("127.0.0.1:{}", free_port());
    let mut service = Command::new(env!("CARGO_BIN_EXE_naming-service"));
    service.args(["-ORBListenEndpoints", &format!("iiop://{at}")]);
    let mut service = Process::spawn(service);
    service.wait_for_line("IOR:", LIMIT);

    let mut server = Command::new(env!("CARGO_BIN_EXE_naming-server"));
    server.args(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    server.args(["-ORBInitRef", &format!("NameService=corbaloc::{at}/NameService")]);
    let mut server = Process::spawn(server);
    server.wait_for_line("hello/greeter is bound", LIMIT);

    let mut client = Command::new(env!("CARGO_BIN_EXE_naming-client"));
    client.arg(format!("corbaname::{at}#hello/greeter")).arg("World");
    let mut client = Process::spawn(client);
    let said = client.wait_success(LIMIT);
    assert_eq!(said[0].text, "Hello, World!");
}
