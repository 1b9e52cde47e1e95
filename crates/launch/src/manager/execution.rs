//! The execution manager, which launches plans through node managers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use oxorb_core::ThreadPurpose;
use oxorb_core::lock::{Condvar, Mutex};
use oxorb_deploy::Severity;
use oxorb_deploy::check::{Input, check};
use oxorb_deploy::plan::Plan;
use oxorb_object::{CompletionStatus, SystemException, minor};
use oxorb_poa::{IdAssignment, ObjectId, Poa, PoaError, Policies};

use super::application::label;
use super::domain::{Domain, Phase};
use super::node::lifespan;
use super::node_event::{NodeEvent, Observer};
use super::property;
use super::repository::{REPOSITORY_MANAGER, RepositoryManager};
use super::settings::{ExecutionSettings, RestartPolicy};
use super::steward;
use super::target::{TARGET_MANAGER, TargetManager};
use super::together::together;
use super::trouble::Trouble;
use crate::idl::deployment as d;
use crate::idl::deployment::application::{FinishLaunchError, StartError};
use crate::idl::deployment::application_manager::{DestroyApplicationError, StartLaunchError};
use crate::idl::deployment::execution_manager::{DestroyManagerError, PreparePlanError};
use crate::idl::ox_deployment as ox;
use crate::idl::ox_deployment::domain_application_manager::RedeployError;
use crate::wire;

/// Key of an execution manager, as in DAnCE: `corbaloc::HOST:PORT/ExecutionManager`.
pub const EXECUTION_MANAGER: &str = "ExecutionManager";

/// Function that finds the manager of a node by the node's name, or returns the reason why there is none.
pub(super) type Lookup = dyn Fn(&str) -> Result<d::NodeManagerRef, String> + Send + Sync;

/// Manager of plans (`Deployment::ExecutionManager`). It launches plans through the managers of their nodes, watches
/// and restarts their processes, and ends them.
///
/// Dropping it ends its plans. If this process ends in any other way, the node managers end the plans when their leases
/// expire.
pub struct ExecutionManager {
    inner: Arc<Inner>,
    reference: d::ExecutionManagerRef,
}

struct Inner {
    poa: Poa,
    lookup: Arc<Lookup>,
    settings: Arc<ExecutionSettings>,
    observer: Observer,
    plans: Mutex<Plans>,
    /// Signal that a plan was removed from `plans`, or that a counted operation has ended.
    removed: Condvar,
}

#[derive(Default)]
struct Plans {
    by_label: BTreeMap<String, Entry>,
    is_closed: bool,
    /// Number of calls of `close` that have not ended all their plans yet.
    closing: usize,
    /// Number of plans that are being prepared. `close` removes the entry of such a plan before its nodes are undone.
    preparing: usize,
}

impl Plans {
    fn closing(&mut self) -> &mut usize {
        &mut self.closing
    }

    fn preparing(&mut self) -> &mut usize {
        &mut self.preparing
    }
}

/// Counted operation: a call of `close`, or the preparation of a plan. Its count decreases when the value is dropped,
/// also by a panic.
struct Counted<'i> {
    inner: &'i Inner,
    count: fn(&mut Plans) -> &mut usize,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *(self.count)(&mut self.inner.plans.lock()) -= 1;
        self.inner.removed.notify_all();
    }
}

#[derive(Clone)]
struct Entry {
    /// State of the plan; `None` while the plan is being prepared.
    domain: Option<Arc<Domain>>,
    manager: Option<ox::DomainApplicationManagerRef>,
    application: Option<d::ApplicationRef>,
}

