//! Process "main" on node "cockpit" of the plan "avionics display", by `oxorb deploy static`.
//!
//! Change the plan and write it again: changes in this file are lost.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::process::ExitCode;
use std::sync::Arc;

use oxorb::components::{Component, Container, EventLanes, Events, LifeCycleError, Navigation, Phase, Receptacles};

/// Runs until a signal ends the process.
pub fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), String> {
    let arguments = std::env::args();
    let orb = oxorb::Orb::builder().args(arguments).build();
    let orb = orb.map_err(failed("start", "the ORB"))?;
    let ends = orb.shutdown_on_signal();
    ends.map_err(failed("wait for", "signals"))?;

    let channel = Arc::new(EventLanes::new(&orb));

    let container = Container::builder(orb.root_poa(), "channel, ordinary");
    let container = container.events_by(channel.clone());
    let container = container.explicit_activation(true).create();
    let container_0 = container.map_err(failed("make container", "channel, ordinary"))?;

    let container = Container::builder(orb.root_poa(), "ordinary");
    let container = container.explicit_activation(true).create();
    let container_1 = container.map_err(failed("make container", "ordinary"))?;

    let executor = avionics::create_avionics_rate_generator_impl();
    let instance: avionics::avionics::RateGeneratorRef = container_0
        .install("rate", executor)
        .map_err(failed("install instance", "rate"))?;
    let is_set = instance.set_hertz(20_u32);
    is_set.map_err(failed("set attribute", "rate.hertz"))?;
    let component_0 = installed(&container_0, "rate")?;

    let executor = avionics::create_gps();
    let _: avionics::avionics::SensorRef = container_1
        .install("gps", executor)
        .map_err(failed("install instance", "gps"))?;
    let component_1 = installed(&container_1, "gps")?;

    let executor = avionics::create_avionics_display_impl();
    let instance: avionics::avionics::DisplayRef = container_1
        .install("navigation", executor)
        .map_err(failed("install instance", "navigation"))?;
    let is_set = instance.set_title("navigation");
    is_set.map_err(failed("set attribute", "navigation.title"))?;
    let component_2 = installed(&container_1, "navigation")?;

    let object = Events::get_consumer(&*component_1, "refresh")
        .map_err(failed("connect, asking for the sink,", "pulse"))?;
    Events::subscribe(&*component_0, "pulse", object.as_ref())
        .map_err(failed("connect", "pulse"))?;

    let object = Events::get_consumer(&*component_2, "update")
        .map_err(failed("connect, asking for the sink,", "position ready"))?;
    Events::subscribe(&*component_1, "ready", object.as_ref())
        .map_err(failed("connect", "position ready"))?;

    let object = Navigation::provide_facet(&*component_1, "location")
        .map_err(failed("connect, asking for the facet,", "position"))?;
    Receptacles::connect(&*component_2, "source", object.as_ref())
        .map_err(failed("connect", "position"))?;

    let done = component_2.configuration_complete();
    done.map_err(failed("configure instance", "navigation"))?;
    let done = component_1.configuration_complete();
    done.map_err(failed("configure instance", "gps"))?;
    let done = component_0.configuration_complete();
    done.map_err(failed("configure instance", "rate"))?;

    let done = component_2.activate();
    done.map_err(failed("activate instance", "navigation"))?;
    let done = component_1.activate();
    done.map_err(failed("activate instance", "gps"))?;
    let done = component_0.activate();
    done.map_err(failed("activate instance", "rate"))?;

    orb.run();
    // Sources of events end before those who take them.
    let mut ended = Ok(());
    ended = ended.and(remove(&component_0, "rate"));
    ended = ended.and(remove(&component_1, "gps"));
    ended = ended.and(remove(&component_2, "navigation"));
    ended
}

/// Says what failed, and at what.
fn failed<E: Display>(what: &'static str, at: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what} {at:?}: {error}")
}

/// Returns an instance by its name.
fn installed(container: &Container, name: &'static str) -> Result<Arc<Component>, String> {
    let found = container.component(name);
    found.ok_or_else(|| format!("instance {name:?} no longer exists"))
}

/// Removes an instance, unless a client has.
fn remove(component: &Component, at: &'static str) -> Result<(), String> {
    match component.remove() {
        Err(LifeCycleError::Order { from: Phase::Removed, .. }) => Ok(()),
        removed => removed.map_err(failed("remove instance", at)),
    }
}
