//! Names that are withdrawn when the ORB that registered them ends.

use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_naming::Names;

use crate::{Served, listed};

#[test]
fn a_registered_name_ends_with_its_orb() {
    let served = Served::new();
    let orb = Orb::builder().build().unwrap();
    let names = Names::at(&orb, &served.root.to_ior()).unwrap();
    names.register(&orb, "account", &served.object("a")).unwrap();
    names.register(&orb, "till", &served.object("b")).unwrap();
    // Bind the name to another object, so that the shutdown must not unbind it.
    let other = served.object("c");
    served.names().rebind("till", &other).unwrap();
    assert_eq!(listed(&served.names().root().clone()), ["account", "till"]);
    orb.shutdown(true).unwrap();
    assert_eq!(listed(&served.names().root().clone()), ["till"]);
    let found: ObjectRef = served.names().resolve("till").unwrap();
    assert_eq!(found, other);
}
