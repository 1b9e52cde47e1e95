//! The part of a plan that runs in one process.

mod attributes;
mod connections;
mod containers;
mod external;
mod instance;
mod naming;
mod order;
mod provided;
mod rates;
mod servant;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, ObjectRef, Orb};
use oxorb_deploy::Place;
use oxorb_deploy::basic::Property;
use oxorb_deploy::check::Lookup;
use oxorb_deploy::plan::{Connection, Plan};
use oxorb_deploy::rtcad::ServerResources;
use oxorb_poa::Poa;

use crate::idl::ox_deployment as idl;
use crate::part::{instance_elsewhere, stands_for_process};
use crate::resources::resources_of;
use crate::{Implementations, LaunchError};

pub use connections::References;
pub use provided::Provided;

pub(crate) use connections::unconnectable;
pub(crate) use containers::{policies, same_quality};
pub(crate) use instance::{
    enforceable_rates, explicit_home, has_entry, reference_files, unsupported,
};
pub(crate) use servant::file_references;

use connections::{Made, User};
use containers::{Containers, Quality};
use instance::{Installed, Recipe};
use provided::provided_by;

/// The part of a plan that runs in one process: containers, instances and their connections.
///
/// The methods are called in DAnCE's order: [`prepare`](Self::prepare), [`install`](Self::install),
/// [`finish`](Self::finish), [`start`](Self::start), [`stop`](Self::stop). Only one of them runs at a time.
/// [`status`](Self::status) can be called at any time.
pub struct Locality {
    node: String,
    process: String,
    orb: Orb,
    implementations: Implementations,
    /// Lock that is held while the locality is changed.
    operation: Mutex<()>,
    containers: Mutex<Containers>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    plan: Plan,
    resources: Option<ServerResources>,
    /// Instances in the order of the plan.
    instances: Vec<Installed>,
    made: Vec<Made>,
    /// Values of properties of the plan that the launch has set. They also apply to later plans of the process.
    external: Vec<Property>,
}

impl Locality {
    /// Creates a locality without a plan. Its containers will be children of `root`, a POA of `orb`.
    pub fn new(
        orb: &Orb,
        root: &Poa,
        implementations: Implementations,
        node: &str,
        process: &str,
    ) -> Arc<Locality> {
        let prefix = format!("{node} {process}");
        let events = implementations.events().cloned();
        Arc::new(Locality {
            node: node.to_owned(),
            process: process.to_owned(),
            orb: orb.clone(),
            implementations,
            operation: Mutex::default(),
            containers: Mutex::new(Containers::new(root.clone(), orb.clone(), prefix, events)),
            state: Mutex::default(),
        })
    }

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the name of the process on its node.
    pub fn process(&self) -> &str {
        &self.process
    }

    /// Accepts the plan of this process, as returned by [`part`](crate::part), and checks it as far as possible before
    /// anything is installed. If `resources` is `None`, those [in the plan](crate::attach_resources) are used.
    ///
    /// # Errors
    /// Invalid references within the plan; instances without an entry point, or whose entry point the executable does
    /// not have; unsupported settings; missing policy sets; instances that are already installed.
    pub fn prepare(
        &self,
        plan: Plan,
        resources: Option<ServerResources>,
    ) -> Result<(), LaunchError> {
        let _operation = self.operation.lock();
        let (resources, _) = self.check(&plan, resources)?;
        let mut state = self.state.lock();
        if !state.instances.is_empty() {
            let what = format!("process {:?} already runs instances of a plan", self.process);
            let error = LaunchError::new("", Place::default(), what);
            return Err(error.cure("stop them, or redeploy"));
        }
        state.plan = plan;
        state.resources = resources;
        Ok(())
    }

    /// Installs all instances, sets their attributes, and returns the references to which other processes connect
    /// (`startLaunch`).
    ///
    /// # Errors
    /// Exceptions of executors; attributes that do not exist or have another type; policies that the ORB refuses. If
    /// this call fails, it removes the instances that it has installed.
    pub fn install(&self) -> Result<Vec<Provided>, LaunchError> {
        let _operation = self.operation.lock();
        let (plan, resources) = self.plan();
        let (resources, recipes) = self.check(&plan, resources)?;
        self.install_missing(&plan, resources.as_ref(), recipes)?;
        self.provided(&plan)
    }

