//! Events that the event channel of the process carries, as requested in the real-time resources.

use std::any::Any as Anything;
use std::sync::{Arc, Mutex};

use oxorb::components::{CarriedSource, Deliver, EventCarrier};
use oxorb::deployment::References;
use oxorb::{Any, SystemException};

use crate::locality::scene::{COCKPIT, Scene, resources};

/// A channel that keeps events until the test makes it deliver them.
#[derive(Clone, Default)]
struct Channel(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    opened: Vec<String>,
    events: Vec<Any>,
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
    ) -> Result<Box<dyn Anything + Send + Sync>, SystemException> {
        self.0.lock().unwrap().consumers.push(Arc::new(deliver));
        Ok(Box::new(()))
    }
}

const CARRIED: &str =
    "document = \"ServerResources\"\n[[instance]]\nname = \"rate\"\nevents = \"channel\"\n";

#[test]
fn a_source_hands_its_events_to_the_channel_of_the_process() {
    let channel = Channel::default();
    let opened = channel.clone();
    let scene = Scene::with_events(move || Ok::<_, String>(Arc::new(opened.clone()) as _));
    scene.prepare(COCKPIT, Some(resources(CARRIED))).unwrap();
    scene.locality.install().unwrap();
    scene.locality.finish(&References::new(), true).unwrap();
    // Only the rate generator uses the channel, because the resources request it only for this instance.
    assert_eq!(channel.0.lock().unwrap().opened, ["rate.pulse"]);
    scene.parts.log.take();
    assert_eq!(scene.push(1).delivered, 1);
    assert_eq!(scene.parts.log.take(), [""; 0], "nobody waits for it");
    channel.deliver();
    assert_eq!(scene.parts.log.take(), ["update 1 48.5"]);
}

#[test]
fn a_channel_that_is_not_there_is_refused_with_the_place() {
    let refused = Scene::refusal(COCKPIT, Some(resources(CARRIED)));
    assert_eq!(
        refused,
        "2:1: error: the events of instance \"rate\" pass through a channel, but this executable has none; add one \
         with Implementations::events_by, or remove events = \"channel\""
    );
    let scene = Scene::with_events(|| Err("no memory"));
    scene.prepare(COCKPIT, Some(resources(CARRIED))).unwrap();
    let refused = scene.locality.install().unwrap_err().to_string();
    assert!(
        refused.ends_with("the event channel of this executable was not opened: no memory"),
        "{refused}"
    );
    assert!(scene.locality.status().instances.is_empty());
}
