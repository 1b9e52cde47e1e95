//! Resources of the service that one client can use, and their return when the client has disconnected.

use std::time::Duration;

use oxorb::{Any, Interface as _, Orb, SystemException, SystemExceptionKind as Kind, minor};
use oxorb_notify::cos_event_comm::PushConsumerRef;
use oxorb_notify::cos_notification::Property;
use oxorb_notify::cos_notify_channel_admin::consumer_admin::ObtainNotificationPushSupplierError;
use oxorb_notify::cos_notify_channel_admin::event_channel_factory::CreateChannelError;
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelFactoryRef, EventChannelRef, InterFilterGroupOperator,
    ProxyPushSupplierRef, StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_filter::FilterRef;
use oxorb_notify::cos_notify_filter::filter_factory::CreateFilterError;
use oxorb_notify::{Limits, NotifyService, Settings, Store};
use oxorb_testkit::until;

use crate::notify::peers::peer;

/// A service for clients with two identities: the network address, and a user of this host.
struct Shared {
    server: Orb,
    service: NotifyService,
}

/// A client. Its identity depends on the protocol of its connection.
struct Client {
    orb: Orb,
    channel: EventChannelRef,
    factory: EventChannelFactoryRef,
}

fn limits() -> Limits {
    Limits { channels: 8, admins: 8, proxies: 8, filters: 8, ..Limits::default() }
}

impl Shared {
    fn new(settings: Settings) -> Shared {
        let server = Shared::server();
        let service = NotifyService::start_with(&server, settings).unwrap();
        Shared { server, service }
    }

    fn server() -> Orb {
        Orb::builder().listen("iiop://127.0.0.1:0").listen("uiop://").build().unwrap()
    }

    fn client(&self, protocol: &str) -> Client {
        let orb = Orb::builder().setting("Protocols", protocol).build().unwrap();
        let channel = self.service.event_channel().unwrap().to_ior();
        let factory = self.service.factory().to_ior();
        let (channel, factory) = (orb.resolve(&channel).unwrap(), orb.resolve(&factory).unwrap());
        Client { orb, channel, factory }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = self.server.shutdown(true);
    }
}