    /// Creates the missing connections of the plan and ends those that are not in the plan or refer to another object.
    /// Then completes the configuration of new instances and, if `start` is set, activates them (`finishLaunch`).
    ///
    /// `references` are the references of other processes, by connection. References of this process may be included.
    ///
    /// # Errors
    /// Connections that are refused or whose reference is missing; exceptions of executors. Completed steps are not
    /// undone. After an error, repeat the call or call [`stop`](Self::stop).
    pub fn finish(&self, references: &References, start: bool) -> Result<(), LaunchError> {
        let _operation = self.operation.lock();
        let (plan, _) = self.plan();
        self.connect(&plan, references)?;
        for one in self.in_order(&plan) {
            one.configure()?;
        }
        if start {
            self.activate(&plan)?;
        }
        Ok(())
    }

    /// Activates all instances whose configuration is complete, providers before users.
    ///
    /// # Errors
    /// The first exception of an executor. The instances that were activated before it remain active.
    pub fn start(&self) -> Result<(), LaunchError> {
        let _operation = self.operation.lock();
        let (plan, _) = self.plan();
        self.activate(&plan)
    }

    /// Changes the process to another plan. Removes instances that are missing from the new plan or that differ in
    /// implementation, attributes or policies, and installs new ones. Other instances are not affected. Returns the
    /// references to which other processes connect. Then call [`finish`](Self::finish) to make connections and activate
    /// the new instances. Values of properties that a launch by the [object](Self::serve) has set remain set.
    ///
    /// # Errors
    /// The errors of [`prepare`](Self::prepare), before anything is removed. The errors of [`install`](Self::install);
    /// in this case the instances to be replaced have been removed, and the others continue to run.
    pub fn redeploy(
        &self,
        mut plan: Plan,
        resources: Option<ServerResources>,
    ) -> Result<Vec<Provided>, LaunchError> {
        let _operation = self.operation.lock();
        external::add_external(&mut plan, &self.state.lock().external);
        let (resources, recipes) = self.check(&plan, resources)?;
        let stays = |one: &Installed| {
            let recipe = recipes.get(one.name());
            recipe.is_some_and(|recipe| one.is_made_by(recipe))
        };
        let (old, _) = self.plan();
        let mut removed = self.in_order(&old);
        removed.reverse();
        // Removing a home also removes its components, so they must be reinstalled too.
        let homes: Vec<Installed> =
            removed.iter().filter(|one| !stays(one) && one.is_home()).cloned().collect();
        removed.retain(|one| !stays(one) || homes.iter().any(|home| one.is_of(home)));
        // Ignore exceptions of executors: the instances are removed in any case, and their replacements can be
        // installed.
        let _ = self.remove(&removed);
        {
            let mut state = self.state.lock();
            state.plan = plan.clone();
            state.resources = resources.clone();
        }
        self.install_missing(&plan, resources.as_ref(), recipes)?;
        self.provided(&plan)
    }

    /// Ends the connections with these names, because their providers no longer exist. Ignores names of connections
    /// that do not exist.
    pub fn disconnect(&self, connections: &[String]) {
        let _operation = self.operation.lock();
        self.disconnect_where(|made| connections.contains(&made.user.connection));
    }

    /// Restores connections that ended without a request if the object at the other end answers within `limit`. For
    /// example, an event source ends a connection after several consecutive failures of the consumer. Returns the
    /// number of restored connections.
    ///
    /// # Errors
    /// The first refused connection. The remaining connections are restored nevertheless.
    pub fn mend(&self, limit: Duration) -> Result<usize, LaunchError> {
        // Call the remote objects before taking the operation lock, because they may answer slowly.
        let (instances, made) = {
            let state = self.state.lock();
            let made: Vec<(User, ObjectRef)> =
                state.made.iter().map(|made| (made.user.clone(), made.reference.clone())).collect();
            (state.instances.clone(), made)
        };
        let broken = made.into_iter().filter_map(|(user, to)| {
            let one = instances.iter().find(|one| one.name() == user.instance)?;
            let is_broken = !user.is_connected(one.component()?, &to);
            let answers = || matches!(to.with_timeout(limit).non_existent(), Ok(false));
            (is_broken && answers()).then(|| (user, to, one.clone()))
        });
        let broken: Vec<_> = broken.collect();
        if broken.is_empty() {
            return Ok(0);
        }
        let _operation = self.operation.lock();
        let mut mended = 0;
        let mut result = Ok(());
        for (user, to, one) in broken {
            let is_wanted = self.state.lock().made.iter().any(|made| made.is(&user, &to));
            let Some(component) = one.component().filter(|_| is_wanted) else {
                continue;
            };
            if !user.is_connected(component, &to) {
                let made = user.connect(component, &to, one.bands());
                mended += usize::from(made.is_ok());
                result = result.and(made);
            }
        }
        result.map(|()| mended)
    }

