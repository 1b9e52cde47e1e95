//! Peers that do not answer, and how they affect other peers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use oxorb::{
    Any, Interface as _, Orb, Outcome, Servant, SystemExceptionKind as Kind, Upcall, minor,
};
use oxorb_notify::cos_event_comm::PullSupplierRef;
use oxorb_notify::cos_event_comm::pull_supplier::PullError;
use oxorb_notify::cos_notify_channel_admin::{ClientType, ProxyPullSupplierRef};
use oxorb_notify::cos_notify_filter::{FilterRef, MappingFilterRef};
use oxorb_notify::{Limits, Settings};
use oxorb_testkit::{at_once, until};

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE};
use crate::notify::structured::event;

/// State of several filters. A filter answers only when all of them are being called at the same time.
#[derive(Default)]
struct Meeting {
    here: Mutex<usize>,
    all_here: Condvar,
}

/// Filter of a meeting. If it has a value, it is a mapping filter.
struct Member(Arc<Meeting>, usize, Option<Any>);

impl Servant for Member {
    fn repository_id(&self) -> &str {
        match self.2 {
            None => "IDL:omg.org/CosNotifyFilter/Filter:1.0",
            Some(_) => "IDL:omg.org/CosNotifyFilter/MappingFilter:1.0",
        }
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let Member(meeting, all, value) = self;
        let mut here = meeting.here.lock().unwrap();
        *here += 1;
        meeting.all_here.notify_all();
        let waited = meeting.all_here.wait_timeout_while(here, PATIENCE, |here| *here < *all);
        let met = !waited.unwrap().1.timed_out();
        upcall.reply(|e| {
            use oxorb::cdr::Encode as _;
            e.boolean(met);
            match value {
                None => Ok(()),
                Some(value) => value.encode(e),
            }
        })
    }
}

/// ORBs of separate processes, each of which has a filter.
struct Elsewhere(Vec<Orb>);

impl Elsewhere {
    fn new(processes: usize) -> Elsewhere {
        let serve = || Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        Elsewhere(std::iter::repeat_with(serve).take(processes).collect())
    }

    fn meet(&self, value: Option<i16>) -> Vec<oxorb::Ref> {
        let meeting = Arc::new(Meeting::default());
        let member = |orb: &Orb| {
            let member = Member(Arc::clone(&meeting), self.0.len(), value.map(Any::new));
            orb.root_poa().activate_servant(Arc::new(member)).unwrap()
        };
        self.0.iter().map(member).collect()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        for orb in &self.0 {
            let _ = orb.shutdown(true);
        }
    }
}

const PROCESSES: usize = 4;

#[test]
fn filters_elsewhere_are_asked_side_by_side() {
    let served = Served::with(Settings { call_timeout: 2 * PATIENCE, ..Settings::default() });
    let elsewhere = Elsewhere::new(PROCESSES);
    let source = served.structured_source();
    // Attach filters to the supplier's proxy first. The filters of the consumers follow.
    for filter in elsewhere.meet(None) {
        source.add_filter(Some(&FilterRef::from_ref(filter))).unwrap();
    }
    let mut heard = Vec::new();
    for (filter, mapping) in elsewhere.meet(None).into_iter().zip(elsewhere.meet(Some(3))) {
        let proxy = served.structured_proxy();
        proxy.add_filter(Some(&FilterRef::from_ref(filter))).unwrap();
        let mapping = MappingFilterRef::from_ref(mapping);
        proxy.set_priority_filter(Some(&mapping)).unwrap();
        heard.push(served.connect(&proxy));
    }
    let pushed = event("d", "t", 1);
    source.push_structured_event(&pushed).unwrap();
    for heard in &heard {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Structured(pushed.clone())));
    }
}

/// A filter that counts its calls.
struct Counted(AtomicUsize);

impl Servant for Counted {
    fn repository_id(&self) -> &str {
        "IDL:omg.org/CosNotifyFilter/Filter:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.0.fetch_add(1, Ordering::SeqCst);
        upcall.reply(|e| {
            e.boolean(true);
            Ok(())
        })
    }
}

