//! Artifacts and packages that managers fetch from other machines.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxorb::deployment::idl::deployment::repository_manager as exceptions;
use oxorb::deployment::idl::ox_deployment::RepositoryManagerRef;
use oxorb::deployment::idl::ox_deployment::repository_manager::ReadArchiveError;
use oxorb::deployment::{
    Artifacts, ExecutionSettings, FetchSettings, FetchedArtifacts, NodeSettings, PackageRepository,
    REPOSITORY_MANAGER, RepositorySettings, artifact_location, read_archive,
};
use oxorb::{Interface as _, Orb};
use oxorb_deploy::Archive;
use oxorb_deploy::plan::Plan;
use oxorb_testkit::watchdog;

use crate::managers::operations::beside;
use crate::managers::scene::*;

/// Folder of a test, which managers create.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oxorb-{test}-{}", oxorb_testkit::unique()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }

    /// Waits until no file is in use.
    #[track_caller]
    fn wait_until_empty(&self) {
        let end = Instant::now() + LONG;
        while self.files() > 0 {
            assert!(Instant::now() < end, "{} files are left", self.files());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the settings of a node that fetches files from these servers only.
    fn node(&self, from: &[&str], change: impl FnOnce(&mut FetchSettings)) -> NodeSettings {
        let mut settings = FetchSettings::new(&self.0);
        settings.from = from.iter().map(|url| url.parse().unwrap()).collect();
        change(&mut settings);
        let fetched = FetchedArtifacts::open(settings).unwrap();
        NodeSettings {
            artifacts: Artifacts::Refused,
            fetched: Some(Arc::new(fetched)),
            ..node_settings()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Serves a file under `/files/` by HTTP until the test process ends; returns the URL of the server. Answers for the
/// path `/files/endless` never end, and all other paths are missing.
fn http(name: &'static str, content: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // The client may leave before the end of the answer.
            let _ = answer(&stream, name, &content);
        }
    });
    url
}

fn answer(mut stream: &TcpStream, name: &str, content: &[u8]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    while !lines.next().unwrap_or_else(|| Ok(String::new()))?.is_empty() {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    if path == format!("/files/{name}") {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", content.len())?;
        return stream.write_all(content);
    }
    if path == "/files/endless" {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")?;
        // Wait until the client leaves.
        return stream.read(&mut [0]).map(drop);
    }
    write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
}

/// Returns a plan of a counter on the node north whose artifact is at a location.
fn plan_at(location: &str) -> Plan {
    let mut plan = plan("fetched", &[counter("c", "north")], &[]);
    plan.artifact[0].location = vec![location.to_owned()];
    plan
}

#[test]
fn an_executable_is_fetched_for_a_plan_and_removed_with_it() {
    let program = fs::read(env!("CARGO_BIN_EXE_station")).unwrap();
    let url = http("station", program);
    let folder = Folder::new("fetched-http");
    let from = format!("{url}/files/");
    let settings = folder.node(&[&from], |_| ());
    let scene = Scene::with(&["north"], &settings, execution_settings());
    let location = format!("{url}/files/station");
    let launched = scene.plans.launch(&plan_at(&location)).unwrap();
    let status = launched.manager.status().unwrap();
    assert!(all_run(&status), "{status:#?}");
    assert_eq!(folder.files(), 1);
    // The same content is the same program, so the process keeps running.
    scene.plans.redeploy(&plan_at(&location)).unwrap();
    assert_eq!(pids(&launched.manager.status().unwrap()), pids(&status));
    assert_eq!(folder.files(), 1);
    scene.plans.stop(&launched).unwrap();
    drop(scene);
    folder.wait_until_empty();
}

#[test]
fn what_cannot_be_fetched_is_refused_with_its_location() {
    let _guard = watchdog(LONG * 4);
    let url = http("p", b"#!/bin/sh\n".to_vec());
    let folder = Folder::new("fetched-refused");
    let from = format!("{url}/files/");
    let settings = folder.node(&[&from], |settings| settings.max_file_octets = 50);
    let scene = Scene::with(&["north"], &settings, execution_settings());
    let zeros = "0".repeat(64);
    for (location, wanted) in [
        (format!("{url}/files/missing"), "the server answered 404 Not Found"),
        (format!("{url}/p"), "is not permitted here (FetchSettings::from, --fetch-from)"),
        (format!("{url}/files/../p"), "a segment . or .."),
        (format!("{url}/files/p#sha256={zeros}"), "but the location states 0000"),
        (format!("{url}/files/endless"), "more than 50 octets, the limit (FetchSettings::max_file"),
        (format!("ftp://127.0.0.1/files/p#sha256={zeros}"), "no manager fetches files by ftp:"),
        ("corbaloc::127.0.0.1:9/RepositoryManager#p/p".to_owned(), "is not permitted here"),
    ] {
        let refused = scene.plans.launch(&plan_at(&location)).unwrap_err().to_string();
        assert!(refused.contains(wanted), "{wanted}: {refused}");
        let address = location.split("#sha256").next().unwrap();
        assert!(refused.contains(address), "{address}: {refused}");
    }
    drop(scene);
    folder.wait_until_empty();
}

#[test]
fn a_server_that_does_not_send_the_whole_file_is_left_in_time() {
    let _guard = watchdog(LONG * 4);
    let url = http("p", Vec::new());
    let folder = Folder::new("fetched-late");
    let settings = folder.node(&[&url], |settings| {
        settings.timeout = Duration::from_millis(500);
    });
    let scene = Scene::with(&["north"], &settings, execution_settings());
    let location = format!("{url}/files/endless");
    let refused = scene.plans.launch(&plan_at(&location)).unwrap_err().to_string();
    assert!(refused.contains("the file did not arrive in time"), "{refused}");
}

#[test]
fn the_next_location_is_tried_if_one_does_not_hand_out_the_file() {
    let _guard = watchdog(LONG * 4);
    let program = fs::read(env!("CARGO_BIN_EXE_station")).unwrap();
    let url = http("station", program);
    let folder = Folder::new("fetched-alternatives");
    let settings = folder.node(&[&url], |settings| settings.timeout = LONG);
    let scene = Scene::with(&["north"], &settings, execution_settings());
    let mut plan = plan_at(&format!("{url}/files/endless"));
    let missing = (2..16).map(|number| format!("{url}/files/missing-{number}"));
    plan.artifact[0].location.extend(missing);
    let refused = scene.plans.launch(&plan).unwrap_err().to_string();
    for wanted in [
        "none of the 15 locations of its artifact can be used: (1) its artifact".to_owned(),
        format!("\"{url}/files/endless\" cannot be fetched: the file did not arrive in time; (2) "),
        format!(
            "; (15) its artifact \"{url}/files/missing-15\" cannot be fetched: the server answered 404"
        ),
    ] {
        assert!(refused.contains(&wanted), "{wanted}: {refused}");
    }
    // The endless answer used a part of the time only.
    plan.artifact[0].location.push(format!("{url}/files/station"));
    let launched = scene.plans.launch(&plan).unwrap();
    let status = launched.manager.status().unwrap();
    assert!(all_run(&status), "{status:#?}");
    scene.plans.stop(&launched).unwrap();
    drop(scene);
    folder.wait_until_empty();
}

/// Returns an archive of a package with the executable `gps`.
fn archive(executable: &str) -> Archive {
    let descriptor = "document = \"ComponentPackageDescription\"\nlabel = \"Gps\"\nUUID = \"gps-1\"\n\
        realizes = { specificType = \"IDL:Station/Gps:1.0\" }\n[[implementation]]\nname = \"gps\"\n\
        [[implementation.referencedImplementation.monolithicImpl]]\n\
        primaryArtifact = [{ name = \"gps\", referencedArtifact = { location = \"gps\" } }]\n";
    let files = [("gps.toml", descriptor), ("gps", executable)];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    Archive { files: files.into() }
}

/// Returns a scene whose execution manager keeps packages that it fetches from a server, and their repository.
fn with_packages(
    folder: &Folder,
    from: &str,
    nodes: &[&str],
    settings: &NodeSettings,
) -> (Scene, RepositoryManagerRef) {
    let mut repository = RepositorySettings::new(&folder.0);
    repository.urls = vec![from.parse().unwrap()];
    let packages = Some(Arc::new(PackageRepository::open(repository).unwrap()));
    let execution = ExecutionSettings { packages, ..execution_settings() };
    let scene = Scene::with(nodes, settings, execution);
    let repository = beside(&scene, REPOSITORY_MANAGER);
    (scene, repository)
}

#[test]
fn a_package_is_installed_from_a_server_and_read_by_planner_and_node() {
    let octets = archive("#!/bin/sh\nexit 7\n").write().unwrap();
    let url = http("gps.cpk", octets.clone());
    let (packages, files) = (Folder::new("fetched-packages"), Folder::new("fetched-packaged"));
    let (first, repository) = with_packages(&packages, &url, &[], &node_settings());
    for (location, wanted) in [
        (format!("{url}/files/none.cpk"), "404 Not Found"),
        ("http://127.0.0.1:9/gps.cpk".to_owned(), "RepositorySettings::urls, --install-url"),
        ("http://example/gps.cpk".to_owned(), "needs a checksum"),
        ("corbaloc::127.0.0.1:9/RepositoryManager#gps/gps".to_owned(), "a file of a package"),
    ] {
        match repository.install_package("gps", &location, false).unwrap_err() {
            exceptions::InstallPackageError::PackageError(why) => {
                assert_eq!(why.source, location);
                assert!(why.reason.contains(wanted), "{}", why.reason);
            }
            other => panic!("{other}"),
        }
    }
    let location = format!("{url}/files/gps.cpk");
    repository.install_package("gps", &location, false).unwrap();
    let read = |most| read_archive(&repository, "gps", most, LONG);
    assert_eq!(read(u64::MAX).unwrap(), octets);
    assert!(read(10).unwrap_err().contains("more than 10 octets"));
    let missing = read_archive(&repository, "radar", u64::MAX, LONG).unwrap_err();
    assert_eq!(missing, "the repository has no package \"radar\"");

    // A package that is replaced between two parts is no mixture of both.
    let part = repository.read_archive("gps", "", 0).unwrap();
    assert_eq!((part.size, &part.octets), (octets.len() as u64, &octets));
    repository.install_package("gps", &location, true).unwrap();
    match repository.read_archive("gps", &part.version, 1).unwrap_err() {
        ReadArchiveError::PackageError(why) => {
            assert!(why.reason.contains("was replaced"), "{}", why.reason);
        }
        other => panic!("{other}"),
    }
    let beyond = repository.read_archive("gps", "", u64::MAX).unwrap();
    assert!(beyond.octets.is_empty());

    // A node fetches the executable, which ends at once.
    let own = repository.reference().to_corbaloc().unwrap();
    let settings = files.node(&[&own], |_| ());
    let second = Scene::with(&["north"], &settings, execution_settings());
    let location = artifact_location(&own, "gps", "gps", b"#!/bin/sh\nexit 7\n");
    let failed = second.plans.launch(&plan_at(&location)).unwrap_err().to_string();
    assert!(failed.contains("before it called back"), "{failed}");
    let location = artifact_location(&own, "gps", "gps", b"another file");
    let refused = second.plans.launch(&plan_at(&location)).unwrap_err().to_string();
    assert!(refused.contains("its SHA-256 is"), "{refused}");
    let refused = second.plans.launch(&plan_at(&format!("{own}#gps/none"))).unwrap_err();
    assert!(refused.to_string().contains("has no file \"none\""), "{refused}");

    // Files of two servers are alternatives, too.
    let location = artifact_location(&own, "gps", "gps", b"#!/bin/sh\nexit 7\n");
    let mut plan = plan_at(&format!("{own}#gps/none"));
    plan.artifact[0].location.push(location);
    let failed = second.plans.launch(&plan).unwrap_err().to_string();
    assert!(failed.contains("before it called back"), "{failed}");

    // Another repository copies the package.
    let copies = Folder::new("fetched-copies");
    let (third, copy) = with_packages(&copies, &own, &[], &node_settings());
    copy.install_package("copy", &format!("{own}#gps"), false).unwrap();
    assert_eq!(read_archive(&copy, "copy", u64::MAX, LONG).unwrap(), octets);
    drop((first, second, third));
}

#[test]
fn a_fetch_ends_when_its_client_leaves() {
    let _guard = watchdog(LONG * 4);
    // The server sends a part of the file, and no more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let packages = Folder::new("fetched-abandoned");
    let (scene, repository) = with_packages(&packages, &url, &[], &node_settings());
    let address = repository.reference().to_corbaloc().unwrap();
    let client = Orb::builder().build().unwrap();
    let remote: RepositoryManagerRef = client.resolve(&address).unwrap();
    let remote = remote.with_timeout(Duration::from_secs(2));
    let location = format!("{url}/files/gps.cpk");
    thread::scope(|scope| {
        let call = scope.spawn(|| remote.install_package("gps", &location, false));
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines();
        while !lines.next().unwrap().unwrap().is_empty() {}
        (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx").unwrap();
        // The call ends by its own time limit, with which the client cancels it. That of the manager is longer.
        call.join().unwrap().unwrap_err();
        stream.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!((&stream).read(&mut [0]).unwrap(), 0, "the manager closes the connection");
    });
    client.shutdown(true).unwrap();
    drop(scene);
}
