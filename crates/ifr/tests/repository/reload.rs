//! Replacement of the served repository.

use oxorb::{Interface as _, SystemExceptionKind};
use oxorb_ifr::Repository;
use oxorb_ifr::corba::*;

use super::{Folder, Served};

#[test]
fn references_lead_to_what_there_is_now() {
    let folder = Folder::new("reload");
    let before = folder.unit(
        "a.idl",
        "module m { struct S { long x; }; typedef long T; interface I { void f(in S it); }; interface Gone {}; };",
    );
    let served = Served::new(&[before]);
    let interface: InterfaceDefRef = served.found("m::I");
    let structure: StructDefRef = served.found("m::S");
    let alias: AliasDefRef = served.found("m::T");
    let gone: InterfaceDefRef = served.found("m::Gone");
    let same = served.found::<InterfaceDefRef>("m::I").to_ior();

    let after = folder.unit(
        "a.idl",
        "module m { struct S { long x; string y; }; enum T { a, b }; interface J {}; interface I : J { void f(in S it); void g(); }; };",
    );
    served.served.replace(Repository::new(&[after]).unwrap()).unwrap();

    let described = interface.describe_interface().unwrap();
    assert_eq!(described.operations.len(), 2);
    assert_eq!(described.base_interfaces, ["IDL:m/J:1.0"]);
    assert_eq!(served.found::<InterfaceDefRef>("m::I").to_ior(), same);
    assert_eq!(structure.members().unwrap().len(), 2);
    // The definition is of another kind now, so the old operations are gone.
    let exception = alias.original_type_def().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::BadOperation);
    assert_eq!(served.found::<EnumDefRef>("m::T").members().unwrap(), ["a", "b"]);
    let exception = gone.describe_interface().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
    assert_eq!(served.repository.lookup("m::Gone"), Ok(None));
    let base = described.base_interfaces[0].clone();
    let base = served.repository.lookup_id(&base).unwrap().unwrap();
    assert_eq!(base.absolute_name().unwrap(), "::m::J");
}

/// Callers see the old repository or the new one, never a mixture and never an error.
#[test]
fn calls_go_on_meanwhile() {
    let folder = Folder::new("meanwhile");
    let [one, two] = [1, 2].map(|count| {
        let members: String = (0..count).map(|at| format!("long m{at};")).collect();
        let text = format!(
            "module m {{ struct S {{ {members} }}; interface I {{ void f(in S it); }}; }};"
        );
        folder.unit("a.idl", &text)
    });
    let served = Served::new(std::slice::from_ref(&one));
    let interface: InterfaceDefRef = served.found("m::I");
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            for _ in 0..300 {
                let described = interface.describe_interface().unwrap();
                let ty = &described.operations[0].parameters[0].r#type;
                let count = ty.as_ref().members().count();
                assert!((1..=2).contains(&count), "{ty}");
            }
        });
        for turn in 0.. {
            if calls.is_finished() {
                break;
            }
            let unit = [&two, &one][turn % 2].clone();
            served.served.replace(Repository::new(&[unit]).unwrap()).unwrap();
        }
        calls.join().unwrap();
    });
}
