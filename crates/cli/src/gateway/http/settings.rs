//! Objects and event channels that the gateway offers: from options, and from a TOML file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::event_filter::Kind;
use crate::input;
use oxorb_terminal::output::{Failed, because};

/// Contents of the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// Objects by name.
    pub(super) objects: BTreeMap<String, Target>,
    /// References of channels of the Event Service or the Notification Service by name.
    pub(super) events: BTreeMap<String, String>,
    /// References of real-time event channels by name.
    pub(super) realtime_events: BTreeMap<String, String>,
}

/// Object that the gateway offers.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Target {
    /// Reference.
    Reference(String),
    /// Reference, and the interface if neither the reference nor the object names the right one.
    Typed(TypedTarget),
}

/// Reference of an object with its interface.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedTarget {
    reference: String,
    interface: Option<String>,
}

impl Target {
    /// Returns the reference as text.
    pub(super) fn reference(&self) -> &str {
        match self {
            Target::Reference(reference) => reference,
            Target::Typed(typed) => &typed.reference,
        }
    }

    /// Returns the scoped name or repository id of the interface, if it is given.
    pub(super) fn interface(&self) -> Option<&str> {
        match self {
            Target::Reference(_) => None,
            Target::Typed(typed) => typed.interface.as_deref(),
        }
    }
}

impl Settings {
    /// Returns the event channels, with their kinds, names and references.
    pub(super) fn channels(&self) -> impl Iterator<Item = (Kind, &String, &String)> {
        let untyped = self.events.iter().map(|(name, at)| (Kind::Untyped, name, at));
        let realtime = self.realtime_events.iter().map(|(name, at)| (Kind::Realtime, name, at));
        untyped.chain(realtime)
    }

    /// Reads a file, if there is one, and adds the options `NAME=REFERENCE`.
    pub(super) fn read(
        file: Option<&Path>,
        objects: &[String],
        events: &[String],
        realtime_events: &[String],
    ) -> Result<Settings, Failed> {
        let mut settings = match file {
            None => Settings::default(),
            Some(path) => {
                let text = input::file(path, "a configuration").map_err(because)?;
                toml::from_str(&text)
                    .map_err(|error| because(format!("{}: {error}", path.display())))?
            }
        };
        for option in objects {
            let (name, reference) = pair("--object", option)?;
            settings.objects.insert(name, Target::Reference(reference));
        }
        for option in events {
            let (name, reference) = pair("--events", option)?;
            settings.events.insert(name, reference);
        }
        for option in realtime_events {
            let (name, reference) = pair("--realtime-events", option)?;
            settings.realtime_events.insert(name, reference);
        }
        if let Some(name) =
            settings.events.keys().find(|name| settings.realtime_events.contains_key(*name))
        {
            return Err(because(format!("two event channels have the name {name}")));
        }
        let channels = settings.events.keys().chain(settings.realtime_events.keys());
        match settings.objects.keys().chain(channels).any(String::is_empty) {
            true => Err(because("a name is empty")),
            false => Ok(settings),
        }
    }
}

fn pair(option: &str, text: &str) -> Result<(String, String), Failed> {
    match text.split_once('=') {
        Some((name, reference)) => Ok((name.to_owned(), reference.to_owned())),
        None => Err(because(format!("{option} {text}: expected NAME=REFERENCE"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_channels_have_different_names() {
        let channel = |name: &str| vec![format!("{name}=corbaloc::a/A")];
        let read = |realtime: &str| Settings::read(None, &[], &channel("a"), &channel(realtime));
        assert!(read("b").is_ok() && read("a").is_err() && read("").is_err());
    }

    #[test]
    fn a_file_names_references_with_and_without_interfaces() {
        let text = "[objects]\nA = \"corbaloc::a/A\"\n\
                    [objects.B]\nreference = \"corbaloc::b/B\"\ninterface = \"bank::B\"\n\
                    [events]\nplant = \"corbaloc::c/C\"\n";
        let settings: Settings = toml::from_str(text).unwrap();
        assert_eq!(settings.objects["A"].reference(), "corbaloc::a/A");
        assert_eq!(settings.objects["B"].interface(), Some("bank::B"));
        assert_eq!(settings.events["plant"], "corbaloc::c/C");
        assert!(toml::from_str::<Settings>("[object]\nA = \"\"\n").is_err());
    }
}
