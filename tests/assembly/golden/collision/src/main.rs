//! Process "main" on node "cockpit" of the plan "avionics display with collision warning", by `oxorb deploy static`.
//!
//! Change the plan and write it again: changes in this file are lost.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::process::ExitCode;
use std::sync::Arc;

use oxorb::components::{Component, Container, Events, LifeCycleError, Navigation, Phase, Receptacles};
use oxorb::poa::RtPolicies;
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};

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

    let pool = Threadpool::with_lanes([
        lane(10, 2, 0)?,
        lane(20, 2, 0)?,
    ]);
    let pool_0 = orb.create_threadpool(pool);
    let pool_0 = pool_0.map_err(failed("make threadpool", "lanes"))?;

    let container = Container::builder(orb.root_poa(), "policies navigation");
    let container = container.realtime(RtPolicies {
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority: 10,
        }),
        threadpool: Some(pool_0),
        ..RtPolicies::default()
    });
    let container = container.explicit_activation(true).create();
    let container_0 = container.map_err(failed("make container", "policies navigation"))?;

    let container = Container::builder(orb.root_poa(), "policies collision");
    let container = container.realtime(RtPolicies {
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority: 20,
        }),
        threadpool: Some(pool_0),
        ..RtPolicies::default()
    });
    let container = container.explicit_activation(true).create();
    let container_1 = container.map_err(failed("make container", "policies collision"))?;

    let executor = avionics::create_avionics_rate_generator_impl();
    let instance: avionics::avionics::RateGeneratorRef = container_0
        .install("rate", executor)
        .map_err(failed("install instance", "rate"))?;
    let is_set = instance.set_hertz(20_u32);
    is_set.map_err(failed("set attribute", "rate.hertz"))?;
    let component_0 = installed(&container_0, "rate")?;

    let executor = avionics::create_gps();
    let _: avionics::avionics::SensorRef = container_0
        .install("gps", executor)
        .map_err(failed("install instance", "gps"))?;
    let component_1 = installed(&container_0, "gps")?;

    let executor = avionics::create_avionics_display_impl();
    let instance: avionics::avionics::DisplayRef = container_0
        .install("navigation", executor)
        .map_err(failed("install instance", "navigation"))?;
    let is_set = instance.set_title("navigation");
    is_set.map_err(failed("set attribute", "navigation.title"))?;
    let component_2 = installed(&container_0, "navigation")?;

    let executor = avionics::create_avionics_rate_generator_impl();
    let instance: avionics::avionics::RateGeneratorRef = container_1
        .install("slow rate", executor)
        .map_err(failed("install instance", "slow rate"))?;
    let is_set = instance.set_hertz(5_u32);
    is_set.map_err(failed("set attribute", "slow rate.hertz"))?;
    let component_3 = installed(&container_1, "slow rate")?;

    let executor = collision::create_collision_radar();
    let _: collision::avionics::SensorRef = container_1
        .install("radar", executor)
        .map_err(failed("install instance", "radar"))?;
    let component_4 = installed(&container_1, "radar")?;

    let executor = collision::create_warning_display();
    let instance: collision::avionics::DisplayRef = container_1
        .install("warning", executor)
        .map_err(failed("install instance", "warning"))?;
    let is_set = instance.set_title("warning");
    is_set.map_err(failed("set attribute", "warning.title"))?;
    let component_5 = installed(&container_1, "warning")?;

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

    let object = Events::get_consumer(&*component_4, "refresh")
        .map_err(failed("connect, asking for the sink,", "slow pulse"))?;
    Events::subscribe(&*component_3, "pulse", object.as_ref())
        .map_err(failed("connect", "slow pulse"))?;

    let object = Events::get_consumer(&*component_5, "update")
        .map_err(failed("connect, asking for the sink,", "obstacle ready"))?;
    Events::subscribe(&*component_4, "ready", object.as_ref())
        .map_err(failed("connect", "obstacle ready"))?;

    let object = Navigation::provide_facet(&*component_4, "location")
        .map_err(failed("connect, asking for the facet,", "obstacle"))?;
    Receptacles::connect(&*component_5, "source", object.as_ref())
        .map_err(failed("connect", "obstacle"))?;

    let done = component_2.configuration_complete();
    done.map_err(failed("configure instance", "navigation"))?;
    let done = component_1.configuration_complete();
    done.map_err(failed("configure instance", "gps"))?;
    let done = component_0.configuration_complete();
    done.map_err(failed("configure instance", "rate"))?;
    let done = component_5.configuration_complete();
    done.map_err(failed("configure instance", "warning"))?;
    let done = component_4.configuration_complete();
    done.map_err(failed("configure instance", "radar"))?;
    let done = component_3.configuration_complete();
    done.map_err(failed("configure instance", "slow rate"))?;

    activate_at(&orb, 10, &component_2, "navigation")?;
    activate_at(&orb, 10, &component_1, "gps")?;
    activate_at(&orb, 10, &component_0, "rate")?;
    activate_at(&orb, 20, &component_5, "warning")?;
    activate_at(&orb, 20, &component_4, "radar")?;
    activate_at(&orb, 20, &component_3, "slow rate")?;

    orb.run();
    // Sources of events end before those who take them.
    let mut ended = Ok(());
    ended = ended.and(remove(&component_3, "slow rate"));
    ended = ended.and(remove(&component_4, "radar"));
    ended = ended.and(remove(&component_5, "warning"));
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

/// Activates an instance at the priority of its container, which threads that its executor starts inherit.
fn activate_at(
    orb: &oxorb::Orb,
    priority: i16,
    component: &Component,
    at: &'static str,
) -> Result<(), String> {
    let priority = Priority::new(priority).map_err(failed("activate, at its priority,", at))?;
    let raised = orb.raise_thread(priority);
    let _raised = raised.map_err(failed("activate, at its priority,", at))?;
    component.activate().map_err(failed("activate instance", at))
}

/// Removes an instance, unless a client has.
fn remove(component: &Component, at: &'static str) -> Result<(), String> {
    match component.remove() {
        Err(LifeCycleError::Order { from: Phase::Removed, .. }) => Ok(()),
        removed => removed.map_err(failed("remove instance", at)),
    }
}

/// Returns a lane of a threadpool.
fn lane(priority: i16, threads: usize, dynamic: usize) -> Result<ThreadpoolLane, String> {
    let priority = Priority::new(priority).map_err(failed("lane", "priority"))?;
    Ok(ThreadpoolLane::new(priority, threads).dynamic_threads(dynamic))
}
