//! Notifications of suppliers and consumers about the types of the other side.

use oxorb_notify::cos_event_comm::PushConsumerRef;
use oxorb_notify::cos_notification::EventType;
use oxorb_notify::cos_notify_channel_admin::{ClientType, ObtainInfoMode, ProxyPushSupplierRef};
use oxorb_notify::cos_notify_comm::StructuredPushSupplierRef;

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer};

fn types(names: &[&str]) -> Vec<EventType> {
    let types = names
        .iter()
        .map(|name| EventType { domain_name: "d".to_owned(), type_name: (*name).to_owned() });
    types.collect()
}

#[test]
fn consumers_hear_of_offers_and_suppliers_of_subscriptions() {
    let served = Served::new();
    let source = served.structured_source();
    source.offer_change(&types(&["a"]), &[]).unwrap();
    let proxy = served.structured_proxy();
    let heard = served.connect(&proxy);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Types(types(&["a"]), vec![])));
    source.offer_change(&types(&["b"]), &types(&["a"])).unwrap();
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Types(types(&["b"]), types(&["a"]))));
    let offered = proxy.obtain_offered_types(ObtainInfoMode::AllNowUpdatesOff).unwrap();
    assert_eq!(offered, types(&["b"]));

    proxy.subscription_change(&types(&["b"]), &[]).unwrap();
    let admin = served.channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (second, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let second: oxorb_notify::cos_notify_channel_admin::StructuredProxyPushConsumerRef =
        oxorb::Interface::unchecked_narrow(&second.unwrap());
    let (supplier, heard_supplier) = peer::<StructuredPushSupplierRef>(&served.client);
    second.connect_structured_push_supplier(Some(&supplier)).unwrap();
    let told = heard_supplier.recv_timeout(PATIENCE);
    assert_eq!(told, Ok(Heard::Types(types(&["b"]), vec![])));
    // The last subscriber of the type disconnects.
    proxy.disconnect_structured_push_supplier().unwrap();
    let told = heard_supplier.recv_timeout(PATIENCE);
    assert_eq!(told, Ok(Heard::Types(vec![], types(&["b"]))));
}

#[test]
fn a_consumer_of_the_event_service_gets_events_all_the_same() {
    let served = Served::new();
    let source = served.structured_source();
    source.offer_change(&types(&["a"]), &[]).unwrap();
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let (proxy, _) = admin.obtain_notification_push_supplier(ClientType::AnyEvent).unwrap();
    let proxy: ProxyPushSupplierRef = oxorb::Interface::unchecked_narrow(&proxy.unwrap());
    // This peer has only the interface of the Event Service, without `offer_change`.
    let (consumer, heard) = peer::<PushConsumerRef>(&served.client);
    proxy.connect_any_push_consumer(Some(&consumer)).unwrap();
    source.offer_change(&types(&["b"]), &[]).unwrap();
    let event = crate::notify::structured::event("d", "b", 1);
    source.push_structured_event(&event).unwrap();
    assert!(matches!(heard.recv_timeout(PATIENCE), Ok(Heard::Any(_))));
}

#[test]
fn a_replaced_supplier_counts_once() {
    let served = Served::with(oxorb_notify::Settings {
        reconnect: true,
        ..oxorb_notify::Settings::default()
    });
    let source = served.structured_source();
    source.offer_change(&types(&["a"]), &[]).unwrap();
    source.connect_structured_push_supplier(None).unwrap();
    let proxy = served.structured_proxy();
    let heard = served.connect(&proxy);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Types(types(&["a"]), vec![])));
    source.disconnect_structured_push_consumer().unwrap();
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Types(vec![], types(&["a"]))));
}
