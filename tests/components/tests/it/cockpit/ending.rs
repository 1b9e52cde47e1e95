//! Calls of executors that fail, and removals at inconvenient times: each executor is removed once, and nothing leaks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use oxorb::components::{
    CcmException, CcmExceptionReason, Container, InstallError, InvalidConfiguration,
    LifeCycleError, Phase,
};
use oxorb::{Interface, Orb};
use oxorb_component_tests::avionics::{self, GpsHomeRef, LeftRef, left};

use crate::cockpit::executors::{Gps, Log, Receivers};
use crate::cockpit::scene::Scene;

const PATIENCE: Duration = Duration::from_secs(30);

type Hook = Box<dyn Fn(&str) -> Result<(), CcmException> + Send + Sync>;

/// Executor that calls a hook in each method of its life cycle.
struct Hooked {
    log: Log,
    hook: Hook,
    /// Held while the executor exists.
    _life: Arc<()>,
    /// Context that leads back to the component, and that executors usually keep.
    context: OnceLock<left::Context>,
}

/// [`Hooked`] with its records.
struct Watched {
    log: Log,
    life: Arc<()>,
}

fn hooked(
    hook: impl Fn(&str) -> Result<(), CcmException> + Send + Sync + 'static,
) -> (Hooked, Watched) {
    let (log, life) = (Log::default(), Arc::new(()));
    let executor = Hooked {
        log: log.clone(),
        hook: Box::new(hook),
        _life: life.clone(),
        context: OnceLock::new(),
    };
    (executor, Watched { log, life })
}

impl Hooked {
    fn call(&self, method: &str) -> Result<(), CcmException> {
        self.log.note(method);
        (self.hook)(method)
    }
}

impl avionics::LeftExecutor for Hooked {
    fn link_speed(&self) -> oxorb::Result<u32> {
        Ok(1)
    }

    fn set_link_speed(&self, _: u32) -> oxorb::Result<()> {
        Ok(())
    }

    fn link_outward(self: &Arc<Self>, context: &left::Context) -> Arc<dyn avionics::Position> {
        let _ = self.context.set(context.clone());
        let _ = self.call("facet");
        Arc::new(Gps::at(1.0))
    }

    fn set_session_context(&self, _: &left::Installed) -> Result<(), CcmException> {
        self.call("set_session_context")
    }

    fn configuration_complete(&self, _: &left::Configured) -> Result<(), InvalidConfiguration> {
        self.call("configuration_complete").map_err(|_| InvalidConfiguration {})
    }

    fn activate(&self, _: &left::Context) -> Result<(), CcmException> {
        self.call("activate")
    }

    fn passivate(&self, _: &left::Context) -> Result<(), CcmException> {
        self.call("passivate")
    }

    fn remove(&self, _: &left::Installed) -> Result<(), CcmException> {
        self.call("remove")
    }
}

impl Watched {
    /// Asserts the calls of the executor, and that it is dropped.
    #[track_caller]
    fn ended_after(&self, calls: &[&str]) {
        assert_eq!(self.log.lines(), calls);
        let begun = Instant::now();
        // A request on another thread may hold the servant slightly longer.
        while Arc::strong_count(&self.life) > 1 {
            assert!(begun.elapsed() < PATIENCE, "the executor leaks");
            std::thread::yield_now();
        }
    }
}

/// Returns a container with its own ORB, which exists as long as both.
fn container() -> (Orb, Container) {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let container = Container::builder(orb.root_poa(), "cockpit").create();
    (orb, container.unwrap())
}

#[test]
fn an_activation_that_failed_is_tried_again() {
    let scene = Scene::new();
    let fails = Mutex::new(true);
    let (executor, watched) = hooked(move |method| match method {
        "activate" if std::mem::take(&mut *fails.lock().unwrap()) => {
            Err(CcmException { reason: CcmExceptionReason::SystemError })
        }
        _ => Ok(()),
    });
    let left: LeftRef = scene.container.install("left", executor).unwrap();
    let (left, component) = (scene.seen(&left), scene.container.component("left").unwrap());
    let failed = left.configuration_complete().unwrap_err().to_string();
    assert!(failed.contains("InvalidConfiguration"), "{failed}");
    assert_eq!(component.phase(), Phase::Configured);
    left.configuration_complete().unwrap();
    assert_eq!(component.phase(), Phase::Active);
    let begun = ["set_session_context", "facet", "configuration_complete"];
    let calls = [&begun[..], &["activate", "activate"]].concat();
    assert_eq!(watched.log.lines(), calls);
    let twice = left.configuration_complete().unwrap_err().to_string();
    assert!(twice.contains("BAD_INV_ORDER"), "{twice}");
}

