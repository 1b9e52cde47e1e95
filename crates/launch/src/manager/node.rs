//! The manager of a node, which starts and ends the processes of plans on this node.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_core::lock::{Condvar, Mutex};
use oxorb_core::{Interface as _, ObjectRef, ThreadPurpose};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::processes;
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_poa::{IdAssignment, Lifespan, ObjectId, Poa, PoaError, Policies};

use super::application::{Application, label};
use super::arrivals::Arrivals;
use super::node_event::{NodeEvent, Observer};
use super::process::Starter;
use super::property;
use super::settings::NodeSettings;
use super::target::NO_DOMAIN;
use super::trouble::Trouble;
use crate::idl::dance::LocalityManagerActivatorRef;
use crate::idl::deployment as d;
use crate::idl::deployment::application::{FinishLaunchError, StartError};
use crate::idl::deployment::application_manager::{DestroyApplicationError, StartLaunchError};
use crate::idl::deployment::node_manager::{DestroyManagerError, PreparePlanError};
use crate::idl::ox_deployment as ox;
use crate::idl::ox_deployment::node_application_manager::{RedeployError, RestartError};
use crate::wire;

/// Property of a plan that holds its lease: the time in milliseconds for which node managers keep the plan without a
/// renewal.
pub(super) const LEASE: &str = "OxORB.lease";

/// Suffix that is appended to the node's name in the key of its manager, as in DAnCE:
/// `corbaloc::HOST:PORT/NODE.NodeManager`.
pub const NODE_MANAGER: &str = ".NodeManager";

/// Manager of a node (`Deployment::NodeManager`): starts, watches and ends the processes of plans on this node.
///
/// Dropping it kills its processes. If this process ends in any other way, the kernel kills them.
pub struct NodeManager {
    inner: Arc<Inner>,
    reference: d::NodeManagerRef,
}

struct Inner {
    starter: Arc<Starter>,
    poa: Poa,
    observer: Observer,
    plans: Mutex<Plans>,
    /// Signal for the thread that watches leases.
    changed: Condvar,
}

#[derive(Default)]
struct Plans {
    by_reference: HashMap<ObjectId, Entry>,
    is_closed: bool,
}

#[derive(Clone)]
struct Entry {
    application: Arc<Application>,
    /// Object of the application; `None` before the launch.
    launched: Option<d::NodeApplicationRef>,
}

impl NodeManager {
    /// Serves a node manager under the key `NAME.NodeManager`, in POAs below `root`. Its references are persistent if
    /// the ORB listens on a fixed port.
    ///
    /// # Errors
    /// [`PoaError`] if the ORB already has a manager of this node, or was shut down.
    pub fn start(root: &Poa, name: &str, settings: NodeSettings) -> Result<NodeManager, PoaError> {
        NodeManager::start_observed(root, name, settings, |_| ())
    }

    /// Starts a manager like [`start`](Self::start), with a function that observes incidents.
    ///
    /// # Errors
    /// The errors of [`start`](Self::start).
    pub fn start_observed(
        root: &Poa,
        name: &str,
        settings: NodeSettings,
        observer: impl Fn(&NodeEvent) + Send + Sync + 'static,
    ) -> Result<NodeManager, PoaError> {
        let key = format!("{name}{NODE_MANAGER}");
        let policies = Policies {
            lifespan: lifespan(root),
            id_assignment: IdAssignment::User,
            ..Policies::default()
        };
        let own = root.create_poa(&key, policies)?;
        // Bind the key before the first activation, with which the ORB may begin to listen: early requests then wait
        // until the POA manager is activated.
        own.manager().hold_requests(false)?;
        let id = ObjectId::from(key.as_str());
        own.bind_name_to_id(&key, id.clone());
        let poa = own.create_poa("plans", Policies::default())?;
        poa.manager().activate()?;
        let arrivals = Arc::new(Arrivals::default());
        let activator: LocalityManagerActivatorRef = poa.activate(Arc::clone(&arrivals))?;
        let inner = Arc::new(Inner {
            starter: Arc::new(Starter {
                node: name.to_owned(),
                settings,
                arrivals,
                activator,
                count: Arc::new(AtomicUsize::new(0)),
            }),
            poa,
            observer: Observer::new(observer),
            plans: Mutex::default(),
            changed: Condvar::new(),
        });
        let servant = Servant(Arc::clone(&inner));
        let reference: d::NodeManagerRef = own.activate_with_id(id, servant)?;
        own.manager().activate()?;
        let watched = Arc::downgrade(&inner);
        if let Some(orb) = root.orb() {
            let started = orb.start_thread(ThreadPurpose::Watcher, "oxorb-leases", move || {
                watch(&watched);
            });
            started.map_err(|_| PoaError::Destroyed)?;
        }
        Ok(NodeManager { inner, reference })
    }

