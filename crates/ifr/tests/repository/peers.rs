//! omniORB and JacORB read the repository with their own stubs.

use std::process::{Command, Stdio};

use oxorb_testkit::peers::{jacorb, jacorb_program, missing};

use super::{Folder, Served, radar, tests};

const STATION: &str = "IDL:example.com/radar/Station:1.0";

#[test]
fn omniorb_describes_an_interface() {
    let folder = Folder::new("omniorb");
    let program = folder.0.join("describe");
    let source = tests().join("peers/describe.cc");
    let headers = Command::new("g++")
        .args(["-E", "-x", "c++", "-include", "omniORB4/CORBA.h", "/dev/null"])
        .output();
    match headers {
        Ok(found) if found.status.success() => {}
        Ok(_) => return missing("omniORB", "no headers"),
        Err(error) => return missing("g++", &error.to_string()),
    }
    let built = Command::new("g++")
        .arg("-o")
        .args([&program, &source])
        .args(["-lomniDynamic4", "-lomniORB4", "-lomnithread"])
        .status();
    assert!(built.expect("it was there").success());
    let served = Served::new(&[radar()]);
    let printed = output(Command::new(&program).args([&served.url, STATION]));
    let expected = std::fs::read_to_string(tests().join("peers/describe.expected")).unwrap();
    assert_eq!(printed, expected);
}

#[test]
fn jacorb_prints_its_idl() {
    let Some(jars) = jacorb() else { return };
    let served = Served::new(&[radar()]);
    let repository = format!("ORBInitRef.InterfaceRepository={}", served.url);
    let mut query = jacorb_program(&jars, &[&repository], "org.jacorb.ir.QueryIR");
    let printed = output(query.arg("IDL:example.com/radar:1.0"));
    let lines: Vec<_> = printed.split_whitespace().collect();
    let printed = lines.join(" ");
    for line in [
        "const string NAME = \"radar\";",
        "enum Phase {climb,cruise};",
        "typedef sequence <octet> Blob;",
        "struct Hop { octet kind; long distance; string lane; };",
        "union Sensor switch (",
        "exception Lost { string why; example.com::radar::Hop at; };",
        "interface Station : IDL:example.com/radar/Base:1.0",
        "example.com::radar::Tree plan(in string name,inout example.com::radar::Hop first,out \
         example.com::radar::Sensor s) raises (example.com::radar::Lost);",
        "oneway void log(in any line);",
    ] {
        assert!(printed.contains(line), "no {line} in {printed}");
    }
}

#[test]
fn jacorb_reads_the_exceptions_of_attributes() {
    let Some(jars) = jacorb() else { return };
    let folder = Folder::new("jacorb-extended");
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-cp", &jars, "-d"]).arg(&folder.0);
    match javac.arg(tests().join("peers/Extended.java")).output() {
        Ok(built) => assert!(built.status.success(), "{built:?}"),
        Err(error) => return missing("javac", &error.to_string()),
    }
    let served = Served::new(&[radar()]);
    let class_path = format!("{}:{jars}", folder.0.display());
    let repository = format!("ORBInitRef.InterfaceRepository={}", served.url);
    let printed = output(&mut jacorb_program(&class_path, &[&repository], "Extended"));
    let expected = "\
::radar::Station
attribute data get ( Lost ) set ( Lost Jammed )
attribute now get ( ) set ( )
::radar::Shown
attribute how get ( Lost ) set ( )
operations 3
data set ( Lost Jammed )
factory make ( Jammed )
";
    assert_eq!(printed, expected);
}

fn output(command: &mut Command) -> String {
    let run = command.stderr(Stdio::inherit()).output();
    let run = run.expect("the program of the peer runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    String::from_utf8(run.stdout).expect("names are ASCII")
}
