//! Several files, linked in the process.

use oxorb_ifr::Repository;

use super::Folder;

#[test]
fn the_file_loaded_last_counts() {
    let folder = Folder::new("last");
    let old = folder.unit("old.idl", "module m { struct P { long x; }; struct Old { P at; }; };");
    let new = folder.unit("new.idl", "module m { struct P { double x; }; };");
    for (units, x) in [([&old, &new], "double"), ([&new, &old], "long")] {
        let repository = Repository::new(&units.map(Clone::clone)).unwrap();
        let point = repository.lookup(Repository::ROOT, "m::P").unwrap();
        let ty = repository.entry(point).ty.to_string();
        assert_eq!(ty, format!("struct P {{ {x} x; }}"));
        assert!(repository.lookup_id("IDL:m/Old:1.0").is_some());
    }
}

#[test]
fn what_only_an_old_file_names_is_still_there() {
    let folder = Folder::new("stale");
    folder.write("common.idl", "interface A { typedef long T; };");
    let old = folder.unit("old.idl", "#include \"common.idl\"\nstruct S { A::T t; };");
    let new = folder.unit("common.idl", "interface A { };");
    let repository = Repository::new(&[old, new]).unwrap();
    let t = repository.lookup(Repository::ROOT, "A::T").unwrap();
    assert_eq!(repository.entry(t).repository_id(), "IDL:A/T:1.0");
}

#[test]
fn a_definition_counts_more_than_its_announcement() {
    let folder = Folder::new("forward");
    let whole = folder.unit("whole.idl", "interface A { void f(); };");
    let forward = folder.unit("forward.idl", "interface A; struct S { A one; };");
    let repository = Repository::new(&[whole, forward]).unwrap();
    assert!(repository.lookup(Repository::ROOT, "A::f").is_some());
}

#[test]
fn every_object_has_a_key_of_its_own() {
    let folder = Folder::new("keys");
    let text = "struct A { string<3> x; }; struct B { string<3> x; };\n\
        #pragma ID A \"IDL:same:1.0\"\n#pragma ID B \"IDL:same:1.0\"";
    let path = folder.write("same.idl", text);
    let (unit, _) = oxorb_ifr::Unit::read(&path, &oxorb_idl::Options::default()).unwrap();
    let repository = Repository::new(&[unit]).unwrap();
    let mut keys: Vec<_> = repository.entries().map(|(_, entry)| &entry.key).collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
}
