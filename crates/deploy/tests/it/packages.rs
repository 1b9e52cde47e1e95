//! Plans from packages: default rates, those that an assembly or the assembler overrides, kinds of ports, and packages
//! that are refused.

use std::collections::BTreeMap;
use std::path::Path;

use oxorb_deploy::basic::PortKind;
use oxorb_deploy::check::{ComponentType, Components, Input, Port, check};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::value::{Basic, Type};
use oxorb_deploy::{Archive, ArchiveLimits, Assembly, AssemblyLimits};

/// Returns the files of the package of a cockpit.
pub(crate) fn cockpit() -> Archive {
    fn add(archive: &mut Archive, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            match path.is_dir() {
                true => add(archive, &path, &format!("{name}/")),
                false => drop(archive.files.insert(name, std::fs::read(&path).unwrap())),
            }
        }
    }
    let mut archive = Archive::default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/packages/cockpit");
    add(&mut archive, Path::new(folder), "");
    // The archive is packed and unpacked, so that tests read it as a recipient would.
    Archive::read(&archive.write().unwrap(), &ArchiveLimits::default()).unwrap()
}

pub(crate) fn on(node: &str) -> Assembly {
    Assembly { node: Some(node.to_owned()), ..Assembly::default() }
}

/// Replaces a text in a file of an archive.
#[track_caller]
pub(crate) fn change(archive: &mut Archive, file: &str, from: &str, to: &str) {
    let text = archive.files.get_mut(file).unwrap();
    let old = String::from_utf8(text.clone()).unwrap();
    assert!(old.contains(from), "no {from:?} in {old}");
    *text = old.replacen(from, to, 1).into_bytes();
}

/// Returns the reason for which the cockpit makes no plan after a change.
#[track_caller]
fn refused(file: &str, from: &str, to: &str) -> String {
    let mut archive = cockpit();
    change(&mut archive, file, from, to);
    let assembly = Assembly { package: Some("cockpit.toml".to_owned()), ..on("n") };
    archive.plan(&assembly).map(|plan| plan.instance.len()).unwrap_err().to_string()
}

fn rate(plan: &Plan, instance: &str) -> String {
    let instance = plan.instance_named(instance).unwrap();
    instance.property("hertz").unwrap().value.to_string()
}

#[test]
fn a_rate_is_the_packages_unless_the_assembly_overrides_it() {
    let plan = cockpit().plan(&on("nose")).unwrap();
    assert_eq!(plan.label.as_deref(), Some("cockpit"));
    let names: Vec<&str> = plan.instance.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["usual/rate", "usual/gps", "slow/rate", "slow/gps", "timer"]);
    assert_eq!(rate(&plan, "usual/rate"), "20", "of the implementation in the package");
    assert_eq!(
        rate(&plan, "slow/rate"),
        "5",
        "of the assembly, through a property of the inner one"
    );
    assert_eq!(rate(&plan, "timer"), "40", "of the assembly");
    // The package overrides the implementation, and the assembly overrides the package.
    let mut archive = cockpit();
    let label = "label = \"RateGenerator\"\n";
    let with = format!("{label}configProperty = {{ hertz = {{ ulong = 15 }} }}\n");
    change(&mut archive, "rate/rate.toml", label, &with);
    let plan = archive.plan(&on("nose")).unwrap();
    let rates = ["usual/rate", "slow/rate", "timer"].map(|name| rate(&plan, name));
    assert_eq!(rates, ["15", "5", "40"]);
}