    /// Stops the plan: passivates the instances, ends their connections, removes them and destroys the containers. All
    /// steps are completed even if an executor raises an exception.
    ///
    /// # Errors
    /// The first exception that an executor raised.
    pub fn stop(&self) -> Result<(), LaunchError> {
        let _operation = self.operation.lock();
        let (plan, _) = self.plan();
        let mut all = self.in_order(&plan);
        all.reverse();
        let ended = self.remove(&all);
        *self.state.lock() = State::default();
        ended
    }

    /// Returns the status of the installed instances and of their connections.
    pub fn status(&self) -> idl::LocalityStatus {
        let state = self.state.lock();
        let instance = |one: &Installed| one.status();
        let connection = |user: User| idl::ConnectionStatus {
            connected: state.made.iter().any(|made| {
                let is_it = made.user.is(&user);
                let mut all = state.instances.iter();
                let component = all.find(|one| one.name() == user.instance);
                let component = component.and_then(Installed::component);
                is_it && component.is_some_and(|it| made.user.is_connected(it, &made.reference))
            }),
            name: user.connection,
            instance: user.instance,
            port_name: user.port,
        };
        idl::LocalityStatus {
            node: self.node.clone(),
            process: self.process.clone(),
            pid: std::process::id(),
            instances: state.instances.iter().map(instance).collect(),
            connections: users(&state.plan).into_iter().map(connection).collect(),
        }
    }

    fn plan(&self) -> (Plan, Option<ServerResources>) {
        let state = self.state.lock();
        (state.plan.clone(), state.resources.clone())
    }

    /// Checks a plan. Returns its resources and the recipes of its instances.
    #[allow(clippy::type_complexity, reason = "a pair")]
    fn check(
        &self,
        plan: &Plan,
        resources: Option<ServerResources>,
    ) -> Result<(Option<ServerResources>, BTreeMap<String, Recipe>), LaunchError> {
        plan.check_references().map_err(|error| {
            let finding = error.findings[0].clone();
            let name = String::new();
            LaunchError { name, finding }
        })?;
        let resources = match resources {
            Some(resources) => Some(resources),
            None => resources_of(plan)?,
        };
        users_elsewhere(plan).next().map_or(Ok(()), Err)?;
        let recipes = self.recipes(plan, resources.as_ref())?;
        Ok((resources, recipes))
    }

    /// Returns the recipes of the instances of a plan, by name.
    fn recipes(
        &self,
        plan: &Plan,
        resources: Option<&ServerResources>,
    ) -> Result<BTreeMap<String, Recipe>, LaunchError> {
        let lookup = resources.map(Lookup::of);
        let mut recipes = BTreeMap::new();
        for instance in &plan.instance {
            let implementation = plan.implementation_at(&instance.implementation);
            if !implementation.is_some_and(|at| stands_for_process(&plan.implementation[at])) {
                let attachment = lookup.as_ref().and_then(|it| it.attachment(&instance.name));
                let recipe =
                    Recipe::of(plan, instance, attachment, resources, &self.implementations)?;
                recipes.insert(instance.name.clone(), recipe);
            }
        }
        Ok(recipes)
    }

