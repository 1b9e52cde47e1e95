//! `oxorb deploy`.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::{Folder, text};

const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/tests/plans");

fn deploy(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.arg("deploy").args(args).current_dir(PLANS).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn good(args: &[&str]) -> String {
    let output = deploy(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {out}{err}");
    assert_eq!(err, "", "{args:?}");
    out
}

fn refused(args: &[&str]) -> String {
    let output = deploy(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output.stdout));
    text(&output.stdout) + &text(&output.stderr)
}

const EVERYTHING: &[&str] = &[
    "check",
    "collision.toml",
    "--idl",
    "avionics.idl",
    "--rt",
    "collision-rt.toml",
    "--domain",
    "domain.toml",
    // Both artifacts of the plan are in one process, which no node manager could start.
    "--without-managers",
];

#[test]
fn a_good_plan_is_proved_in_text_and_in_json() {
    let told = good(EVERYTHING);
    assert!(told.starts_with("cockpit: 57.88 % of one processor\n"), "{told}");
    assert!(
        told.contains(
            "  ok      20  slow rate -> radar.refresh -> warning.update: 15.15 ms of 30 ms\n"
        ),
        "{told}"
    );
    let end = "good: 6 instances on 1 node, 6 connections; every critical deadline is proved\n";
    assert!(told.ends_with(end), "{told}");
    let json: Value =
        serde_json::from_str(&good(&[EVERYTHING, &["--format", "json"]].concat())).unwrap();
    assert_eq!((&json["good"], &json["safe"]), (&Value::Bool(true), &Value::Bool(true)));
    let chains = json["chains"].as_array().unwrap();
    let warning = chains.iter().find(|chain| chain["steps"][2] == "warning.update").unwrap();
    assert_eq!(warning["response_ns"], 15_150_000);
    assert_eq!(warning["priority"], 20);
}

#[test]
fn bursts_of_enforced_rates_are_compared_with_the_callers() {
    let folder = Folder::new("deploy-bursts");
    let resources = std::fs::read_to_string(format!("{PLANS}/collision-rt.toml")).unwrap();
    let checked = |burst: u32, format: &str| {
        let work = "{ port = \"location\", wcet = \"50 us\" },";
        let limited = format!(
            "{{ port = \"location\", wcet = \"50 us\", mostRate = \"20 Hz\", burst = {burst}, beyond = \"refuse\" }},"
        );
        assert!(resources.contains(work), "{resources}");
        let file = folder.file("rt.toml", &resources.replacen(work, &limited, 1));
        let mut args = EVERYTHING.to_vec();
        let at = args.iter().position(|arg| *arg == "collision-rt.toml").unwrap();
        args[at] = &file;
        good(&[&args[..], &["--format", format]].concat())
    };
    // The call of `navigation` is as late as its work, which ends within its period of 50 ms.
    let told = checked(1, "text");
    let wanted = ": warning: gps.location has a burst of 1, and its callers need 2, so that calls may be refused \
        although all callers keep to their rates; say burst = 2\n";
    assert!(told.contains(wanted), "{told}");
    let json: Value = serde_json::from_str(&checked(1, "json")).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["cure"], "say burst = 2");
    let told = checked(2, "text");
    let wanted = ": note: gps.location has a burst of 2, which is enough, as its callers need 2\n";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn ports_and_types_come_from_idl() {
    let folder = Folder::new("deploy-idl");
    let idl = std::fs::read_to_string(format!("{PLANS}/avionics.idl")).unwrap();
    let changed = idl.replace("uses Location source", "uses multiple Location source");
    let file = folder.file("changed.idl", &changed);
    let told = refused(&["check", "avionics.toml", "--idl", &file]);
    let wanted =
        "error: navigation.source is a MultiplexReceptacle in IDL, and a SimplexReceptacle here\n";
    assert!(told.starts_with("avionics.toml:") && told.contains(wanted), "{told}");
}

#[test]
fn facets_of_local_interfaces_are_no_ports_of_plans() {
    let folder = Folder::new("deploy-local");
    let idl = std::fs::read_to_string(format!("{PLANS}/avionics.idl")).unwrap();
    let local =
        "local interface Tuning { void tune(); };\n  component Sensor {\n    provides Tuning knob;";
    let idl = folder.file("local.idl", &idl.replace("component Sensor {", local));
    let plan = std::fs::read_to_string(format!("{PLANS}/avionics.toml")).unwrap();
    let file = folder.file("plan.toml", &plan.replace("gps.location", "gps.knob"));
    let told = refused(&["check", &file, "--idl", &idl]);
    assert!(
        told.contains("\"gps\" has no port \"knob\"; it has location, ready, refresh\n"),
        "{told}"
    );
}

#[test]
fn errors_have_a_file_and_a_place() {
    let folder = Folder::new("deploy-errors");
    let plan = std::fs::read_to_string(format!("{PLANS}/avionics.toml")).unwrap();
    let file = folder.file(
        "plan.toml",
        &plan.replace(
            "node = \"cockpit\"\n\n[[instance]]\nname = \"navigation\"",
            "\n[[instance]]\nname = \"navigation\"",
        ),
    );
    let told = refused(&["check", &file]);
    assert!(
        told.contains("plan.toml:31:1: error: instance \"gps\" is on no node; give it a node\n"),
        "{told}"
    );
    let json = deploy(&["check", &file, "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["findings"][0]["line"], 31);
    assert_eq!(json["good"], false);
    let file = folder
        .file("plan.cdp", "<Deployment:DeploymentPlan>\n  <colour/>\n</Deployment:DeploymentPlan>");
    let told = refused(&["check", &file]);
    assert!(told.contains("plan.cdp:2:3: <DeploymentPlan> has no <colour>"), "{told}");
    let told = refused(&["check", "domain.toml"]);
    assert!(told.contains("expected a plan, and this is a document of kind Domain"), "{told}");
    assert_eq!(deploy(&["check"]).status.code(), Some(2));
}

/// Returns a plan of two instances whose facets are connected in a cycle; `implementation` is extra text for both
/// implementations.
fn cycle(implementation: &str) -> String {
    let instance = |name: &str| {
        format!("[[instance]]\nname = {name:?}\nimplementation = \"I\"\nnode = \"n\"\n")
    };
    let connection = |name: &str, facet: &str, receptacle: &str| {
        format!(
            "[[connection]]\nname = {name:?}\nFacet = {facet:?}\nSimplexReceptacle = {receptacle:?}\n"
        )
    };
    [
        "label = \"cycle\"\n[[implementation]]\nname = \"I\"\n",
        implementation,
        &instance("a"),
        &instance("b"),
        &connection("1", "a.f", "b.r"),
        &connection("2", "b.f", "a.r"),
    ]
    .concat()
}

#[test]
fn a_check_finds_what_launching_refuses() {
    let folder = Folder::new("deploy-refusals");
    let checked = |text: &str, more: &[&str]| {
        let file = folder.file("plan.toml", text);
        let output = deploy(&[&["check", &file], more].concat());
        (output.status.success(), self::text(&output.stdout).replace(&file, "plan"))
    };
    let (is_good, told) = checked(&cycle(""), &[]);
    assert!(!is_good, "{told}");
    for instance in ["a", "b"] {
        let wanted = format!(
            "plan:2:1: error: implementation \"I\", of instance {instance:?}, has no artifact, so there is nothing to run; \
             give it the executable that has it linked in\n"
        );
        assert!(told.contains(&wanted), "{told}");
        let wanted = format!(
            "plan:2:1: error: the implementation of instance {instance:?} names no entry point; "
        );
        assert!(told.contains(&wanted), "{told}");
    }
    // `launch` reports the same errors.
    let refused = refused(&["launch", &folder.path("plan.toml"), "--local"]);
    assert!(refused.contains("has no artifact, so there is nothing to run"), "{refused}");

    let entry = "[implementation.execParameter]\n\"component factory\" = \"create\"\n";
    let (is_good, told) = checked(&cycle(entry), &[]);
    assert!(!is_good && told.contains("has no artifact"), "{told}");
    // Processes that are not started by a node manager need no artifact.
    let (is_good, told) = checked(&cycle(entry), &["--without-managers"]);
    assert!(is_good, "{told}");
    // The cycle itself is only a warning: all connections are made before anything is activated.
    let artifact = "artifact = \"x\"\n";
    let located = "[[artifact]]\nname = \"x\"\nlocation = \"bin/x\"\n";
    let whole = cycle(&format!("{artifact}{entry}{located}"));
    let (is_good, told) = checked(&whole, &[]);
    assert!(is_good, "{told}");
    let wanted = "warning: components call each other's facets in a ring: a.r -> b.f, b.r -> a.f; ";
    assert!(told.contains(wanted), "{told}");

    for (wrong, wanted) in [
        (whole.replace("bin/x", "http://host/x"), "a node runs files of its own"),
        (
            whole.replace("node = \"n\"\n", "node = \"n\"\nconfigProperty = { ComponentIOR = \"x.ior\" }\n"),
            "which processes under managers do not write; take it out",
        ),
        (
            whole.replace(
                "node = \"n\"\n",
                "node = \"n\"\nconfigProperty = { \"edu.vanderbilt.dre.DAnCE.InstanceNC\" = \"x\" }\n",
            ),
            "which is not supported",
        ),
    ] {
        let (is_good, told) = checked(&wrong, &[]);
        assert!(!is_good && told.contains(wanted), "{wanted}: {told}");
    }
    let resources = |line: &str| {
        let text = format!("document = \"ServerResources\"\n{line}\n");
        let file = folder.file("rt.toml", &text);
        checked(&whole, &["--rt", &file])
    };
    let (is_good, told) = resources("[cmdline]\narg = [\"-ORBLogFile=x\"]");
    assert!(
        !is_good && told.contains("cmdline has \"-ORBLogFile\", and a plan may not set that"),
        "{told}"
    );
    let (is_good, told) = resources("[svcconf]\nuri = \"svc.conf\"");
    assert!(!is_good && told.contains("which OxORB does not have"), "{told}");
    // Two executables cannot run in one process.
    let told = self::refused(&["check", "collision.toml"]);
    assert!(told.contains("separate them by a localityConstraint DifferentProcess"), "{told}");
}

#[test]
fn documents_are_converted_either_way() {
    let folder = Folder::new("deploy-convert");
    for name in
        ["ciao.cdp", "harbour.csr", "gps.cpd", "collision.toml", "collision-rt.toml", "domain.toml"]
    {
        let (toml, xml, back) =
            (folder.path("a.toml"), folder.path("a.xml"), folder.path("b.toml"));
        good(&["convert", name, &toml]);
        good(&["convert", &toml, &xml]);
        good(&["convert", &xml, &back]);
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&toml), read(&back), "{name}");
    }
    assert!(
        good(&["convert", "collision.toml", "-", "--to", "xml"])
            .contains("xmi:idref=\"CollisionRadar\"")
    );
    let told = refused(&["convert", "collision.toml", "-"]);
    assert!(
        told.contains("-: the ending tells no form") && told.contains("say --to xml or --to toml"),
        "{told}"
    );
}

#[test]
fn a_check_finds_artifacts_that_are_not_there() {
    let folder = Folder::new("deploy-artifacts");
    let parts = "artifact = \"x\"\n[implementation.execParameter]\n\"component factory\" = \"create\"\n\
         [[artifact]]\nname = \"x\"\nlocation = \"bin/x\"\n";
    let file = folder.file("plan.toml", &cycle(parts));
    let below = folder.path("");
    // By default, files may be missing on this machine, because the nodes may be other machines.
    good(&["check", &file]);
    let told = refused(&["check", &file, "--artifacts", &below]);
    assert!(told.contains("plan.toml:7:1: error: artifact \"x\" cannot be run: "), "{told}");
    assert!(told.contains("put the file there") && told.ends_with("; 1 error\n"), "{told}");
    std::fs::create_dir(folder.path("bin")).unwrap();
    folder.file("bin/x", "");
    good(&["check", &file, "--artifacts", &below]);
    let told = refused(&["check", &file, "--artifacts", &folder.path("none")]);
    assert!(told.contains("the folder of executables"), "{told}");
}

#[test]
fn packages_make_plans_with_default_rates_and_with_others() {
    let folder = Folder::new("deploy-assemble");
    let (archive, plan) = (folder.path("cockpit.cpk"), folder.path("plan.toml"));
    good(&["pack", "../packages/cockpit", &archive]);
    let args = ["assemble", &archive, &plan, "--node", "nose", "--place", "slow=tail"];
    let told = good(&args);
    assert!(told.ends_with("plan.toml: 5 instances, 3 connections\n"), "{told}");
    let text = std::fs::read_to_string(&plan).unwrap();
    for (instance, node, hertz) in
        [("usual/rate", "nose", 20), ("slow/rate", "tail", 5), ("timer", "nose", 40)]
    {
        let (_, rest) = text.split_once(&format!("name = {instance:?}\n")).expect(&text);
        let rest = rest.split("[[instance]]").next().unwrap();
        assert!(rest.contains(&format!("node = {node:?}\n")), "{rest}");
        assert!(rest.contains(&format!("hertz = {{ ulong = {hertz} }}\n")), "{rest}");
    }
    // The plan's artifacts are the unpacked files of the package, so node managers can launch it.
    let unpacked = folder.path("cockpit");
    good(&["unpack", &archive, &unpacked]);
    good(&["check", &plan, "--artifacts", &unpacked]);
    // A folder is accepted as a package, too.
    let same = good(&[
        "assemble",
        "../packages/cockpit",
        "-",
        "--to",
        "toml",
        "--node",
        "nose",
        "--place",
        "slow=tail",
    ]);
    assert_eq!(same, text);

    let told = refused(&["assemble", &archive, &plan]);
    assert!(told.contains("instance \"usual/rate\" is on no node"), "{told}");
    let told = refused(&["assemble", &archive, &plan, "--node", "n", "--package", "x.cpd"]);
    assert!(
        told.contains("has no descriptor \"x.cpd\"; it has cockpit.iad, cockpit.toml"),
        "{told}"
    );
    let told = refused(&["assemble", "avionics.toml", &plan, "--node", "n"]);
    assert!(told.contains("avionics.toml: no archive that can be read"), "{told}");
}

#[test]
fn values_on_the_command_line_override_package_and_assembly() {
    let assemble: &[&str] =
        &["assemble", "../packages/cockpit", "-", "--to", "toml", "--node", "nose"];
    let text = good(&[assemble, &["--set", "timer.hertz=80", "--set", "slow.hertz=7"]].concat());
    for (instance, hertz) in [("usual/rate", 20), ("slow/rate", 7), ("timer", 80)] {
        let (_, rest) = text.split_once(&format!("name = {instance:?}\n")).expect(&text);
        let rest = rest.split("[[instance]]").next().unwrap();
        assert!(rest.contains(&format!("hertz = {{ ulong = {hertz} }}\n")), "{rest}");
    }
    for (value, wanted) in [
        (
            "timer.hertz=fast",
            "../packages/cockpit: value of timer.hertz: <ulong> is a whole number from 0 to 4294967295, and not \"fast\"; the \
             type is that of the value in the package\n",
        ),
        ("timer.hertz=-1", "value of timer.hertz: -1 is no <ulong>, which is from 0 to 4294967295"),
        ("clock.hertz=1", "value of clock.hertz: it begins with no part of the package; "),
    ] {
        let told = refused(&[assemble, &["--set", value]].concat());
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let told = refused(&[assemble, &["--set", "timer.hertz=1", "--set", "timer.hertz=2"]].concat());
    assert!(told.contains("--set gives \"timer.hertz\" two values"), "{told}");
    let output = deploy(&[assemble, &["--set", "hertz=1"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let told = self::text(&output.stderr);
    assert!(told.contains("write INSTANCE.PROPERTY=VALUE"), "{told}");
}

/// IDL of a component with an extended port, and of a connector with a mirror port.
const BUS: &str = "\
#include <Components.idl>
module Avionics {
  enum Side { LARBOARD, STARBOARD };
  interface Position { readonly attribute double latitude; };
  porttype Duplex { provides Position outward; uses Position inward; };
  component Left { port Duplex link; attribute unsigned short speed; attribute Side facing; };
  connector Wire { mirrorport Duplex near; };
};
";

/// Writes a package of these components without interfaces (`.ccd`); returns its path.
fn bus_package(folder: &Folder) -> String {
    for below in ["bus", "bus/bin"] {
        std::fs::create_dir(folder.path(below)).unwrap();
    }
    folder.file("bus/bin/bus", "#!/bin/sh\n");
    folder.file(
        "bus/bus.toml",
        "document = \"ComponentPackageDescription\"\nlabel = \"bus\"\n[[implementation]]\nname = \"bus\"\n\
         [[implementation.referencedImplementation.assemblyImpl]]\n\
         instance = [{ name = \"left\", basePackage = [{ href = \"Left.toml\" }] }, \
         { name = \"wire\", basePackage = [{ href = \"Wire.toml\" }] }]\n\
         connection = [{ name = \"bus\", internalEndpoint = [{ portName = \"link\", instance = \"left\" }, \
         { portName = \"near\", instance = \"wire\" }] }]\n",
    );
    for name in ["Left", "Wire"] {
        let text = format!(
            "document = \"ComponentPackageDescription\"\nlabel = {name:?}\n[[implementation]]\nname = {name:?}\n\
             [[implementation.referencedImplementation.monolithicImpl]]\n\
             primaryArtifact = [{{ name = \"bus\", referencedArtifact = {{ location = \"bin/bus\" }} }}]\n\
             componentExecParameter = {{ \"component factory\" = \"create_Avionics_{name}_Impl\" }}\n"
        );
        folder.file(&format!("bus/{name}.toml"), &text);
    }
    folder.path("bus")
}

#[test]
fn ports_of_packages_without_interfaces_come_from_idl() {
    let folder = Folder::new("deploy-assemble-idl");
    let package = bus_package(&folder);
    let assemble: &[&str] = &["assemble", &package, "-", "--to", "toml", "--node", "n"];
    let told = refused(assemble);
    assert!(
        told.contains("the kind of port \"link\" of part \"left\" is not known")
            && told.contains("no IDL of its component is given")
            && told.contains("; add the interface to the package, or give the IDL"),
        "{told}"
    );
    let idl = folder.file("avionics.idl", BUS);
    let values = ["--set", "left.speed=9600", "--set", "left.facing=STARBOARD"];
    let text = good(&[assemble, &["--idl", &idl], &values].concat());
    for line in [
        "name = \"bus.outward\"\n",
        "Facet = \"left.link_outward\"\n",
        "SimplexReceptacle = \"wire.near_outward\"\n",
        "SimplexReceptacle = \"left.link_inward\"\n",
        "speed = { ushort = 9600 }\n",
        "STARBOARD",
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    // IDL in the package needs no option.
    folder.file("bus/avionics.idl", BUS);
    assert_eq!(good(&[assemble, &values].concat()), text);
    let told = refused(&[assemble, &["--set", "left.speed=70000"]].concat());
    assert!(told.contains("70000 is no <ushort>") && told.contains("; the IDL declares"), "{told}");
    folder.file("bus/avionics.idl", "#include \"elsewhere.idl\"\n");
    let told = refused(assemble);
    assert!(
        told.contains("the kind of port \"link\" of part \"left\" is not known")
            && told.contains("the IDL files of the package are not used")
            && told.contains("elsewhere.idl"),
        "{told}"
    );
    // A plan that needs no IDL is made, with a warning.
    let part = deploy(&[assemble, &["--package", "Left.toml"]].concat());
    let told = self::text(&part.stderr);
    assert!(part.status.success(), "{told}");
    let warning = "warning: the IDL files of the package are not used: ";
    assert!(told.starts_with(warning) && told.lines().count() == 1, "{told}");
}

/// Returns the texts for the numbers below `count`, one after the other.
fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

#[test]
fn components_of_idl_are_limited() {
    let folder = Folder::new("deploy-large-idl");
    let head = "#include <Components.idl>\ninterface I { void run(); };\n";
    let provided = many(1_000, |at| format!("provides I p{at}; "));
    let long = "L".repeat(1_000);
    let elements = "more than 500000 ports, attributes and parts of their types, the limit";
    let cases = [
        (
            format!(
                "porttype P {{ {provided} }};\ncomponent C {{ {} }};\n",
                many(1_000, |at| format!("port P q{at}; "))
            ),
            elements,
        ),
        (
            format!(
                "component B {{ {provided} }};\n{}",
                many(1_000, |at| format!("component D{at} : B {{ }};\n"))
            ),
            elements,
        ),
        (
            format!(
                "enum E {{ {} LAST }};\ncomponent C {{ {} }};\n",
                many(1_000, |at| format!("E{at}, ")),
                many(1_000, |at| format!("attribute E a{at}; "))
            ),
            elements,
        ),
        (
            format!(
                "interface {long} {{ void run(); }};\ntypedef {long} Named;\ncomponent B {{ {} }};\n{}",
                many(1_000, |at| format!("provides Named p{at}; ")),
                many(100, |at| format!("component D{at} : B {{ }};\n"))
            ),
            "octets of names, the limit",
        ),
    ];
    for (idl, wanted) in cases {
        let idl = folder.file("large.idl", &[head, &idl].concat());
        let told = refused(&["check", "collision.toml", "--idl", &idl]);
        assert!(told.contains(wanted), "{wanted}: {}", &told[..told.len().min(1_000)]);
    }
    // IDL of a package that exceeds a limit is not used.
    let package = bus_package(&folder);
    std::fs::copy(folder.path("large.idl"), folder.path("bus/large.idl")).unwrap();
    let told = refused(&["assemble", &package, "-", "--to", "toml", "--node", "n"]);
    let wanted = "the IDL files of the package are not used; --idl names others\nthe components of the IDL have more than";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn connections_of_extended_ports_are_those_of_their_basic_ports() {
    let folder = Folder::new("deploy-extended");
    let idl = folder.file("avionics.idl", BUS);
    let part = |name: &str, instance: &str| {
        format!(
            "[[implementation]]\nname = {name:?}\nexecParameter = {{ \"component factory\" = \"create_Avionics_{name}_Impl\" }}\n\
             [[instance]]\nname = {instance:?}\nnode = \"n\"\nimplementation = {name:?}\n"
        )
    };
    let connection = "[[connection]]\nname = \"bus\"\nExtendedPort = \"left.link\"\nMirrorPort = \"wire.near\"\n";
    let text = [&part("Left", "left"), &part("Wire", "wire"), connection].concat();
    let plan = folder.file("plan.toml", &text);
    let check = |plan: &str, more: &[&str]| {
        let output = deploy(&[&["check", plan, "--without-managers"], more].concat());
        (output.status.success(), self::text(&output.stdout) + &self::text(&output.stderr))
    };
    let (is_good, told) = check(&plan, &[]);
    let wanted = "left.link of connection \"bus\" is of the kind ExtendedPort, which cannot be connected; give the IDL";
    assert!(!is_good && told.contains(wanted), "{told}");
    let emit: &[&str] = &["emit", "kubernetes", &plan, "--image", "display:1"];
    let told = refused(&[emit, COMMAND].concat());
    assert!(told.contains("plan.toml:17:1: processes do not connect extended ports"), "{told}");
    let (is_good, told) = check(&plan, &["--idl", &idl]);
    assert!(is_good && told.contains("2 instances on 1 node, 2 connections"), "{told}");
    let whole = folder.path("whole.toml");
    good(&["convert", &plan, &whole, "--idl", &idl]);
    let written = std::fs::read_to_string(&whole).unwrap();
    assert!(written.contains("name = \"bus.inward\"\n"), "{written}");
    let (is_good, told) = check(&whole, &[]);
    assert!(is_good, "{told}");
    // Errors in the connection itself are reported once, with the place.
    let wrong = folder.file("wrong.toml", &text.replace("wire.near", "wire.far"));
    let (is_good, told) = check(&wrong, &["--idl", &idl]);
    let wanted = "wrong.toml:18:1: error: \"wire\" has no port \"far\"; it has near, near_inward, near_outward\n";
    assert!(!is_good && told.contains(wanted), "{told}");
    assert_eq!(told.matches("has no port").count(), 1, "{told}");
    assert!(!told.contains("cannot be connected"), "{told}");
    let with_simplex = BUS
        .replace("  component", "  porttype Simplex { provides Position outward; };\n  component")
        .replace("Duplex near;", "Duplex near; mirrorport Simplex half;");
    let with_simplex = folder.file("simplex.idl", &with_simplex);
    let other = "[[connection]]\nname = \"bus\"\nMirrorPort = \"wire.half\"\nExtendedPort = \"left.link\"\n";
    let other = folder.file("other.toml", &text.replace(connection, other));
    let (is_good, told) = check(&other, &["--idl", &with_simplex]);
    let wanted =
        "error: wire.half is of type Avionics::Simplex, and left.link of type Avionics::Duplex";
    assert!(!is_good && told.contains(wanted), "{told}");
    assert_eq!(told.matches(" is of type ").count(), 1, "{told}");
    let told = refused(&["convert", &wrong, &whole, "--idl", &idl]);
    assert!(told.contains("wrong.toml:18:1: \"wire\" has no port \"far\""), "{told}");
    let told = refused(&["convert", "domain.toml", &whole, "--idl", &idl]);
    assert!(told.contains("expected a plan, and this is a document of kind Domain"), "{told}");
}

#[test]
fn plans_in_utf16_are_read() {
    let folder = Folder::new("deploy-utf16");
    let xml = good(&["convert", "collision.toml", "-", "--to", "xml"]);
    let xml = xml.replace("UTF-8", "UTF-16");
    let octets: Vec<u8> =
        format!("\u{feff}{xml}").encode_utf16().flat_map(u16::to_be_bytes).collect();
    let file = folder.path("plan.cdp");
    std::fs::write(&file, &octets).unwrap();
    assert_eq!(
        good(&["convert", &file, "-", "--to", "toml"]),
        good(&["convert", "collision.toml", "-", "--to", "toml"])
    );
    std::fs::write(&file, &octets[..octets.len() - 1]).unwrap();
    let told = refused(&["check", &file]);
    assert!(told.contains("plan.cdp:") && told.contains("ends within a character"), "{told}");
}

#[test]
fn priorities_are_chosen_and_written() {
    let folder = Folder::new("deploy-assign");
    let flat = std::fs::read_to_string(format!("{PLANS}/collision-rt.toml")).unwrap();
    let flat = folder.file(
        "flat.toml",
        &flat.replace("policySet = \"collision\"", "policySet = \"navigation\""),
    );
    let check = ["check", "collision.toml", "--without-managers"];
    let told = refused(&[&check[..], &["--rt", &flat]].concat());
    assert!(told.contains("warning.update"), "{told}");
    let out = folder.path("assigned.csr");
    let told = good(&[&check[..], &["--rt", &flat, "--assign", &out]].concat());
    assert!(told.contains("priorities by deadline, written to "), "{told}");
    let xml = std::fs::read_to_string(&out).unwrap();
    assert!(xml.contains("<threadpoolWithLanes id=\"assigned\">"), "{xml}");
    good(&[&check[..], &["--rt", &out]].concat());
}

const COMMAND: &[&str] =
    &["--command", "/bin/true --plan {plan} --node {node} --process {process}"];

/// Command of processes with real-time resources.
const RT_COMMAND: &[&str] =
    &["--command", "/bin/true --plan {plan} --rt {rt} --node {node} --process {process}"];

#[test]
fn units_of_systemd_are_written_and_checked_where_that_is_possible() {
    let folder = Folder::new("deploy-systemd");
    let out = folder.path("units");
    let args: &[&str] =
        &["emit", "systemd", "collision.toml", "--rt", "collision-rt.toml", "--out", &out];
    // A program missing on this machine may exist on the nodes.
    let elsewhere = ["--command", "/nonexistent/display {plan} {rt} {node} {process}"];
    let told = good(&[args, &elsewhere].concat());
    assert!(told.ends_with("cockpit: 2 units\n"), "{told}");
    let told = good(&[args, RT_COMMAND, &["--verify"]].concat());
    let is_checked = Command::new("systemd-analyze").arg("--version").output().is_ok();
    match is_checked {
        true => assert!(told.contains("cockpit: 2 units, checked by systemd-analyze"), "{told}"),
        false => {
            assert!(
                told.contains(
                    "cockpit: 2 units, NOT CHECKED: systemd-analyze is not installed here"
                ),
                "{told}"
            );
            eprintln!(
                "NOT CHECKED: systemd-analyze is not installed; the units were only compared"
            );
        }
    }
    let unit = "oxorb-avionics-display-with-collision-warning-main.service";
    let unit = std::fs::read_to_string(format!("{out}/cockpit/{unit}")).unwrap();
    for line in [
        "LimitRTPRIO=99",
        "LimitMEMLOCK=infinity",
        "Restart=on-failure",
        "PartOf=oxorb-avionics-display-with-collision-warning.target",
    ] {
        assert!(unit.lines().any(|found| found == line), "no {line} in\n{unit}");
    }
    // Paths with a space are quoted. The path of this work tree may have one, so ignore quotes.
    let runs = unit.replace('"', "");
    assert!(
        runs.contains("ExecStart=/bin/true --plan /")
            && runs.contains("/collision-rt.toml --node cockpit --process main\n"),
        "{unit}"
    );
    // Without real-time resources there are no priorities, so no privileges are needed.
    let plain: &[&str] = &["emit", "systemd", "collision.toml", "--out", &out];
    good(&[plain, COMMAND].concat());
    let unit = std::fs::read_to_string(format!(
        "{out}/cockpit/oxorb-avionics-display-with-collision-warning-main.service"
    ))
    .unwrap();
    assert!(!unit.contains("RTPRIO"), "{unit}");
    let told = refused(&[args, &["--command", "true"]].concat());
    assert!(told.contains("has to begin with the absolute path"), "{told}");
    let told = refused(&[args, COMMAND].concat());
    assert!(told.contains("without the real-time resources: add --rt {rt}"), "{told}");
    let told = refused(&[plain, RT_COMMAND].concat());
    assert!(told.contains("has {rt}, and no real-time"), "{told}");
}

/// Checks a name against the rules of the API server.
fn is_name(name: &Value) -> bool {
    let name = name.as_str().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Checks the parts of the schema of the `apps/v1` Deployment that the generated manifests use.
fn valid(deployment: &Value) {
    let only = |value: &Value, keys: &[&str]| {
        let object = value.as_object().expect("an object");
        object.keys().for_each(|key| assert!(keys.contains(&key.as_str()), "{key} of {value}"));
    };
    only(deployment, &["apiVersion", "kind", "metadata", "spec"]);
    only(&deployment["metadata"], &["name", "labels", "annotations"]);
    assert!(is_name(&deployment["metadata"]["name"]), "{deployment}");
    let spec = &deployment["spec"];
    only(spec, &["replicas", "strategy", "selector", "template"]);
    let wanted = spec["selector"]["matchLabels"].as_object().expect("a selector is required");
    for (key, value) in wanted {
        assert_eq!(
            &spec["template"]["metadata"]["labels"][key], value,
            "a selector has to fit its template"
        );
    }
    let pod = &spec["template"]["spec"];
    only(pod, &["nodeSelector", "containers", "volumes"]);
    for container in pod["containers"].as_array().expect("containers are required") {
        only(
            container,
            &["name", "image", "command", "volumeMounts", "securityContext", "resources"],
        );
        assert!(is_name(&container["name"]) && container["image"].is_string());
        for mount in container["volumeMounts"].as_array().unwrap() {
            let volumes = pod["volumes"].as_array().unwrap();
            assert!(
                volumes.iter().any(|volume| volume["name"] == mount["name"]),
                "{mount} has no volume"
            );
        }
    }
}

/// Checks a list against the schemas of Kubernetes, if the Python package kubernetes-validate is installed.
fn valid_for_kubernetes(folder: &Folder, list: &Value) {
    let validate = |file: &str| {
        let mut python = Command::new("python3");
        python.args(["-m", "kubernetes_validate", "--strict", file]);
        python.stdin(Stdio::null()).output()
    };
    let probe = Command::new("python3").args(["-c", "import kubernetes_validate"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!(
            "NOT CHECKED by the schemas of Kubernetes: kubernetes-validate is not installed; the parts that matter were compared"
        );
        return;
    }
    for (at, item) in list["items"].as_array().unwrap().iter().enumerate() {
        let file = folder.file(&format!("{at}.json"), &item.to_string());
        let output = validate(&file).unwrap();
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{told}\n{item}");
    }
}

#[test]
fn manifests_of_kubernetes_fit_their_schema() {
    let folder = Folder::new("deploy-kubernetes");
    let args: &[&str] = &["emit", "kubernetes", "collision.toml", "--image", "display:1"];
    let read =
        |more: &[&str]| -> Value { serde_json::from_str(&good(&[args, more].concat())).unwrap() };
    let list = read(&[&["--rt", "collision-rt.toml"], RT_COMMAND].concat());
    assert_eq!(list["kind"], "List");
    valid_for_kubernetes(&folder, &list);
    let items = list["items"].as_array().unwrap();
    assert_eq!(items[0]["kind"], "ConfigMap");
    assert!(is_name(&items[0]["metadata"]["name"]));
    assert!(items[0]["data"]["plan.toml"].as_str().unwrap().contains("CollisionRadar"));
    let resources = items[0]["data"]["rt.toml"].as_str().unwrap();
    assert!(resources.contains("policySet"), "{resources}");
    assert_eq!(items.len(), 2);
    items[1..].iter().for_each(valid);
    let container = &items[1]["spec"]["template"]["spec"]["containers"][0];
    let command = container["command"].as_array().unwrap();
    assert!(command.contains(&"/etc/oxorb/rt.toml".into()), "{container}");
    assert_eq!(container["securityContext"]["capabilities"]["add"][0], "SYS_NICE");
    assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
    let container = &read(COMMAND)["items"][1]["spec"]["template"]["spec"]["containers"][0];
    assert!(container.get("securityContext").is_none());
}

/// Returns a plan with two processes whose names are equal when truncated.
fn long_names(label: &str) -> String {
    let node = "a-node-with-a-name-that-is-rather-long-1";
    let names = ["one-display-of-the-port-side-number-1", "one-display-of-the-port-side-number-2"];
    let instances = names.map(|name| {
        format!("[[instance]]\nname = {name:?}\nnode = {node:?}\nimplementation = \"I\"\n")
    });
    format!(
        "label = {label:?}\n[[implementation]]\nname = \"I\"\n{}\
         [[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = {names:?}\n",
        instances.concat()
    )
}

#[test]
fn long_names_of_kubernetes_stay_different() {
    let folder = Folder::new("deploy-names");
    let mut all = std::collections::BTreeSet::new();
    for label in ["day", "night"] {
        let file = folder.file("plan.toml", &long_names(label));
        let args: &[&str] = &["emit", "kubernetes", &file, "--image", "display:1"];
        let list: Value = serde_json::from_str(&good(&[args, COMMAND].concat())).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 3);
        for item in items {
            assert!(is_name(&item["metadata"]["name"]), "{item}");
            all.insert(item["metadata"]["name"].to_string());
        }
        items[1..].iter().for_each(valid);
    }
    assert_eq!(all.len(), 6, "{all:?}");
}

#[test]
fn policies_that_a_plan_itself_names_are_privileges() {
    let args: &[&str] =
        &["emit", "kubernetes", "ciao.cdp", "--rt", "harbour.csr", "--image", "harbour:1"];
    let list = good(&[args, RT_COMMAND].concat());
    // The plan names its real-time resources itself, so --rt may be omitted.
    let named: Vec<&str> =
        args.iter().copied().filter(|it| !["--rt", "harbour.csr"].contains(it)).collect();
    assert_eq!(list, good(&[&named[..], RT_COMMAND].concat()));
    let list: Value = serde_json::from_str(&list).unwrap();
    let items = list["items"].as_array().unwrap();
    let is_privileged = |item: &&Value| {
        let container = &item["spec"]["template"]["spec"]["containers"][0];
        container["securityContext"]["capabilities"]["add"][0] == "SYS_NICE"
    };
    assert!(items[1..].iter().any(|item| is_privileged(&item)), "{list}");
}

#[test]
fn an_older_systemd_checks_units_too() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("deploy-old-systemd");
    let old = folder.file(
        "systemd-analyze",
        "#!/bin/sh\nfor word; do case $word in --recursive-errors*)\n\
         echo \"systemd-analyze: unrecognized option '$word'\" >&2; exit 1;; esac; done\n\
         case \"$*\" in *bad*) echo 'bad unit' >&2; exit 1;; esac\n",
    );
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let emit = |out: &str| {
        let args = ["deploy", "emit", "systemd", "collision.toml", "--verify", "--out", out];
        Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(args)
            .args(COMMAND)
            .current_dir(PLANS)
            .env("PATH", format!("{}:/usr/bin:/bin", folder.path("")))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let output = emit(&folder.path("units"));
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(told.contains("cockpit: 2 units, checked by systemd-analyze"), "{told}");
    let output = emit(&folder.path("bad"));
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(
        !output.status.success() && told.contains("of this machine refuses the units: bad unit"),
        "{told}"
    );
}

#[test]
fn packages_are_packed_and_unpacked() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("deploy-packages");
    let package = folder.0.join("gps");
    std::fs::create_dir_all(package.join("bin")).unwrap();
    std::fs::copy(format!("{PLANS}/gps.cpd"), package.join("gps.cpd")).unwrap();
    let (package, archive) = (package.display().to_string(), folder.path("gps.cpk"));
    let told = refused(&["pack", &package, &archive]);
    assert!(told.contains("7:3: gps.cpd: \"Sensor.ccd\" is not in the archive"), "{told}");
    assert!(!folder.0.join("gps.cpk").exists());
    folder.file(
        "gps/Sensor.ccd",
        "<Deployment:ComponentInterfaceDescription><label>Sensor</label></Deployment:ComponentInterfaceDescription>",
    );
    folder.file("gps/bin/gps", "#!/bin/sh\n");
    let told = good(&["pack", &package, &archive]);
    assert!(told.ends_with("gps.cpk: 3 files, 2 descriptors of them\n"), "{told}");
    let told = refused(&["pack", &package, &archive]);
    assert!(told.contains("File exists"), "{told}");

    let again = folder.path("again");
    let told = good(&["unpack", &archive, &again]);
    assert!(told.ends_with("again: 3 files, 2 descriptors of them\n"), "{told}");
    for (file, mode) in [("gps.cpd", 0o644), ("Sensor.ccd", 0o644), ("bin/gps", 0o755)] {
        let (before, after) = (format!("{package}/{file}"), format!("{again}/{file}"));
        assert_eq!(std::fs::read(before).unwrap(), std::fs::read(&after).unwrap());
        let found = std::fs::metadata(after).unwrap().permissions().mode();
        assert_eq!(found & 0o700, mode & 0o700, "{file}");
    }
    let told = refused(&["unpack", &archive, &again]);
    assert!(told.contains("File exists"), "{told}");
    let broken = folder.file("broken.cpk", "PK and nothing");
    let told = refused(&["unpack", &broken, &folder.path("none")]);
    assert!(told.contains("no archive that can be read"), "{told}");
    assert!(!folder.0.join("none").exists());
}