    /// Returns the manager's reference.
    pub fn reference(&self) -> &d::NodeManagerRef {
        &self.reference
    }

    /// Ends all plans on this node, and refuses further ones.
    ///
    /// # Errors
    /// The failure of the first plan with a process that still exists after it was killed.
    pub fn close(&self) -> Result<(), Trouble> {
        self.inner.close()
    }
}

impl Drop for NodeManager {
    fn drop(&mut self) {
        let _ = self.inner.close();
    }
}

impl fmt::Debug for NodeManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeManager")
            .field("node", &self.inner.starter.node)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn close(&self) -> Result<(), Trouble> {
        let plans = {
            let mut plans = self.plans.lock();
            plans.is_closed = true;
            self.changed.notify_all();
            std::mem::take(&mut plans.by_reference)
        };
        let entries: Vec<(ObjectId, Entry)> = plans.into_iter().collect();
        let ended = super::together::together(entries, |(id, entry)| self.end(&id, &entry));
        ended.into_iter().collect()
    }

    /// Ends a plan that has been removed from the table, and deactivates its objects.
    fn end(&self, id: &ObjectId, entry: &Entry) -> Result<(), Trouble> {
        let ended = entry.application.destroy();
        if let Some(launched) = &entry.launched {
            let _ = self.poa.deactivate(launched);
        }
        let _ = self.poa.deactivate_id(id.clone());
        ended.map_err(|trouble| self.located(trouble))
    }

    fn located(&self, trouble: Trouble) -> Trouble {
        trouble.within(format_args!("node {}", self.starter.node), "")
    }

    fn prepare(
        self: &Arc<Self>,
        plan: &d::DeploymentPlan,
    ) -> Result<d::NodeApplicationManagerRef, Trouble> {
        let mut plan = wire::from_wire(plan)?;
        let lease = property::text(&plan, LEASE).and_then(|text| text.parse().ok());
        // Remove the lease, because processes do not need it, and a changed lease must not count as a change of the
        // plan.
        plan.info_property.retain(|property| property.name != LEASE);
        let refuse = |reason: String| Err(Trouble::new(label(&plan), reason));
        let own = &self.starter.node;
        if let Some(other) = plan.nodes().into_iter().find(|node| node != own) {
            return refuse(format!("it has instances on node {other}, but this is {own}"));
        }
        self.check_processes(&plan)?;
        let application = Arc::new(Application::new(&self.starter, &plan)?);
        if let Some(lease) = lease {
            application.renew(Duration::from_millis(lease));
        }
        let servant =
            Manager { inner: Arc::downgrade(self), application: Arc::clone(&application) };
        let mut plans = self.plans.lock();
        if plans.is_closed {
            return refuse("the node manager is shutting down".to_owned());
        }
        let most = self.starter.settings.max_plans;
        if plans.by_reference.len() >= most {
            return refuse(format!(
                "the node has the maximum of {most} plans (NodeSettings::max_plans, --max-plans)"
            ));
        }
        let activated = self.poa.activate::<ox::NodeApplicationManagerRef, _>(servant);
        let reference = activated.map_err(|error| Trouble::new(label(&plan), error))?;
        let id = self.poa.reference_to_id(&reference);
        let id = id.map_err(|error| Trouble::new(label(&plan), error))?;
        let entry = Entry { application, launched: None };
        plans.by_reference.insert(id, entry);
        self.changed.notify_all();
        Ok(reference.into())
    }

    /// Refuses a plan with more processes than the node may run. This is checked before the plan is divided, because
    /// each part is a copy.
    fn check_processes(&self, plan: &Plan) -> Result<(), Trouble> {
        let (count, most) = (processes(plan).len(), self.starter.settings.max_processes);
        match count > most {
            false => Ok(()),
            true => Err(Trouble::new(
                label(plan),
                format!(
                    "it has {count} processes here, but the limit is {most} (NodeSettings::max_processes, \
                     --max-processes)"
                ),
            )),
        }
    }

    fn destroy(&self, manager: &ObjectRef) -> Result<(), Trouble> {
        let id = self.poa.reference_to_id(manager).ok();
        let entry = id.and_then(|id| {
            let entry = self.plans.lock().by_reference.remove(&id)?;
            Some((id, entry))
        });
        match entry {
            Some((id, entry)) => self.end(&id, &entry),
            // The plan has already ended, because its lease expired or another call ended it.
            None => Ok(()),
        }
    }
}

