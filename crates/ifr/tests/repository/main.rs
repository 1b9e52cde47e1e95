//! Loaded IDL is stored, linked and served.

mod extended;
mod full;
mod hostile;
mod links;
mod peers;
mod reload;
mod served;
mod stored;
mod text;
mod types;

use std::path::{Path, PathBuf};

use oxorb::{Interface as _, Orb};
use oxorb_ifr::corba::RepositoryRef;
use oxorb_ifr::{Repository, Unit};

/// Returns the folder of these tests' files.
fn tests() -> PathBuf {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs this");
    Path::new(&package).join("tests")
}

/// Reads `radar.idl`, with every kind of definition.
fn radar() -> Unit {
    let read = Unit::read(&tests().join("radar.idl"), &oxorb_idl::Options::default());
    read.expect("it compiles").0
}

/// Folder of a test, removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("oxorb-ifr-{test}-{}", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("writes");
        path
    }

    fn unit(&self, name: &str, text: &str) -> Unit {
        let path = self.write(name, text);
        let read = Unit::read(&path, &oxorb_idl::Options::default());
        read.expect("it compiles").0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Repository behind TCP, and an ORB that queries it.
struct Served {
    server: Orb,
    served: oxorb_ifr::Served,
    client: Orb,
    repository: RepositoryRef,
    url: String,
}

impl Served {
    fn new(units: &[Unit]) -> Self {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let repository = Repository::new(units).unwrap();
        let served = oxorb_ifr::serve(&server, repository).unwrap();
        let ior = oxorb::Interface::reference(served.reference()).ior();
        let profile = ior.iiop_profiles().next().expect("it listens");
        let url = format!("corbaloc::{}/InterfaceRepository", profile.endpoints()[0]);
        let client = Orb::builder().init_ref("InterfaceRepository", &url).build().unwrap();
        let repository = client.resolve("corbaloc:rir:/InterfaceRepository").unwrap();
        Served { server, served, client, repository, url }
    }
}

impl Served {
    /// Returns a definition by its name, narrowed to its kind.
    fn found<I: oxorb::Interface>(&self, name: &str) -> I {
        let found = self.repository.lookup(name).unwrap();
        let found = found.unwrap_or_else(|| panic!("{name} is there"));
        let narrowed = found.narrow().unwrap();
        narrowed.unwrap_or_else(|| panic!("{name} is what was asked for"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.client.shutdown(true);
        let _ = self.server.shutdown(true);
    }
}
