//! Corner cases of the mapping with more than one construct.

use std::sync::Mutex;

use oxorb::{Interface, ObjectRef, Orb};
use oxorb_codegen_tests::corners::edges::{
    Commented, Grid, Holder, Inside, Linked, Lost, Node, NodeRef, Nodes, user,
};
use oxorb_codegen_tests::corners::{edges, oxorb as idl_oxorb, std as idl_std};

struct Servant {
    clone: Mutex<i32>,
}

fn servant() -> Servant {
    Servant { clone: Mutex::new(0) }
}

impl Node for Servant {
    fn all(&self) -> oxorb::Result<edges::Texts> {
        Ok(vec!["a".into(), "b".into()])
    }

    fn default(&self) -> oxorb::Result<()> {
        Ok(())
    }

    fn clone(&self) -> oxorb::Result<i32> {
        Ok(*self.clone.lock().unwrap())
    }

    fn set_clone(&self, value: i32) -> oxorb::Result<()> {
        *self.clone.lock().unwrap() = value;
        Ok(())
    }

    fn fmt(&self) -> oxorb::Result<i32> {
        Ok(2)
    }

    fn set_fmt(&self, _: i32) -> oxorb::Result<()> {
        Ok(())
    }

    fn eq(&self) -> oxorb::Result<i32> {
        Ok(3)
    }

    fn set_eq(&self, _: i32) -> oxorb::Result<()> {
        Ok(())
    }

    fn held(&self, cells: &Grid, more: &mut Nodes) -> oxorb::Result<(Holder, Option<ObjectRef>)> {
        let some = std::mem::take(more);
        let untyped = some[0].as_ref().map(NodeRef::unchecked_narrow);
        let four = Clone::clone(cells);
        *more = vec![None; some.len() + 1];
        Ok((Holder { some, four, untyped }, None))
    }
}

#[test]
fn references_in_every_container() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let client = Orb::builder().build().unwrap();
    let local: NodeRef = server.root_poa().activate(servant()).unwrap();
    let remote: NodeRef = client.resolve(&local.to_ior()).unwrap();
    for node in [local, remote] {
        let me = || Some(Clone::clone(&node));
        let mut more = vec![me(), None];
        let (holder, none) = node.held(&[[me(), None], [None, me()]], &mut more).unwrap();
        assert_eq!((none, more.len()), (None, 3));
        assert_eq!(holder.some, [me(), None]);
        assert_eq!(holder.four, [[me(), None], [None, me()]]);
        assert!(holder.untyped.unwrap().is_a(NodeRef::REPOSITORY_ID).unwrap());
        assert_eq!(node.all().unwrap(), ["a", "b"]);
    }
}

/// An operation may have the name of a method that every reference has.
#[test]
fn operations_named_like_methods_of_rust() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let node: NodeRef = orb.root_poa().activate(servant()).unwrap();
    node.set_clone(1).unwrap();
    assert_eq!((node.clone().unwrap(), node.fmt().unwrap(), node.eq().unwrap()), (1, 2, 3));
    node.default().unwrap();
    let same = Clone::clone(&node);
    assert!(same == node);
}

#[test]
fn modules_named_like_crates() {
    let held = idl_std::Core { x: 1 };
    let all = idl_oxorb::Decode { e: vec![1], d: 2, put: idl_oxorb::T { held } };
    assert_eq!(all.put.held.x, 1);
}

#[test]
fn exceptions_may_carry_references() {
    let lost = Lost { who: None, what: Linked::One(None) };
    let error = user::WideError::from(lost);
    assert!(error.to_string().contains("Lost"));
}

#[test]
fn local_interfaces_are_traits() {
    struct Poked(Mutex<i32>);
    impl Inside for Poked {
        fn poke(&self, a: &edges::Arc) -> oxorb::Result<()> {
            *self.0.lock().unwrap() = a.x;
            Ok(())
        }
    }
    let poked = Poked(Mutex::new(0));
    poked.poke(&edges::Arc { x: 5 }).unwrap();
    assert_eq!(*poked.0.lock().unwrap(), 5);
    let _ = Commented { x: 1 };
}
