//! Servant locators and default servants.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use oxorb_core::{Interface as _, ObjectRef, Servant};
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind};
use oxorb_poa::{
    Cookie, IdUniqueness, ObjectId, Poa, Policies, Refused, RequestProcessing, ServantLocator,
    ServantRetention,
};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Locator that returns a cookie, and expects it back.
#[derive(Default)]
struct Cookies {
    given: AtomicUsize,
    back: Mutex<Vec<(usize, String)>>,
    fails_afterwards: Option<CompletionStatus>,
}

struct Locator(Arc<Cookies>);

impl ServantLocator for Locator {
    fn preinvoke(
        &self,
        id: &ObjectId,
        poa: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), Refused> {
        match id.as_bytes() {
            b"elsewhere" => return Err(Refused::ForwardRequest(reference(poa, "here"))),
            b"never" => {
                return Err(SystemException::no_permission(5, CompletionStatus::No).into());
            }
            _ => {}
        }
        assert_eq!(poa.current().object_id().unwrap(), *id);
        assert!(poa.current().servant().is_err());
        assert!(!operation.is_empty());
        let cookie = self.0.given.fetch_add(1, Ordering::SeqCst);
        Ok((Echo::new(), Some(Box::new(cookie))))
    }

    fn postinvoke(
        &self,
        id: &ObjectId,
        _: &Poa,
        operation: &str,
        cookie: Cookie,
        servant: Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        assert_eq!(servant.repository_id(), ECHO);
        let cookie = *cookie.unwrap().downcast::<usize>().unwrap();
        let what = format!("{operation} {}", String::from_utf8_lossy(id.as_bytes()));
        self.0.back.lock().unwrap().push((cookie, what));
        match self.0.fails_afterwards {
            Some(completed) => Err(SystemException::persist_store(9, completed)),
            None => Ok(()),
        }
    }
}

#[test]
fn each_request_has_a_servant_and_its_cookie_comes_back() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("located", located()).unwrap();
    let cookies = Arc::new(Cookies::default());
    poa.set_servant_locator(Locator(cookies.clone())).unwrap();
    let (one, two) = (reference(&poa, "one"), reference(&poa, "two"));
    assert_eq!(same(&one, 1), Ok(1));
    assert_eq!(same(&two, 2), Ok(2));
    // `postinvoke` is called after a panic, too.
    let raised = panics(&one).unwrap_err();
    assert_eq!(raised.kind, SystemExceptionKind::Unknown);
    assert_eq!(raised.completed, CompletionStatus::Maybe);
    let back = cookies.back.lock().unwrap().clone();
    let back: Vec<_> = back.iter().map(|(n, what)| (*n, what.as_str())).collect();
    assert_eq!(back, [(0, "same one"), (1, "same two"), (2, "panic one")]);
    assert_eq!(ObjectRef::from_ref(one).non_existent(), Ok(false));
    orb.shutdown(true).unwrap();
}

#[test]
fn it_may_forward_and_refuse_before_and_raise_afterwards() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    let poa = root.create_poa("located", located()).unwrap();
    poa.set_servant_locator(Locator(Arc::default())).unwrap();
    assert_eq!(same(&reference(&poa, "elsewhere"), 3), Ok(3));
    assert_eq!(
        same(&reference(&poa, "never"), 3),
        Err(SystemException::no_permission(5, CompletionStatus::No))
    );
    // The exception of `postinvoke` replaces the reply, which the client does not receive. The operation has run, so
    // the exception cannot state that it has not.
    for (completed, seen) in [
        (CompletionStatus::Yes, CompletionStatus::Yes),
        (CompletionStatus::No, CompletionStatus::Maybe),
    ] {
        let strict = root.create_poa(&format!("strict-{completed:?}"), located()).unwrap();
        let cookies = Cookies { fails_afterwards: Some(completed), ..Cookies::default() };
        strict.set_servant_locator(Locator(Arc::new(cookies))).unwrap();
        assert_eq!(
            same(&reference(&strict, "one"), 3),
            Err(SystemException::persist_store(9, seen))
        );
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_default_servant_serves_whatever_is_not_active() {
    let _guard = watchdog(LONG);
    let (orb, root) = start();
    for servant_retention in [ServantRetention::Retain, ServantRetention::NonRetain] {
        let policies = Policies {
            servant_retention,
            id_uniqueness: IdUniqueness::Multiple,
            request_processing: RequestProcessing::DefaultServant,
            ..persistent()
        };
        let poa = root.create_poa(&format!("{servant_retention:?}"), policies).unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, current) = (seen.clone(), poa.current());
        let default = Echo::that(move || {
            let id = current.object_id().unwrap();
            noted.lock().unwrap().push(String::from_utf8(id.as_bytes().to_vec()).unwrap());
        });
        poa.set_servant(default.clone()).unwrap();
        for id in ["one", "two", "three"] {
            assert_eq!(same(&reference(&poa, id), 1), Ok(1));
        }
        assert_eq!(*seen.lock().unwrap(), ["one", "two", "three"]);
        if servant_retention == ServantRetention::Retain {
            let own = Echo::new();
            let object = poa.activate_servant_with_id(&"two".into(), own.clone());
            assert_eq!(same(&object.unwrap(), 1), Ok(1));
            assert_eq!(own.calls(), 1);
            poa.deactivate_id("two").unwrap();
            assert_eq!(same(&reference(&poa, "two"), 1), Ok(1));
            assert_eq!(own.calls(), 1);
        }
        // A new default servant serves all later requests.
        let other = Echo::new();
        poa.set_servant(other.clone()).unwrap();
        assert_eq!(same(&reference(&poa, "one"), 1), Ok(1));
        assert_eq!(other.calls(), 1);
    }
    orb.shutdown(true).unwrap();
}