/// Returns the lifespan of a manager's references: persistent if the ORB listens on a fixed port.
pub(super) fn lifespan(root: &Poa) -> Lifespan {
    match root.orb().is_some_and(|orb| orb.has_fixed_ports(None)) {
        true => Lifespan::Persistent,
        false => Lifespan::Transient,
    }
}

/// Ends plans whose leases have expired.
fn watch(inner: &Weak<Inner>) {
    /// Interval at which leases are checked.
    const LOOK: Duration = Duration::from_millis(250);
    loop {
        let Some(inner) = inner.upgrade() else {
            return;
        };
        let plans = inner.plans.lock();
        if plans.is_closed {
            return;
        }
        let mut plans = inner.changed.wait_timeout(plans, LOOK).0;
        let now = Instant::now();
        let expired: Vec<ObjectId> = plans
            .by_reference
            .iter()
            .filter(|(_, entry)| entry.application.has_expired(now))
            .map(|(id, _)| id.clone())
            .collect();
        let expired: Vec<(ObjectId, Entry)> =
            expired.into_iter().filter_map(|id| plans.by_reference.remove_entry(&id)).collect();
        drop(plans);
        for (id, entry) in expired {
            let plan = entry.application.label.clone();
            let node = inner.starter.node.clone();
            let ended = inner.end(&id, &entry);
            inner.observer.tell(&NodeEvent::Orphaned { plan: plan.clone(), node });
            if let Err(trouble) = ended {
                let reason = trouble.to_string();
                inner.observer.tell(&NodeEvent::Failed { plan, reason });
            }
        }
    }
}

/// Servant of `Deployment::NodeManager`.
struct Servant(Arc<Inner>);

impl d::NodeManager for Servant {
    fn join_domain(
        &self,
        _: &d::Domain,
        _: Option<&d::TargetManagerRef>,
        _: Option<&d::LoggerRef>,
        _: i32,
    ) -> Result<(), SystemException> {
        Err(NO_DOMAIN)
    }

    fn leave_domain(&self) -> Result<(), SystemException> {
        Err(NO_DOMAIN)
    }

    fn prepare_plan(
        &self,
        plan: &d::DeploymentPlan,
        _: Option<&d::ResourceCommitmentManagerRef>,
    ) -> Result<Option<d::NodeApplicationManagerRef>, PreparePlanError> {
        let prepared = self.0.prepare(plan);
        prepared.map(Some).map_err(|trouble| self.0.located(trouble).plan())
    }

    fn destroy_manager(
        &self,
        manager: Option<&d::NodeApplicationManagerRef>,
    ) -> Result<(), DestroyManagerError> {
        let Some(manager) = manager else {
            return Ok(());
        };
        let ended = self.0.destroy(&manager.unchecked_narrow());
        ended.map_err(Trouble::stop)
    }

    fn get_dynamic_resources(&self) -> Result<Vec<d::Resource>, SystemException> {
        Err(NO_DOMAIN)
    }
}

/// Servant of `OxDeployment::NodeApplicationManager` for one plan.
struct Manager {
    inner: Weak<Inner>,
    application: Arc<Application>,
}

