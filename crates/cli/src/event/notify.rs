//! Notification Service of `oxorb event serve`, and its store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oxorb::rt::ThreadPurpose;
use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_notification::Property;
use oxorb_notify::cos_notify_channel_admin::EventChannelRef;
use oxorb_notify::{NotifyService, Settings, Store};
use serde_json::{Value, json};

use crate::listening::urls;
use oxorb_terminal::output::{Done, Failed, Format, because, print_line};

/// File name of the store within its directory.
const FILE: &str = "notification.redb";

/// Time between two checks for failures of the store.
const LOOK: Duration = Duration::from_secs(1);

/// Running Notification Service with the channel named on the command line.
pub(super) struct Notify {
    pub(super) name: String,
    pub(super) channel: EventChannelRef,
    store: Option<PathBuf>,
    service: NotifyService,
}

impl Notify {
    /// Starts the service. With a directory for its store, restores the contents of the store and makes the channel
    /// persistent, unless the store contains the channel with other properties.
    pub(super) fn start(
        orb: &Orb,
        name: &str,
        store: Option<&Path>,
        settings: Settings,
    ) -> Result<Notify, Failed> {
        let (service, properties) = match store {
            None => (NotifyService::start_with(orb, settings), Vec::new()),
            Some(folder) => {
                std::fs::create_dir_all(folder)
                    .map_err(|error| because(format!("--store {}: {error}", folder.display())))?;
                let store = Store::open(folder.join(FILE)).map_err(because)?;
                let started = NotifyService::start_stored(orb, store, settings);
                (started, persistent())
            }
        };
        let service = service.map_err(because)?;
        Ok(Notify {
            name: name.to_owned(),
            channel: service.channel_named(name, &properties, &[])?,
            store: store.map(Path::to_owned),
            service,
        })
    }

    /// Returns the name of the channel, and the service.
    pub(super) fn service(&self) -> (String, NotifyService) {
        (self.name.clone(), self.service.clone())
    }

    /// Sets the function that logs events that were not delivered to their consumers.
    pub(super) fn log(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        self.service.log(log);
    }

    /// Reports failures of the store from a dedicated thread; clients only receive PERSIST_STORE.
    pub(super) fn watch(&self, orb: &Orb, format: Format) -> Done {
        if self.store.is_none() {
            return Ok(());
        }
        let service = self.service.clone();
        orb.start_thread(ThreadPurpose::Watcher, "oxorb-watch", move || {
            loop {
                std::thread::sleep(LOOK);
                if let Some(why) = service.take_failure() {
                    match format {
                        Format::Text => oxorb_terminal::output::error(&why),
                        Format::Json => {
                            let _ = print_line(&json!({"event": "failure", "why": why}));
                        }
                    }
                }
            }
        })?;
        Ok(())
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "corbaloc": urls(self.channel.reference(), &self.name),
            "ior": self.channel.to_ior(),
            "store": self.store,
        })
    }
}

impl fmt::Display for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls = urls(self.channel.reference(), &self.name).join(" ");
        write!(f, "serving the Notification Service at {urls}")?;
        match &self.store {
            Some(store) => writeln!(f, ", with the state stored in {}", store.display()),
            None => writeln!(f),
        }
    }
}

/// Returns properties of a channel that loses no accepted event.
fn persistent() -> Vec<Property> {
    let names = ["ConnectionReliability", "EventReliability"];
    let property = |name: &str| Property { name: name.to_owned(), value: Any::new(1_i16) };
    names.map(property).into()
}
