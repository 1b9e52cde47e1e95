//! Plans from packages: default rates and those that an assembly overrides, and packages that are refused.

use std::path::Path;

use oxorb_deploy::check::{Input, check};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Archive, ArchiveLimits, Assembly, AssemblyLimits};

/// Returns the files of the package of a cockpit.
fn cockpit() -> Archive {
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

fn on(node: &str) -> Assembly {
    Assembly { node: Some(node.to_owned()), ..Assembly::default() }
}

/// Replaces a text in a file of an archive.
#[track_caller]
fn change(archive: &mut Archive, file: &str, from: &str, to: &str) {
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
        told.contains("sensing.toml: its parts are SameNodeSameProcess, and the nodes"),
        "{told}"
    );
    let told = nodes(&Assembly::default()).unwrap_err().to_string();
    assert!(told.contains("instance \"usual/rate\" is on no node"), "{told}");
    assembly = on("nose");
    assembly.nodes.insert("fast".to_owned(), "tail".to_owned());
    let told = nodes(&assembly).unwrap_err().to_string();
    assert!(told.contains("no part \"fast\" to be placed"), "{told}");
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
            "is of kind ImplementationArtifactDescription, and a package",
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
            "describes no port \"renew\" of part \"gps\"; it has refresh, location",
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
            "no package of the archive is \"gps-package\"",
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
