//! The part of a plan that runs in one process.

mod attributes;
mod connections;
mod containers;
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
use containers::Containers;
use instance::{Installed, Recipe};
use provided::provided_by;

/// The part of a plan that runs in one process: containers, instances and their connections.
///
/// The order is DAnCE's: [`prepare`](Self::prepare), [`install`](Self::install), [`finish`](Self::finish),
/// [`start`](Self::start), [`stop`](Self::stop). Only one of them runs at a time; [`status`](Self::status) can be
/// called meanwhile.
pub struct Locality {
    node: String,
    process: String,
    orb: Orb,
    implementations: Implementations,
    /// Held during a change.
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
}

impl Locality {
    /// Creates a locality without a plan; its containers are children of `root`, which is a POA of `orb`.
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

    /// Returns the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the name of the process on its node.
    pub fn process(&self) -> &str {
        &self.process
    }

    /// Accepts the plan of this process, as returned by [`part`](crate::part), and checks what can be checked before
    /// anything is installed. If no resources are passed, those [in the plan](crate::attach_resources) are used.
    ///
    /// # Errors
    /// Invalid references within the plan, instances without entry point, entry points that the executable does not
    /// have, unsupported settings, missing policy sets; instances that are already installed.
    pub fn prepare(
        &self,
        plan: Plan,
        resources: Option<ServerResources>,
    ) -> Result<(), LaunchError> {
        let _operation = self.operation.lock();
        let (resources, _) = self.check(&plan, resources)?;
        let mut state = self.state.lock();
        if !state.instances.is_empty() {
            let what = format!("process {:?} runs instances of a plan already", self.process);
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
    /// Exceptions of executors, attributes that do not exist or have another type, policies that the ORB refuses. All
    /// instances installed by this call are removed again.
    pub fn install(&self) -> Result<Vec<Provided>, LaunchError> {
        let _operation = self.operation.lock();
        let (plan, resources) = self.plan();
        let (resources, recipes) = self.check(&plan, resources)?;
        self.install_missing(&plan, resources.as_ref(), recipes)?;
        self.provided(&plan)
    }

    /// Makes the missing connections of the plan, ends those that are not in the plan or refer to another object,
    /// completes the configuration of new instances, and activates them if `start` is set (`finishLaunch`).
    ///
    /// `references` are those of other processes, by connection; those of this process may be included.
    ///
    /// # Errors
    /// Connections that are refused, or whose reference is missing; exceptions of executors. Completed steps are kept:
    /// repeat the call, or call [`stop`](Self::stop).
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
    /// Exceptions of executors; the instances before that one stay active.
    pub fn start(&self) -> Result<(), LaunchError> {
        let _operation = self.operation.lock();
        let (plan, _) = self.plan();
        self.activate(&plan)
    }

    /// Changes to another plan for the process: removes the instances that it does not have or has with another
    /// implementation, other attributes or other policies, and installs new ones. The others are not touched. Returns
    /// the references to which other processes connect; [`finish`](Self::finish) then makes connections and starts the
    /// new instances.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare), before anything is removed; as [`install`](Self::install), after which the
    /// instances to be replaced are removed, and the others still run.
    pub fn redeploy(
        &self,
        plan: Plan,
        resources: Option<ServerResources>,
    ) -> Result<Vec<Provided>, LaunchError> {
        let _operation = self.operation.lock();
        let (resources, recipes) = self.check(&plan, resources)?;
        let stays = |one: &Installed| {
            let recipe = recipes.get(one.name());
            recipe.is_some_and(|recipe| one.is_made_by(recipe))
        };
        let (old, _) = self.plan();
        let mut removed = self.in_order(&old);
        removed.reverse();
        // A homed component is removed with its home.
        let homes: Vec<Installed> =
            removed.iter().filter(|one| !stays(one) && one.is_home()).cloned().collect();
        removed.retain(|one| !stays(one) || homes.iter().any(|home| one.is_of(home)));
        // An exception during the removal of an instance does not prevent its replacement.
        let _ = self.remove(&removed);
        {
            let mut state = self.state.lock();
            state.plan = plan.clone();
            state.resources = resources.clone();
        }
        self.install_missing(&plan, resources.as_ref(), recipes)?;
        self.provided(&plan)
    }

    /// Ends the connections with these names, because their providers no longer exist. Names of missing connections are
    /// ignored.
    pub fn disconnect(&self, connections: &[String]) {
        let _operation = self.operation.lock();
        self.disconnect_where(|made| connections.contains(&made.user.connection));
    }

    /// Restores connections that ended by themselves, as those of event sources do after several consecutive failures
    /// of the consumer, if the object at the other end answers within `limit`. Returns their number.
    ///
    /// # Errors
    /// The first refusal; the remaining connections are restored all the same.
    pub fn mend(&self, limit: Duration) -> Result<usize, LaunchError> {
        // Objects are called before anything is locked.
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

    /// Stops the plan: passivates the instances, ends their connections, removes them and destroys the containers, even
    /// if an executor raises an exception.
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

    /// Returns the installed instances and their connections.
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

    /// Checks a plan; returns its resources, and the recipes of its instances.
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
        let mut recipes = BTreeMap::new();
        for instance in &plan.instance {
            let implementation = plan.implementation_at(&instance.implementation);
            if !implementation.is_some_and(|at| stands_for_process(&plan.implementation[at])) {
                let recipe = Recipe::of(plan, instance, resources.as_ref(), &self.implementations)?;
                recipes.insert(instance.name.clone(), recipe);
            }
        }
        Ok((resources, recipes))
    }

    /// Installs the missing instances of the plan; removes them again if one fails.
    fn install_missing(
        &self,
        plan: &Plan,
        resources: Option<&ServerResources>,
        recipes: BTreeMap<String, Recipe>,
    ) -> Result<(), LaunchError> {
        let mut all: Vec<Installed> = self.state.lock().instances.clone();
        let mut new: Vec<Installed> = Vec::new();
        // Homes create components, so they come first.
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
            let container = self.containers.lock().get(recipe.quality(), instance);
            let made = container.and_then(|container| {
                Installed::new(&self.orb, &container, instance, resources, recipe, &all)
            });
            match made {
                Ok(made) => {
                    all.push(made.clone());
                    new.push(made);
                }
                Err(error) => {
                    for one in new.iter().rev() {
                        // The first error is reported.
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

    /// Passivates, disconnects and removes instances, in this order; returns the first exception.
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

    /// Returns the instances, providers before users.
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
                    "connection {:?} ends at {:?}, which is no component",
                    user.connection, user.instance
                );
                return Err(LaunchError::new(&user.connection, user.place, what));
            };
            if user.is_connected(component, &to) {
                continue;
            }
            user.connect(component, &to, installed.bands())?;
            let mut state = self.state.lock();
            // The connection existed before if it ended by itself meanwhile.
            state.made.retain(|made| !made.is(&user, &to));
            let reference = to;
            state.made.push(Made { user, reference });
        }
        Ok(())
    }

    /// Returns all objects that provide for a connection, each once.
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

/// Refuses connections that components outside of the plan would have to make.
pub(crate) fn users_elsewhere(plan: &Plan) -> impl Iterator<Item = LaunchError> {
    let connections = plan.connection.iter();
    let all = connections.flat_map(|one| one.external_reference.iter().map(move |it| (one, it)));
    let users =
        all.filter(|(_, it)| it.provider == Some(false) && instance_elsewhere(it).is_none());
    users.map(|(connection, user)| {
        let what = format!(
            "connection {:?} would be made by {}, which is not of this plan",
            connection.name, user.location
        );
        let error = LaunchError::new(&connection.name, user.place, what);
        error.cure("have the plan of that component name what provides as an externalReference")
    })
}

/// Returns the using ends of all connections at a plan's own instances.
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
