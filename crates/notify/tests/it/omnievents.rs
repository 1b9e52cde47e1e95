//! Channels of omniEvents and of OxORB exchange events, and serve each other's suppliers and consumers.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::NotifyService;
use oxorb_notify::cos_event_channel_admin::EventChannelRef;
use oxorb_notify::cos_event_comm::pull_supplier::{PullError, TryPullError};
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_event_comm::{
    Disconnected, PullConsumerRef, PullSupplier, PullSupplierRef, PushConsumer, PushConsumerRef,
};
use oxorb_testkit::net::free_port;

const PATIENCE: Duration = Duration::from_secs(30);

struct Heard(Mutex<Sender<i32>>);

impl PushConsumer for Heard {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let number = data.get::<i32>().ok().flatten().unwrap_or(-1);
        let _ = self.0.lock().unwrap().send(number);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// A supplier from which these numbers can be pulled.
struct Source(Mutex<std::ops::Range<i32>>);

impl PullSupplier for Source {
    fn pull(&self) -> Result<Any, PullError> {
        let next = self.0.lock().unwrap().next();
        Ok(Any::new(next.ok_or(Disconnected {})?))
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        let next = self.0.lock().unwrap().next();
        Ok((Any::new(next.unwrap_or(-1)), next.is_some()))
    }