    /// Installs the instances of the plan that are not installed. If one fails, removes those that this call has
    /// installed.
    fn install_missing(
        &self,
        plan: &Plan,
        resources: Option<&ServerResources>,
        recipes: BTreeMap<String, Recipe>,
    ) -> Result<(), LaunchError> {
        let mut all: Vec<Installed> = self.state.lock().instances.clone();
        let mut new: Vec<Installed> = Vec::new();
        let lookup = resources.map(Lookup::of);
        // Install homes before the instances that they create.
        let (homed, alone): (Vec<_>, Vec<_>) = plan
            .instance
            .iter()
            .filter(|one| recipes.contains_key(&one.name))
            .partition(|one| recipes[&one.name].home().is_some());
        for instance in alone.into_iter().chain(homed) {
            if all.iter().any(|one| one.name() == instance.name) {
                continue;
            }
            let recipe = recipes[&instance.name].clone();
            let attachment = lookup.as_ref().and_then(|it| it.attachment(&instance.name));
            let container = self.containers.lock().get(recipe.quality(), instance);
            let made = container.and_then(|container| {
                let bands = Quality::receptacles(instance, attachment, resources)?;
                Installed::new(&self.orb, &container, instance, bands, recipe, &all)
            });
            match made {
                Ok(made) => {
                    all.push(made.clone());
                    new.push(made);
                }
                Err(error) => {
                    for one in new.iter().rev() {
                        // Ignore errors of the removal, so that the error that caused it is returned.
                        let _ = one.remove();
                    }
                    self.keep_containers();
                    return Err(error);
                }
            }
        }
        let at = |name: &str| plan.instance.iter().position(|one| one.name == name);
        all.sort_by_key(|one| at(one.name()));
        self.state.lock().instances = all;
        Ok(())
    }

    /// Destroys containers without instances.
    fn keep_containers(&self) {
        let instances = self.state.lock().instances.clone();
        let used: Vec<_> = instances.iter().map(Installed::quality).collect();
        self.containers.lock().keep(&used);
    }

    /// Passivates, disconnects and removes instances, in this order. Returns the first exception.
    fn remove(&self, removed: &[Installed]) -> Result<(), LaunchError> {
        let mut result = Ok(());
        for one in removed {
            result = result.and(one.passivate());
        }
        let is_removed = |name: &str| removed.iter().any(|one| one.name() == name);
        let references: Vec<ObjectRef> = removed.iter().flat_map(Installed::objects).collect();
        let leads_to_removed = |reference: &ObjectRef| {
            let mut all = references.iter();
            all.any(|one| one.reference().is_equivalent(reference.reference()))
        };
        self.disconnect_where(|made| {
            is_removed(&made.user.instance) || leads_to_removed(&made.reference)
        });
        for one in removed {
            result = result.and(one.remove());
        }
        self.state.lock().instances.retain(|one| !is_removed(one.name()));
        self.keep_containers();
        result
    }

    fn activate(&self, plan: &Plan) -> Result<(), LaunchError> {
        for one in self.in_order(plan) {
            one.activate(&self.orb)?;
        }
        Ok(())
    }

    /// Returns the instances, with providers before their users.
    fn in_order(&self, plan: &Plan) -> Vec<Installed> {
        let instances = self.state.lock().instances.clone();
        order::providers_first(plan, instances, Installed::name)
    }

    fn connect(&self, plan: &Plan, references: &References) -> Result<(), LaunchError> {
        let instances = self.state.lock().instances.clone();
        let find = |name: &str| instances.iter().find(|one| one.name() == name);
        let mut wanted: Vec<(User, ObjectRef)> = Vec::new();
        for connection in &plan.connection {
            let users = users_of(plan, connection);
            if users.is_empty() {
                continue;
            }
            let providers = self.providers(plan, connection, &instances, references)?;
            for user in users {
                let each = providers.iter().map(|to| (user.clone(), to.clone()));
                wanted.extend(each);
            }
        }
        self.disconnect_where(|made| {
            let mut all = wanted.iter();
            !all.any(|(user, to)| made.is(user, to))
        });
        for (user, to) in wanted {
            let Some((installed, component)) =
                find(&user.instance).and_then(|one| Some((one, one.component()?)))
            else {
                let what = format!(
                    "connection {:?} ends at {:?}, which is not a component",
                    user.connection, user.instance
                );
                return Err(LaunchError::new(&user.connection, user.place, what));
            };
            if user.is_connected(component, &to) {
                continue;
            }
            user.connect(component, &to, installed.bands())?;
            let mut state = self.state.lock();
            // If the connection ended without a request, `made` still contains its old entry.
            state.made.retain(|made| !made.is(&user, &to));
            let reference = to;
            state.made.push(Made { user, reference });
        }
        Ok(())
    }

