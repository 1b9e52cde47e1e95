//! Packages as single documents, in which the contents of descriptors replace the links to them.

use oxorb_deploy::package::PackageConfiguration;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Archive, AssemblyLimits, Document, Format, Limits};

use crate::packages::{change, cockpit, on};

fn configuration(archive: &Archive) -> Result<PackageConfiguration, String> {
    let made = archive.configuration(None, &AssemblyLimits::default());
    made.map_err(|error| error.to_string())
}

/// Returns an archive of a single descriptor, with the files of the package that are no descriptors.
fn alone(package: &Archive, configuration: PackageConfiguration) -> Archive {
    let text = Document::from(configuration).write(Format::Xml).unwrap();
    let mut archive = Archive::default();
    archive.files.insert("package.pcd".to_owned(), text.into_bytes());
    let files = package.files.iter().filter(|(path, _)| Format::of_file(path).is_none());
    archive.files.extend(files.map(|(path, content)| (path.clone(), content.clone())));
    archive
}

/// Returns the instances of a plan with their values, and its connections.
fn described(plan: &Plan) -> Vec<String> {
    let instances = plan.instance.iter().map(|one| {
        let values = one.config_property.iter().map(|it| format!(" {}={}", it.name, it.value));
        format!("{}{}", one.name, values.collect::<String>())
    });
    let connections = plan.connection.iter().map(|one| {
        let ends = one.internal_endpoint.iter();
        let ends =
            ends.map(|end| format!(" {}.{} {}", end.instance.id, end.port_name, end.kind.text()));
        format!("{}:{}", one.name, ends.collect::<String>())
    });
    instances.chain(connections).collect()
}

#[test]
fn a_configuration_without_links_makes_the_plan_of_its_package() {
    let package = cockpit();
    let made = configuration(&package).unwrap();
    assert_eq!(made.label.as_deref(), Some("cockpit"));
    let alone = alone(&package, made.clone());
    let documents = alone.documents(&Limits::default()).unwrap();
    assert_eq!(documents.len(), 1);
    assert!(documents["package.pcd"].links().is_empty());
    let (plan, same) = (package.plan(&on("nose")).unwrap(), alone.plan(&on("nose")).unwrap());
    assert_eq!(described(&same), described(&plan));
    assert!(same.artifact.iter().all(|one| one.location == ["bin/cockpit"]));
    // Nothing is left to be replaced.
    assert_eq!(configuration(&alone).unwrap(), made);
}

#[test]
fn what_links_lack_is_named_and_copies_are_limited() {
    let mut archive = cockpit();
    change(&mut archive, "cockpit.toml", "rate-package", "gps-package");
    let told = configuration(&archive).unwrap_err();
    assert!(told.contains("the archive has no package \"gps-package\""), "{told}");
    let mut archive = cockpit();
    change(&mut archive, "cockpit.iad", "bin/cockpit", "bin/other");
    let told = configuration(&archive).unwrap_err();
    assert!(told.contains("its artifact \"bin/other\" is not in the archive"), "{told}");

    let mut archive = cockpit();
    let link = "href = \"rate/rate.toml\"";
    change(&mut archive, "sensing.toml", link, "href = \"sensing.toml\"");
    let own = archive.configuration(Some("cockpit.toml"), &AssemblyLimits::default());
    let told = own.unwrap_err().to_string();
    assert!(told.contains("more than 32 deep, the limit, or contain themselves"), "{told}");
    for (limits, wanted) in [
        (
            AssemblyLimits { elements: 200, ..AssemblyLimits::default() },
            "more than 200 elements, the limit",
        ),
        (
            AssemblyLimits { octets: 500, ..AssemblyLimits::default() },
            "more than 500 octets of names and values, the limit",
        ),
    ] {
        let told = cockpit().configuration(None, &limits).unwrap_err().to_string();
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}
