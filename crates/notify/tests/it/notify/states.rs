//! The states of the Event Service's proxies and the resulting errors, one test for each row of the table.

use oxorb::{Any, SystemException, SystemExceptionKind as Kind, minor};
use oxorb_notify::Settings;
use oxorb_notify::cos_event_channel_admin::proxy_pull_consumer::ConnectPullSupplierError;
use oxorb_notify::cos_event_channel_admin::proxy_pull_supplier::ConnectPullConsumerError;
use oxorb_notify::cos_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use oxorb_notify::cos_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use oxorb_notify::cos_event_comm::pull_supplier::{PullError, TryPullError};
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{
    PullConsumerRef, PullSupplierRef, PushConsumerRef, PushSupplierRef,
};

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer, peer_with};

fn assert_nil(exception: SystemException) {
    assert_eq!((exception.kind, exception.minor), (Kind::BadParam, minor::bad_param::NIL_PEER));
}

fn assert_unconnected(exception: SystemException) {
    let wanted = (Kind::BadInvOrder, minor::bad_inv_order::NOT_CONNECTED);
    assert_eq!((exception.kind, exception.minor), wanted);
}

fn assert_gone(exception: SystemException) {
    assert_eq!(exception.kind, Kind::ObjectNotExist);
}

#[test]
fn a_nil_peer_is_anonymous_where_nobody_has_to_call_it() {
    let served = Served::new();
    served.push_consumer().connect_push_supplier(None).unwrap();
    served.pull_supplier().connect_pull_consumer(None).unwrap();
    match served.push_supplier().connect_push_consumer(None) {
        Err(ConnectPushConsumerError::System(exception)) => assert_nil(exception),
        other => panic!("{other:?}"),
    }
    match served.pull_consumer().connect_pull_supplier(None) {
        Err(ConnectPullSupplierError::System(exception)) => assert_nil(exception),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_connect_is_refused() {
    let served = Served::new();
    let (consumer, _heard) = peer::<PushConsumerRef>(&served.client);
    let (supplier, _heard) = peer::<PullSupplierRef>(&served.client);
    let proxy = served.push_consumer();
    proxy.connect_push_supplier(None).unwrap();
    let again = proxy.connect_push_supplier(None);
    assert!(matches!(again, Err(ConnectPushSupplierError::AlreadyConnected(_))));
    let proxy = served.pull_supplier();
    proxy.connect_pull_consumer(None).unwrap();
    let again = proxy.connect_pull_consumer(None);
    assert!(matches!(again, Err(ConnectPullConsumerError::AlreadyConnected(_))));
    let proxy = served.push_supplier();
    proxy.connect_push_consumer(Some(&consumer)).unwrap();
    let again = proxy.connect_push_consumer(Some(&consumer));
    assert!(matches!(again, Err(ConnectPushConsumerError::AlreadyConnected(_))));
    let proxy = served.pull_consumer();
    proxy.connect_pull_supplier(Some(&supplier)).unwrap();
    let again = proxy.connect_pull_supplier(Some(&supplier));
    assert!(matches!(again, Err(ConnectPullSupplierError::AlreadyConnected(_))));
}

#[test]
fn a_second_connect_replaces_the_peer_on_wish() {
    let served = Served::with(Settings { reconnect: true, ..Settings::default() });
    let (first, heard_first) = peer::<PushConsumerRef>(&served.client);
    let (second, heard_second) = peer::<PushConsumerRef>(&served.client);
    let proxy = served.push_supplier();
    proxy.connect_push_consumer(Some(&first)).unwrap();
    proxy.connect_push_consumer(Some(&second)).unwrap();
    let source = served.source();
    source.connect_push_supplier(None).unwrap();
    source.push(&Any::new(1_i32)).unwrap();
    assert_eq!(heard_second.recv_timeout(PATIENCE), Ok(Heard::Any(Any::new(1_i32))));
    assert!(heard_first.try_recv().is_err());
}

#[test]
fn nothing_passes_before_a_connect() {
    let served = Served::new();
    let pushed = served.push_consumer().push(&Any::new(1_i32));
    assert!(matches!(pushed, Err(PushError::Disconnected(_))), "{pushed:?}");
    let pull = served.pull_supplier();
    assert!(matches!(pull.pull(), Err(PullError::Disconnected(_))));
    assert!(matches!(pull.try_pull(), Err(TryPullError::Disconnected(_))));
    let lenient = Served::with(Settings { drop_unconnected: true, ..Settings::default() });
    lenient.push_consumer().push(&Any::new(1_i32)).unwrap();
}

#[test]
fn a_disconnect_of_what_is_not_connected_comes_at_the_wrong_time() {
    let served = Served::new();
    assert_unconnected(served.push_consumer().disconnect_push_consumer().unwrap_err());
    assert_unconnected(served.push_supplier().disconnect_push_supplier().unwrap_err());
    assert_unconnected(served.pull_supplier().disconnect_pull_supplier().unwrap_err());
    assert_unconnected(served.pull_consumer().disconnect_pull_consumer().unwrap_err());
}

#[test]
fn a_disconnected_proxy_is_gone_and_the_peer_is_not_called() {
    let served = Served::new();
    let (supplier, heard) = peer::<PushSupplierRef>(&served.client);
    let proxy = served.push_consumer();
    proxy.connect_push_supplier(Some(&supplier)).unwrap();
    proxy.disconnect_push_consumer().unwrap();
    match proxy.push(&Any::new(1_i32)) {
        Err(PushError::System(exception)) => assert_gone(exception),
        other => panic!("{other:?}"),
    }
    assert_gone(proxy.disconnect_push_consumer().unwrap_err());
    let proxy = served.pull_supplier();
    proxy.connect_pull_consumer(None).unwrap();
    proxy.disconnect_pull_supplier().unwrap();
    match proxy.try_pull() {
        Err(TryPullError::System(exception)) => assert_gone(exception),
        other => panic!("{other:?}"),
    }
    // An unwanted callback would have arrived before the replies to the calls that followed.
    assert!(heard.try_recv().is_err());
}

#[test]
fn a_disconnect_calls_the_peer_on_wish() {
    let served = Served::with(Settings { disconnect_callbacks: true, ..Settings::default() });
    let (supplier, heard_supplier) = peer::<PushSupplierRef>(&served.client);
    let proxy = served.push_consumer();
    proxy.connect_push_supplier(Some(&supplier)).unwrap();
    proxy.disconnect_push_consumer().unwrap();
    assert_eq!(heard_supplier.recv_timeout(PATIENCE), Ok(Heard::Disconnected));
}

#[test]
fn the_end_of_a_channel_calls_every_peer() {
    let served = Served::new();
    let (push_supplier, heard_1) = peer::<PushSupplierRef>(&served.client);
    let (push_consumer, heard_2) = peer::<PushConsumerRef>(&served.client);
    let (pull_consumer, heard_3) = peer::<PullConsumerRef>(&served.client);
    let (pull_supplier, heard_4) = peer_with::<PullSupplierRef>(&served.client, []);
    served.push_consumer().connect_push_supplier(Some(&push_supplier)).unwrap();
    let proxy = served.push_supplier();
    proxy.connect_push_consumer(Some(&push_consumer)).unwrap();
    served.pull_supplier().connect_pull_consumer(Some(&pull_consumer)).unwrap();
    served.pull_consumer().connect_pull_supplier(Some(&pull_supplier)).unwrap();
    served.events().destroy().unwrap();
    for heard in [heard_1, heard_2, heard_3, heard_4] {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Disconnected));
    }
    assert_gone(proxy.disconnect_push_supplier().unwrap_err());
    assert_gone(served.events().for_consumers().unwrap_err());
}
