//! Every operation, and every exception that it declares (Naming Service 1.3, 2.1).

use oxorb::incident::Incident;
use oxorb::{Interface as _, ObjectRef, SystemExceptionKind};
use oxorb_naming::cos_naming::naming_context::{
    AlreadyBound, BindContextError, BindError, BindNewContextError, CannotProceed, DestroyError,
    NotEmpty, NotFound, NotFoundReason, RebindContextError, RebindError, ResolveError, UnbindError,
};
use oxorb_naming::cos_naming::{NamingContextExtRef, NamingContextRef};
use oxorb_naming::{Limits, Store};

use super::{Served, listed, n};

fn not_found(why: NotFoundReason, rest: &str) -> NotFound {
    NotFound { why, rest_of_name: n(rest) }
}

#[test]
fn what_is_bound_is_resolved_and_unbound() {
    let served = Served::new();
    let (root, object) = (&served.root, served.object("one"));
    root.bind(&n("one.object"), Some(&object)).unwrap();
    assert_eq!(root.resolve(&n("one.object")).unwrap(), Some(object.clone()));
    // Names with the same id and different kinds are different names.
    let missing = not_found(NotFoundReason::MissingNode, "one");
    assert_eq!(root.resolve(&n("one")), Err(missing.into()));
    assert_eq!(
        root.bind(&n("one.object"), Some(&object)),
        Err(BindError::AlreadyBound(AlreadyBound {}))
    );
    root.unbind(&n("one.object")).unwrap();
    let missing = not_found(NotFoundReason::MissingNode, "one.object");
    assert_eq!(root.resolve(&n("one.object")), Err(missing.clone().into()));
    assert_eq!(root.unbind(&n("one.object")), Err(missing.into()));
}