impl ExecutionManager {
    /// Serves an execution manager under the key `ExecutionManager`, in POAs below `root`. Also serves the manager
    /// `RepositoryManager` of the packages in the settings, and `TargetManager`, whose operations report that it
    /// manages nothing. `nodes` finds the manager of a node by its name; `observer` receives incidents.
    ///
    /// # Errors
    /// [`PoaError`] if the ORB already has an execution manager, or was shut down.
    pub fn start(
        root: &Poa,
        settings: ExecutionSettings,
        nodes: impl Fn(&str) -> Result<d::NodeManagerRef, String> + Send + Sync + 'static,
        observer: impl Fn(&NodeEvent) + Send + Sync + 'static,
    ) -> Result<ExecutionManager, PoaError> {
        let policies = Policies {
            lifespan: lifespan(root),
            id_assignment: IdAssignment::User,
            ..Policies::default()
        };
        let own = root.create_poa(EXECUTION_MANAGER, policies)?;
        // Bind the keys before the first activation, with which the ORB may begin to listen: early requests then wait
        // until the POA manager is activated.
        own.manager().hold_requests(false)?;
        for key in [EXECUTION_MANAGER, REPOSITORY_MANAGER, TARGET_MANAGER] {
            own.bind_name_to_id(key, ObjectId::from(key));
        }
        let poa = own.create_poa("plans", Policies::default())?;
        poa.manager().activate()?;
        let inner = Arc::new(Inner {
            poa,
            lookup: Arc::new(nodes),
            settings: Arc::new(settings),
            observer: Observer::new(observer),
            plans: Mutex::default(),
            removed: Condvar::new(),
        });
        let id = ObjectId::from(EXECUTION_MANAGER);
        let reference = own.activate_with_id(id, Servant(Arc::clone(&inner)))?;
        // Serve DAnCE's other managers even without packages and resources, so that their clients receive an exception
        // that explains what is missing.
        let id = ObjectId::from(REPOSITORY_MANAGER);
        let packages = RepositoryManager::new(
            inner.settings.packages.clone(),
            inner.observer.clone(),
            inner.poa.clone(),
        );
        own.activate_with_id::<ox::RepositoryManagerRef, _>(id, packages)?;
        let id = ObjectId::from(TARGET_MANAGER);
        own.activate_with_id::<d::TargetManagerRef, _>(id, TargetManager)?;
        own.manager().activate()?;
        Ok(ExecutionManager { inner, reference })
    }

    /// Returns the manager's reference.
    pub fn reference(&self) -> &d::ExecutionManagerRef {
        &self.reference
    }

    /// Waits until the manager has no plan, which means that no plan is being prepared, is running or is being ended.
    /// From then on, the manager refuses further plans, which the end of this process would stop at once.
    pub fn close_after_last_plan(&self) {
        let mut plans = self.inner.plans.lock();
        while !plans.by_label.is_empty() || plans.closing > 0 || plans.preparing > 0 {
            plans = self.inner.removed.wait(plans);
        }
        plans.is_closed = true;
    }

    /// Ends all plans, and refuses further ones.
    ///
    /// # Errors
    /// The failure of the first plan that could not be ended on all nodes.
    pub fn close(&self) -> Result<(), Trouble> {
        self.inner.close()
    }
}

impl Drop for ExecutionManager {
    fn drop(&mut self) {
        let _ = self.inner.close();
    }
}

