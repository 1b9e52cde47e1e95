//! Packages that an execution manager keeps.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::common::Folder;
use crate::launch::{bad, good, serve};

pub(super) const COCKPIT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/tests/packages/cockpit");

/// Returns the arguments of a command about the packages of a manager.
pub(super) fn repository<'a>(at: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["deploy", "repository"][..], args, &["--at", at]].concat()
}

#[test]
fn packages_are_installed_planned_and_deleted_and_survive_a_kill() {
    let folder = Folder::new("deploy-repository");
    let (packages, archives) = (folder.path("packages"), folder.path("archives"));
    fs::create_dir(&archives).unwrap();
    for path in [&folder.path(""), &archives] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let archive = folder.path("archives/cockpit.cpk");
    good(&["deploy", "pack", COCKPIT, &archive]);

    let serving = ["deploy", "serve", "--packages", &packages, "--install-from", &archives];
    let (mut manager, at) = serve(&serving);
    assert_eq!(good(&repository(&at, &["list"])), "no package is installed\n");
    let install = ["install", "cockpit", "cockpit.cpk"];
    assert_eq!(good(&repository(&at, &install)), "installed cockpit\n");
    let told = bad(&repository(&at, &install));
    assert!(told.contains("\"cockpit\" is installed; replace it with --replace"), "{told}");
    good(&repository(&at, &[&install[..], &["--replace"]].concat()));
    let told = bad(&repository(&at, &["install", "passwd", "/etc/passwd"]));
    let wanted = "is not below the folder from which packages are installed";
    assert!(told.contains(wanted), "{told}");
    let told = bad(&[&serving[..], &["--port", "0"]].concat());
    assert!(told.contains("is in use by another process"), "{told}");

    manager.kill();
    let (_manager, at) = serve(&serving);
    assert_eq!(good(&repository(&at, &["list"])), "cockpit\n");
    let told = good(&repository(&at, &["list", "--format", "json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["packages"], serde_json::json!(["cockpit"]));
    let told = good(&repository(&at, &["show", "cockpit"]));
    assert!(told.contains("document = \"PackageConfiguration\"\n"), "{told}");
    assert!(told.contains("IDL:Avionics/RateGenerator:1.0") && !told.contains("href"), "{told}");
    let told = bad(&repository(&at, &["show", "radar"]));
    assert!(told.contains("the repository has no package \"radar\""), "{told}");

    // Plans are made from a package by its name.
    let plan = ["-", "--to", "toml", "--node", "nose"];
    let named = ["deploy", "assemble", "cockpit", "--packages", &packages];
    let from_archive = good(&[&["deploy", "assemble", &archive][..], &plan].concat());
    assert_eq!(good(&[&named[..], &plan].concat()), from_archive);
    let named = named.map(|argument| if argument == "cockpit" { "radar" } else { argument });
    let told = bad(&[&named[..], &plan].concat());
    assert!(told.contains("has no package \"radar\""), "{told}");

    assert_eq!(good(&repository(&at, &["delete", "cockpit"])), "deleted cockpit\n");
    let told = bad(&repository(&at, &["delete", "cockpit"]));
    assert!(told.contains("the repository has no package \"cockpit\""), "{told}");
    assert_eq!(fs::read_dir(&packages).unwrap().count(), 0);
}

#[test]
fn a_manager_without_packages_refuses_them() {
    let (_manager, at) = serve(&["deploy", "serve"]);
    assert_eq!(good(&repository(&at, &["list"])), "no package is installed\n");
    let told = bad(&repository(&at, &["install", "gps", "gps.cpk"]));
    assert!(told.contains("start it with --packages DIR"), "{told}");
    let told = bad(&repository(&at, &["show", "gps"]));
    assert!(told.contains("the repository has no package \"gps\""), "{told}");
}

#[test]
fn a_plan_of_a_package_in_a_repository_is_launched_on_a_node_that_fetches_its_files() {
    let folder = Folder::new("deploy-fetched");
    let (packages, archives) = (folder.path("packages"), folder.path("archives"));
    fs::create_dir(&archives).unwrap();
    for path in [&folder.path(""), &archives] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    good(&["deploy", "pack", COCKPIT, &folder.path("archives/cockpit.cpk")]);
    let (_packages, store) =
        serve(&["deploy", "serve", "--packages", &packages, "--install-from", &archives]);
    good(&repository(&store, &["install", "cockpit", "cockpit.cpk"]));

    let plan = folder.path("plan.toml");
    let assemble = ["deploy", "assemble", "cockpit", &plan, "--repository", "--at", &store];
    good(&[&assemble[..], &["--node", "nose"]].concat());
    let text = fs::read_to_string(&plan).unwrap();
    let url = store.replace("/ExecutionManager", "/RepositoryManager");
    assert!(text.contains(&format!("\"{url}#cockpit/")), "{text}");
    assert!(text.contains("#sha256="), "{text}");
    let told = bad(&["deploy", "assemble", "radar", &plan, "--repository", "--at", &store]);
    assert!(told.contains("the repository has no package \"radar\""), "{told}");

    // The node fetches the executable, which ends at once.
    let fetched = folder.path("fetched");
    let launch = |options: &[&str]| {
        let (_node, node) = serve(&[&["node", "serve", "--name", "nose"], options].concat());
        let (_manager, at) = serve(&["deploy", "serve", "--node", &format!("nose={node}")]);
        bad(&["deploy", "launch", &plan, "--at", &at])
    };
    let told = launch(&["--fetched", &fetched, "--fetch-from", &url]);
    assert!(told.contains("before it called back"), "{told}");
    let told = launch(&["--fetched", &fetched, "--fetch-from", "http://127.0.0.1:9/"]);
    assert!(told.contains("is not permitted here"), "{told}");
    let told = launch(&["--artifacts", &archives]);
    assert!(told.contains("this node fetches no files"), "{told}");
}
