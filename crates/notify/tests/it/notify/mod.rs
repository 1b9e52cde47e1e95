//! Tests of the services through remote calls: states and errors, and delivered, dropped and refused events.

mod carried;
mod characters;
mod clients;
mod destroy;
mod fronts;
mod limits;
mod losses;
mod peers;
mod persistent;
mod properties;
mod pulls;
mod qos;
mod races;
mod silent;
mod states;
mod structured;
mod updates;

use oxorb::{Interface as _, Orb};
use oxorb_notify::cos_event_channel_admin as events;
use oxorb_notify::cos_notify_channel_admin as notify;
use oxorb_notify::{NotifyService, Settings};

/// A service that is called over TCP, and an ORB for its clients and peers.
struct Served {
    server: Orb,
    client: Orb,
    service: NotifyService,
    channel: notify::EventChannelRef,
}

impl Served {
    fn new() -> Self {
        Served::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let service = NotifyService::start_with(&server, settings).unwrap();
        let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let channel = service.event_channel().unwrap();
        let channel = client.resolve(&channel.to_ior()).unwrap();
        Served { server, client, service, channel }
    }

    /// Returns the channel with the interface of the Event Service.
    fn events(&self) -> events::EventChannelRef {
        self.channel.clone().into()
    }

    fn push_supplier(&self) -> events::ProxyPushSupplierRef {
        let admin = self.events().for_consumers().unwrap().unwrap();
        admin.obtain_push_supplier().unwrap().unwrap()
    }

    fn pull_supplier(&self) -> events::ProxyPullSupplierRef {
        let admin = self.events().for_consumers().unwrap().unwrap();
        admin.obtain_pull_supplier().unwrap().unwrap()
    }

    fn push_consumer(&self) -> events::ProxyPushConsumerRef {
        let admin = self.events().for_suppliers().unwrap().unwrap();
        admin.obtain_push_consumer().unwrap().unwrap()
    }

    fn pull_consumer(&self) -> events::ProxyPullConsumerRef {
        let admin = self.events().for_suppliers().unwrap().unwrap();
        admin.obtain_pull_consumer().unwrap().unwrap()
    }

    /// Returns a proxy to which an anonymous supplier is connected.
    fn source(&self) -> events::ProxyPushConsumerRef {
        let proxy = self.push_consumer();
        proxy.connect_push_supplier(None).unwrap();
        proxy
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.client.shutdown(true);
        let _ = self.server.shutdown(true);
    }
}
