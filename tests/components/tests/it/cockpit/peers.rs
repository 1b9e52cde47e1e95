//! omniORB client with stubs that omniidl generates from the equivalent IDL.

use std::path::Path;
use std::process::{Command, Stdio};

use oxorb::Interface as _;
use oxorb_testkit::peers::omniidl_is_there;

use crate::cockpit::scene::Scene;

#[test]
fn omniorb_navigates_connects_and_subscribes() {
    if !omniidl_is_there() {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::temp_dir().join(format!("oxorb-components-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let idl = here.join("idl/avionics.idl");
    let compiled = oxorb_idl::compile(&[idl], &oxorb_idl::Options::default()).unwrap();
    let text = oxorb_idl::equivalent::print(&compiled.model);
    // omniidl does not support attributes that raise.
    let text = text.replace(" setraises (::Avionics::OutOfRange)", "");
    let equivalent = folder.join("equivalent.idl");
    std::fs::write(&equivalent, text).unwrap();
    let library = here.join("../../idl/omg");
    for file in [&equivalent, &library.join("Components.idl")] {
        let mut compile = Command::new("omniidl");
        compile.arg("-bcxx").arg("-C").arg(&folder).arg("-I").arg(&library);
        output(compile.arg("-I/usr/share/idl/omniORB").arg(file));
    }
    let program = folder.join("client");
    let mut build = Command::new("g++");
    // -w: omniidl's generated code causes warnings that cannot be fixed here.
    build.args(["-std=c++17", "-w", "-pthread", "-I"]).arg(&folder);
    build.arg("-o").arg(&program);
    build.arg(here.join("tests/peers/client.cc"));
    for file in ["equivalentSK.cc", "ComponentsSK.cc"] {
        build.arg(folder.join(file));
    }
    output(build.args(["-lomniDynamic4", "-lomniORB4", "-lomnithread"]));

    // The client pushes while other programs are being compiled.
    let patient = std::time::Duration::from_secs(20);
    let scene = Scene::with(|container| container.push_timeout(patient));
    let _cockpit = scene.cockpit();
    let mut client = Command::new(&program);
    for name in ["gps", "display", "rate"] {
        let component = scene.container.component(name).unwrap();
        client.arg(component.object().unwrap().to_ior());
    }
    let expected = std::fs::read_to_string(here.join("tests/peers/client.expected")).unwrap();
    assert_eq!(output(&mut client), expected);
    std::fs::remove_dir_all(folder).unwrap();
}

fn output(command: &mut Command) -> String {
    let run = command.stderr(Stdio::piped()).output();
    let run = run.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{command:?}\n{out}\n{told}");
    out.into_owned()
}