impl fmt::Debug for ExecutionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plans = self.inner.plans.lock();
        f.debug_struct("ExecutionManager")
            .field("plans", &plans.by_label.keys())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn close(&self) -> Result<(), Trouble> {
        let plans = {
            let mut plans = self.plans.lock();
            plans.is_closed = true;
            plans.closing += 1;
            std::mem::take(&mut plans.by_label)
        };
        let _closing = Counted { inner: self, count: Plans::closing };
        let ended = together(plans.into_values().collect(), |entry| self.end(&entry));
        ended.into_iter().collect()
    }

    /// Ends a plan and deactivates its objects.
    fn end(&self, entry: &Entry) -> Result<(), Trouble> {
        let ended = entry.domain.as_ref().map_or(Ok(()), |domain| domain.end());
        self.deactivate(entry);
        ended
    }

    fn deactivate(&self, entry: &Entry) {
        if let Some(manager) = &entry.manager {
            let _ = self.poa.deactivate(manager);
        }
        if let Some(application) = &entry.application {
            let _ = self.poa.deactivate(application);
        }
    }

    fn prepare(
        self: &Arc<Self>,
        plan: &d::DeploymentPlan,
    ) -> Result<ox::DomainApplicationManagerRef, Trouble> {
        let plan = wire::from_wire(plan)?;
        self.check(&plan)?;
        let name = label(&plan);
        let _preparing = self.reserve(&name)?;
        let prepared = self.prepare_reserved(plan);
        if prepared.is_err() {
            self.plans.lock().by_label.remove(&name);
            self.removed.notify_all();
        }
        prepared
    }

    fn check(&self, plan: &Plan) -> Result<(), Trouble> {
        let name = label(plan);
        let refuse = |reason: String| Err(Trouble::new(&name, reason));
        if name.is_empty() {
            return refuse("the plan has neither a UUID nor a label; give it a label".to_owned());
        }
        if let Some(text) = property::text(plan, RestartPolicy::PROPERTY)
            && let Err(reason) = text.parse::<RestartPolicy>()
        {
            return refuse(format!("its property {}: {reason}", RestartPolicy::PROPERTY));
        }
        let settings = &self.settings;
        let sizes = [
            (plan.nodes().len(), settings.max_nodes, "nodes", "max_nodes"),
            (plan.instance.len(), settings.max_instances, "instances", "max_instances"),
        ];
        for (many, most, what, setting) in sizes {
            if many > most {
                return refuse(format!(
                    "it has {many} {what}, but the limit is {most} (ExecutionSettings::{setting})"
                ));
            }
        }
        if plan.instance.is_empty() {
            return refuse("it has no instances".to_owned());
        }
        let report = check(&Input { plan, resources: None, domain: None, components: None });
        let errors = report.findings.iter();
        let mut errors = errors.filter(|finding| finding.severity == Severity::Error);
        match (errors.next(), errors.count() + report.more_errors) {
            (None, _) => Ok(()),
            (Some(first), 0) => refuse(first.what.clone()),
            (Some(first), more) => refuse(format!("{}; and {more} more errors", first.what)),
        }
    }

    /// Reserves an entry for a plan before the plan is prepared, so that names are unique. Counts the preparation.
    fn reserve(&self, name: &str) -> Result<Counted<'_>, Trouble> {
        let mut plans = self.plans.lock();
        let refuse = |reason: String| Err(Trouble::new(name, reason));
        if plans.is_closed {
            return refuse("the execution manager is shutting down".to_owned());
        }
        if plans.by_label.contains_key(name) {
            return refuse(
                "a plan with this name is running; redeploy it, or stop it first".to_owned(),
            );
        }
        let most = self.settings.max_plans;
        if plans.by_label.len() >= most {
            return refuse(format!(
                "the maximum of {most} plans is running (ExecutionSettings::max_plans, --max-plans)"
            ));
        }
        let entry = Entry { domain: None, manager: None, application: None };
        plans.by_label.insert(name.to_owned(), entry);
        plans.preparing += 1;
        Ok(Counted { inner: self, count: Plans::preparing })
    }

    fn prepare_reserved(
        self: &Arc<Self>,
        plan: Plan,
    ) -> Result<ox::DomainApplicationManagerRef, Trouble> {
        let prepared =
            Domain::prepare(plan, &self.lookup, &self.settings, &self.observer, &self.poa);
        let domain = prepared?;
        let name = domain.label.clone();
        let published = self.publish(&domain);
        published.map_err(|reason| {
            let _ = domain.end();
            Trouble::new(name, reason)
        })
    }

    fn publish(
        self: &Arc<Self>,
        domain: &Arc<Domain>,
    ) -> Result<ox::DomainApplicationManagerRef, String> {
        let servant = Manager { inner: Arc::downgrade(self), domain: Arc::clone(domain) };
        let activated = self.poa.activate::<ox::DomainApplicationManagerRef, _>(servant);
        let reference = activated.map_err(|error| error.to_string())?;
        let watched = Arc::downgrade(domain);
        let inner = Arc::downgrade(self);
        let orb = self.poa.orb().ok_or("the ORB was shut down")?;
        let started = orb.start_thread(ThreadPurpose::Watcher, "oxorb-steward", move || {
            steward::watch(&watched);
            if let Some(domain) = watched.upgrade() {
                domain.wait_for_end();
                if let Some(inner) = inner.upgrade() {
                    inner.forget(&domain);
                }
            }
        });
        started
            .map_err(|error| format!("the thread that watches it cannot be started: {error}"))?;
        let mut plans = self.plans.lock();
        match plans.by_label.get_mut(&domain.label) {
            Some(entry) => {
                entry.domain = Some(Arc::clone(domain));
                entry.manager = Some(reference.clone());
                Ok(reference)
            }
            None => Err("the execution manager is shutting down".to_owned()),
        }
    }

    /// Removes an ended plan from the table, even if its client did not request its end.
    fn forget(&self, domain: &Arc<Domain>) {
        let entry = {
            let mut plans = self.plans.lock();
            let entry = plans.by_label.get(&domain.label);
            let is_own = |own: &Arc<Domain>| Arc::ptr_eq(own, domain);
            match entry.and_then(|entry| entry.domain.as_ref()).is_some_and(is_own) {
                true => plans.by_label.remove(&domain.label),
                false => None,
            }
        };
        if let Some(entry) = entry {
            self.removed.notify_all();
            self.deactivate(&entry);
        }
    }

    /// Removes a plan from the table and ends it.
    fn destroy(&self, manager: &d::DomainApplicationManagerRef) -> Result<(), Trouble> {
        let wanted = self.poa.reference_to_id(manager).ok();
        let entry = {
            let plans = self.plans.lock();
            let found = plans.by_label.iter().find(|(_, entry)| {
                let id = entry.manager.as_ref();
                let id = id.and_then(|manager| self.poa.reference_to_id(manager).ok());
                id.is_some() && id == wanted
            });
            let name = found.map(|(name, _)| name.clone());
            name.and_then(|name| Some((name.clone(), plans.by_label.get(&name)?.clone())))
        };
        let Some((name, entry)) = entry else {
            return Ok(());
        };
        let domain = entry.domain.as_ref();
        let ran = domain.is_some_and(|domain| domain.state.lock().phase == Phase::Running);
        // Keep the plan in the table until it has ended, so that its status can be read.
        let ended = self.end(&entry);
        if let Some(domain) = domain {
            self.forget(domain);
        }
        if ran {
            self.observer.tell(&NodeEvent::Stopped { plan: name });
        }
        ended
    }
}

