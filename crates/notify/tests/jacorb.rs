//! Channels of JacORB and of OxORB, each with suppliers and consumers of both: structured events, a filter, and the end of
//! connections.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelFactoryRef, EventChannelRef, StructuredProxyPushConsumerRef,
    StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_comm::structured_push_consumer::PushStructuredEventError;
use oxorb_notify::cos_notify_comm::{
    NotifyPublish, StructuredPushConsumer, StructuredPushConsumerRef, notify_publish,
};
use oxorb_notify::cos_notify_filter::ConstraintExp;
use oxorb_notify::{NotifyService, Settings};
use oxorb_testkit::process::Process;

/// A JVM starts slowly on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Events of one supplier, and what the filter of all consumers leaves of them.
const EVENTS: i32 = 5;
const CONSTRAINT: &str = "$number != 3";
const WANTED: [i32; 4] = [0, 1, 2, 4];

/// Directory of a file of JacORB, from `tests/interop/install-peers.sh`.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn class_path(own: &Path) -> String {
    let jars = root().join("target/interop/jars");
    assert!(
        jars.join("jacorb-services-3.9.jar").exists(),
        "JacORB is missing: run tests/interop/install-peers.sh"
    );
    format!("{}/*:{}", jars.display(), own.display())
}

/// JacORB's programs, compiled.
struct JacOrb(PathBuf);

impl JacOrb {
    fn new(test: &str) -> JacOrb {
        let name = format!("oxorb-jacorb-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let compiled = Command::new("javac")
            .args(["-nowarn", "-cp", &class_path(&folder), "-d"])
            .arg(&folder)
            .arg(root().join("tests/interop/java/Notify.java"))
            .output()
            .expect("javac, of a JDK");
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        JacOrb(folder)
    }

    fn run(&self, args: &[&str]) -> Process {
        let mut command = Command::new("java");
        command
            .arg("-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB")
            .arg("-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton")
            .args(["-cp", &class_path(&self.0)])
            .args(args);
        Process::spawn(command)
    }

    /// Starts JacORB's service with a channel that an ORB made.
    fn channel(&self, orb: &Orb) -> (Process, EventChannelRef) {
        let mut service = self.run(&["org.jacorb.notification.ConsoleMain", "-printIOR"]);
        let ior = service.wait_for_line("IOR:", PATIENCE);
        let factory: EventChannelFactoryRef = orb.resolve(ior.trim()).unwrap();
        let (channel, _) = factory.create_channel(&[], &[]).unwrap();
        (service, channel.unwrap())
    }

    fn consumer(&self, url: &str) -> Process {
        let mut consumer = self.run(&["peers.Notify", "consume", url, CONSTRAINT]);
        consumer.wait_for_line("READY", PATIENCE);
        consumer
    }

    fn supply(&self, url: &str) {
        let mut supplier = self.run(&["peers.Notify", "supply", url, &EVENTS.to_string()]);
        supplier.wait_for_line("DONE", PATIENCE);
    }
}

impl Drop for JacOrb {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Heard(Mutex<Sender<i32>>);

/// Stands for the end of a connection.
const DISCONNECTED: i32 = -1;

impl StructuredPushConsumer for Heard {
    fn push_structured_event(
        &self,
        notification: &StructuredEvent,
    ) -> Result<(), PushStructuredEventError> {
        let number = notification.remainder_of_body.get::<i32>();
        let _ = self.0.lock().unwrap().send(number.unwrap().unwrap());
        Ok(())
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        let _ = self.0.lock().unwrap().send(DISCONNECTED);
        Ok(())
    }
}

impl NotifyPublish for Heard {
    fn offer_change(
        &self,
        _: &[EventType],
        _: &[EventType],
    ) -> Result<(), notify_publish::OfferChangeError> {
        Ok(())
    }
}

fn consume(orb: &Orb, channel: &EventChannelRef) -> Receiver<i32> {
    let (tell, told) = std::sync::mpsc::channel();
    let consumer: StructuredPushConsumerRef =
        orb.root_poa().activate(Heard(Mutex::new(tell))).unwrap();
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: StructuredProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let filters = channel.default_filter_factory().unwrap().unwrap();
    let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let constraint = ConstraintExp {
        event_types: Vec::new(),
        constraint_expr: CONSTRAINT.to_owned(),
    };
    filter.add_constraints(&[constraint]).unwrap();
    proxy.add_filter(Some(&filter)).unwrap();
    proxy
        .connect_structured_push_consumer(Some(&consumer))
        .unwrap();
    told
}

fn supply(channel: &EventChannelRef) {
    let admin = channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let proxy: StructuredProxyPushConsumerRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_structured_push_supplier(None).unwrap();
    for number in 0..EVENTS {
        let event = StructuredEvent {
            header: EventHeader {
                fixed_header: FixedEventHeader {
                    event_type: EventType {
                        domain_name: "peers".to_owned(),
                        type_name: "numbers".to_owned(),
                    },
                    event_name: String::new(),
                },
                variable_header: Vec::new(),
            },
            filterable_data: vec![Property {
                name: "number".to_owned(),
                value: Any::new(number),
            }],
            remainder_of_body: Any::new(number),
        };
        proxy.push_structured_event(&event).unwrap();
    }
    proxy.disconnect_structured_push_consumer().unwrap();
}

/// Whose channel it is. That of JacORB has several threads and an order of its own (`AnyOrder`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    JacOrb,
    OxOrb,
}

impl Owner {
    fn check(self, mut got: [i32; 4]) {
        if self == Owner::JacOrb {
            got.sort();
        }
        assert_eq!(got, WANTED);
    }

