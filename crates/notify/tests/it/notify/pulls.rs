//! Consumers whose calls never return, and pulls that exceed the limit.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use oxorb::{Any, Orb, SystemExceptionKind as Kind, minor};
use oxorb_notify::cos_event_comm::pull_supplier::PullError;
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{PushConsumer, PushConsumerRef};
use oxorb_notify::{Limits, Settings};

use crate::notify::Served;

/// A consumer whose first push returns only when the test releases it.
pub(crate) struct Stuck(pub(crate) PushConsumerRef, Sender<()>, Arc<AtomicBool>);

struct Holding(Mutex<Receiver<()>>, Arc<AtomicBool>);

impl Stuck {
    pub(crate) fn serve(orb: &Orb, release: Receiver<()>, releases: Sender<()>) -> Stuck {
        let released = Arc::new(AtomicBool::new(false));
        let holding = Holding(Mutex::new(release), Arc::clone(&released));
        Stuck(orb.root_poa().activate(holding).unwrap(), releases, released)
    }

    pub(crate) fn is_held(&self) -> bool {
        !self.2.load(Ordering::SeqCst)
    }

    pub(crate) fn release(self) {
        drop(self.1);
    }
}

impl PushConsumer for Holding {
    fn push(&self, _: &Any) -> Result<(), PushError> {
        let _ = self.0.lock().unwrap().recv();
        self.1.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn a_pull_waits_no_longer_than_it_may() {
    let served = Served::with(Settings {
        limits: Limits { pull_wait: Duration::from_millis(20), ..Limits::default() },
        ..Settings::default()
    });
    let pull = served.pull_supplier();
    pull.connect_pull_consumer(None).unwrap();
    match pull.pull() {
        Err(PullError::System(exception)) => {
            let wanted = (Kind::Timeout, minor::timeout::PULL);
            assert_eq!((exception.kind, exception.minor), wanted);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_more_pulls_wait_than_may() {
    let served = Served::with(Settings {
        limits: Limits { blocked_pulls: 0, ..Limits::default() },
        ..Settings::default()
    });
    let pull = served.pull_supplier();
    pull.connect_pull_consumer(None).unwrap();
    match pull.pull() {
        Err(PullError::System(exception)) => {
            let wanted = (Kind::ImpLimit, minor::imp_limit::EVENT_PULLS);
            assert_eq!((exception.kind, exception.minor), wanted);
        }
        other => panic!("{other:?}"),
    }
    // The limit applies only to pulls that must wait, so a waiting event can be pulled.
    served.source().push(&Any::new(3_i32)).unwrap();
    assert_eq!(pull.pull().unwrap().get::<i32>(), Ok(Some(3)));
}
