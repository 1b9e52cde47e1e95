//! Names that lead from one server to another.

use oxorb::{CompletionStatus, Interface as _, ObjectRef, SystemExceptionKind};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::cos_naming::naming_context::{
    AlreadyBound, BindError, NotFound, NotFoundReason, RebindError, ResolveError,
};
use oxorb_naming::{Limits, Problem};

use super::{Served, listed, n};

/// Returns the root of one server, as a client of another knows it.
fn elsewhere(other: &Served, here: &Served) -> NamingContextRef {
    here.client.resolve(&other.service.root().to_ior()).unwrap()
}

#[test]
fn every_operation_goes_on_where_the_name_leads() {
    let (here, there) =
        (Served::federated(Limits::default()), Served::federated(Limits::default()));
    let root = &here.root;
    let foreign = elsewhere(&there, &here);
    root.bind_new_context(&n("a")).unwrap();
    root.bind_context(&n("a/there"), Some(&foreign)).unwrap();
    let object = here.object("o");
    root.bind(&n("a/there/o"), Some(&object)).unwrap();
    root.rebind(&n("a/there/o"), Some(&object)).unwrap();
    let made = root.bind_new_context(&n("a/there/c")).unwrap().unwrap();
    root.bind_context(&n("a/there/c/made"), Some(&made)).unwrap();
    root.rebind_context(&n("a/there/c/made"), Some(&made)).unwrap();
    root.bind(&n("a/there/c/made/made/p"), Some(&object)).unwrap();
    assert_eq!(listed(&there.root.clone().into()), ["c/", "o"]);
    assert_eq!(listed(&made), ["made/", "p"]);
    assert_eq!(root.resolve(&n("a/there/o")).unwrap(), Some(object.clone()));
    assert_eq!(root.resolve(&n("a/there")).unwrap().unwrap().to_ior(), foreign.to_ior());
    assert_eq!(root.resolve_str("a/there/c/p").unwrap(), Some(object.clone()));
    root.unbind(&n("a/there/c/p")).unwrap();
    assert_eq!(listed(&made), ["made/"]);

    // Exceptions of the other server are passed on, with the `rest_of_name` that it reported.
    let missing = NotFound { why: NotFoundReason::MissingNode, rest_of_name: n("x/y") };
    assert_eq!(root.resolve(&n("a/there/c/x/y")), Err(ResolveError::NotFound(missing)));
    let taken = root.bind(&n("a/there/o"), Some(&object));
    assert_eq!(taken, Err(BindError::AlreadyBound(AlreadyBound {})));
    let not_object = NotFound { why: NotFoundReason::NotObject, rest_of_name: n("c") };
    let refused = root.rebind(&n("a/there/c"), Some(&object));
    assert_eq!(refused, Err(RebindError::NotFound(not_object)));
}

#[test]
fn contexts_of_two_servers_are_not_taken_for_each_other() {
    let (here, there) =
        (Served::federated(Limits::default()), Served::federated(Limits::default()));
    // Both contexts have the same POA name and the same number; only the numbers of their stores differ.
    let ours = here.root.bind_new_context(&n("c")).unwrap().unwrap();
    let theirs = there.root.bind_new_context(&n("c")).unwrap().unwrap();
    let theirs: NamingContextRef = here.client.resolve(&theirs.to_ior()).unwrap();
    here.root.bind_context(&n("theirs"), Some(&theirs)).unwrap();
    theirs.bind(&n("of theirs"), None).unwrap();
    assert_eq!(listed(&ours), Vec::<String>::new());
    here.root.resolve(&n("theirs/of theirs")).unwrap();
    // A server does not answer for a context of the other one either, if its own address is put into that context's
    // reference.
    let ours = ours.to_corbaloc().unwrap();
    let moved = ours.replace(&here.address(), &there.address());
    assert_ne!(ours, moved);
    let moved = here.client.string_to_object(&moved).unwrap();
    assert_eq!(moved.non_existent(), Ok(true));
}

