//! The service, called remotely: the meaning of names, stored changes, and refused requests.

mod damaged;
mod federation;
mod full;
mod iterators;
mod killed;
mod limits;
mod many;
mod registration;
mod restart;
mod rules;
mod semantics;
mod text;

use std::path::PathBuf;

use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_naming::cos_naming::{NameComponent, NamingContextExtRef, NamingContextRef};
use oxorb_naming::{Federation, Limits, Name, NameService, Names, Rules, Store};

/// A name server that is reached over TCP, and the ORB of its clients.
struct Served {
    server: Orb,
    client: Orb,
    service: NameService,
    root: NamingContextExtRef,
}

impl Served {
    fn new() -> Self {
        Served::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Served::of(Store::in_memory().unwrap(), limits, 0)
    }

    fn of(store: Store, limits: Limits, port: u16) -> Self {
        Served::under(store, limits, Rules::default(), port)
    }

    /// Returns a service that calls any other server to resolve names.
    fn federated(limits: Limits) -> Self {
        let rules = Rules { federation: Federation::Any, ..Rules::default() };
        Served::under(Store::in_memory().unwrap(), limits, rules, 0)
    }

    fn under(store: Store, limits: Limits, rules: Rules, port: u16) -> Self {
        Served::at(&format!("iiop://127.0.0.1:{port}"), store, limits, rules)
    }

    /// Returns a service at these endpoints, the first of which must be an IIOP endpoint.
    fn at(endpoints: &str, store: Store, limits: Limits, rules: Rules) -> Self {
        let server = Orb::builder().listen(endpoints).build().unwrap();
        let service = NameService::start_under(&server, store, limits, rules).unwrap();
        let client = Orb::builder().build().unwrap();
        let url = format!("corbaloc::{}/NameService", address(service.root()));
        let root = client.resolve(&url).unwrap();
        Served { server, client, service, root }
    }

    fn names(&self) -> Names {
        Names::new(self.root.clone())
    }

    /// Returns host and port.
    fn address(&self) -> String {
        address(self.service.root())
    }

    /// Returns a reference to an object that need not exist.
    fn object(&self, key: &str) -> ObjectRef {
        let url = format!("corbaloc::192.0.2.1:4711/{key}");
        self.client.string_to_object(&url).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.client.shutdown(true);
        let _ = self.server.shutdown(true);
    }
}

fn address(root: &NamingContextExtRef) -> String {
    let ior = root.reference().ior();
    let profile = ior.iiop_profiles().next().expect("it listens");
    profile.endpoints()[0].to_string()
}

/// Returns the components of a name.
fn n(text: &str) -> Vec<NameComponent> {
    text.parse::<Name>().unwrap().components().to_vec()
}

/// Returns the names in a context; the names of contexts end with a slash.
fn listed(context: &NamingContextRef) -> Vec<String> {
    let entries = Names::new(context.clone()).list().unwrap();
    let entries = entries.map(|entry| {
        let entry = entry.unwrap();
        let slash = if entry.is_context { "/" } else { "" };
        let text = oxorb_naming::stringify(&[entry.component]);
        format!("{text}{slash}")
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

/// A folder for one test, removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("oxorb-naming-{test}-{}", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("names.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
