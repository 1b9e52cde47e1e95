//! Client of an execution manager, for programs that launch plans.

use oxorb_core::Interface as _;
use oxorb_deploy::plan::Plan;

use super::application::label;
use super::changes::Changes;
use super::trouble::Trouble;
use crate::idl::deployment::{DomainApplicationManagerRef, ExecutionManagerRef};
use crate::idl::ox_deployment::{self as ox, ProcessState};
use crate::wire;

/// Client of an execution manager: launches, lists, changes and stops plans.
///
/// Calls are limited by the time-out of the reference. It should be longer than the managers' own time-outs, or not be
/// set.
#[derive(Clone, Debug)]
pub struct Plans(ExecutionManagerRef);

/// A launched plan.
#[derive(Clone, Debug)]
pub struct Launched {
    /// UUID of the plan or, if it has none, its label.
    pub name: String,
    /// Manager of the plan.
    pub manager: ox::DomainApplicationManagerRef,
}

impl Plans {
    /// Creates a client of this execution manager.
    pub fn of(manager: ExecutionManagerRef) -> Plans {
        Plans(manager)
    }

    /// Launches a plan: prepares it, starts its processes, and connects and activates its instances. If a step fails,
    /// the plan is ended completely.
    ///
    /// # Errors
    /// The first failure, with the instance and the node.
    pub fn launch(&self, plan: &Plan) -> Result<Launched, Trouble> {
        let prepared = self.0.prepare_plan(&wire::to_wire(plan)?, None)?;
        let manager =
            prepared.ok_or_else(|| Trouble::new(label(plan), "it received no manager"))?;
        let launched =
            manager.start_launch(&[]).map_err(Trouble::from).and_then(|(application, _)| {
                let missing = || Trouble::new(label(plan), "it received no application");
                let application = application.ok_or_else(missing)?;
                Ok(application.finish_launch(&[], true)?)
            });
        match launched {
            Ok(()) => Ok(Launched { name: label(plan), manager: manager.unchecked_narrow() }),
            Err(trouble) => Err(match self.0.destroy_manager(Some(&manager)) {
                Ok(()) => trouble,
                Err(error) => trouble.and(Trouble::from(error)),
            }),
        }
    }

    /// Returns all launched plans.
    ///
    /// # Errors
    /// The execution manager does not answer.
    pub fn all(&self) -> Result<Vec<Launched>, Trouble> {
        let managers: Vec<DomainApplicationManagerRef> =
            self.0.get_managers()?.into_iter().flatten().collect();
        let mut plans = Vec::new();
        for manager in managers {
            // Skip a plan that has ended since `get_managers`.
            let Ok(plan) = manager.get_plan() else {
                continue;
            };
            let name = match plan.uuid.as_str() {
                "" => plan.label,
                uuid => uuid.to_owned(),
            };
            plans.push(Launched { name, manager: manager.unchecked_narrow() });
        }
        Ok(plans)
    }

    /// Returns the plan with this name.
    ///
    /// # Errors
    /// No plan has this name, or the execution manager does not answer.
    pub fn named(&self, name: &str) -> Result<Launched, Trouble> {
        let plans = self.all()?;
        let known: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
        let found = plans.into_iter().find(|plan| plan.name == name);
        found.ok_or_else(|| {
            let known = match known.as_slice() {
                [] => "there are none".to_owned(),
                known => format!("the plans are {}", known.join(", ")),
            };
            Trouble::new(name, format!("there is no such plan; {known}"))
        })
    }

    /// Returns the running plan with the name of `plan`, and the changes that [`redeploy`](Self::redeploy) would make.
    /// Changes nothing.
    ///
    /// # Errors
    /// No plan of this name is running, or a manager does not answer.
    pub fn compare(&self, plan: &Plan) -> Result<(Launched, Changes), Trouble> {
        let launched = self.named(&label(plan))?;
        let running = wire::from_wire(&launched.manager.get_plan()?)?;
        let mut changes = Changes::between(&running, plan)?;
        let status = launched.manager.status()?;
        let ended = status.into_iter().filter(|process| process.state != ProcessState::Running);
        let ended = ended.map(|process| (process.node, process.process)).collect();
        changes.restart(plan, &ended);
        Ok((launched, changes))
    }

    /// Replaces the running plan of the same name. Instances that are the same in both plans keep running.
    ///
    /// # Errors
    /// The first failure, with the instance and the node. The old plan is then restored.
    pub fn redeploy(&self, plan: &Plan) -> Result<Launched, Trouble> {
        let launched = self.named(&label(plan))?;
        launched.manager.redeploy(&wire::to_wire(plan)?)?;
        Ok(launched)
    }

    /// Ends a plan.
    ///
    /// # Errors
    /// The failure of the first node on which the plan could not be ended.
    pub fn stop(&self, plan: &Launched) -> Result<(), Trouble> {
        let manager: DomainApplicationManagerRef = plan.manager.clone().into();
        Ok(self.0.destroy_manager(Some(&manager))?)
    }
}
