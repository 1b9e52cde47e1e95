//! Suppliers and consumers of TAO's channel, with stubs that omniORB generates from the same IDL. The test shows that
//! types, repository ids and the order of fields are correct on the wire.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_event::{ChannelOptions, EventChannel};
use oxorb_testkit::peers::omniidl_is_there;

const IDL: [&str; 5] =
    ["TimeBase", "RtecBase", "RtecDefaultEventData", "RtecEventComm", "RtecEventChannelAdmin"];

#[test]
fn omniorb_supplies_and_consumes() {
    if !omniidl_is_there() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("oxorb-event-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let idl: PathBuf = here.join("../../idl/omg");
    let program = folder.join("client");
    let mut build = Command::new("g++");
    // -w suppresses warnings about the code that omniidl generates.
    build.args(["-std=c++17", "-w", "-pthread", "-I"]).arg(&folder);
    build.arg("-I/usr/include/omniORB4/internal");
    build.arg("-o").arg(&program).arg(here.join("tests/peers/client.cc"));
    for name in IDL {
        let mut compile = Command::new("omniidl");
        compile.args(["-bcxx", "-Wba", "-C"]).arg(&folder);
        compile.arg("-I").arg(&idl).arg("-I/usr/share/idl/omniORB");
        output(compile.arg(idl.join(format!("{name}.idl"))));
        build.arg(folder.join(format!("{name}SK.cc")));
        build.arg(folder.join(format!("{name}DynSK.cc")));
    }
    output(build.args(["-lomniDynamic4", "-lomniORB4", "-lomnithread"]));
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    // Use a long time limit, because compilers of other tests may be running at the same time.
    let channel = EventChannel::new(ChannelOptions {
        call_timeout: Duration::from_secs(20),
        ..ChannelOptions::default()
    });
    let served = channel.serve(&orb, "EventService").unwrap();
    let mut client = Command::new(&program);
    // Without this option, the client's ORB may serve two events of one connection concurrently.
    client.args(["-ORBmaxServerThreadPerConnection", "1"]);
    let printed = output(client.arg(served.reference().to_ior()));
    let expected = std::fs::read_to_string(here.join("tests/peers/client.expected")).unwrap();
    assert_eq!(printed, expected);
    let _ = std::fs::remove_dir_all(&folder);
    orb.shutdown(true).unwrap();
}

fn output(command: &mut Command) -> String {
    let run = command.stderr(Stdio::piped()).output();
    let run = run.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let out = String::from_utf8_lossy(&run.stdout);
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{command:?}\n{out}\n{told}");
    out.into_owned()
}