    fn disconnect_pull_supplier(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// A process of omniEvents, with one channel.
struct OmniEvents {
    process: Child,
    folder: PathBuf,
    url: String,
}

impl OmniEvents {
    fn start() -> OmniEvents {
        let port = free_port();
        let name = format!("oxorb-omnievents-{}-{port}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let process = Command::new("/usr/sbin/omniEvents")
            .args(["-f", "-p", &port.to_string(), "-l"])
            .arg(&folder)
            .args(["-t", "/dev/null"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("omniEvents, of the Debian package omnievents");
        let server =
            OmniEvents { process, folder, url: format!("corbaloc::127.0.0.1:{port}/channel") };
        let factory = format!("corbaloc::127.0.0.1:{port}/omniEvents");
        let began = Instant::now();
        // The tool creates the channel and then fails, because there is no name server to register it with. So check
        // for the channel.
        while !server.has_channel() {
            assert!(began.elapsed() < PATIENCE, "omniEvents makes no channel");
            let made = Command::new("eventc").args(["-i", "channel", &factory]).output();
            made.expect("eventc, of the Debian package omnievents");
        }
        server
    }

    fn has_channel(&self) -> bool {
        let orb = Orb::builder().build().unwrap();
        let there = orb.resolve::<EventChannelRef>(&self.url).is_ok();
        orb.shutdown(true).unwrap();
        there
    }
}

impl Drop for OmniEvents {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Connects a consumer to a channel.
fn listen(orb: &Orb, at: &EventChannelRef) -> Receiver<i32> {
    let (heard, hears) = channel();
    let consumer = orb.root_poa().activate(Heard(Mutex::new(heard)));
    let consumer: PushConsumerRef = consumer.unwrap();
    let admin = at.for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    proxy.connect_push_consumer(Some(&consumer)).unwrap();
    hears
}

fn push(at: &EventChannelRef, numbers: std::ops::Range<i32>) {
    let admin = at.for_suppliers().unwrap().unwrap();
    let proxy = admin.obtain_push_consumer().unwrap().unwrap();
    proxy.connect_push_supplier(None).unwrap();
    for number in numbers {
        proxy.push(&Any::new(number)).unwrap();
    }
    proxy.disconnect_push_consumer().unwrap();
}

/// Connects a supplier of these numbers, from which the channel pulls.
fn offer(orb: &Orb, at: &EventChannelRef, numbers: std::ops::Range<i32>) {
    let supplier = orb.root_poa().activate(Source(Mutex::new(numbers)));
    let supplier: PullSupplierRef = supplier.unwrap();
    let admin = at.for_suppliers().unwrap().unwrap();
    let proxy = admin.obtain_pull_consumer().unwrap().unwrap();
    proxy.connect_pull_supplier(Some(&supplier)).unwrap();
}

/// Connects a consumer that pulls.
fn puller(at: &EventChannelRef) -> PullSupplierRef {
    let admin = at.for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_pull_supplier().unwrap().unwrap();
    proxy.connect_pull_consumer(None).unwrap();
    proxy.into()
}

fn assert_pulls(from: &PullSupplierRef, numbers: std::ops::Range<i32>) {
    let began = Instant::now();
    for number in numbers {
        let event = loop {
            match from.try_pull().unwrap() {
                (event, true) => break event,
                _ => assert!(began.elapsed() < PATIENCE, "no event {number}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(event.get::<i32>(), Ok(Some(number)));
    }
}

/// Connects two channels, so that the second pulls from the first.
fn link(from: &EventChannelRef, to: &EventChannelRef) {
    let there = from.for_consumers().unwrap().unwrap();
    let there = there.obtain_pull_supplier().unwrap().unwrap();
    let here = to.for_suppliers().unwrap().unwrap();
    let here = here.obtain_pull_consumer().unwrap().unwrap();
    let consumer: PullConsumerRef = here.clone().into();
    there.connect_pull_consumer(Some(&consumer)).unwrap();
    let supplier: PullSupplierRef = there.into();
    here.connect_pull_supplier(Some(&supplier)).unwrap();
}

fn federate(from: &str, to: &str) {
    let done = Command::new("eventf").args([from, to]).output().expect("eventf");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn assert_hears(heard: &Receiver<i32>, numbers: std::ops::Range<i32>) {
    for number in numbers {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(number));
    }
}

#[test]
#[ignore = "needs omniEvents: `.ci/full peers` runs it"]
fn channels_of_both_feed_each_other() {
    let theirs_process = OmniEvents::start();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let service = NotifyService::start(&orb).unwrap();
    let ours = EventChannelRef::from(service.event_channel().unwrap());
    let theirs: EventChannelRef = orb.resolve(&theirs_process.url).unwrap();

    // Connect OxORB's supplier and consumer to omniEvents' channel.
    let heard_there = listen(&orb, &theirs);
    push(&theirs, 0..100);
    assert_hears(&heard_there, 0..100);

    // Connect omniEvents' channel as a consumer of OxORB's channel.
    federate(&ours.to_ior(), &theirs_process.url);
    push(&ours, 100..200);
    assert_hears(&heard_there, 100..200);

    // Connect omniEvents' channel as a supplier of another channel of OxORB.
    let second = service.channel_named("Second", &[], &[]).unwrap();
    let second = EventChannelRef::from(second);
    let heard_here = listen(&orb, &second);
    federate(&theirs_process.url, &second.to_ior());
    push(&ours, 200..300);
    assert_hears(&heard_there, 200..300);
    assert_hears(&heard_here, 200..300);
    let counts = service.counts();
    assert!(counts.is_balanced() && counts.dropped_in_all() == 0, "{counts:?}");
    orb.shutdown(true).unwrap();
}

#[test]
#[ignore = "needs omniEvents: `.ci/full peers` runs it"]
fn each_pulls_from_the_other() {
    let theirs_process = OmniEvents::start();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let service = NotifyService::start(&orb).unwrap();
    let ours = EventChannelRef::from(service.event_channel().unwrap());
    let theirs: EventChannelRef = orb.resolve(&theirs_process.url).unwrap();

    // OxORB's consumer pulls from omniEvents' channel, which pulls from OxORB's supplier.
    let pulls_there = puller(&theirs);
    offer(&orb, &theirs, 0..4);
    assert_pulls(&pulls_there, 0..4);

    // In addition, OxORB's channel pulls from omniEvents' channel.
    let pulls_here = puller(&ours);
    link(&theirs, &ours);
    push(&theirs, 4..8);
    assert_pulls(&pulls_there, 4..8);
    assert_pulls(&pulls_here, 4..8);

    // In addition, omniEvents' channel pulls from another channel of OxORB.
    let second = service.channel_named("Second", &[], &[]).unwrap();
    let second = EventChannelRef::from(second);
    link(&second, &theirs);
    push(&second, 8..12);
    assert_pulls(&pulls_there, 8..12);
    assert_pulls(&pulls_here, 8..12);
    orb.shutdown(true).unwrap();
}
