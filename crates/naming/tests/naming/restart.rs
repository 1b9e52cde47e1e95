//! State that survives a restart of the server.

use oxorb::{Interface as _, Orb};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::{Error, Limits, NameService, Store};

use super::{Folder, Served, listed, n};

#[test]
fn names_and_references_outlive_the_server() {
    let folder = Folder::new("restart");
    let port = oxorb_testkit::net::free_port();
    let served = Served::of(Store::open(folder.store()).unwrap(), Limits::default(), port);
    let object = served.object("o");
    let context = served.root.bind_new_context(&n("a")).unwrap().unwrap();
    served.root.bind(&n("a/o"), Some(&object)).unwrap();
    let destroyed = served.root.new_context().unwrap().unwrap();
    destroyed.destroy().unwrap();
    let (root, context) = (served.service.root().to_ior(), context.to_ior());
    let (object, destroyed) = (object.to_ior(), destroyed.to_ior());
    drop(served);

    let served = Served::of(Store::open(folder.store()).unwrap(), Limits::default(), port);
    assert_eq!(served.service.root().to_ior(), root);
    let again: NamingContextRef = served.client.resolve(&context).unwrap();
    assert_eq!(again.resolve(&n("o")).unwrap().unwrap().to_ior(), object);
    assert_eq!(listed(&again), ["o"]);
    let gone = served.client.string_to_object(&destroyed).unwrap();
    assert_eq!(gone.non_existent(), Ok(true));
    // Context numbers are never reused, so a new context does not answer requests to a destroyed one.
    served.root.new_context().unwrap().unwrap();
    assert_eq!(gone.non_existent(), Ok(true));
}

#[test]
fn contexts_follow_the_server_to_another_address() {
    let folder = Folder::new("moved");
    let served = Served::of(Store::open(folder.store()).unwrap(), Limits::default(), 0);
    served.root.bind_new_context(&n("a")).unwrap();
    served.root.bind(&n("a/o"), None).unwrap();
    drop(served);
    let served = Served::of(Store::open(folder.store()).unwrap(), Limits::default(), 0);
    let context = served.root.resolve(&n("a")).unwrap().unwrap();
    assert_eq!(listed(&context.unchecked_narrow()), ["o"]);
}

#[test]
fn a_store_is_open_once() {
    let folder = Folder::new("once");
    let first = Store::open(folder.store()).unwrap();
    let second = Store::open(folder.store());
    let why = second.unwrap_err().to_string();
    assert!(why.contains("another process, or this one, already serves names from it"), "{why}");
    drop(first);
    Store::open(folder.store()).unwrap();
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let folder = Folder::new("other");
    std::fs::write(folder.store(), "something that somebody still needs").unwrap();
    assert!(matches!(Store::open(folder.store()), Err(Error::Store { .. })));
    let text = std::fs::read_to_string(folder.store()).unwrap();
    assert_eq!(text, "something that somebody still needs");
}

#[test]
fn an_orb_serves_names_once() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let _service = NameService::start(&orb, Store::in_memory().unwrap()).unwrap();
    let second = NameService::start(&orb, Store::in_memory().unwrap());
    assert!(matches!(second, Err(Error::Poa(_))));
    orb.shutdown(true).unwrap();
}

#[test]
fn who_calls_while_the_server_starts_is_not_told_that_it_is_gone() {
    let _watchdog = oxorb_testkit::watchdog::watchdog(std::time::Duration::from_secs(120));
    let folder = Folder::new("early");
    let port = oxorb_testkit::net::free_port();
    let url = format!("corbaloc::127.0.0.1:{port}/NameService");
    for _ in 0..10 {
        std::thread::scope(|scope| {
            let early = scope.spawn(|| {
                let client = Orb::builder().build().unwrap();
                let root = client.string_to_object(&url).unwrap();
                let first = loop {
                    match root.non_existent() {
                        // The server does not listen yet.
                        Err(_) => std::thread::yield_now(),
                        Ok(gone) => break gone,
                    }
                };
                let _ = client.shutdown(true);
                first
            });
            let server = Orb::builder()
                .listen(&format!("iiop://127.0.0.1:{port}"))
                .listen_late()
                .build()
                .unwrap();
            let store = Store::open(folder.store()).unwrap();
            let _service = NameService::start(&server, store).unwrap();
            assert!(!early.join().unwrap(), "told that there is no name server");
            server.shutdown(true).unwrap();
        });
    }
}
