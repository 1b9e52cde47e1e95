//! Tests of repositories of packages.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use oxorb_deploy::ArchiveLimits;

use super::content::MOST_TYPES;
use super::*;
use crate::manager::fetch::MOST_LOCATION;

/// Folder of one test, with a folder of sources and one of packages.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("oxorb-packages-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let folder = Folder(path);
        for name in ["", "sources", "sources/base", "sources/base/bin"] {
            fs::create_dir(folder.0.join(name)).unwrap();
            folder.allow(name, 0o755);
        }
        folder.source("gps.cpk", &archive(GPS));
        folder.source("base/bin/gps", b"#!/bin/sh\n");
        folder
    }

    fn allow(&self, name: &str, mode: u32) {
        fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Writes a file that clients may install.
    fn source(&self, name: &str, octets: &[u8]) {
        let name = format!("sources/{name}");
        fs::write(self.0.join(&name), octets).unwrap();
        self.allow(&name, 0o644);
    }

    fn settings(&self) -> RepositorySettings {
        RepositorySettings {
            sources: Some(self.0.join("sources")),
            ..RepositorySettings::new(self.0.join("packages"))
        }
    }

    fn open(&self) -> PackageRepository {
        PackageRepository::open(self.settings()).unwrap()
    }

    /// Returns the names of the files in the folder of packages.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.join("packages")).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const TYPE: &str = "IDL:Avionics/Sensor:1.0";

/// Package of one implementation, whose executable is `bin/gps`.
const GPS: &[(&str, &str)] = &[
    (
        "gps.toml",
        "document = \"ComponentPackageDescription\"\nlabel = \"Gps\"\nUUID = \"gps-1\"\n\
         realizes = { href = \"Sensor.ccd\" }\n[[implementation]]\nname = \"gps\"\n\
         [[implementation.referencedImplementation.monolithicImpl]]\n\
         primaryArtifact = [{ name = \"gps\", referencedArtifact = { location = \"bin/gps\" } }]\n\
         componentExecParameter = { \"component factory\" = \"create_Avionics_Gps_Impl\" }\n",
    ),
    (
        "Sensor.ccd",
        "<Deployment:ComponentInterfaceDescription><specificType>IDL:Avionics/Sensor:1.0</specificType>\
         </Deployment:ComponentInterfaceDescription>",
    ),
    ("bin/gps", "#!/bin/sh\n"),
];

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    Archive { files: files.collect() }.write().unwrap()
}