#[test]
fn only_references_that_could_outlive_the_process_need_a_fixed_port() {
    let file = std::env::temp_dir().join(format!("oxorb-names-{}.redb", oxorb_testkit::unique()));
    for (store, warnings) in [(Store::in_memory(), 0), (Store::open(&file), 1)] {
        let served = Served::of(store.unwrap(), Limits::default(), 0);
        let warned = served.server.connection_statistics().count(Incident::PersistentOnAnyPort);
        assert_eq!(warned, warnings);
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn rebinding_keeps_to_the_kind_of_binding() {
    let served = Served::new();
    let root = &served.root;
    let (first, second) = (served.object("first"), served.object("second"));
    root.rebind(&n("o"), Some(&first)).unwrap();
    root.rebind(&n("o"), Some(&second)).unwrap();
    assert_eq!(root.resolve(&n("o")).unwrap(), Some(second.clone()));
    let context = root.bind_new_context(&n("c")).unwrap();
    let other = root.new_context().unwrap();
    assert_eq!(
        root.rebind(&n("c"), Some(&first)),
        Err(RebindError::NotFound(not_found(NotFoundReason::NotObject, "c")))
    );
    assert_eq!(
        root.rebind_context(&n("o"), context.as_ref()),
        Err(RebindContextError::NotFound(not_found(NotFoundReason::NotContext, "o")))
    );
    root.rebind_context(&n("c"), other.as_ref()).unwrap();
    other.as_ref().unwrap().bind(&n("in it"), Some(&first)).unwrap();
    assert_eq!(root.resolve(&n("c/in it")).unwrap(), Some(first));
    assert_eq!(listed(&root.clone().into()), ["c/", "o"]);
}

#[test]
fn compound_names_lead_through_contexts() {
    let served = Served::new();
    let (root, object) = (&served.root, served.object("deep"));
    root.bind_new_context(&n("a")).unwrap();
    let b = root.bind_new_context(&n("a/b.dir")).unwrap().unwrap();
    root.bind(&n("a/b.dir/o"), Some(&object)).unwrap();
    assert_eq!(b.resolve(&n("o")).unwrap(), Some(object.clone()));
    for (name, why, rest) in [
        ("x/y/z", NotFoundReason::MissingNode, "x/y/z"),
        ("a/x/z", NotFoundReason::MissingNode, "x/z"),
        ("a/b.dir/x", NotFoundReason::MissingNode, "x"),
        ("a/b.dir/o/x/y", NotFoundReason::NotContext, "o/x/y"),
    ] {
        let found = not_found(why, rest);
        assert_eq!(root.resolve(&n(name)), Err(ResolveError::NotFound(found.clone())));
        assert_eq!(root.unbind(&n(name)), Err(UnbindError::NotFound(found.clone())));
        if name != "a/b.dir/x" {
            let bound = root.bind(&n(name), Some(&object));
            assert_eq!(bound, Err(BindError::NotFound(found.clone())));
            let made = root.bind_new_context(&n(name));
            assert_eq!(made, Err(BindNewContextError::NotFound(found)));
        }
    }
    assert_eq!(
        root.bind_new_context(&n("a/b.dir")),
        Err(BindNewContextError::AlreadyBound(AlreadyBound {}))
    );
    assert_eq!(
        root.bind_context(&n("a/b.dir"), Some(&b)),
        Err(BindContextError::AlreadyBound(AlreadyBound {}))
    );
}

#[test]
fn a_name_without_components_is_invalid() {
    let served = Served::new();
    let root = &served.root;
    let context: NamingContextRef = root.clone().into();
    assert!(matches!(root.resolve(&[]), Err(ResolveError::InvalidName(_))));
    assert!(matches!(root.unbind(&[]), Err(UnbindError::InvalidName(_))));
    assert!(matches!(root.bind(&[], None), Err(BindError::InvalidName(_))));
    assert!(matches!(root.rebind(&[], None), Err(RebindError::InvalidName(_))));
    assert!(matches!(
        root.bind_context(&[], Some(&context)),
        Err(BindContextError::InvalidName(_))
    ));
    assert!(matches!(
        root.rebind_context(&[], Some(&context)),
        Err(RebindContextError::InvalidName(_))
    ));
    assert!(matches!(root.bind_new_context(&[]), Err(BindNewContextError::InvalidName(_))));
}

#[test]
fn a_component_may_have_neither_id_nor_kind() {
    let served = Served::new();
    let object = served.object("nameless");
    served.root.bind(&n("."), Some(&object)).unwrap();
    assert_eq!(served.root.resolve(&n(".")).unwrap(), Some(object));
    assert_eq!(listed(&served.root.clone().into()), ["."]);
}

#[test]
fn nil_objects_can_be_bound_and_nil_contexts_cannot() {
    let served = Served::new();
    served.root.bind(&n("nil"), None).unwrap();
    assert_eq!(served.root.resolve(&n("nil")).unwrap(), None);
    match served.root.bind_context(&n("c"), None) {
        Err(BindContextError::System(e)) => assert_eq!(e.kind, SystemExceptionKind::BadParam),
        other => panic!("{other:?}"),
    }
    match served.root.rebind_context(&n("c"), None) {
        Err(RebindContextError::System(e)) => assert_eq!(e.kind, SystemExceptionKind::BadParam),
        other => panic!("{other:?}"),
    }
    let failed = served.names().resolve::<ObjectRef>("nil").unwrap_err();
    assert_eq!(failed.to_string(), "cannot resolve \"nil\": the name is bound to nil");
}

#[test]
fn only_empty_contexts_are_destroyed() {
    let served = Served::new();
    let root = &served.root;
    let context = root.bind_new_context(&n("c")).unwrap().unwrap();
    context.bind(&n("o"), None).unwrap();
    assert_eq!(context.destroy(), Err(DestroyError::NotEmpty(NotEmpty {})));
    context.unbind(&n("o")).unwrap();
    context.destroy().unwrap();
    assert_eq!(context.non_existent(), Ok(true));
    let gone = context.list(1).unwrap_err();
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    // The name of the destroyed context is still bound, to a reference whose object does not exist.
    let found = root.resolve(&n("c")).unwrap().unwrap();
    assert_eq!(found.non_existent(), Ok(true));
    match root.resolve(&n("c/o")) {
        Err(ResolveError::CannotProceed(CannotProceed { cxt, rest_of_name })) => {
            assert_eq!(cxt, Some(context));
            assert_eq!(rest_of_name, n("o"));
        }
        other => panic!("{other:?}"),
    }
    match root.bind(&n("c/o"), None) {
        Err(BindError::CannotProceed(stopped)) => assert_eq!(stopped.rest_of_name, n("o")),
        other => panic!("{other:?}"),
    }
    root.unbind(&n("c")).unwrap();
}

#[test]
fn the_root_stays() {
    let served = Served::new();
    match served.root.destroy() {
        Err(DestroyError::System(e)) => assert_eq!(e.kind, SystemExceptionKind::NoPermission),
        other => panic!("{other:?}"),
    }
    assert_eq!(listed(&served.root.clone().into()), Vec::<String>::new());
}

#[test]
fn contexts_may_contain_each_other() {
    let served = Served::new();
    let root = &served.root;
    let a = root.bind_new_context(&n("a")).unwrap().unwrap();
    a.bind_context(&n("back"), Some(&root.clone().into())).unwrap();
    a.bind_context(&n("self"), Some(&a)).unwrap();
    let found = root.resolve(&n("a/back/a/self/self/back/a")).unwrap();
    assert_eq!(found.map(|found| found.unchecked_narrow()), Some(a));
}

#[test]
fn contexts_are_of_the_extended_interface() {
    let served = Served::new();
    let context = served.root.new_context().unwrap().unwrap();
    assert!(context.narrow::<NamingContextExtRef>().unwrap().is_some());
    context.destroy().unwrap();
}

#[test]
fn many_bind_at_once_and_one_of_each_name_wins() {
    let served = Served::new();
    let won = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (served, won) = (&served, &won);
            scope.spawn(move || {
                let object = served.object(&format!("of-{thread}"));
                for i in 0..50 {
                    match served.root.bind(&n(&format!("n{i}")), Some(&object)) {
                        Ok(()) => {
                            won.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                        Err(error) => {
                            assert_eq!(error, BindError::AlreadyBound(AlreadyBound {}));
                        }
                    }
                }
            });
        }
    });
    assert_eq!(won.into_inner(), 50);
    assert_eq!(listed(&served.root.clone().into()).len(), 50);
    assert_eq!(served.service.store().bindings().unwrap(), 50);
}