#[test]
fn a_filter_elsewhere_is_asked_once_and_only_where_it_matters() {
    let served = Served::new();
    let source = served.structured_source();
    let counted = Arc::new(Counted(AtomicUsize::new(0)));
    let filter = served.client.root_poa().activate_servant(counted.clone()).unwrap();
    let filter = FilterRef::from_ref(filter);
    let asked = || counted.0.load(Ordering::SeqCst);
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    // A filter without constraints matches no event, so no event passes the admin.
    let nothing = served.channel.default_filter_factory().unwrap().unwrap();
    let nothing = nothing.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let id = admin.add_filter(Some(&nothing)).unwrap();
    let proxy = served.structured_proxy();
    proxy.add_filter(Some(&filter)).unwrap();
    let heard = served.connect(&proxy);
    source.push_structured_event(&event("d", "t", 1)).unwrap();
    assert_eq!(asked(), 0);
    admin.remove_filter(id).unwrap();
    let pushed = event("d", "t", 2);
    source.push_structured_event(&pushed).unwrap();
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Structured(pushed)));
    assert_eq!(asked(), 1);
}

#[test]
fn a_pull_ends_with_the_connection_of_its_consumer() {
    at_once([true, false], |hangs_up| {
        let limits = Limits { blocked_pulls: 1, pull_wait: 100 * PATIENCE, ..Limits::default() };
        let served = Served::with(Settings { limits, ..Settings::default() });
        let admin = served.channel.default_consumer_admin().unwrap().unwrap();
        let mine = served.pull_supplier();
        mine.connect_pull_consumer(None).unwrap();
        let hurried = mine.reference().with_timeout(Duration::from_millis(100));
        let hurried = PullSupplierRef::from_ref(hurried);
        let is_full = || match hurried.pull() {
            Err(PullError::System(refused)) if refused.kind == Kind::ImpLimit => true,
            Err(PullError::System(late)) if late.kind == Kind::Timeout => false,
            other => panic!("{other:?}"),
        };
        let (proxy, _) = admin.obtain_notification_pull_supplier(ClientType::AnyEvent).unwrap();
        let gone = Orb::builder().build().unwrap();
        let proxy: ProxyPullSupplierRef = gone.resolve(&proxy.unwrap().to_ior()).unwrap();
        proxy.connect_any_pull_consumer(None).unwrap();
        let patience = match hangs_up {
            true => 100 * PATIENCE,
            false => PATIENCE / 10,
        };
        let proxy = ProxyPullSupplierRef::from_ref(proxy.reference().with_timeout(patience));
        let pull = proxy.pull_async();
        // Make another call on the same connection. When it returns, the pull has begun to wait.
        proxy.get_all_filters_async().wait().unwrap();
        // On a loaded machine the time limit of this call may expire before it is refused.
        until("the pull waits", &is_full);
        match hangs_up {
            true => gone.shutdown(true).unwrap(),
            // The client's time-out cancels the pull.
            false => match pull.wait() {
                Err(PullError::System(late)) => assert_eq!(late.kind, Kind::Timeout),
                other => panic!("{other:?}"),
            },
        }
        until("the pull has ended", || !is_full());
        let _ = gone.shutdown(true);
    });
}

#[test]
fn a_pull_ends_with_the_orb_of_its_channel() {
    let limits = Limits { blocked_pulls: 1, pull_wait: 100 * PATIENCE, ..Limits::default() };
    let served = Served::with(Settings { limits, ..Settings::default() });
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let (proxy, _) = admin.obtain_notification_pull_supplier(ClientType::AnyEvent).unwrap();
    let client = Orb::builder().build().unwrap();
    let proxy: ProxyPullSupplierRef = client.resolve(&proxy.unwrap().to_ior()).unwrap();
    proxy.connect_any_pull_consumer(None).unwrap();
    let proxy = ProxyPullSupplierRef::from_ref(proxy.reference().with_timeout(100 * PATIENCE));
    let pull = proxy.pull_async();
    // Make another call on the same connection. When it returns, the pull has been read.
    proxy.get_all_filters_async().wait().unwrap();
    served.server.shutdown(true).unwrap();
    // A shutdown that had not ended the pull would have cut the connection: COMM_FAILURE.
    match pull.wait() {
        // The channel has ended, or the pull has seen that the ORB ends.
        Err(PullError::Disconnected(_)) => {}
        Err(PullError::System(ended)) => {
            assert_eq!((ended.kind, ended.minor), (Kind::Timeout, minor::timeout::PULL));
        }
        other => panic!("{other:?}"),
    }
    client.shutdown(true).unwrap();
}