#[test]
fn a_plan_of_a_package_is_whole() {
    let plan = cockpit().plan(&on("nose")).unwrap();
    let report = check(&Input { plan: &plan, resources: None, domain: None, components: None });
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    // Of two implementations, the first one that is precise enough is selected. Each implementation occurs only once.
    let names: Vec<&str> = plan.implementation.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["Timer implementation", "FineGps implementation"]);
    let parameters = &plan.implementation[1].exec_parameter;
    let told: Vec<String> =
        parameters.iter().map(|one| format!("{} {}", one.name, one.value)).collect();
    assert_eq!(
        told,
        ["component factory \"create_FineGps\"", "component type \"Avionics::Sensor\""]
    );
    assert_eq!(plan.artifact.len(), 1);
    assert_eq!(plan.artifact[0].location, ["bin/cockpit"]);
    // The outer connection to a port of the assembly ends at the inner instance.
    let connections: Vec<&str> = plan.connection.iter().map(|one| &*one.name).collect();
    assert_eq!(connections, ["fast pulse", "usual/pulse", "slow/pulse"]);
    let ends = &plan.connection[0].internal_endpoint;
    let ends: Vec<String> = ends
        .iter()
        .map(|end| format!("{}.{} {}", end.instance.id, end.port_name, end.kind.text()))
        .collect();
    assert_eq!(ends, ["timer.pulse EventPublisher", "usual/gps.refresh EventConsumer"]);
    assert_eq!(plan.locality_constraint.len(), 2);
}

