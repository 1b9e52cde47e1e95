//! Packages: plans made from them, and archives.

use crate::common::{Folder, text};
use crate::deploy::*;

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
    assert!(told.contains("avionics.toml: the archive cannot be read"), "{told}");
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
            "../packages/cockpit: value of timer.hertz: <ulong> must be an integer from 0 to 4294967295, not \"fast\"; \
             the type is that of the value in the package\n",
        ),
        ("timer.hertz=-1", "value of timer.hertz: -1 is not a <ulong>; expected 0 to 4294967295"),
        (
            "clock.hertz=1",
            "value of clock.hertz: the package has no instance or assembly \"clock\"; ",
        ),
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
        told.contains("the kind of port \"link\" of part \"left\" is unknown")
            && told.contains("the IDL of its component is not specified")
            && told.contains("; add the interface to the package, or specify the IDL"),
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
    assert!(
        told.contains("70000 is not a <ushort>") && told.contains("; the IDL declares"),
        "{told}"
    );
    folder.file("bus/avionics.idl", "#include \"elsewhere.idl\"\n");
    let told = refused(assemble);
    assert!(
        told.contains("the kind of port \"link\" of part \"left\" is unknown")
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
    let wanted = "the IDL files of the package are not used; specify others with --idl\n\
                  the components of the IDL have more than";
    assert!(told.contains(wanted), "{told}");
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
    assert!(told.contains("/gps.cpd:7:3: \"Sensor.ccd\" is not in the archive"), "{told}");
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
    assert!(told.contains("the archive cannot be read"), "{told}");
    assert!(!folder.0.join("none").exists());
}
