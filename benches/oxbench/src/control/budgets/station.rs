//! The server of the experiments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxorb::settings::Concurrency;
use oxorb::{Interface as _, Orb, SystemException};
use oxorb_sys::clock::thread_cpu_nanoseconds;

use super::idl::{Station, StationRef};
use crate::Result;

/// Processor time of an urgent call, in nanoseconds.
pub(super) const URGENT: u64 = 20_000;

/// Servant of the experiments, which runs until the end is signalled.
#[derive(Clone, Default)]
pub(super) struct Desk {
    pub(super) over: Arc<AtomicBool>,
}

impl Station for Desk {
    fn urgent(&self) -> Result<(), SystemException> {
        burn(URGENT);
        Ok(())
    }

    fn flood(&self, micros: u32) -> Result<(), SystemException> {
        burn(u64::from(micros) * 1_000);
        Ok(())
    }

    fn spin(&self) -> Result<(), SystemException> {
        while !self.over.load(Ordering::Relaxed) {
            burn(100_000);
        }
        Ok(())
    }

    fn serve(&self, micros: u32) -> Result<(), SystemException> {
        burn(u64::from(micros) * 1_000);
        Ok(())
    }
}

/// Uses `time` nanoseconds of processor time.
pub(super) fn burn(time: u64) {
    let until = thread_cpu_nanoseconds() + time;
    while thread_cpu_nanoseconds() < until {
        std::hint::spin_loop();
    }
}

/// Server with some stations, and a client for each.
pub(super) struct Server {
    pub(super) orb: Orb,
    pub(super) desk: Desk,
}

impl Server {
    /// Starts a server. `settings`: names after `-ORB`, and values.
    pub(super) fn start(settings: &[(&str, &str)]) -> Result<Server> {
        let builder = Orb::builder()
            .setting("ListenEndpoints", "iiop://127.0.0.1:0")
            .setting("LogLevel", "error")
            .concurrency(Concurrency::ThreadPerConnection);
        let builder =
            settings.iter().fold(builder, |builder, (name, value)| builder.setting(name, value));
        Ok(Server { orb: builder.build()?, desk: Desk::default() })
    }

    /// Creates a station, and a client's reference to it.
    pub(super) fn station(&self) -> Result<(StationRef, Orb, StationRef)> {
        let local: StationRef = self.orb.root_poa().activate(self.desk.clone())?;
        let client = Orb::builder().round_trip_timeout(Duration::from_secs(60)).build()?;
        let object = client.string_to_object(&local.to_ior())?;
        Ok((local, client, StationRef::from_ref(object.reference().clone())))
    }
}