    /// Returns all objects that provide for a connection, without duplicates.
    fn providers(
        &self,
        plan: &Plan,
        connection: &Connection,
        instances: &[Installed],
        references: &References,
    ) -> Result<Vec<ObjectRef>, LaunchError> {
        let mut found: Vec<ObjectRef> = Vec::new();
        let mut add = |object: &ObjectRef| {
            let mut all = found.iter();
            if !all.any(|one| one.reference().is_equivalent(object.reference())) {
                found.push(object.clone());
            }
        };
        let mut expected = 0;
        for provided in provided_by(plan, connection, instances)? {
            expected += 1;
            add(&provided.reference);
        }
        for external in &connection.external_reference {
            if !external.provider.unwrap_or(true) {
                continue;
            }
            expected += 1;
            if instance_elsewhere(external).is_some() {
                continue;
            }
            let object = self.orb.string_to_object(&external.location);
            let object = object.map_err(|error| {
                let what = format!("connection {:?} cannot be made: {error}", connection.name);
                LaunchError::new(&connection.name, external.place, what)
            })?;
            add(&object);
        }
        for object in references.get(&connection.name).into_iter().flatten() {
            add(object);
        }
        if found.len() < expected {
            let elsewhere = connection.external_reference.iter();
            let names: Vec<String> = elsewhere
                .filter(|end| end.provider.unwrap_or(true))
                .filter_map(|end| {
                    let port = end.port_name.as_deref().unwrap_or_default();
                    Some(format!("{}.{port}", instance_elsewhere(end)?))
                })
                .collect();
            let what = format!(
                "connection {:?} lacks the reference of {}, in another process",
                connection.name,
                names.join(", ")
            );
            let error = LaunchError::new(&connection.name, connection.place, what);
            return Err(error.cure("launch that process first"));
        }
        Ok(found)
    }

    fn disconnect_where(&self, ends: impl Fn(&Made) -> bool) {
        let (ended, instances) = {
            let mut state = self.state.lock();
            let (ended, kept): (Vec<Made>, Vec<Made>) =
                std::mem::take(&mut state.made).into_iter().partition(ends);
            state.made = kept;
            (ended, state.instances.clone())
        };
        for Made { user, reference } in ended {
            let mut all = instances.iter();
            let found = all.find(|one| one.name() == user.instance);
            if let Some(component) = found.and_then(Installed::component) {
                user.disconnect(component, &reference);
            }
        }
    }
}

/// Returns an error for each connection that components outside the plan would have to make.
pub(crate) fn users_elsewhere(plan: &Plan) -> impl Iterator<Item = LaunchError> {
    let connections = plan.connection.iter();
    let all = connections.flat_map(|one| one.external_reference.iter().map(move |it| (one, it)));
    let users =
        all.filter(|(_, it)| it.provider == Some(false) && instance_elsewhere(it).is_none());
    users.map(|(connection, user)| {
        let what = format!(
            "connection {:?} would be made by {}, which does not belong to this plan",
            connection.name, user.location
        );
        let error = LaunchError::new(&connection.name, user.place, what);
        error.cure("make the connection in the plan of that component, with the provider as an externalReference")
    })
}

/// Returns the using ends of all connections at instances of this plan.
fn users(plan: &Plan) -> Vec<User> {
    let connections = plan.connection.iter();
    connections.flat_map(|one| users_of(plan, one)).collect()
}

fn users_of(plan: &Plan, connection: &Connection) -> Vec<User> {
    let ends = connection.internal_endpoint.iter();
    let users = ends.filter(|end| !end.provides()).filter_map(|end| {
        Some(User {
            connection: connection.name.clone(),
            instance: plan.instance[plan.instance_at(&end.instance)?].name.clone(),
            port: end.port_name.clone(),
            kind: end.kind,
            place: end.place,
        })
    });
    users.collect()
}