/// Ends a container while a component of it is being activated.
fn end_while_activating(end: impl FnOnce(Container)) {
    let (orb, container) = container();
    let ((entered, inside), (let_go, go_on)) = (channel(), channel::<()>());
    let (entered, go_on) = (Mutex::new(entered), Mutex::new(go_on));
    let (executor, watched) = hooked(move |method| {
        if method == "activate" {
            entered.lock().unwrap().send(()).unwrap();
            go_on.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
        Ok(())
    });
    let _: LeftRef = container.install("left", executor).unwrap();
    let component = container.component("left").unwrap();
    component.configuration_complete().unwrap();
    std::thread::scope(|threads| {
        let activating = threads.spawn(|| component.activate());
        inside.recv_timeout(PATIENCE).unwrap();
        assert_eq!(component.remove(), Err(LifeCycleError::Busy));
        end(container);
        assert_eq!(watched.log.lines().last().unwrap(), "activate");
        let_go.send(()).unwrap();
        assert_eq!(activating.join().unwrap(), Ok(()));
    });
    assert_eq!(component.phase(), Phase::Removed);
    drop(component);
    watched.ended_after(&[
        "set_session_context",
        "facet",
        "configuration_complete",
        "activate",
        "passivate",
        "remove",
    ]);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_component_that_is_busy_when_its_container_is_destroyed() {
    end_while_activating(|container| container.destroy());
}

#[test]
fn a_component_that_is_busy_when_its_container_is_dropped() {
    end_while_activating(drop);
}

#[test]
fn an_executor_that_destroys_its_container() {
    let (orb, container) = container();
    let own = Mutex::new(Some(container.clone()));
    let (executor, watched) = hooked(move |method| {
        if method == "configuration_complete" {
            own.lock().unwrap().take().unwrap().destroy();
        }
        Ok(())
    });
    let _: LeftRef = container.install("left", executor).unwrap();
    let component = container.component("left").unwrap();
    component.configuration_complete().unwrap();
    assert_eq!(component.phase(), Phase::Removed);
    assert!(container.components().is_empty());
    drop(component);
    // Configured, and never active: it need not be passivated.
    watched.ended_after(&["set_session_context", "facet", "configuration_complete", "remove"]);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_container_that_is_destroyed_while_it_installs() {
    let (orb, container) = container();
    let own = Mutex::new(Some(container.clone()));
    let (executor, watched) = hooked(move |method| {
        if method == "set_session_context" {
            own.lock().unwrap().take().unwrap().destroy();
        }
        Ok(())
    });
    let refused = container.install::<LeftRef, _>("left", executor);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, InstallError::Closed), "{refused}");
    watched.ended_after(&["set_session_context", "remove"]);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_component_that_is_removed_before_its_facets_are_there() {
    let (orb, container) = container();
    let own = container.clone();
    let (executor, watched) = hooked(move |method| {
        if method == "facet" {
            let component = own.component("left").unwrap();
            let (done, removed) = channel();
            std::thread::spawn(move || done.send(component.remove()));
            assert_eq!(removed.recv_timeout(PATIENCE).unwrap(), Ok(()));
        }
        Ok(())
    });
    let refused = container.install::<LeftRef, _>("left", executor);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, InstallError::Closed), "{refused}");
    assert!(refused.to_string().contains("removed"), "{refused}");
    watched.ended_after(&["set_session_context", "facet", "remove"]);
    let (executor, _) = hooked(|_| Ok(()));
    let _: LeftRef = container.install("left", executor).unwrap();
    orb.shutdown(true).unwrap();
}

#[test]
fn a_facet_that_panics_takes_the_installation_back() {
    let (orb, container) = container();
    let (executor, watched) = hooked(|method| match method {
        "facet" => panic!("no facet today"),
        _ => Ok(()),
    });
    let install = || container.install::<LeftRef, _>("left", executor);
    assert!(catch_unwind(AssertUnwindSafe(install)).is_err());
    watched.ended_after(&["set_session_context", "facet", "remove"]);
    let (executor, _) = hooked(|_| Ok(()));
    container.install::<LeftRef, _>("left", executor).unwrap();
    orb.shutdown(true).unwrap();
}

#[test]
fn removal_happens_even_if_the_executor_panics() {
    let (orb, container) = container();
    let (executor, watched) = hooked(|method| match method {
        "passivate" => panic!("not now"),
        _ => Ok(()),
    });
    let left: LeftRef = container.install("left", executor).unwrap();
    left.configuration_complete().unwrap();
    let outward = left.provide_link_outward().unwrap().unwrap();
    let failed = container.component("left").unwrap().remove().unwrap_err();
    let LifeCycleError::Executor(failed) = failed else {
        panic!("{failed}");
    };
    assert_eq!(failed.reason, CcmExceptionReason::SystemError);
    assert!(container.components().is_empty());
    assert_eq!(outward.non_existent(), Ok(true));
    watched.ended_after(&[
        "set_session_context",
        "facet",
        "configuration_complete",
        "activate",
        "passivate",
        "remove",
    ]);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_home_that_is_removed_twice_takes_no_other_with_it() {
    let scene = Scene::new();
    let install = || {
        let home = Receivers::default();
        let home: GpsHomeRef = scene.container.install_home("GpsHome", home).unwrap();
        (home, scene.container.home("GpsHome").unwrap())
    };
    let (_, first) = install();
    first.remove();
    let (home, _) = install();
    first.remove();
    assert!(scene.container.home("GpsHome").is_some());
    home.create().unwrap();
}
