//! Packages of an execution manager, and the exceptions of its repository.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use oxorb::deployment::idl::deployment::{
    PackageConfiguration, RepositoryManagerRef, repository_manager as exceptions,
};
use oxorb::deployment::{
    ExecutionSettings, NodeEvent, PackageRepository, REPOSITORY_MANAGER, RepositorySettings,
};
use oxorb::minor;
use oxorb_deploy::Archive;

use crate::managers::operations::beside;
use crate::managers::scene::*;

/// Folder of a test, with an archive in `sources`.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxorb-{test}-{}", oxorb_testkit::unique()));
        let _ = fs::remove_dir_all(&path);
        let sources = path.join("sources");
        fs::create_dir_all(&sources).unwrap();
        let descriptor = "document = \"ComponentPackageDescription\"\nlabel = \"Gps\"\nUUID = \"gps-1\"\n\
            realizes = { specificType = \"IDL:Station/Gps:1.0\" }\n[[implementation]]\nname = \"gps\"\n\
            [[implementation.referencedImplementation.monolithicImpl]]\n\
            primaryArtifact = [{ name = \"gps\", referencedArtifact = { location = \"gps\" } }]\n";
        let files = [("gps.toml", descriptor), ("gps", "#!/bin/sh\n")];
        let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        let archive = Archive { files: files.into() };
        fs::write(sources.join("gps.cpk"), archive.write().unwrap()).unwrap();
        fs::write(sources.join("broken.cpk"), "PK and nothing").unwrap();
        for (name, mode) in [
            ("", 0o755),
            ("sources", 0o755),
            ("sources/gps.cpk", 0o644),
            ("sources/broken.cpk", 0o644),
        ] {
            let rights = fs::Permissions::from_mode(mode);
            fs::set_permissions(path.join(name), rights).unwrap();
        }
        Folder(path)
    }

    /// Returns a scene whose execution manager keeps packages, and the reference of their manager.
    fn scene(&self) -> (Scene, RepositoryManagerRef) {
        let repository = PackageRepository::open(RepositorySettings {
            sources: Some(self.0.join("sources")),
            ..RepositorySettings::new(self.0.join("packages"))
        });
        let packages = Some(Arc::new(repository.unwrap()));
        let settings = ExecutionSettings { packages, ..execution_settings() };
        let scene = Scene::with(&[], &node_settings(), settings);
        let repository = beside(&scene, REPOSITORY_MANAGER);
        (scene, repository)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_repository_answers_with_its_packages_or_with_exceptions() {
    let folder = Folder::new("repository");
    let (scene, repository) = folder.scene();
    repository.install_package("gps", "gps.cpk", false).unwrap();
    let again = repository.install_package("gps", "gps.cpk", false).unwrap_err();
    assert!(matches!(again, exceptions::InstallPackageError::NameExists(_)), "{again}");
    repository.install_package("gps", "gps.cpk", true).unwrap();
    for (location, wanted) in [
        ("broken.cpk", "the archive cannot be read"),
        ("/etc/passwd", "is not below the folder"),
        ("http://host/gps.cpk", "needs a checksum"),
        ("http://127.0.0.1:9/gps.cpk", "is not permitted here"),
    ] {
        match repository.install_package("other", location, false).unwrap_err() {
            exceptions::InstallPackageError::PackageError(why) => {
                assert_eq!(why.source, location);
                assert!(why.reason.contains(wanted), "{}", why.reason);
            }
            other => panic!("{other}"),
        }
    }

    let found = repository.find_package_by_name("gps").unwrap();
    assert_eq!((&*found.label, &*found.uuid), ("Gps", "gps-1"));
    assert_eq!(repository.find_package_by_uuid("gps-1").unwrap(), found);
    repository.create_package("copy", &found, "", false).unwrap_err();
    fs::copy(folder.0.join("sources/gps.cpk"), folder.0.join("sources/gps")).unwrap();
    repository.create_package("copy", &found, "", false).unwrap();
    assert_eq!(repository.find_package_by_name("copy").unwrap(), found);
    let again = repository.create_package("copy", &found, "", false).unwrap_err();
    assert!(matches!(again, exceptions::CreatePackageError::NameExists(_)), "{again}");
    let empty = PackageConfiguration::default();
    match repository.create_package("empty", &empty, "base", false).unwrap_err() {
        exceptions::CreatePackageError::PackageError(why) => assert_eq!(why.source, "base"),
        other => panic!("{other}"),
    }
    assert_eq!(repository.get_all_names().unwrap(), ["copy", "gps"]);
    assert_eq!(repository.get_all_types().unwrap(), ["IDL:Station/Gps:1.0"]);
    let named = repository.find_names_by_type("IDL:Station/Gps:1.0").unwrap();
    assert_eq!(named, ["copy", "gps"]);

    repository.delete_package("copy").unwrap();
    let gone = repository.delete_package("copy").unwrap_err();
    assert!(matches!(gone, exceptions::DeletePackageError::NoSuchName(_)), "{gone}");
    let gone = repository.find_package_by_name("copy").unwrap_err();
    assert!(matches!(gone, exceptions::FindPackageByNameError::NoSuchName(_)), "{gone}");
    let gone = repository.find_package_by_uuid("gps-2").unwrap_err();
    assert!(matches!(gone, exceptions::FindPackageByUuidError::NoSuchName(_)), "{gone}");

    // A package that can no longer be read is not reported as missing.
    fs::write(folder.0.join("packages/gps.cpk"), "PK and nothing").unwrap();
    match repository.find_package_by_name("gps").unwrap_err() {
        exceptions::FindPackageByNameError::System(exception) => {
            assert_eq!(exception.minor, minor::persist_store::NOT_READ);
        }
        other => panic!("{other}"),
    }
    let events = scene.events.lock().unwrap().clone();
    let [NodeEvent::Repository { package, reason }] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(package, "gps");
    assert!(reason.contains("the archive cannot be read"), "{reason}");
}
