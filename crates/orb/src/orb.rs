//! The ORB as applications use it: core and root POA together.

use std::ops::Deref;
use std::sync::Arc;

use oxorb_core::interceptor::Interceptors;
use oxorb_core::{
    Admission, Interface, Measurements, Options, Servant, SetupError, Threadpool, ThreadpoolId,
};
use oxorb_poa::{AdapterObserver, Poa, RootAdapter};

use crate::Builder;

/// ORB with its root POA. Cheap to clone; a process may have several.
///
/// Dereferences to [`CoreOrb`](crate::servant::CoreOrb), the ORB without POAs. These methods of it are used most:
///
/// | To | call |
/// |---|---|
/// | get an object from an IOR or a URL | [`resolve`](oxorb_core::Orb::resolve) |
/// | wait until the ORB is shut down | [`run`](oxorb_core::Orb::run) |
/// | shut the ORB down | [`shutdown`](oxorb_core::Orb::shutdown) |
/// | create lanes | [`create_threadpool`](oxorb_core::Orb::create_threadpool) |
/// | set client policies for all calls | [`policies`](oxorb_core::Orb::policies) |
#[derive(Clone, Debug)]
pub struct Orb {
    core: oxorb_core::Orb,
    root_poa: Poa,
    threadpools: Arc<[(String, ThreadpoolId)]>,
    args: Vec<String>,
}

impl Orb {
    /// Returns a builder with the default settings, overridden by the `OXORB_...` environment
    /// variables.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn start(
        options: Options,
        listens: bool,
        interceptors: Interceptors,
        observers: Vec<Arc<dyn AdapterObserver>>,
        threadpools: Vec<(String, Threadpool)>,
        args: Vec<String>,
    ) -> Result<Orb, SetupError> {
        let core = oxorb_core::Orb::with_interceptors(options, interceptors);
        let root_poa =
            RootAdapter::install_observed(&core, observers).map_err(SetupError::Interceptor)?;
        if listens {
            core.listen()?;
        }
        let create = |(name, plan)| match core.create_threadpool(plan) {
            Ok(id) => Ok((name, id)),
            Err(error) => Err(SetupError::Threadpool(name, Box::new(error))),
        };
        let threadpools = threadpools.into_iter().map(create).collect();
        let threadpools = match threadpools {
            Ok(created) => created,
            Err(error) => {
                // The shutdown ends the threads of the threadpools that were created before the
                // failure.
                let _ = core.shutdown(true);
                return Err(error);
            }
        };
        if let Err(error) = core.preconnect() {
            let _ = core.shutdown(true);
            return Err(SetupError::Preconnect(Box::new(error)));
        }
        let scheduler = core.options().realtime.scheduler.as_ref();
        if scheduler.is_some_and(|scheduler| scheduler.measure) {
            serve(&root_poa, Measurements::NAME, Arc::new(Measurements))?;
        }
        if core.options().realtime.admission.is_some() {
            serve(&root_poa, Admission::NAME, Arc::new(Admission))?;
        }
        if let Err(error) = core.serve_metrics() {
            let _ = core.shutdown(true);
            return Err(error);
        }
        Ok(Orb { core, root_poa, threadpools, args })
    }

    /// Returns the root POA, which exists from the start. Its objects are transient, with ids
    /// assigned by the system, and its POA manager is active.
    pub fn root_poa(&self) -> &Poa {
        &self.root_poa
    }

    /// Returns the threadpool that the configuration describes under this name.
    pub fn threadpool_named(&self, name: &str) -> Option<ThreadpoolId> {
        let found = self.threadpools.iter().find(|(known, _)| known == name);
        found.map(|&(_, id)| id)
    }

    /// Reads the file of access rules (`-ORBAccessRules`, [`Builder::access_rules_file`]) again. The rules apply as
    /// described for [`replace_access_rules`](oxorb_core::Orb::replace_access_rules), which sets rules without a file.
    /// Waits for a reload that another thread has begun. Requires the feature `files`, which is on by default.
    ///
    /// # Errors
    /// No setting names such a file, or the file cannot be used; the error has the place of the mistake. The previous
    /// rules stay in use then. The result is logged in either case.
    #[cfg(feature = "files")]
    pub fn reload_access_rules(&self) -> Result<(), crate::config::ConfigError> {
        crate::config::reload_access_rules(self)
    }

    /// Returns the command line without the arguments that [`Builder::args`] removed.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Binds an object of this ORB to `corbaloc::host:port/name`, and registers it as an initial
    /// reference.
    pub fn bind(&self, name: &str, object: &impl Interface) {
        self.root_poa.bind_name(name, object);
        self.core.register_initial_reference(name, object.reference());
    }

    /// Removes a name bound by [`bind`](Self::bind), as key and as initial reference; returns
    /// whether it was bound. The object's other references stay valid.
    pub fn unbind(&self, name: &str) -> bool {
        self.core.forget_initial_reference(name);
        self.root_poa.unbind_name(name)
    }
}

/// Binds an object of the ORB itself to `corbaloc::host:port/name`, where `oxorb sched` finds it when the ORB listens.
/// The ORB does not begin to listen.
fn serve(root: &Poa, name: &str, servant: Arc<dyn Servant>) -> Result<(), SetupError> {
    let active = root.activate_named(name, servant);
    active.map_err(|error| SetupError::Configuration(Box::new(error)))
}

impl Deref for Orb {
    type Target = oxorb_core::Orb;

    fn deref(&self) -> &oxorb_core::Orb {
        &self.core
    }
}
