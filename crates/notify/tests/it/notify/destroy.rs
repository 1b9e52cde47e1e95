//! Peers are notified of their disconnection before the operation that disconnects them returns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{PushConsumer, PushConsumerRef, PushSupplierRef};
use oxorb_notify::cos_notify_channel_admin::InterFilterGroupOperator;
use oxorb_notify::{Settings, notify_ext};

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer};

const PEERS: usize = 100;

/// Creates a service that waits for its peers longer than a test takes. The end of a channel waits for up to a few call
/// time-outs.
fn patient() -> Served {
    Served::with(Settings { call_timeout: Duration::from_secs(60), ..Settings::default() })
}

/// Connects consumers and suppliers to the default admins.
fn connect(served: &Served) -> Vec<Receiver<Heard>> {
    let consumers = (0..PEERS).map(|_| {
        let (consumer, heard) = peer::<PushConsumerRef>(&served.client);
        served.push_supplier().connect_push_consumer(Some(&consumer)).unwrap();
        heard
    });
    let mut heard: Vec<_> = consumers.collect();
    heard.extend((0..PEERS).map(|_| {
        let (supplier, heard) = peer::<PushSupplierRef>(&served.client);
        served.push_consumer().connect_push_supplier(Some(&supplier)).unwrap();
        heard
    }));
    heard
}

fn told(heard: &[Receiver<Heard>]) -> usize {
    heard.iter().filter(|one| one.try_recv() == Ok(Heard::Disconnected)).count()
}

#[test]
fn a_channel_tells_its_peers_first() {
    let served = patient();
    let heard = connect(&served);
    served.events().destroy().unwrap();
    assert_eq!(told(&heard), 2 * PEERS);
}

#[test]
fn an_admin_tells_its_peers_first() {
    let served = patient();
    let heard = connect(&served);
    let and = InterFilterGroupOperator::AndOp;
    let (other, _) = served.channel.new_for_consumers(and).unwrap();
    let (consumer, of_other) = peer::<PushConsumerRef>(&served.client);
    let proxy = other.unwrap().obtain_push_supplier().unwrap().unwrap();
    proxy.connect_push_consumer(Some(&consumer)).unwrap();
    served.channel.default_consumer_admin().unwrap().unwrap().destroy().unwrap();
    assert_eq!(told(&heard[..PEERS]), PEERS);
    served.channel.default_supplier_admin().unwrap().unwrap().destroy().unwrap();
    assert_eq!(told(&heard[PEERS..]), PEERS);
    assert!(of_other.try_recv().is_err(), "its admin is there");
}

#[test]
fn the_factory_tells_the_peers_of_all_channels_first() {
    let served = patient();
    let heard = connect(&served);
    let factory: notify_ext::EventChannelFactoryRef =
        served.client.resolve(&served.service.factory().to_ior()).unwrap();
    factory.destroy().unwrap();
    assert_eq!(told(&heard), 2 * PEERS);
}

/// A consumer whose disconnect operation returns only when the test releases it.
struct Silent(Mutex<Receiver<()>>, AtomicBool);

impl PushConsumer for Silent {
    fn push(&self, _: &Any) -> Result<(), PushError> {
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        let _ = self.0.lock().unwrap().recv();
        self.1.store(true, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn a_silent_peer_holds_up_neither_the_others_nor_the_answer() {
    let settings = Settings { call_timeout: Duration::from_secs(2), ..Settings::default() };
    let served = Served::with(settings);
    let (release, released) = channel();
    let silent = Arc::new(Silent(Mutex::new(released), AtomicBool::new(false)));
    let elsewhere = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let consumer: PushConsumerRef = elsewhere.root_poa().activate(Arc::clone(&silent)).unwrap();
    served.push_supplier().connect_push_consumer(Some(&consumer)).unwrap();
    let heard = connect(&served);
    served.events().destroy().unwrap();
    assert!(!silent.1.load(Ordering::SeqCst), "it was not waited for");
    // On a busy machine some of the peers are notified only after the reply of `destroy`.
    for one in &heard {
        assert_eq!(one.recv_timeout(PATIENCE), Ok(Heard::Disconnected));
    }
    drop(release);
    elsewhere.shutdown(true).unwrap();
}
