//! The store.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use oxorb_ifr::{Error, Repository, Store, Unit};

use super::Folder;

#[test]
fn units_come_back_without_their_files() {
    let folder = Folder::new("back");
    folder.write("common.idl", "#pragma prefix \"x\"\nmodule c { typedef long T; };");
    let unit =
        folder.unit("main.idl", "#include \"common.idl\"\nmodule m { struct S { c::T t; }; };");
    let place = folder.0.join("store");
    Store::open(&place).unwrap().put(&[unit]).unwrap();
    for file in ["common.idl", "main.idl"] {
        std::fs::remove_file(folder.0.join(file)).unwrap();
    }
    let units = Store::open(&place).unwrap().units().unwrap();
    let repository = Repository::new(&units).unwrap();
    for id in ["IDL:x/c/T:1.0", "IDL:m/S:1.0"] {
        assert!(repository.lookup_id(id).is_some(), "{id}");
    }
}

#[test]
fn a_file_loaded_again_is_replaced_and_one_unloaded_is_gone() {
    let folder = Folder::new("again");
    let store = Store::open(folder.0.join("store")).unwrap();
    let first = folder.unit("a.idl", "struct Before { long x; };");
    let other = folder.unit("b.idl", "struct Other { long x; };");
    store.put(&[first, other.clone()]).unwrap();
    store.put(&[folder.unit("a.idl", "struct After { long x; };")]).unwrap();
    let repository = Repository::new(&store.units().unwrap()).unwrap();
    assert!(repository.lookup_id("IDL:After:1.0").is_some());
    assert!(repository.lookup_id("IDL:Before:1.0").is_none());
    assert!(store.remove(other.path()).unwrap());
    assert!(!store.remove(other.path()).unwrap());
    let repository = Repository::new(&store.units().unwrap()).unwrap();
    assert!(repository.lookup_id("IDL:Other:1.0").is_none());
}

#[test]
fn what_is_no_store_is_refused() {
    let folder = Folder::new("garbage");
    let path = folder.write("store", "this is not what a database looks like");
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error}");
    assert!(error.to_string().contains("store"), "{error}");
}

/// Variable with the store for the process below.
const PLACE: &str = "OXORB_IFR_TEST_STORE";

/// Number of stored units that the process reports before it is killed.
const PUT: usize = 5;

#[test]
fn a_killed_process_loses_nothing_that_it_had_put() {
    let folder = Folder::new("killed");
    let place = folder.0.join("store");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "stored::puts_until_killed", "--nocapture"])
        .env(PLACE, &place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let put = lines.map_while(Result::ok).filter(|line| line.starts_with("put "));
    assert_eq!(put.take(PUT).count(), PUT);
    child.kill().unwrap();
    child.wait().unwrap();
    let units = Store::open(&place).unwrap().units().unwrap();
    assert!(units.len() >= PUT, "{}", units.len());
    let repository = Repository::new(&units).unwrap();
    for number in 0..units.len() {
        assert!(repository.lookup_id(&format!("IDL:S{number}:1.0")).is_some());
    }
}

#[test]
#[ignore = "the process that a_killed_process_loses_nothing_that_it_had_put kills"]
fn puts_until_killed() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let store = Store::open(&place).unwrap();
    // The test that kills this process removes the folder.
    let folder = Path::new(&place).parent().unwrap();
    let options = oxorb_idl::Options::default();
    // The loop ends even if nobody kills the process.
    for number in 0..10_000 {
        let path = folder.join(format!("{number}.idl"));
        std::fs::write(&path, format!("struct S{number} {{ long x; }};")).unwrap();
        let (unit, _) = Unit::read(&path, &options).unwrap();
        store.put(&[unit]).unwrap();
        println!("put {number}");
    }
}
