//! The CORBA object of a locality, which node managers call.

use std::sync::{Arc, OnceLock};

use oxorb_core::Interface;
use oxorb_deploy::basic::Property;
use oxorb_deploy::plan::Plan;
use oxorb_object::SystemException;
use oxorb_poa::{Poa, PoaError};

use super::external::add_external;
use super::instance::reference_files;
use super::{Locality, Provided, References};
use crate::arguments::is_file;
use crate::idl::dance::{self, locality_manager};
use crate::idl::deployment::{
    self, ApplicationRef, Connection, DeploymentPlan, InvalidConnection, NodeApplicationManagerRef,
    PlanError, ResourceCommitmentManagerRef, StartError, StopError, application,
    application_manager,
};
use crate::idl::ox_deployment::{self, LocalityRef, LocalityStatus, locality};
use crate::wire::from_wire;
use crate::{LaunchError, wire};

/// Servant of a locality.
pub(crate) struct LocalityServant {
    locality: Arc<Locality>,
    own: OnceLock<LocalityRef>,
    /// Function that ends the process.
    end: Box<dyn Fn() + Send + Sync>,
}

impl Locality {
    /// Serves the locality as an object of a POA: `OxDeployment::Locality`, which is DAnCE's LocalityManager. Its
    /// operation `shutdown` calls `end` after stopping the instances.
    ///
    /// # Errors
    /// The error of the POA if the object cannot be activated.
    pub fn serve(
        self: &Arc<Self>,
        poa: &Poa,
        end: impl Fn() + Send + Sync + 'static,
    ) -> Result<LocalityRef, PoaError> {
        let servant = Arc::new(LocalityServant {
            locality: Arc::clone(self),
            own: OnceLock::new(),
            end: Box::new(end),
        });
        let own: LocalityRef = poa.activate(Arc::clone(&servant))?;
        let _ = servant.own.set(own.clone());
        Ok(own)
    }
}

impl LocalityServant {
    fn own<R: Interface>(&self) -> Option<R> {
        self.own.get().map(Interface::unchecked_narrow)
    }
}

/// Converts a plan that a caller sends. Refuses files for references, because any client of the object could otherwise
/// write and delete files with the rights of the process's user.
fn plan_of(plan: &DeploymentPlan) -> Result<Plan, PlanError> {
    let plan =
        from_wire(plan).map_err(|error| PlanError { name: error.element, reason: error.reason })?;
    let mut refused = file_references(&plan).chain(reference_files(&plan));
    match refused.next() {
        None => {}
        Some(error) => return Err(error.into()),
    }
    drop(refused);
    Ok(plan)
}

/// Returns an error for each connection whose provider is named by a file. Under managers this is refused, because
/// processes would read files for callers.
pub(crate) fn file_references(plan: &Plan) -> impl Iterator<Item = LaunchError> {
    let all = plan.connection.iter().flat_map(|connection| {
        connection.external_reference.iter().map(move |it| (connection, it))
    });
    all.filter(|(_, it)| is_file(&it.location)).map(|(connection, it)| {
        let what = format!(
            "the externalReference of connection {:?} is the file {:?}, which processes under node managers do not \
             read",
            connection.name, it.location
        );
        let error = LaunchError::new(&connection.name, it.place, what);
        error.cure("write the reference itself, IOR: or corbaloc:")
    })
}

/// Merges provided references with the same connection into one entry, as managers expect.
fn connections(provided: Vec<Provided>) -> Vec<Connection> {
    let mut all: Vec<Connection> = Vec::new();
    for one in provided {
        let endpoint = Some(one.reference);
        match all.iter_mut().find(|known| known.name == one.connection) {
            Some(known) => known.endpoint.push(endpoint),
            None => all.push(Connection { name: one.connection, endpoint: vec![endpoint] }),
        }
    }
    all
}

fn references(connections: &[Connection]) -> References {
    let mut all = References::new();
    for connection in connections {
        let endpoints = connection.endpoint.iter().flatten().cloned();
        let known = all.entry(connection.name.clone()).or_default();
        known.extend(endpoints);
    }
    all
}

impl deployment::Application for LocalityServant {
    fn finish_launch(
        &self,
        provided_reference: &[Connection],
        start: bool,
    ) -> Result<(), application::FinishLaunchError> {
        let finished = self.locality.finish(&references(provided_reference), start);
        finished.map_err(|error| match self.locality.has_connection(&error.name) {
            true => InvalidConnection::from(error).into(),
            false => StartError::from(error).into(),
        })
    }

    fn start(&self) -> Result<(), application::StartError> {
        Ok(self.locality.start().map_err(StartError::from)?)
    }
}

impl deployment::ApplicationManager for LocalityServant {
    /// Sets the values of properties that the plan maps to attributes of its instances. Other properties are ignored,
    /// because they concern other processes.
    fn start_launch(
        &self,
        config_property: &[deployment::Property],
    ) -> Result<(Option<ApplicationRef>, Vec<Connection>), application_manager::StartLaunchError>
    {
        let mut properties = Vec::new();
        for property in config_property {
            let value = wire::from_any(&property.value);
            let value = value.map_err(|reason| deployment::InvalidProperty {
                name: property.name.clone(),
                reason,
            })?;
            properties.push(Property::of(&property.name, value));
        }
        self.locality.set_external(properties);
        let provided = self.locality.install().map_err(StartError::from)?;
        Ok((self.own(), connections(provided)))
    }

    fn destroy_application(
        &self,
        _: Option<&ApplicationRef>,
    ) -> Result<(), application_manager::DestroyApplicationError> {
        Ok(self.locality.stop().map_err(StopError::from)?)
    }
}

impl deployment::NodeApplication for LocalityServant {}

impl deployment::NodeApplicationManager for LocalityServant {}

impl dance::LocalityManager for LocalityServant {
    /// Commits no resources, because the operating system manages them.
    fn prepare_plan(
        &self,
        plan: &DeploymentPlan,
        _: Option<&ResourceCommitmentManagerRef>,
    ) -> Result<Option<NodeApplicationManagerRef>, locality_manager::PreparePlanError> {
        let prepared = self.locality.prepare(plan_of(plan)?, None);
        prepared.map_err(PlanError::from)?;
        Ok(self.own())
    }

    fn destroy_manager(
        &self,
        _: Option<&NodeApplicationManagerRef>,
    ) -> Result<(), locality_manager::DestroyManagerError> {
        Ok(self.locality.stop().map_err(StopError::from)?)
    }

    fn shutdown(&self) {
        (self.end)();
    }
}

impl ox_deployment::Locality for LocalityServant {
    fn status(&self) -> Result<LocalityStatus, SystemException> {
        Ok(self.locality.status())
    }

    fn redeploy(&self, plan: &DeploymentPlan) -> Result<Vec<Connection>, locality::RedeployError> {
        let plan = plan_of(plan)?;
        let provided = self.locality.redeploy(plan, None);
        Ok(connections(provided.map_err(StartError::from)?))
    }

    fn disconnect(&self, connections: &[String]) -> Result<(), SystemException> {
        self.locality.disconnect(connections);
        Ok(())
    }
}

impl Locality {
    fn has_connection(&self, name: &str) -> bool {
        let state = self.state.lock();
        state.plan.connection.iter().any(|one| one.name == name)
    }

    /// Sets the values of properties of the plan, also for later redeployments, and adds them to the attributes to
    /// which the properties are mapped.
    fn set_external(&self, properties: Vec<Property>) {
        let mut state = self.state.lock();
        add_external(&mut state.plan, &properties);
        state.external = properties;
    }
}
