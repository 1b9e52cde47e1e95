//! Asking a server what it has measured: `idl/oxorb/measurements.idl`.

use std::time::Duration;

use oxorb::{Measurements as Served, Orb};

use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Failed, because};

use measurements::ox_orb as idl;

pub(super) use idl::{CallCount, OperationMeasurement, Times};

// The Rust that build.rs made of idl/oxorb/measurements.idl.
mod measurements {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("measurements");
}

/// Most time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server that measures.
pub(super) struct Server {
    object: idl::MeasurementsRef,
    url: String,
}

impl Server {
    /// `url`: `corbaloc::host:port`, with or without the object's name, or any other reference to it. Asks nobody yet.
    pub(super) fn new(url: &str) -> Result<Server, Failed> {
        let named = url.contains('/') || !url.starts_with("corbaloc:");
        let url = match named {
            true => url.to_owned(),
            false => format!("{url}/{}", Served::NAME),
        };
        let orb = with_args(Orb::builder().connect_timeout(PATIENCE).round_trip_timeout(PATIENCE))
            .build()?;
        let object =
            orb.string_to_object(&url).map_err(|error| because(format!("{url}: {error}")))?;
        Ok(Server {
            object: oxorb::Interface::from_ref(oxorb::Interface::reference(&object).clone()),
            url,
        })
    }

    pub(super) fn operations(&self) -> Result<Vec<OperationMeasurement>, Failed> {
        self.object.operations().map_err(|why| self.failed(why))
    }

    pub(super) fn calls(&self) -> Result<Vec<CallCount>, Failed> {
        self.object.calls().map_err(|why| self.failed(why))
    }

    pub(super) fn reset(&self) -> Result<(), Failed> {
        self.object.reset().map_err(|why| self.failed(why))
    }

    fn failed(&self, why: oxorb::SystemException) -> Failed {
        because(format!(
            "{} does not tell what it has measured: {why}\nthe server is to listen there and measure: measure = true in \
             [schedule] of its configuration file, or RunTimeScheduler::measure",
            self.url
        ))
    }
}
