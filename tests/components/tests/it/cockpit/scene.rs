//! A server with a container, and a client of another ORB.

use std::sync::{Arc, OnceLock};

use oxorb::components::{Container, ContainerBuilder};
use oxorb::{Interface, Orb};
use oxorb_component_tests::avionics::{DisplayRef, GpsRef, RateGenRef, rate_gen};

use crate::cockpit::executors::{Display, Gps, Log, RateGen};

pub(crate) struct Scene {
    pub(crate) container: Container,
    pub(crate) server: Orb,
    pub(crate) client: Orb,
}

/// Unconnected cockpit as its client sees it.
pub(crate) struct Cockpit {
    pub(crate) rate: RateGenRef,
    pub(crate) gps: GpsRef,
    pub(crate) display: DisplayRef,
    pub(crate) pulse: Arc<OnceLock<rate_gen::Context>>,
    pub(crate) gps_log: Log,
    pub(crate) display_log: Log,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene::with(|container| container)
    }

    pub(crate) fn with(change: impl FnOnce(ContainerBuilder) -> ContainerBuilder) -> Scene {
        let orb = || Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let (server, client) = (orb(), orb());
        let container = Container::builder(server.root_poa(), "cockpit");
        let container = change(container).create().unwrap();
        Scene { container, server, client }
    }

    /// Returns the same object for the client.
    pub(crate) fn seen<R: Interface>(&self, reference: &R) -> R {
        let object: oxorb::ObjectRef = self.client.resolve(&reference.to_ior()).unwrap();
        object.unchecked_narrow()
    }

    pub(crate) fn cockpit(&self) -> Cockpit {
        let (rate, gps, display) = (RateGen::default(), Gps::at(48.5), Display::default());
        let (pulse, gps_log) = (rate.context.clone(), gps.log.clone());
        let display_log = display.log.clone();
        let rate: RateGenRef = self.container.install("rate", rate).unwrap();
        let gps: GpsRef = self.container.install("gps", gps).unwrap();
        let display: DisplayRef = self.container.install("display", display).unwrap();
        Cockpit {
            rate: self.seen(&rate),
            gps: self.seen(&gps),
            display: self.seen(&display),
            pulse,
            gps_log,
            display_log,
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for orb in [&self.client, &self.server] {
            orb.shutdown(true).unwrap();
        }
    }
}
