//! `oxorb call` of an object that does not report its interface, as many of TAO's by `corbaloc:` (P8).

use std::process::Command;
use std::sync::Arc;

use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall,
};

struct Hidden;

impl Servant for Hidden {
    fn repository_id(&self) -> &str {
        "IDL:hidden:1.0"
    }

    fn is_a(&self, id: &str) -> bool {
        matches!(id, "IDL:Base:1.0" | "IDL:Lamp:1.0")
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        upcall.fail(SystemException::unknown(0, CompletionStatus::No))
    }
}

const IDL: &str = "interface Base { readonly attribute boolean state; };
    interface Lamp : Base { attribute long level; void toggle(); };
    interface Other { attribute long more; void one(); void two(); };";

#[test]
fn what_the_object_lacks_is_said_of_the_interface_it_has() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let poa = orb.root_poa();
    let object = ObjectRef::from_ref(poa.activate_servant(Arc::new(Hidden)).unwrap());
    poa.manager().activate().unwrap();
    let idl = std::env::temp_dir().join(format!("oxorb-hidden-{}.idl", std::process::id()));
    std::fs::write(&idl, IDL).unwrap();
    for (operation, why) in [
        ("state=OFF", "Lamp: the attribute state is readonly"),
        ("stat=OFF", "Lamp has no attribute stat; did you mean state?"),
        ("levle=1", "Lamp has no attribute levle; did you mean level?"),
        ("togle", "did you mean toggle?"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(["call", &object.to_ior(), operation, "--idl"])
            .arg(&idl)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{operation}: {said}");
    }
    orb.shutdown(true).unwrap();
    std::fs::remove_file(idl).unwrap();
}