#[test]
fn the_typed_client_says_what_is_wrong() {
    let served = Served::new();
    let (names, object) = (served.names(), served.object("o"));
    names.make_contexts("a/b/c").unwrap();
    names.make_contexts("a/b/c").unwrap();
    names.bind("a/b/o", &object).unwrap();
    names.rebind("a/b/o", &object).unwrap();
    for (failed, says) in [
        (
            names.resolve::<ObjectRef>("a/x/y").unwrap_err(),
            "cannot resolve \"a/x/y\": there is no \"x\" (NotFound)",
        ),
        (
            names.bind("a/b/o", &object).unwrap_err(),
            "cannot bind \"a/b/o\": the name is already bound (AlreadyBound)",
        ),
        (
            names.rebind("a/b", &object).unwrap_err(),
            "cannot rebind \"a/b\": \"b\" is a context, not an object (NotFound)",
        ),
        (
            names.make_contexts("a/b/o/d").unwrap_err(),
            "cannot make the context \"a/b/o/d\": \"o\" is an object, not a context (NotFound)",
        ),
        (
            names.unbind("a//b").unwrap_err(),
            "cannot unbind \"a//b\": the name \"a//b\" is malformed at offset 2: an empty component; \
             one with neither id nor kind is written \".\"",
        ),
    ] {
        assert_eq!(failed.to_string(), says);
    }
}

/// The thread that writes to the store is listed among the threads of the ORB, with the schedule
/// configured for it.
#[test]
fn the_writer_is_listed_among_the_threads_of_the_orb() {
    let served = Served::new();
    let threads = served.server.threads();
    let writer = threads.iter().find(|thread| thread.purpose == oxorb::rt::ThreadPurpose::Storage);
    let writer = writer.unwrap_or_else(|| panic!("{threads:?}"));
    assert_eq!(writer.name, "oxorb-names");
    assert_eq!(writer.actual, writer.configured);
}