/// Servant of `Deployment::ExecutionManager`.
struct Servant(Arc<Inner>);

impl d::ExecutionManager for Servant {
    fn prepare_plan(
        &self,
        plan: &d::DeploymentPlan,
        _: Option<&d::ResourceCommitmentManagerRef>,
    ) -> Result<Option<d::DomainApplicationManagerRef>, PreparePlanError> {
        let prepared = self.0.prepare(plan);
        prepared.map(|manager| Some(manager.into())).map_err(Trouble::plan)
    }

    fn get_managers(&self) -> Result<Vec<Option<d::DomainApplicationManagerRef>>, SystemException> {
        let plans = self.0.plans.lock();
        let managers = plans.by_label.values();
        let managers = managers.filter_map(|entry| entry.manager.clone());
        Ok(managers.map(|manager| Some(manager.into())).collect())
    }

    fn destroy_manager(
        &self,
        manager: Option<&d::DomainApplicationManagerRef>,
    ) -> Result<(), DestroyManagerError> {
        match manager {
            Some(manager) => self.0.destroy(manager).map_err(Trouble::stop),
            None => Ok(()),
        }
    }

    /// Ends all plans. Does not end the process, which is left to its owner.
    fn shutdown(&self) -> Result<(), SystemException> {
        if let Err(trouble) = self.0.close() {
            self.0.observer.tell(&NodeEvent::Failed { plan: trouble.name, reason: trouble.reason });
        }
        Ok(())
    }
}