    fn check_own(self, told: &Receiver<i32>) {
        self.check(WANTED.map(|_| told.recv_timeout(PATIENCE).expect("an event")));
    }

    fn check_jacorb(self, consumer: &mut Process) {
        self.check(WANTED.map(|_| {
            let line = consumer.wait_for_line("GOT", PATIENCE);
            let number = line.strip_prefix("GOT ").expect("a number");
            number.parse().expect("a number")
        }));
    }
}

/// Each supplier of a channel reaches each consumer, and all consumers hear of the channel's end.
fn feed_each_other(owner: Owner, jacorb: &JacOrb, orb: &Orb, channel: &EventChannelRef) {
    let url = channel.to_ior();
    let own = consume(orb, channel);
    let mut theirs = jacorb.consumer(&url);
    supply(channel);
    owner.check_own(&own);
    owner.check_jacorb(&mut theirs);
    jacorb.supply(&url);
    owner.check_own(&own);
    owner.check_jacorb(&mut theirs);
    channel.destroy().unwrap();
    assert_eq!(own.recv_timeout(PATIENCE), Ok(DISCONNECTED));
    theirs.wait_for_line("DISCONNECTED", PATIENCE);
}

#[test]
#[ignore = "needs JacORB: tests/interop/install-peers.sh"]
fn a_channel_of_jacorb_serves_suppliers_and_consumers_of_both() {
    let jacorb = JacOrb::new("theirs");
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (_service, channel) = jacorb.channel(&orb);
    feed_each_other(Owner::JacOrb, &jacorb, &orb, &channel);
    orb.shutdown(true).unwrap();
}

#[test]
#[ignore = "needs JacORB: tests/interop/install-peers.sh"]
fn a_channel_of_oxorb_serves_suppliers_and_consumers_of_both() {
    let jacorb = JacOrb::new("ours");
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    // A consumer in a Java VM that has just started takes its time.
    let settings = Settings {
        call_timeout: PATIENCE,
        ..Settings::default()
    };
    let service = NotifyService::start_with(&server, settings).unwrap();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel = orb.resolve(&service.event_channel().unwrap().to_ior());
    feed_each_other(Owner::OxOrb, &jacorb, &orb, &channel.unwrap());
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