impl Client {
    fn obtain(&self) -> Result<ProxyPushSupplierRef, SystemException> {
        let admin = self.channel.default_consumer_admin()?.unwrap();
        match admin.obtain_notification_push_supplier(ClientType::AnyEvent) {
            Ok((proxy, _)) => Ok(proxy.unwrap().unchecked_narrow()),
            Err(ObtainNotificationPushSupplierError::System(exception)) => Err(exception),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn filter(&self) -> Result<FilterRef, SystemException> {
        let factory = self.channel.default_filter_factory()?.unwrap();
        match factory.create_filter("EXTENDED_TCL") {
            Ok(filter) => Ok(filter.unwrap()),
            Err(CreateFilterError::System(exception)) => Err(exception),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Returns a reference to another client's filter.
    fn again(&self, filter: &FilterRef) -> FilterRef {
        self.orb.resolve(&filter.to_ior()).unwrap()
    }

    fn create(&self) -> Result<EventChannelRef, SystemException> {
        match self.factory.create_channel(&[], &[]) {
            Ok((channel, _)) => Ok(channel.unwrap()),
            Err(CreateChannelError::System(exception)) => Err(exception),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Closes the connections, as happens when a process ends.
    fn leave(self) {
        self.orb.shutdown(true).unwrap();
    }
}

fn all<T>(make: impl Fn() -> Result<T, SystemException>) -> (Vec<T>, SystemException) {
    let mut made = Vec::new();
    loop {
        match make() {
            Ok(one) => made.push(one),
            Err(refused) => return (made, refused),
        }
    }
}

fn is(exception: SystemException, minor: u32) -> bool {
    (exception.kind, exception.minor) == (Kind::ImpLimit, minor)
}

#[test]
fn a_client_gets_its_share_and_leaves_the_rest_to_others() {
    let shared = Shared::new(Settings { limits: limits(), ..Settings::default() });
    let (first, second) = (shared.client("iiop"), shared.client("uiop"));
    let operator = InterFilterGroupOperator::AndOp;
    let share = minor::imp_limit::EVENT_SHARE;
    for client in [&first, &second] {
        let (channels, refused) = all(|| client.create());
        assert!(channels.len() == 2 && is(refused, share), "{} {refused}", channels.len());
        let (admins, refused) = all(|| client.channel.new_for_consumers(operator));
        assert!(admins.len() == 2 && is(refused, share), "{} {refused}", admins.len());
        let (filters, refused) = all(|| client.filter());
        assert!(filters.len() == 2 && is(refused, share), "{} {refused}", filters.len());
        let (proxies, refused) = all(|| client.obtain());
        assert!(proxies.len() == 2 && is(refused, share), "{} {refused}", proxies.len());

        // A client may use again what it has returned.
        channels[0].destroy().unwrap();
        client.create().unwrap();
        admins[0].0.as_ref().unwrap().destroy().unwrap();
        client.channel.new_for_suppliers(operator).unwrap();
        filters[0].destroy().unwrap();
        client.filter().unwrap();
        proxies[0].disconnect_push_supplier().unwrap();
        client.obtain().unwrap();
    }
    // A caller in the service's own process has no share, and may use all that is left.
    let channel = shared.service.event_channel().unwrap();
    let local =
        Client { channel, factory: shared.service.factory().clone(), orb: shared.server.clone() };
    let (proxies, refused) = all(|| local.obtain());
    assert!(proxies.len() == 4 && is(refused, minor::imp_limit::EVENT_PROXIES));
    let (filters, refused) = all(|| local.filter());
    assert!(filters.len() == 4 && is(refused, minor::imp_limit::EVENT_FILTERS));
}

#[test]
fn what_a_client_never_used_goes_after_its_connection() {
    let settings = Settings {
        limits: Limits { client_share: 100, ..limits() },
        keep_unused: Duration::from_millis(1),
        ..Settings::default()
    };
    let shared = Shared::new(settings);
    let (first, second) = (shared.client("iiop"), shared.client("iiop"));
    // Objects that are in use must not be removed.
    let admin = first.channel.default_consumer_admin().unwrap().unwrap();
    let serving = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (consumer, _heard) = peer::<PushConsumerRef>(&serving);
    let connected = first.obtain().unwrap();
    connected.connect_any_push_consumer(Some(&consumer)).unwrap();
    admin.add_filter(Some(&first.filter().unwrap())).unwrap();
    let (connected, admin) = (connected.to_ior(), admin.to_ior());
    // The second client stays connected, so its objects must not be removed either.
    let (own_proxy, own_filter) = (second.obtain().unwrap(), second.filter().unwrap());

    let (proxies, _) = all(|| first.obtain());
    let (filters, _) = all(|| first.filter());
    assert_eq!((proxies.len(), filters.len()), (6, 6));
    let proxy: ProxyPushSupplierRef = second.orb.resolve(&proxies[0].to_ior()).unwrap();
    second.obtain().unwrap_err();
    second.filter().unwrap_err();
    first.leave();

    until("proxies come back", || second.obtain().is_ok());
    until("filters come back", || second.filter().is_ok());
    assert_eq!(proxy.my_type().unwrap_err().kind, Kind::ObjectNotExist);
    let rest = [all(|| second.obtain()).0.len(), all(|| second.filter().map(drop)).0.len()];
    assert_eq!(rest, [5, 5], "all of them, but those in use");
    let connected: ProxyPushSupplierRef = second.orb.resolve(&connected).unwrap();
    connected.my_type().unwrap();
    let admin =
        second.orb.resolve::<oxorb_notify::cos_notify_channel_admin::ConsumerAdminRef>(&admin);
    assert_eq!(admin.unwrap().get_all_filters().unwrap().len(), 1);
    own_proxy.my_type().unwrap();
    own_filter.get_all_constraints().unwrap();
    serving.shutdown(true).unwrap();
}

#[test]
fn a_filter_that_becomes_unused_after_its_connection_has_ended_goes() {
    let settings = Settings {
        limits: Limits { client_share: 100, ..Limits::default() },
        keep_unused: Duration::from_millis(1),
        ..Settings::default()
    };
    let shared = Shared::new(settings);
    let (first, second) = (shared.client("iiop"), shared.client("iiop"));
    let admin = second.channel.default_consumer_admin().unwrap().unwrap();
    let serving = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (consumer, _heard) = peer::<PushConsumerRef>(&serving);
    let proxy = second.obtain().unwrap();
    proxy.connect_any_push_consumer(Some(&consumer)).unwrap();
    // The admin and the proxy use one filter each.
    let used = [first.filter().unwrap(), first.filter().unwrap()];
    let [of_admin, of_proxy] = used.each_ref().map(|filter| second.again(filter));
    let attached = admin.add_filter(Some(&of_admin)).unwrap();
    proxy.add_filter(Some(&of_proxy)).unwrap();
    // After so many filters of one connection, the service checks which of them it must remember.
    let unused: Vec<FilterRef> = (0..70).map(|_| first.filter().unwrap()).collect();
    let unused = second.again(unused.last().unwrap());
    first.leave();

    until("the unused filter goes", || unused.get_all_constraints().is_err());
    of_admin.get_all_constraints().unwrap();
    of_proxy.get_all_constraints().unwrap();
    admin.remove_filter(attached).unwrap();
    until("the admin's filter goes", || of_admin.get_all_constraints().is_err());
    of_proxy.get_all_constraints().unwrap();
    proxy.disconnect_push_supplier().unwrap();
    until("the proxy's filter goes", || of_proxy.get_all_constraints().is_err());
    serving.shutdown(true).unwrap();
}

#[test]
fn what_the_own_process_or_the_store_has_stays() {
    let file = std::env::temp_dir().join(format!("oxorb-notify-kept-{}.redb", std::process::id()));
    let server = Shared::server();
    let settings = Settings { keep_unused: Duration::from_millis(1), ..Settings::default() };
    let store = Store::open(&file).unwrap();
    let service = NotifyService::start_stored(&server, store, settings).unwrap();
    let kept = [Property { name: "ConnectionReliability".to_owned(), value: Any::new(1_i16) }];
    service.channel_named("EventService", &kept, &[]).unwrap();
    let shared = Shared { server, service };
    let (first, second) = (shared.client("iiop"), shared.client("iiop"));
    let local = shared.service.event_channel().unwrap().default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (own, _) = local.obtain_notification_push_supplier(form).unwrap();
    let persistent = first.obtain().unwrap();
    let fleeting = first.obtain().unwrap();
    let best_effort = Property { name: "ConnectionReliability".to_owned(), value: Any::new(0_i16) };
    fleeting.set_qos(&[best_effort]).unwrap();
    let (persistent, fleeting) = (persistent.to_ior(), fleeting.to_ior());
    first.leave();
    let fleeting: ProxyPushSupplierRef = second.orb.resolve(&fleeting).unwrap();
    until("the one that nobody keeps goes", || fleeting.my_type().is_err());
    let persistent: ProxyPushSupplierRef = second.orb.resolve(&persistent).unwrap();
    persistent.my_type().unwrap();
    let own: StructuredProxyPushSupplierRef = own.unwrap().unchecked_narrow();
    own.my_type().unwrap();
    drop(shared);
    std::fs::remove_file(&file).unwrap();
}
