//! Requests beyond a limit are refused, and the minor code identifies the limit.

use oxorb::minor;
use oxorb_naming::cos_naming::naming_context::{BindError, BindNewContextError, ResolveError};
use oxorb_naming::{Limits, Problem};

use super::{Served, n};

#[test]
fn bindings_of_a_context() {
    let served = Served::with(Limits { bindings: 2, ..Limits::default() });
    let root = &served.root;
    root.bind(&n("a"), None).unwrap();
    root.bind(&n("b"), None).unwrap();
    match root.bind(&n("c"), None) {
        Err(BindError::System(e)) => assert_eq!(e.minor, minor::imp_limit::BINDINGS),
        other => panic!("{other:?}"),
    }
    match root.bind_new_context(&n("c")) {
        Err(BindNewContextError::System(e)) => assert_eq!(e.minor, minor::imp_limit::BINDINGS),
        other => panic!("{other:?}"),
    }
    // The refused `bind_new_context` must not leave a context without a name in the store.
    assert_eq!(served.service.store().contexts().unwrap(), 1);
    root.rebind(&n("b"), None).unwrap();
    root.unbind(&n("a")).unwrap();
    root.bind(&n("c"), None).unwrap();
}

#[test]
fn contexts() {
    let served = Served::with(Limits { contexts: 2, ..Limits::default() });
    let context = served.root.new_context().unwrap().unwrap();
    let refused = served.root.new_context().unwrap_err();
    assert_eq!(refused.minor, minor::imp_limit::CONTEXTS);
    match served.root.bind_new_context(&n("c")) {
        Err(BindNewContextError::System(e)) => assert_eq!(e.minor, minor::imp_limit::CONTEXTS),
        other => panic!("{other:?}"),
    }
    context.destroy().unwrap();
    served.root.bind_new_context(&n("c")).unwrap();
}

#[test]
fn names_and_references() {
    let served = Served::with(Limits {
        components: 2,
        name_octets: 10,
        reference_octets: 100,
        ..Limits::default()
    });
    let root = &served.root;
    for long in ["a/b/c", "12345.678901", "12345/67890/", "123456/78901"] {
        let refused = match root.resolve_str(long) {
            Err(error) => Problem::from(error),
            Ok(_) => panic!("{long}"),
        };
        match refused {
            Problem::System(e) => assert_eq!(e.minor, minor::imp_limit::NAME_TOO_LONG),
            other => assert_eq!((long, other), ("12345/67890/", Problem::InvalidName)),
        }
    }
    match root.resolve(&n("a/b/c")) {
        Err(ResolveError::System(e)) => assert_eq!(e.minor, minor::imp_limit::NAME_TOO_LONG),
        other => panic!("{other:?}"),
    }
    match root.bind(&n("o"), Some(&served.object(&"k".repeat(100)))) {
        Err(BindError::System(e)) => {
            assert_eq!(e.minor, minor::imp_limit::BOUND_REFERENCE_TOO_LONG);
        }
        other => panic!("{other:?}"),
    }
    root.bind(&n("o"), Some(&served.object("k"))).unwrap();
}
