//! Events that a channel carries, as requested in the real-time resources.

use std::any::Any as Anything;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::components::{CarriedSource, Deliver, EventCarrier};
use oxorb::deployment::References;
use oxorb::rt::Priority;
use oxorb::{Any, SystemException};
use oxorb_deploy::rtcad::ServerResources;

use crate::locality::policies::RESOURCES;
use crate::locality::scene::{COCKPIT, Scene, resources};

/// A carrier of an executable that keeps events until the test makes it deliver them.
#[derive(Clone, Default)]
struct Channel(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    opened: Vec<String>,
    events: Vec<Any>,
    priorities: Vec<Option<Priority>>,
    consumers: Vec<Arc<Deliver>>,
}

impl Channel {
    fn deliver(&self) {
        let (events, consumers) = {
            let mut kept = self.0.lock().unwrap();
            (std::mem::take(&mut kept.events), kept.consumers.clone())
        };
        for event in &events {
            consumers.iter().for_each(|deliver| deliver(event));
        }
    }
}

impl EventCarrier for Channel {
    fn open(&self, source: &str) -> Result<Box<dyn CarriedSource>, SystemException> {
        self.0.lock().unwrap().opened.push(source.to_owned());
        Ok(Box::new(self.clone()))
    }
}

impl CarriedSource for Channel {
    fn push(&self, event: Any) -> Result<(), SystemException> {
        self.0.lock().unwrap().events.push(event);
        Ok(())
    }

    fn connect(
        &self,
        deliver: Deliver,
        priority: Option<Priority>,
    ) -> Result<Box<dyn Anything + Send + Sync>, SystemException> {
        let mut kept = self.0.lock().unwrap();
        kept.consumers.push(Arc::new(deliver));
        kept.priorities.push(priority);
        Ok(Box::new(()))
    }
}

/// Returns the resources in which the rate generator has this kind of events.
fn carried(events: &str) -> Option<ServerResources> {
    Some(resources(&format!(
        "document = \"ServerResources\"\n[[instance]]\nname = \"rate\"\nevents = {events:?}\n"
    )))
}

#[test]
fn a_source_hands_its_events_to_the_carrier_of_the_executable() {
    let channel = Channel::default();
    let opened = channel.clone();
    let scene = Scene::with_events(move || Ok::<_, String>(Arc::new(opened.clone()) as _));
    scene.prepare(COCKPIT, carried("executable")).unwrap();
    scene.locality.install().unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
    // Only the rate generator uses the carrier, because the resources request it only for this instance.
    assert_eq!(channel.0.lock().unwrap().opened, ["rate.pulse"]);
    assert_eq!(channel.0.lock().unwrap().priorities, [None]);
    scene.parts.log.take();
    assert_eq!(scene.push(1).delivered, 1);
    assert_eq!(scene.parts.log.take(), [""; 0], "nobody waits for it");
    channel.deliver();
    assert_eq!(scene.parts.log.take(), ["update 1 48.5"]);
}

#[test]
fn a_carrier_gets_the_priority_of_a_consumer() {
    let channel = Channel::default();
    let opened = channel.clone();
    let scene = Scene::with_events(move || Ok::<_, String>(Arc::new(opened.clone()) as _));
    let text = format!("{RESOURCES}[[instance]]\nname = \"rate\"\nevents = \"executable\"\n");
    scene.prepare(COCKPIT, Some(resources(&text))).unwrap();
    scene.locality.install().unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
    assert_eq!(channel.0.lock().unwrap().priorities, [Some(Priority::new(200).unwrap())]);
}

#[test]
fn the_channel_of_a_process_pushes_at_the_priority_that_the_consumer_declares() {
    let propagated = RESOURCES.replace("SERVER_DECLARED", "CLIENT_PROPAGATED");
    let text = format!("{propagated}[[instance]]\nname = \"rate\"\nevents = \"channel\"\n");
    let scene = Scene::launch(COCKPIT, Some(resources(&text)));
    scene.parts.log.take();
    // No lane serves requests at the priority of this thread, so it could not push the event itself.
    assert_eq!(scene.push(1).delivered, 1);
    let (begun, mut lines) = (Instant::now(), Vec::new());
    while lines.len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(30), "{lines:?}");
        thread::sleep(Duration::from_millis(2));
        lines.extend(scene.parts.log.take());
    }
    assert_eq!(lines, ["served in lane 1 at Some(200)", "update 1 48.5"]);
}

#[test]
fn a_carrier_that_is_not_there_is_refused_with_the_place() {
    let refused = Scene::refusal(COCKPIT, carried("executable"));
    assert_eq!(
        refused,
        "2:1: error: a carrier of this executable shall carry the events of instance \"rate\", but it has none; add \
         one with Implementations::events_by, or use events = \"channel\""
    );
    let scene = Scene::with_events(|| Err("no memory"));
    scene.prepare(COCKPIT, carried("executable")).unwrap();
    let refused = scene.locality.install().unwrap_err().to_string();
    assert!(
        refused.ends_with("the event carrier of this executable was not opened: no memory"),
        "{refused}"
    );
    assert!(scene.locality.status().instances.is_empty());
}