/// Servant of `OxDeployment::DomainApplicationManager` for one plan.
struct Manager {
    inner: Weak<Inner>,
    domain: Arc<Domain>,
}

/// Exception for calls to the object of a plan that has ended.
const GONE: SystemException =
    SystemException::object_not_exist(minor::object_not_exist::NO_OBJECT, CompletionStatus::No);

impl d::ApplicationManager for Manager {
    fn start_launch(
        &self,
        config: &[d::Property],
    ) -> Result<(Option<d::ApplicationRef>, Vec<d::Connection>), StartLaunchError> {
        let inner = self.inner.upgrade().ok_or(GONE)?;
        let provided =
            self.domain.launch(config).map_err(|trouble| trouble.start::<StartLaunchError>())?;
        let servant = Launched(Arc::clone(&self.domain));
        let activated = inner.poa.activate::<d::ApplicationRef, _>(servant);
        let application = activated.map_err(|error| {
            let _ = self.domain.end();
            Trouble::new(&self.domain.label, error).start::<StartLaunchError>()
        })?;
        let mut plans = inner.plans.lock();
        if let Some(entry) = plans.by_label.get_mut(&self.domain.label) {
            entry.application = Some(application.clone());
        }
        Ok((Some(application), provided))
    }

    fn destroy_application(
        &self,
        _: Option<&d::ApplicationRef>,
    ) -> Result<(), DestroyApplicationError> {
        self.domain.end().map_err(Trouble::stop)
    }
}

impl d::DomainApplicationManager for Manager {
    fn get_applications(&self) -> Result<Vec<Option<d::ApplicationRef>>, SystemException> {
        let inner = self.inner.upgrade().ok_or(GONE)?;
        let plans = inner.plans.lock();
        let entry = plans.by_label.get(&self.domain.label);
        let application = entry.and_then(|entry| entry.application.clone());
        Ok(application.into_iter().map(Some).collect())
    }

    fn get_plan(&self) -> Result<d::DeploymentPlan, SystemException> {
        let plan = self.domain.state.lock().plan.clone();
        // Cannot fail: the plan was converted from this form when it was received.
        wire::to_wire(&plan).map_err(|_| GONE)
    }
}

impl ox::DomainApplicationManager for Manager {
    fn status(&self) -> Result<Vec<ox::ProcessStatus>, SystemException> {
        Ok(self.domain.status())
    }

    fn redeploy(&self, plan: &d::DeploymentPlan) -> Result<(), RedeployError> {
        let inner = self.inner.upgrade().ok_or(GONE)?;
        let plan = wire::from_wire(plan).map_err(Trouble::from);
        let plan = plan.and_then(|plan| inner.check(&plan).map(|()| plan));
        let plan = plan.map_err(|trouble| trouble.plan::<RedeployError>())?;
        if label(&plan) != self.domain.label {
            let reason = format!("the running plan is {:?}", self.domain.label);
            return Err(Trouble::new(label(&plan), reason).plan());
        }
        self.domain.redeploy(plan).map_err(Trouble::start)
    }
}

/// Servant of `Deployment::Application` for one plan.
struct Launched(Arc<Domain>);

impl d::Application for Launched {
    fn finish_launch(
        &self,
        provided: &[d::Connection],
        start: bool,
    ) -> Result<(), FinishLaunchError> {
        self.0.finish(provided, start).map_err(Trouble::start)
    }

    fn start(&self) -> Result<(), StartError> {
        self.0.start().map_err(Trouble::start)
    }
}