/// Exception for calls to the object of a plan that has ended.
const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

impl Manager {
    fn inner(&self) -> Result<Arc<Inner>, SystemException> {
        self.inner.upgrade().ok_or(GONE)
    }
}

impl d::ApplicationManager for Manager {
    fn start_launch(
        &self,
        config: &[d::Property],
    ) -> Result<(Option<d::ApplicationRef>, Vec<d::Connection>), StartLaunchError> {
        let inner = self.inner()?;
        let launched = self.application.launch(config);
        let provided =
            launched.map_err(|trouble| inner.located(trouble).start::<StartLaunchError>())?;
        let servant =
            Launched { inner: Arc::downgrade(&inner), application: Arc::clone(&self.application) };
        let activated = inner.poa.activate::<d::NodeApplicationRef, _>(servant);
        let reference = activated.map_err(|error| {
            Trouble::new(&self.application.label, error).start::<StartLaunchError>()
        })?;
        let mut plans = inner.plans.lock();
        let mut entries = plans.by_reference.values_mut();
        let own = entries.find(|entry| Arc::ptr_eq(&entry.application, &self.application));
        match own {
            Some(entry) => entry.launched = Some(reference.clone()),
            // The plan was destroyed during the launch, and its processes were ended.
            None => {
                let _ = inner.poa.deactivate(&reference);
                return Err(GONE.into());
            }
        }
        Ok((Some(reference.into()), provided))
    }

    fn destroy_application(
        &self,
        _: Option<&d::ApplicationRef>,
    ) -> Result<(), DestroyApplicationError> {
        let inner = self.inner()?;
        let ended = self.application.destroy();
        ended.map_err(|trouble| inner.located(trouble).stop())
    }
}

impl d::NodeApplicationManager for Manager {}

impl ox::NodeApplicationManager for Manager {
    fn status(&self) -> Result<Vec<ox::ProcessStatus>, SystemException> {
        Ok(self.application.status())
    }

    fn renew(&self, lease: u32) -> Result<u64, SystemException> {
        Ok(self.application.renew(Duration::from_millis(lease.into())))
    }

    fn restart(&self, processes: &[String]) -> Result<Vec<d::Connection>, RestartError> {
        let inner = self.inner()?;
        let started = self.application.restart(processes);
        started.map_err(|trouble| inner.located(trouble).start())
    }

    fn disconnect(&self, connections: &[String]) -> Result<(), SystemException> {
        let ended = self.application.disconnect(connections);
        if let Err(trouble) = ended {
            let inner = self.inner()?;
            let plan = self.application.label.clone();
            let reason = inner.located(trouble).to_string();
            inner.observer.tell(&NodeEvent::Failed { plan, reason });
        }
        Ok(())
    }

    fn redeploy(&self, plan: &d::DeploymentPlan) -> Result<Vec<d::Connection>, RedeployError> {
        let inner = self.inner()?;
        let plan =
            wire::from_wire(plan).map_err(|error| Trouble::from(error).plan::<RedeployError>())?;
        let checked = inner.check_processes(&plan);
        let changed = checked.and_then(|()| self.application.redeploy(&plan));
        changed.map_err(|trouble| inner.located(trouble).start())
    }
}

/// Servant of `Deployment::NodeApplication` for one plan.
struct Launched {
    inner: Weak<Inner>,
    application: Arc<Application>,
}

impl Launched {
    fn located(&self, trouble: Trouble) -> Trouble {
        match self.inner.upgrade() {
            Some(inner) => inner.located(trouble),
            None => trouble,
        }
    }
}

impl d::Application for Launched {
    fn finish_launch(
        &self,
        provided: &[d::Connection],
        start: bool,
    ) -> Result<(), FinishLaunchError> {
        let done = self.application.finish(provided, start);
        done.map_err(|trouble| self.located(trouble).start())
    }

    fn start(&self) -> Result<(), StartError> {
        let done = self.application.run();
        done.map_err(|trouble| self.located(trouble).start())
    }
}

impl d::NodeApplication for Launched {}