#[test]
fn servers_may_contain_each_other() {
    let (here, there) =
        (Served::federated(Limits::default()), Served::federated(Limits::default()));
    let (to_there, to_here) = (elsewhere(&there, &here), elsewhere(&here, &there));
    here.root.bind_context(&n("there"), Some(&to_there)).unwrap();
    there.root.bind_context(&n("here"), Some(&to_here)).unwrap();
    let object = here.object("o");
    here.root.bind(&n("o"), Some(&object)).unwrap();
    let found = here.root.resolve(&n("there/here/there/here/o")).unwrap();
    assert_eq!(found, Some(object));
}

#[test]
fn a_server_that_does_not_answer_is_where_the_caller_may_go_on() {
    let (here, there) = (
        Served::federated(Limits {
            forward_timeout: std::time::Duration::from_secs(2),
            ..Limits::default()
        }),
        Served::federated(Limits::default()),
    );
    let foreign = elsewhere(&there, &here);
    here.root.bind_context(&n("there"), Some(&foreign)).unwrap();
    drop(there);
    match here.root.resolve(&n("there/a/b")) {
        Err(ResolveError::CannotProceed(stopped)) => {
            assert_eq!(stopped.cxt, Some(foreign.clone()));
            assert_eq!(stopped.rest_of_name, n("a/b"));
        }
        other => panic!("{other:?}"),
    }
    let failed = here.names().resolve::<ObjectRef>("there/a/b").unwrap_err();
    assert!(matches!(failed.problem, Problem::CannotProceed(_)));
    assert!(failed.to_string().contains("cannot reach the context at corbaloc:"), "{failed}");
    let url = format!("corbaname::{}#there/a/b", here.address());
    let failed = here.client.string_to_object(&url).unwrap_err().to_string();
    assert!(failed.contains("CannotProceed"), "{failed}");
    // The unreachable server does not prevent changes to names of this server.
    here.root.unbind(&n("there")).unwrap();
}

#[test]
fn what_may_have_happened_elsewhere_is_not_said_to_have_stopped_here() {
    let here = Served::federated(Limits {
        forward_timeout: std::time::Duration::from_secs(2),
        ..Limits::default()
    });
    // The system accepts connections to this listener, but no program reads from them or answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("corbaloc::{}/NameService", silent.local_addr().unwrap());
    let foreign = here.client.string_to_object(&url).unwrap();
    let foreign: NamingContextRef = foreign.unchecked_narrow();
    here.root.bind_context(&n("silent"), Some(&foreign)).unwrap();
    match here.root.bind(&n("silent/o"), None) {
        Err(BindError::System(e)) => {
            assert_eq!(e.kind, SystemExceptionKind::Timeout);
            assert_eq!(e.completed, CompletionStatus::Maybe);
        }
        other => panic!("{other:?}"),
    }
    here.root.unbind(&n("silent")).unwrap();
}

#[test]
fn an_object_that_is_no_context_is_told_apart_when_it_is_used() {
    let (here, there) =
        (Served::federated(Limits::default()), Served::federated(Limits::default()));
    // Bind the reference of an iterator as if it were a context.
    there.root.bind(&n("o"), None).unwrap();
    there.root.bind(&n("p"), None).unwrap();
    let iterator = there.root.list(1).unwrap().1.unwrap();
    let wrong: NamingContextRef = iterator.unchecked_narrow();
    here.root.bind_context(&n("wrong"), Some(&wrong)).unwrap();
    match here.root.resolve(&n("wrong/x")) {
        Err(ResolveError::CannotProceed(stopped)) => assert_eq!(stopped.rest_of_name, n("x")),
        Err(ResolveError::System(e)) => assert_eq!(e.kind, SystemExceptionKind::BadOperation),
        other => panic!("{other:?}"),
    }
}