#[test]
fn a_part_is_placed_with_all_that_is_in_it() {
    let mut assembly = on("nose");
    assembly.nodes.insert("slow".to_owned(), "tail".to_owned());
    let nodes = |assembly: &Assembly| {
        cockpit().plan(assembly).map(|plan| {
            let nodes = plan.instance.iter().map(|one| one.node.clone().unwrap());
            nodes.collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(nodes(&assembly).unwrap(), "nose nose tail tail nose");
    assembly.nodes.insert("slow/gps".to_owned(), "wing".to_owned());
    let told = nodes(&assembly).unwrap_err().to_string();
    assert!(
        told.contains(
            "sensing.toml: its parts have the constraint SameNodeSameProcess, but the chosen nodes"
        ),
        "{told}"
    );
    let told = nodes(&Assembly::default()).unwrap_err().to_string();
    assert!(told.contains("instance \"usual/rate\" is on no node"), "{told}");
    assembly = on("nose");
    assembly.nodes.insert("fast".to_owned(), "tail".to_owned());
    let told = nodes(&assembly).unwrap_err().to_string();
    assert!(told.contains("no part \"fast\" that could be placed"), "{told}");
}

#[test]
fn a_package_without_an_assembly_is_one_instance() {
    let assembly = Assembly { package: Some("rate/rate.toml".to_owned()), ..on("nose") };
    let plan = cockpit().plan(&assembly).unwrap();
    assert_eq!(plan.instance.len(), 1);
    assert_eq!(rate(&plan, "RateGenerator"), "20");
}

#[test]
fn what_a_package_lacks_is_named_with_its_place() {
    for (file, from, to, wanted) in [
        (
            "cockpit.iad",
            "bin/cockpit",
            "bin/other",
            "cockpit.iad: its artifact \"bin/other\" is not in the archive",
        ),
        ("cockpit.iad", "bin/cockpit", "../../bin/cockpit", "is not in the archive"),
        (
            "sensing.toml",
            "rate/rate.toml",
            "rate/Rate.toml",
            "\"rate/Rate.toml\" is not in the archive",
        ),
        (
            "sensing.toml",
            "rate/rate.toml",
            "cockpit.iad",
            "is of kind ImplementationArtifactDescription instead of a package",
        ),
        (
            "sensing.toml",
            "metres = 10.0",
            "metres = 1.0",
            "no implementation of the package meets all requirements",
        ),
        (
            "sensing.toml",
            "portName = \"refresh\"",
            "portName = \"renew\"",
            "describes no port \"renew\" of part \"gps\"; it has location, refresh",
        ),
        (
            "sensing.toml",
            "externalName = \"hertz\"",
            "externalName = \"herz\"",
            "has no externalProperty \"hertz\"",
        ),
        (
            "cockpit.toml",
            "portName = \"tick\"",
            "portName = \"tock\"",
            "part \"usual\" has no port \"tock\"; it has position, tick",
        ),
        (
            "cockpit.toml",
            "rate-package",
            "gps-package",
            "the archive has no package \"gps-package\"",
        ),
        (
            "cockpit.toml",
            "instance = \"timer\"",
            "instance = \"clock\"",
            "the assembly has no part \"clock\"",
        ),
    ] {
        let told = refused(file, from, to);
        assert!(told.contains(wanted), "{wanted}: {told}");
        let line = told.split(':').next().unwrap();
        assert!(line.parse::<u32>().is_ok(), "{told}");
    }
}

#[test]
fn packages_that_grow_or_contain_themselves_are_refused() {
    let told = refused("sensing.toml", "href = \"rate/rate.toml\"", "href = \"sensing.toml\"");
    assert!(told.contains("more than 32 deep, the limit, or contain themselves"), "{told}");
    let limits = AssemblyLimits { elements: 20, ..AssemblyLimits::default() };
    let told = cockpit().plan(&Assembly { limits, ..on("n") }).unwrap_err().to_string();
    assert!(told.contains("more than 20 elements, the limit"), "{told}");
    let limits = AssemblyLimits { octets: 100, ..AssemblyLimits::default() };
    let told = cockpit().plan(&Assembly { limits, ..on("n") }).unwrap_err().to_string();
    assert!(told.contains("more than 100 octets of names and values, the limit"), "{told}");
    // Names that are not used count against the limit, too, each time they are read.
    let mut archive = cockpit();
    let names: Vec<String> =
        (0..20_000).map(|at| format!("{{ name = \"{at}\", externalName = \"{at}\" }}")).collect();
    let from = "externalProperty = [";
    change(&mut archive, "sensing.toml", from, &format!("{from}{}, ", names.join(", ")));
    let limits = AssemblyLimits { elements: 30_000, ..AssemblyLimits::default() };
    let told = archive.plan(&Assembly { limits, ..on("n") }).unwrap_err().to_string();
    assert!(told.contains("more than 30000 elements, the limit"), "{told}");
    // Each level contains the one below twice.
    let mut archive = cockpit();
    for level in 0..30 {
        let inner = match level {
            0 => "rate/rate.toml".to_owned(),
            _ => format!("level{}.toml", level - 1),
        };
        let text = format!(
            "document = \"ComponentPackageDescription\"\n[[implementation]]\nname = \"x\"\n\
             [[implementation.referencedImplementation.assemblyImpl]]\n\
             instance = [{{ name = \"a\", basePackage = [{{ href = {inner:?} }}] }}, {{ name = \"b\", basePackage = [{{ href = {inner:?} }}] }}]\n"
        );
        archive.files.insert(format!("level{level}.toml"), text.into_bytes());
    }
    let assembly = Assembly { package: Some("level29.toml".to_owned()), ..on("n") };
    let told = archive.plan(&assembly).unwrap_err().to_string();
    assert!(told.contains("the limit"), "{told}");
}

/// Returns a component type with ports of these kinds and an attribute `hertz`.
fn component(ports: &[(&str, PortKind)], hertz: Basic) -> ComponentType {
    let port = |kind| Port {
        kind,
        type_name: "Avionics::Tick".to_owned(),
        is_also: ["Avionics::Tick".to_owned()].into(),
        basic: Vec::new(),
    };
    ComponentType {
        ports: ports.iter().map(|(name, kind)| ((*name).to_owned(), port(*kind))).collect(),
        attributes: [("hertz".to_owned(), Some(Type::Basic(hertz)))].into(),
    }
}

/// Returns the ends of a connection, with their kinds.
fn ends(plan: &Plan, connection: &str) -> Vec<String> {
    let found = plan.connection.iter().find(|one| one.name == connection).unwrap();
    let ends = found.internal_endpoint.iter();
    ends.map(|end| format!("{}.{} {}", end.instance.id, end.port_name, end.kind.text())).collect()
}

#[test]
fn the_other_end_determines_the_kind_of_a_port_without_an_interface() {
    let with = cockpit().plan(&on("nose")).unwrap();
    let mut archive = cockpit();
    change(&mut archive, "gps/gps.toml", "realizes = { href = \"Sensor.ccd\" }\n", "");
    archive.files.remove("gps/Sensor.ccd");
    let plan = archive.plan(&on("nose")).unwrap();
    assert_eq!(plan.connection, with.connection);
    assert_eq!(
        ends(&plan, "fast pulse"),
        ["timer.pulse EventPublisher", "usual/gps.refresh EventConsumer"]
    );
}

#[test]
fn ports_without_an_interface_are_those_of_the_idl() {
    let with = cockpit().plan(&on("nose")).unwrap();
    let mut archive = cockpit();
    let realizes = "realizes = { href = \"RateGenerator.ccd\" }\n";
    change(&mut archive, "rate/rate.toml", realizes, "");
    // The source of an event sink may be an emitter or a publisher.
    let told = archive.plan(&on("nose")).unwrap_err().to_string();
    let wanted = "cockpit.toml: the kind of port \"pulse\" of part \"timer\" is unknown: its package realizes no \
                  interface (.ccd) that lists ports, and the IDL of its component is not specified; add the interface";
    assert!(told.contains(wanted), "{told}");
    assert!(told.split(':').next().unwrap().parse::<u32>().is_ok(), "{told}");

    let publisher = component(&[("pulse", PortKind::EventPublisher)], Basic::ULong);
    let idl = |components: Components| Assembly { components, ..on("nose") };
    let known: Components = [("Avionics::RateGenerator".to_owned(), publisher)].into();
    // The entry point `create_RateGenerator` names no type.
    let told = archive.plan(&idl(known.clone())).unwrap_err().to_string();
    assert!(told.contains("execParameter \"component type\" of its implementation"), "{told}");
    let factory = "\"component factory\" = \"create_RateGenerator\"\n";
    let with_type = format!("{factory}\"component type\" = \"Avionics::RateGenerator\"\n");
    change(&mut archive, "rate/rate.toml", factory, &with_type);
    let plan = archive.plan(&idl(known)).unwrap();
    assert_eq!(plan.connection, with.connection);
    let other = component(&[("tick", PortKind::EventPublisher)], Basic::ULong);
    let named = |name: &str| idl([(name.to_owned(), other.clone())].into());
    let told = archive.plan(&named("Avionics::RateGenerator")).unwrap_err().to_string();
    let wanted = "the IDL describes no port \"pulse\" of part \"timer\"; it has tick";
    assert!(told.contains(wanted), "{told}");
    let told = archive.plan(&named("Avionics::Clock")).unwrap_err().to_string();
    let wanted = "IDL has no component \"Avionics::RateGenerator\", it has Avionics::Clock";
    assert!(told.contains(wanted), "{told}");
}

/// Returns the plan of an archive with values that the assembler gives.
fn given(archive: &Archive, values: &[(&str, &str)]) -> Result<Plan, String> {
    let values = values.iter().map(|(target, value)| ((*target).to_owned(), (*value).to_owned()));
    let assembly = Assembly { values: values.collect::<BTreeMap<_, _>>(), ..on("nose") };
    archive.plan(&assembly).map_err(|error| error.to_string())
}

#[test]
fn a_given_value_overrides_package_and_assembly() {
    let plan = given(&cockpit(), &[("timer.hertz", "80"), ("usual/rate.hertz", "25")]).unwrap();
    let rates = |plan: &Plan| ["usual/rate", "slow/rate", "timer"].map(|name| rate(plan, name));
    assert_eq!(rates(&plan), ["25", "5", "80"]);
    let value = &plan.instance_named("timer").unwrap().property("hertz").unwrap().value;
    assert_eq!(value.kind, Type::Basic(Basic::ULong), "the type of the value in the package");
    // The external property of an assembly delegates the value, unless a part of it has a value, too.
    let plan = given(&cockpit(), &[("slow.hertz", "7"), ("usual.hertz", "8")]).unwrap();
    assert_eq!(rates(&plan), ["8", "7", "40"]);
    let plan = given(&cockpit(), &[("slow.hertz", "7"), ("slow/rate.hertz", "6")]).unwrap();
    assert_eq!(rates(&plan), ["20", "6", "40"]);
    // Names of properties for deployment engines contain dots.
    let naming = "edu.vanderbilt.dre.DAnCE.RegisterNaming";
    let target = format!("timer.{naming}");
    let plan = given(&cockpit(), &[(target.as_str(), "aircraft/timer")]).unwrap();
    let name = &plan.instance_named("timer").unwrap().property(naming).unwrap().value;
    assert_eq!(name.as_text(), Some("aircraft/timer"));
}

/// Declares properties of the rate generator in its interface.
fn declare(archive: &mut Archive, properties: &str) {
    let end = "</Deployment:ComponentInterfaceDescription>";
    change(archive, "rate/RateGenerator.ccd", end, &format!("{properties}\n{end}"));
}

#[test]
fn a_given_value_has_the_declared_type() {
    let property = |name: &str, kind: &str| {
        format!("<property><name>{name}</name><type>{kind}</type></property>")
    };
    let side = "<kind>tk_enum</kind><enum><name>Side</name><typeId>IDL:Side:1.0</typeId>\
                <member>Port</member><member>Starboard</member></enum>";
    let list = "<kind>tk_sequence</kind><sequence><elementType><kind>tk_double</kind></elementType></sequence>";
    let mut archive = cockpit();
    declare(
        &mut archive,
        &[
            property("hertz", "<kind>tk_ushort</kind>"),
            property("title", "<kind>tk_string</kind>"),
            property("side", side),
            property("marks", list),
            property("exact", "<kind>tk_boolean</kind>"),
        ]
        .concat(),
    );
    let shown = |property: &str, text: &str| {
        let target = format!("timer.{property}");
        let plan = given(&archive, &[(target.as_str(), text)]).unwrap();
        plan.instance_named("timer").unwrap().property(property).unwrap().value.to_string()
    };
    for (property, text, value) in [
        ("hertz", "65535", "65535"),
        ("title", "port = left", "\"port = left\""),
        ("title", "", "\"\""),
        ("side", "Starboard", "Starboard"),
        ("marks", "{ double = [1.5, 2.0] }", "[1.5, 2]"),
        ("exact", "true", "true"),
    ] {
        assert_eq!(shown(property, text), value, "{property}");
    }
    let declares = "; rate/RateGenerator.ccd:6:";
    for (target, text, wanted) in [
        (
            "timer.hertz",
            "65536",
            "value of timer.hertz: 65536 is not a <ushort>; expected 0 to 65535",
        ),
        ("timer.hertz", "-1", "-1 is not a <ushort>"),
        ("timer.hertz", "fast", "<ushort> must be an integer from 0 to 65535, not \"fast\""),
        ("timer.side", "Bow", "enum Side has no \"Bow\""),
        ("timer.marks", "[1.5]", "expected a table of TOML"),
        ("timer.marks", "1.5]", "not well-formed TOML"),
        ("timer.marks", "{ long = [1] }", "contains <double>, not <long>"),
        ("timer.exact", "yes", "<boolean> must be true or false, not \"yes\""),
    ] {
        let told = given(&archive, &[(target, text)]).unwrap_err();
        assert!(told.contains(wanted) && told.contains(declares), "{wanted}: {told}");
    }
}

#[test]
fn a_value_for_something_else_is_refused_with_what_there_is() {
    let mut declared = cockpit();
    declare(
        &mut declared,
        "<property><name>hertz</name><type><kind>tk_ulong</kind></type></property>",
    );
    for (archive, target, wanted) in [
        (
            &declared,
            "timer.herz",
            "instance \"timer\" has no property \"herz\" that can be set; rate/RateGenerator.ccd has hertz",
        ),
        (
            &cockpit(),
            "timer.herz",
            "nothing declares the type of property \"herz\" of instance \"timer\"; declare it in an interface (.ccd)",
        ),
        (
            &cockpit(),
            "slow.herz",
            "the assembly \"slow\" of sensing.toml has no externalProperty \"herz\"; it has hertz",
        ),
        (
            &cockpit(),
            "clock.hertz",
            "value of clock.hertz: the package has no instance or assembly \"clock\"; write INSTANCE.PROPERTY; \
             the instances are usual/rate, usual/gps, slow/rate, slow/gps, timer",
        ),
        (
            &cockpit(),
            "hertz",
            "value of hertz: it has no dot between the instance and the property; write",
        ),
    ] {
        let told = given(archive, &[(target, "5")]).unwrap_err();
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}

#[test]
fn a_given_value_may_have_the_type_of_the_idl() {
    let factory = "\"component factory\" = \"create_RateGenerator\"\n";
    let with_type = format!("{factory}\"component type\" = \"Avionics::RateGenerator\"\n");
    let mut archive = cockpit();
    change(&mut archive, "rate/rate.toml", factory, &with_type);
    let of_idl = component(&[("pulse", PortKind::EventPublisher)], Basic::Octet);
    let with = |value: &str| {
        let assembly = Assembly {
            components: [("Avionics::RateGenerator".to_owned(), of_idl.clone())].into(),
            values: [("timer.hertz".to_owned(), value.to_owned())].into(),
            ..on("nose")
        };
        archive.plan(&assembly).map_err(|error| error.to_string())
    };
    let plan = with("255").unwrap();
    let value = &plan.instance_named("timer").unwrap().property("hertz").unwrap().value;
    assert_eq!(value.kind, Type::Basic(Basic::Octet));
    let told = with("256").unwrap_err();
    let wanted = "256 is not a <octet>; expected 0 to 255; the IDL declares the type";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn an_attribute_of_a_type_that_plans_do_not_support_takes_no_value() {
    let factory = "\"component factory\" = \"create_RateGenerator\"\n";
    let with_type = format!("{factory}\"component type\" = \"Avionics::RateGenerator\"\n");
    let mut archive = cockpit();
    change(&mut archive, "rate/rate.toml", factory, &with_type);
    let mut of_idl = component(&[("pulse", PortKind::EventPublisher)], Basic::ULong);
    of_idl.attributes.insert("shape".to_owned(), None);
    let assembly = Assembly {
        components: [("Avionics::RateGenerator".to_owned(), of_idl)].into(),
        values: [("timer.shape".to_owned(), "1".to_owned())].into(),
        ..on("nose")
    };
    let told = archive.plan(&assembly).unwrap_err().to_string();
    let wanted = "plans do not support the type that the IDL declares for property \"shape\" of instance \"timer\"";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn types_and_searches_of_given_values_count_against_the_limits() {
    let planned = |archive: &Archive, target: &str, value: &str, limits: AssemblyLimits| {
        let values = [(target.to_owned(), value.to_owned())].into();
        let plan = archive.plan(&Assembly { values, limits, ..on("nose") });
        plan.map_err(|error| error.to_string())
    };
    // Each value contains its type, whose names may be longer than the value.
    let mut archive = cockpit();
    let side = |member: &str| {
        format!(
            "<property><name>side</name><type><kind>tk_enum</kind><enum><name>Side</name><typeId>IDL:Side:1.0</typeId>\
             <member>Port</member><member>{member}</member></enum></type></property>"
        )
    };
    let limits = AssemblyLimits { octets: 10_000, ..AssemblyLimits::default() };
    declare(&mut archive, &side("Starboard"));
    assert!(planned(&archive, "timer.side", "Port", limits).is_ok());
    change(&mut archive, "rate/RateGenerator.ccd", "Starboard", &"x".repeat(20_000));
    let told = planned(&archive, "timer.side", "Port", limits).unwrap_err();
    assert!(told.contains("more than 10000 octets of names and values, the limit"), "{told}");
    // An assembly's external properties are searched for each value.
    let mut archive = cockpit();
    let names: Vec<String> =
        (0..20_000).map(|at| format!("{{ name = \"{at}\", externalName = \"{at}\" }}")).collect();
    let from = "externalProperty = [";
    change(&mut archive, "sensing.toml", from, &format!("{from}{}, ", names.join(", ")));
    let limits = AssemblyLimits { elements: 50_000, ..AssemblyLimits::default() };
    assert!(planned(&archive, "timer.hertz", "5", limits).is_ok());
    let told = planned(&archive, "usual.hertz", "5", limits).unwrap_err();
    assert!(told.contains("more than 50000 elements, the limit"), "{told}");
}