#[track_caller]
fn refused(result: Result<(), Refusal>) -> String {
    match result {
        Err(Refusal::Package(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_package_is_kept_until_it_is_deleted() {
    let folder = Folder::new("kept");
    let repository = folder.open();
    repository.install("port side/gps", "gps.cpk", false).unwrap();
    assert_eq!(folder.files(), ["port%20side%2Fgps.cpk"]);
    let check = |repository: &PackageRepository| {
        assert_eq!(repository.names(), ["port side/gps"]);
        assert_eq!(repository.types(), [TYPE]);
        assert_eq!(repository.names_by_type(TYPE), ["port side/gps"]);
        assert!(repository.names_by_type("IDL:Avionics/Display:1.0").is_empty());
        let found = repository.find("port side/gps").unwrap().unwrap();
        assert_eq!((&*found.label, &*found.uuid), ("Gps", "gps-1"));
        let implementation = &found.base_package[0].implementation[0].referenced_implementation;
        let artifact = &implementation.monolithic_impl[0].primary_artifact[0];
        assert_eq!(artifact.referenced_artifact.location, ["bin/gps"]);
        assert_eq!(repository.find_by_uuid("gps-1").unwrap(), Some(found));
        for missing in ["", "gps", "gps-2"] {
            assert_eq!(repository.find(missing).unwrap(), None);
            assert_eq!(repository.find_by_uuid(missing).unwrap(), None);
        }
    };
    check(&repository);
    drop(repository);
    // A file whose writing was interrupted is no package. Files of others stay.
    fs::write(folder.0.join("packages/.0123456789abcdef.new"), "PK").unwrap();
    fs::write(folder.0.join("packages/.mine.new"), "").unwrap();
    let repository = folder.open();
    assert!(repository.unreadable().is_empty(), "{:?}", repository.unreadable());
    check(&repository);
    assert_eq!(folder.files(), [".mine.new", "port%20side%2Fgps.cpk"]);
    fs::remove_file(folder.0.join("packages/.mine.new")).unwrap();
    assert!(repository.delete("port side/gps").unwrap());
    assert!(!repository.delete("port side/gps").unwrap());
    assert!(repository.names().is_empty() && folder.files().is_empty());
    assert_eq!(repository.find("port side/gps").unwrap(), None);
}

#[test]
fn a_name_is_used_once_and_packages_are_limited() {
    let folder = Folder::new("limits");
    let settings = RepositorySettings { max_packages: 1, ..folder.settings() };
    let repository = PackageRepository::open(settings.clone()).unwrap();
    repository.install("gps", "gps.cpk", false).unwrap();
    let again = repository.install("gps", "gps.cpk", false);
    assert!(matches!(again, Err(Refusal::NameExists)), "{again:?}");
    let text = GPS[0].1.replace("gps-1", "gps-2");
    folder.source("second.cpk", &archive(&[("gps.toml", &text), GPS[1], GPS[2]]));
    repository.install("gps", "second.cpk", true).unwrap();
    assert_eq!(repository.find_by_uuid("gps-1").unwrap(), None);
    assert!(repository.find_by_uuid("gps-2").unwrap().is_some());
    let told = refused(repository.install("other", "gps.cpk", false));
    assert!(told.contains("has the maximum of 1 packages"), "{told}");
    let told = refused(repository.install("", "gps.cpk", false));
    assert!(told.contains("is empty"), "{told}");

    // The folder has one user at a time.
    let other = PackageRepository::open(settings.clone()).unwrap_err();
    assert!(other.contains("in use by another process"), "{other}");
    drop(repository);
    let none = RepositorySettings { max_packages: 0, ..settings.clone() };
    let told = PackageRepository::open(none).unwrap_err();
    assert!(told.contains("has 1 packages, but the limit is 0"), "{told}");
    let small = RepositorySettings { max_package_octets: 100, ..settings };
    let repository = PackageRepository::open(small).unwrap();
    let told = refused(repository.install("gps", "gps.cpk", true));
    assert!(told.contains("more than 100 octets, the limit"), "{told}");
}

#[test]
fn what_is_no_package_is_refused_and_leaves_nothing() {
    let folder = Folder::new("refused");
    let repository = folder.open();
    let cases: [(&[(&str, &str)], &str); 4] = [
        (&[("read.me", "")], "has no package"),
        (&GPS[..2], "its artifact \"bin/gps\" is not in the archive"),
        (&[GPS[0], GPS[2]], "\"Sensor.ccd\" is not in the archive"),
        (&[("gps.toml", "document = \"Package\""), GPS[1]], "is not a document"),
    ];
    for (files, wanted) in cases {
        folder.source("case.cpk", &archive(files));
        let told = refused(repository.install("case", "case.cpk", true));
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    folder.source("case.cpk", b"PK and nothing");
    let told = refused(repository.install("case", "case.cpk", true));
    assert!(told.contains("the archive cannot be read"), "{told}");
    let types = "<supportedType>x</supportedType>".repeat(MOST_TYPES);
    let types: String = (0..=MOST_TYPES)
        .map(|at| format!("<supportedType>{at}</supportedType>"))
        .chain([types])
        .collect();
    let interface = GPS[1].1.replace("<specificType>", &format!("{types}<specificType>"));
    folder.source("case.cpk", &archive(&[GPS[0], ("Sensor.ccd", &interface), GPS[2]]));
    let told = refused(repository.install("case", "case.cpk", true));
    assert!(told.contains("types, but the limit is 1000"), "{told}");
    assert!(folder.files().is_empty() && repository.names().is_empty());
}

#[test]
fn only_files_below_the_folder_of_sources_are_read() {
    let folder = Folder::new("outside");
    let repository = folder.open();
    let install = |location: &str| repository.install("gps", location, true);
    let whole = folder.0.canonicalize().unwrap().join("sources/gps.cpk");
    let whole = whole.to_str().unwrap();
    for location in ["gps.cpk", "./base/../gps.cpk", whole, &format!("file://{whole}")] {
        match location.contains("..") {
            true => drop(refused(install(location))),
            false => install(location).unwrap(),
        }
    }
    symlink("/etc/passwd", folder.0.join("sources/link.cpk")).unwrap();
    let outside = "is not below the folder from which packages are installed";
    for location in ["/etc/passwd", "../packages/gps.cpk", "file:///etc/passwd", "link.cpk"] {
        let told = refused(install(location));
        assert!(told.contains(outside), "{location}: {told}");
    }
    // The error for a missing file equals that for an existing one, and thus reveals nothing.
    let (existing, missing) = ("/etc/passwd", "/nonexistent/passwd");
    let told = refused(install(missing)).replace(missing, existing);
    assert_eq!(told, refused(install(existing)));
    for (location, wanted) in [
        ("http://host/gps.cpk", "is not a file of this machine"),
        ("file:", "contains no path"),
        (" ", "the location is empty"),
        ("base", "it is not a regular file"),
        ("missing.cpk", "No such file"),
    ] {
        let told = refused(install(location));
        assert!(told.contains(wanted), "{location}: {told}");
    }
    let long = "x".repeat(MOST_LOCATION + 1);
    assert_eq!(refused(install(&long)), "a location has 4097 octets, but the limit is 4096");
    folder.allow("sources/gps.cpk", 0o666);
    let told = refused(install("gps.cpk"));
    assert!(told.contains("chmod go-w --install-from/gps.cpk"), "{told}");
    let told = refused(install("missing.cpk"));
    assert!(told.starts_with("--install-from/missing.cpk: No such file"), "{told}");
    // The client does not learn the path and the rights of the folder, even if only its own user can replace files.
    folder.allow("sources", 0o1777);
    let wrong = install("gps.cpk");
    let told = matches!(&wrong, Err(Refusal::Store(told)) if told.contains("chmod go-w"));
    assert!(told, "{wrong:?}");
    folder.allow("sources", 0o755);
    drop(repository);
    // By default, clients name no files.
    let settings = RepositorySettings { sources: None, ..folder.settings() };
    let repository = PackageRepository::open(settings).unwrap();
    let told = refused(repository.install("other", "gps.cpk", false));
    assert!(told.contains("--install-from"), "{told}");
}

#[test]
fn a_package_is_created_from_a_struct_and_the_files_of_its_artifacts() {
    let folder = Folder::new("created");
    let repository = folder.open();
    repository.install("gps", "gps.cpk", false).unwrap();
    let gps = repository.find("gps").unwrap().unwrap();
    repository.create("copy", &gps, "base", false).unwrap();
    assert_eq!(repository.find("copy").unwrap().as_ref(), Some(&gps));
    let again = repository.create("copy", &gps, "base", false);
    assert!(matches!(again, Err(Refusal::NameExists)), "{again:?}");
    let octets = fs::read(folder.0.join("packages/copy.cpk")).unwrap();
    let archive = Archive::read(&octets, &ArchiveLimits::default()).unwrap();
    assert_eq!(archive.files["bin/gps"], b"#!/bin/sh\n");

    let with = |location: &str| {
        let mut package = gps.clone();
        let implementation =
            &mut package.base_package[0].implementation[0].referenced_implementation;
        let artifact = &mut implementation.monolithic_impl[0].primary_artifact[0];
        artifact.referenced_artifact.location = vec![location.to_owned()];
        package
    };
    let long = "x".repeat(MOST_LOCATION + 1);
    // An absolute path is that of the node, so no file is read here.
    repository.create("absolute", &with("/opt/gps"), "", false).unwrap();
    for (location, base, wanted) in [
        ("bin/gps", "", "No such file"),
        ("bin/gps", "/etc", "is not below the folder from which packages are installed"),
        ("../bin/gps", "base", "is not below the base location"),
        ("package.pcd", "base", "No such file"),
        ("", "base", "an empty location"),
        (long.as_str(), "base", "has 4097 octets, but the limit is 4096"),
    ] {
        let told = refused(repository.create("other", &with(location), base, false));
        assert!(told.contains(wanted), "{location} {base}: {told}");
    }
    // An empty struct is no package.
    let empty = d::PackageConfiguration::default();
    let told = refused(repository.create("empty", &empty, "", false));
    assert!(told.contains("add a basePackage"), "{told}");
    assert_eq!(repository.names(), ["absolute", "copy", "gps"]);
}

#[test]
fn a_folder_in_which_others_may_write_is_refused() {
    let folder = Folder::new("shared");
    drop(folder.open());
    folder.allow("packages", 0o1777);
    let told = PackageRepository::open(folder.settings()).unwrap_err();
    assert!(told.contains("other users may write to"), "{told}");
}

#[test]
fn a_package_that_cannot_be_renamed_leaves_no_file() {
    let folder = Folder::new("rename");
    let repository = folder.open();
    fs::create_dir(folder.0.join("packages/gps.cpk")).unwrap();
    let wrong = repository.install("gps", "gps.cpk", false);
    assert!(matches!(wrong, Err(Refusal::Store(_))), "{wrong:?}");
    assert_eq!(folder.files(), ["gps.cpk"]);
    assert!(repository.names().is_empty());
}

#[test]
fn archives_that_are_no_packages_are_reported_and_can_be_replaced() {
    let folder = Folder::new("damaged");
    drop(folder.open());
    fs::write(folder.0.join("packages/gps.cpk"), "PK and nothing").unwrap();
    fs::write(folder.0.join("packages/my gps.cpk"), archive(GPS)).unwrap();
    fs::write(folder.0.join("packages/read.me"), "").unwrap();
    symlink(folder.0.join("sources/gps.cpk"), folder.0.join("packages/link.cpk")).unwrap();
    let repository = folder.open();
    let mut told = repository.unreadable().to_vec();
    told.sort();
    let [name, damaged, link] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(link, "the package \"link\" cannot be read: it is not a regular file");
    assert!(name.ends_with("rename it to my%20gps.cpk"), "{name}");
    assert!(damaged.starts_with("the package \"gps\" cannot be read: "), "{damaged}");
    assert!(repository.names().is_empty());
    assert_eq!(repository.find("gps").unwrap(), None);
    let again = repository.install("gps", "gps.cpk", false);
    assert!(matches!(again, Err(Refusal::NameExists)), "{again:?}");
    repository.install("gps", "gps.cpk", true).unwrap();
    assert_eq!(repository.names(), ["gps"]);
    // A package that is damaged afterwards is an error, and not a missing one.
    fs::write(folder.0.join("packages/gps.cpk"), "PK and nothing").unwrap();
    let told = repository.find("gps").unwrap_err();
    assert!(told.contains("the archive cannot be read"), "{told}");
}

#[test]
fn a_pipe_or_a_device_is_no_archive() {
    let _guard = oxorb_testkit::watchdog(std::time::Duration::from_secs(60));
    let folder = Folder::new("pipe");
    let pipe = folder.0.join("sources/pipe.cpk");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    folder.allow("sources/pipe.cpk", 0o644);
    let repository = folder.open();
    let told = refused(repository.install("pipe", "pipe.cpk", false));
    assert!(told.contains("it is not a regular file"), "{told}");
    // The same holds for the file of an artifact.
    repository.install("gps", "gps.cpk", false).unwrap();
    let gps = repository.find("gps").unwrap().unwrap();
    fs::remove_file(folder.0.join("sources/base/bin/gps")).unwrap();
    fs::rename(&pipe, folder.0.join("sources/base/bin/gps")).unwrap();
    let told = refused(repository.create("copy", &gps, "base", false));
    assert!(told.contains("it is not a regular file"), "{told}");
    drop(repository);
    for device in ["/dev/zero", "/dev/null"] {
        let told = sources::read_file(Path::new(device), 1).unwrap_err().to_string();
        assert_eq!(told, "it is not a regular file");
    }
}

#[test]
fn a_package_is_found_without_unpacking_its_artifacts() {
    let folder = Folder::new("unpacked");
    let repository = folder.open();
    repository.install("gps", "gps.cpk", false).unwrap();
    let found = repository.find("gps").unwrap();
    assert!(found.is_some());
    // Damage the octets of the artifact, which follow its name and an extra field.
    let file = folder.0.join("packages/gps.cpk");
    let mut octets = fs::read(&file).unwrap();
    let name = b"bin/gps";
    let at = octets.windows(name.len()).position(|part| part == name).unwrap();
    let extra = usize::from(u16::from_le_bytes([octets[at - 2], octets[at - 1]]));
    octets[at + name.len() + extra] ^= 0xFF;
    Archive::read(&octets, &ArchiveLimits::default()).unwrap_err();
    fs::write(&file, octets).unwrap();
    assert_eq!(repository.find("gps").unwrap(), found);
    drop(repository);
    // The manager reports the damage when it opens the folder.
    assert_eq!(folder.open().unreadable().len(), 1);
}
